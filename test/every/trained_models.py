"""Trained models, as GGUF files of quantised weights, say what llama.cpp says of them.

test/golden/trained has what llama.cpp computes, and how. Of each model and each of 50 texts, of
ordinary language, code and many scripts:

- the text's tokens are the same;
- along llama.cpp's greedy continuation, the logits of the two tokens that it finds most likely
  are those of the file's numbers in F32, and the same token is the most likely, wherever its
  margin exceeds the difference of logits; so is what `generate` says;
- beside llama.cpp on the file as it is, which rounds activations to 8 bits, logits differ by no
  more than that rounding: bounds that are stated, on the average and for each;
- `batonc compare` finds the perplexity that llama.cpp finds.

Without a network the test is skipped.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import programs  # noqa: E402
from programs import USUAL, Program, expect, rows_of, run  # noqa: E402

INPUTS = ["tools/fetch-model", "test/golden/trained/*", "test/e2e/programs.py", "build/bin/batonc"]
GOLDEN = os.path.join(ROOT, "test/golden/trained")


class Bounds:
    """Of a logit beside llama.cpp's: with the same numbers in F32, and as the file is, where
    `mean` is the root of the mean square. Perplexities in parts of llama.cpp's."""

    def __init__(self, f32, stored, mean):
        self.f32, self.stored, self.mean = f32, stored, mean
        self.perplexity = {"f32": 0.0005, "stored": 0.005}


# Two to three times what was found. llama.cpp looks Gemma's GELU up in a table of F16, of which
# logits of F32 show the rounding.
MODELS = {"smollm2": Bounds(f32=5e-4, stored=2, mean=0.4), "gemma3": Bounds(f32=0.12, stored=6, mean=0.6)}


class Deviation:
    def __init__(self):
        self.squares, self.count, self.largest = 0.0, 0, 0.0

    def add(self, difference):
        self.squares += difference * difference
        self.count += 1
        self.largest = max(self.largest, abs(difference))

    @property
    def mean(self):
        return math.sqrt(self.squares / self.count)


def fetched(name, scratch, expected):
    path = os.path.join(scratch, f"{name}.gguf")
    result = subprocess.run([os.path.join(ROOT, "tools/fetch-model"), name, path], capture_output=True, text=True)
    if result.returncode != 0:
        print(f"skipped: {result.stderr.strip()}")
        sys.exit(77)
    with open(path, "rb") as file:
        expect(hashlib.file_digest(file, "sha256").hexdigest() == expected, f"{path} is another file than the golden one's")
    return path


def compare_logits(case, rows, bounds, deviations, text):
    for step, (f32, stored) in enumerate(zip(case["f32"], case["stored"])):
        row = rows[case["behind"] - 1 + step]
        for kind, (best, logit, second, next_logit) in (("f32", f32), ("stored", stored)):
            bound = getattr(bounds, kind)
            for token, value in ((best, logit), (second, next_logit)):
                difference = row[token] - value
                deviations[kind].add(difference)
                expect(abs(difference) <= bound, f"{text!r}, step {step}, token {token}: logit {row[token]}, "
                       f"llama.cpp's ({kind}) {value}: they differ by {difference}")
            if logit - next_logit > 2 * bound:
                found = max(range(len(row)), key=row.__getitem__)
                expect(found == best, f"{text!r}, step {step}: token {found}, llama.cpp's ({kind}) {best}")


def compare_text(case, program, text, bounds, folder):
    """Greedy tokens, to the first that a difference of logits may have decided. Returns how
    many were compared."""
    expected = case["tokens"][case["behind"]:]
    made = json.loads(run([program.path, "generate", "--weights", program.weights, "--prompt", text, "--max-new-tokens",
                           len(expected), "--json", "--no-cache", "--quiet"], cwd=folder).stdout)
    expect(made["prompt_tokens"] == case["tokens"][:case["behind"]],
           f"{text!r}: tokens {made['prompt_tokens']}, llama.cpp's {case['tokens'][:case['behind']]}")
    for step, (_, logit, _, next_logit) in enumerate(case["f32"]):
        if logit - next_logit <= 2 * bounds.f32:
            return step
        if step == len(made["tokens"]):
            expect(made["finish_reason"] == "stop", f"{text!r}: generates {made['tokens']} and ends with {made['finish_reason']}")
            return step
        expect(made["tokens"][step] == expected[step],
               f"{text!r}: generates {made['tokens']}, llama.cpp {expected}")
    return len(expected)


def compare_perplexity(batonc, model, golden, prompts, bounds, scratch):
    path = os.path.join(scratch, "text")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("\n".join(prompts))
    found = json.loads(run([batonc, "compare", model, "--data", path, "--context", golden["window"],
                            "--json", "--quiet"]).stdout)["a"]["perplexity"]["value"]
    for kind, bound in bounds.perplexity.items():
        expected = golden["perplexity"][kind]
        print(f"perplexity {found:.4f}, llama.cpp's ({kind}) {expected:.4f}: {100 * (found / expected - 1):+.4f} %")
        expect(abs(found / expected - 1) <= bound, f"perplexities ({kind}) differ by more than {100 * bound} %")


def test(batonc, name, scratch):
    bounds = MODELS[name]
    with open(os.path.join(GOLDEN, f"{name}.json"), encoding="utf-8") as file:
        golden = json.load(file)
    with open(os.path.join(GOLDEN, "prompts.json"), encoding="utf-8") as file:
        prompts = json.load(file)
    expect(len(prompts) == len(golden["prompts"]), "the golden file is of other prompts")
    model = fetched(name, scratch, golden["sha256"])
    program = Program(batonc, model, os.path.join(scratch, name), USUAL)
    deviations, compared = {"f32": Deviation(), "stored": Deviation()}, 0
    for text, case in zip(prompts, golden["prompts"]):
        compared += compare_text(case, program, text, bounds, scratch)
        rows = rows_of(program.logits(case["tokens"], os.path.join(scratch, "logits.npy")))
        compare_logits(case, rows, bounds, deviations, text)
    steps = sum(len(case["f32"]) for case in golden["prompts"])
    print(f"{name}: {compared} of {steps} generated tokens are llama.cpp's; the others come where or behind where "
          "its margin is smaller than the bound")
    for kind, deviation in deviations.items():
        print(f"{name}: logits beside llama.cpp's ({kind}): root mean square {deviation.mean:.2g}, largest {deviation.largest:.2g}")
    expect(deviations["stored"].mean <= bounds.mean, "logits differ more than by rounded activations")
    compare_perplexity(batonc, model, golden, prompts, bounds, scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("model", choices=MODELS)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments.batonc, arguments.model, scratch))
