"""Files that llama.cpp's own quantiser makes of a trained model, of each type, load and say the same.

SmolLM2's file becomes one of each type, with the rows of 576 that make a mix of types of the K
quants. Each loads as it is, and `info` lists its types; its logits have the bits of the program
whose weights are its numbers in F32; beside llama.cpp's, which rounds activations to 8 bits, they
differ by no more than that rounding: bounds that are stated for each type, of the root mean square
and of the largest.

What llama.cpp computes is test/golden/trained/requantised.json's, whose script also makes the
files. It needs llama-cpp-python: $BATON_LLAMA_CPP names a python3 that has it. Where its quantiser
makes another file than the golden one, llama.cpp is asked for its logits again. Without it, or
without a network, the test is skipped.
"""

import argparse
import json
import os
import subprocess
import sys

# Which makes the others known.
from trained_models import GOLDEN, Deviation, fetched

import gguf_reader
import programs
from programs import Program, expect, rows_of, run

INPUTS = ["tools/fetch-model", "test/golden/trained/*", "test/every/trained_models.py", "test/e2e/gguf_reader.py",
          "test/e2e/gguf_writer.py", "test/e2e/programs.py", "build/bin/batonc"]
MAKER = os.path.join(GOLDEN, "requantised.py")
# Of logits up to 30: root mean square, and the largest, 1.5 to 2 times what was found. Of K quants 256
# inputs share a scale when llama.cpp rounds them, of others 32.
BOUNDS = {"q8_0": (0.4, 1.4), "q4_0": (0.4, 1.8), "q4_1": (0.4, 1.4), "q5_0": (0.4, 1.5), "q5_1": (0.4, 1.5),
          "iq4_nl": (0.45, 1.4), "q2_k": (0.45, 2.3), "q3_k_m": (0.7, 3.5), "q4_k_m": (0.7, 3.5), "q5_k_m": (0.65, 3.5),
          "q6_k": (0.8, 4.5)}


def quantiser():
    python = os.environ.get("BATON_LLAMA_CPP", sys.executable)
    found = subprocess.run([python, "-c", "import llama_cpp, numpy"], capture_output=True, text=True)
    if found.returncode != 0:
        print("skipped: llama-cpp-python is not there; BATON_LLAMA_CPP names a python3 that has it")
        sys.exit(77)
    return python


def types_of(path):
    """Of matrices, as programs have them."""
    tensors = gguf_reader.Reader(path).tensors.values()
    return {"q8_0" if kind == "IQ4_NL" else kind.lower() for kind, shape, _ in tensors if len(shape) > 1}


def check(batonc, python, kind, model, golden, cases, scratch):
    digest = run(["sha256sum", model]).stdout.split()[0]
    if digest == golden["kinds"][kind]["sha256"]:
        expected = golden["kinds"][kind]["logits"]
    else:
        print(f"{kind}: this llama.cpp makes another file than the golden one; its logits are asked for")
        expected = json.loads(run([python, MAKER, model, "--logits"]).stdout)
    own = Program(batonc, model, os.path.join(scratch, "own"))
    numbers = Program(batonc, model, os.path.join(scratch, "numbers"), "--dtype=f32")
    said = json.loads(run([own.path, "info", "--json"]).stdout)["model"]["dtype"]
    said = {name for part in said.split(", ") for name in part.split("|")}
    expect(types_of(model) <= said, f"{kind}: info says {said}, the file has {types_of(model)}")
    deviation = Deviation()
    for number, steps in zip(golden["texts"], expected):
        case = cases[number]
        found = own.logits(case["tokens"], os.path.join(scratch, "own.npy"))
        expect(found == numbers.logits(case["tokens"], os.path.join(scratch, "numbers.npy")),
               f"{kind}, text {number}: has other bits than its numbers in F32")
        rows = rows_of(found)[case["behind"] - 1:-1]
        expect(len(rows) == len(steps), f"{kind}, text {number}: {len(rows)} rows")
        for row, (best, logit, second, next_logit) in zip(rows, steps):
            deviation.add(row[best] - logit)
            deviation.add(row[second] - next_logit)
            if logit - next_logit > 2 * BOUNDS[kind][1]:
                expect(max(range(len(row)), key=row.__getitem__) == best, f"{kind}, text {number}: another token is the most likely")
    print(f"{kind}: {', '.join(sorted(said))}; beside llama.cpp's logits: root mean square {deviation.mean:.3f}, "
          f"largest {deviation.largest:.3f}")
    expect(deviation.mean <= BOUNDS[kind][0] and deviation.largest <= BOUNDS[kind][1],
           f"{kind}: logits differ by more than rounded activations, {BOUNDS[kind]}")


def test(batonc, scratch):
    python = quantiser()
    with open(os.path.join(GOLDEN, "requantised.json"), encoding="utf-8") as file:
        golden = json.load(file)
    with open(os.path.join(GOLDEN, "smollm2.json"), encoding="utf-8") as file:
        cases = json.load(file)["prompts"]
    source = fetched("smollm2", scratch, golden["source"])
    for kind in golden["kinds"]:
        model = os.path.join(scratch, f"{kind}.gguf")
        run([python, MAKER, source, "--make", kind, model])
        check(batonc, python, kind, model, golden, cases, scratch)
        os.remove(model)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments.batonc, scratch))
