"""With --activations=bf16 linears round their inputs to BF16, and a row has the bits that it has alone.

Logits are near those of inputs in F32, and the same for other workers, chunks, CPUs, without optional
passes, and for a program of batches, whose texts come to the tokens of one sequence each. Programs,
explain and plans say what they round. Models without BF16 weights, training and CUDA are refused by name.
"""

import argparse
import json
import os
import random

import programs
from batches import Batch, alone, make_requests
from programs import USUAL, Program, expect, rows_of, run

FLAG = "--activations=bf16"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
F32_MODEL = os.path.join(ROOT, "test/golden/llama-gqa")


def distance(exact, rounded):
    """How far logits are off, of the largest."""
    pairs = [(a, b) for near, far in zip(rows_of(rounded), rows_of(exact), strict=True)
             for a, b in zip(near, far, strict=True)]
    return max(abs(a - b) for a, b in pairs) / max(abs(b) for _, b in pairs)


def check_batches(program, one, case, tokens, expected, path):
    expect(program.logits(tokens, path("batch.npy")) == expected, "a batch's logits have other bits")
    requests = make_requests(case, 8, random.Random(3))
    batch = Batch(program, requests, path)
    results, _ = batch.run()
    for request, result in zip(requests, results, strict=True):
        wanted = alone(one, request)
        expect(wanted is None or result["tokens"] == wanted, f"{request}: {result}")
    for flags in (["--workers", 1, "--no-prefix-cache"], ["--workers", 3, "--prefill-chunk", 5]):
        expect(batch.run(*flags)[0] == results, f"{flags}: other results")


def check_descriptions(batonc, folder, program, path):
    info = json.loads(run([program.path, "info", "--json"]).stdout)
    expect(info["model"]["activations"] == "bf16", f"info says {info['model']}")
    plan = run([batonc, folder, FLAG, "--emit=event"]).stdout
    for body in ("round_rows", "rounded_linear_bf16"):
        expect(f'event.call "{body}"' in plan, f"no task calls {body}")
    expect('event.call "linear_bf16"' not in plan, "a linear of BF16 weights does not round")
    text = run([batonc, "explain", folder, FLAG]).stdout
    expect("round_rows of" in text, "explain does not say who rounds")


def check_refusals(batonc, folder, path):
    model = path("model.mlir")
    run([batonc, folder, FLAG, "--emit=model", "-o", model])
    with open(model) as file:
        expect("inputs bf16" in file.read(), "the model does not say that it rounds")
    for flags, words in (
            ([F32_MODEL, FLAG], "no weight that linears of"),
            ([folder, FLAG, "--dtype=f32"], "no weight that linears of"),
            ([folder, FLAG, "--mode=train"], "--activations=bf16 is for programs that decode"),
            ([folder, FLAG, "--target=cuda:emulated"], "--activations=bf16 with --target=cuda:emulated is not built yet"),
            ([model, FLAG], "are written in it"),
            ([model, "--target=cuda:emulated"], "the plan calls round_rows, which is for CPUs only")):
        result = run([batonc, *flags, "-o", path("none")], check=False)
        expect(result.returncode == 1 and words in result.stderr, f"{flags}: {result}")
    # A file says it without the flag.
    return Program(batonc, model, path("file"))


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder = arguments.folder
    case = programs.golden(folder)
    tokens = case["tokens"]
    compiled = lambda name, *flags: Program(arguments.batonc, folder, path(name), *flags)
    exact = compiled("exact").logits(tokens, path("exact.npy"))
    one = compiled("one", FLAG)
    expected = one.logits(tokens, path("one.npy"), "--workers", 2)
    off = distance(exact, expected)
    print(f"logits are off by {off:.1e} of the largest")
    expect(0 < off < 0.02, f"inputs in BF16 put logits off by {off}")

    for workers, chunk in ((1, 1), (1, 7), (3, 2), (2, 5), (2, 13), (2, 64)):
        bits = one.logits(tokens, path("again.npy"), "--workers", workers, "--prefill-chunk", chunk)
        expect(bits == expected, f"{workers} workers, chunks of {chunk}: other bits")
    # The same sums by other instructions, of other vectors.
    for cpu in ("x86-64-v3", "x86-64"):
        other = compiled("other", FLAG, f"--target-cpu={cpu}")
        expect(other.logits(tokens, path("other.npy")) == expected, f"as {cpu} computes them, logits have other bits")
    for name, flags in (("usual", [USUAL]), ("unfused", ["--disable-pass=linear-grouping,norm-rewrites"])):
        other = compiled(name, FLAG, *flags)
        expect(other.logits(tokens, path("other.npy")) == expected, f"{flags}: other bits")
    print("bits are the same for other workers, chunks, CPUs and without optional passes")
    check_batches(compiled("many", FLAG, "--max-batch=3", "--max-rows=20"), one, case, tokens, expected, path)
    check_descriptions(arguments.batonc, folder, one, path)
    program = check_refusals(arguments.batonc, folder, path)
    program.weights = folder
    expect(program.logits(tokens, path("file.npy")) == expected, "compiled from its model in MLIR, it has other bits")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
