"""A decoder that baton.from_torch exported, compiled and held against PyTorch.

The IR is a golden file, so nothing here needs Python packages; test/golden/exported.py
wrote it, logits, greedy tokens and gradients of PyTorch. Every logit lies within 2e-4 of
the largest, the tokens are the same, and every gradient of a training step within 1e-5 in
norm (of which the estimate may be a quarter too small), and of a model whose output projection has a
bias the losses of 50 steps within 1e-4. The same bits come of a prompt
token by token, and all layers lie in stacks.
"""

import argparse
import json
import os
import re
import sys

import programs
from programs import QUICK, Program, expect, run
from training import Golden, gradient_errors, lines_of, read_tensors

INPUTS = ["test/golden/check.py", "test/golden/exported_weights.py", "test/golden/projections.py",
          "test/e2e/inputs/exported/*", "test/e2e/programs.py", "test/e2e/training.py", "build/bin/batonc"]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
import exported_weights  # noqa: E402

BOUND = 0.75e-5
STACK = re.compile(r"model\.stack .* repeat (\d+)(?: \{.*layers_per_iteration = (\d+))?")


def check_gradients(arguments, golden, model, weights, path):
    golden.write_tokens(path("tokens.u16"))
    run([arguments.batonc, model, "--mode=train", QUICK, "--quiet", "-o", path("trainer")])
    result = run([path("trainer"), "train", "--weights", weights, "--data", path("tokens.u16"), "--out", path("run"),
                  *golden.sequence, *golden.batch, "--validation-fraction", 0, "--steps", 1, "--quiet",
                  "--gradients", path("gradients")])
    (line,) = lines_of(result.stdout)
    expect(abs(line["loss"] / golden["loss"] - 1) < 1e-5, f"the loss is {line['loss']}, PyTorch's {golden['loss']}")
    found = read_tensors(path("gradients"))
    expect(len(found) == len(golden["tensors"]), f"gradients of {sorted(found)}")
    worst = 0.0
    for tensor, _, error in gradient_errors(found, golden["tensors"]):
        expect(error <= BOUND, f"the gradient of {tensor} is off by {error:.2e}, allowed {BOUND:.2e}")
        worst = max(worst, error)
    print(f"gradients of {len(found)} tensors, worst error {worst:.2e}")
    if "losses" not in golden:
        return
    result = run([path("trainer"), "train", "--weights", weights, "--data", path("tokens.u16"), "--out", path("steps"),
                  *golden.sequence, *golden.batch, "--validation-fraction", 0, "--steps", len(golden["losses"]), "--lr", 1e-3,
                  "--lr-schedule", "constant", "--weight-decay", 0.1, "--clip", 1, "--quiet"])
    worst = 0.0
    for line, loss in zip(lines_of(result.stdout), golden["losses"], strict=True):
        worst = max(worst, abs(line["loss"] / loss - 1))
        expect(worst < 1e-4, f"step {line['step']}: the loss is {line['loss']}, PyTorch's {loss}")
    print(f"{len(golden['losses'])} steps of AdamW: {golden['losses'][0]:.3f} to {golden['losses'][-1]:.3f}, within {worst:.1e}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    case, model = programs.golden(arguments.folder), os.path.join(arguments.folder, "model.mlir")
    weights = path("weights")
    os.mkdir(weights)
    exported_weights.write(os.path.join(weights, "model.safetensors"), case["shapes"])
    with open(model) as file, open(os.path.join(weights, "config.json"), "w") as config:
        text = file.read()
        json.dump({"model_type": text.split('family "')[1].split('"')[0]}, config)

    program = Program(arguments.batonc, model, path("program"))
    program.weights = weights
    program.logits(case["tokens"], path("logits.npy"))
    print(programs.check(path("logits.npy"), arguments.folder))
    answer = program.generate(case["greedy"]["prompt"], len(case["greedy"]["new_tokens"]))
    with open(path("greedy.json"), "w") as file:
        json.dump(answer, file)
    print(programs.check("--greedy", path("greedy.json"), arguments.folder))
    bits = program.logits(case["tokens"], path("again.npy"))
    expect(program.logits(case["tokens"], path("again.npy"), "--prefill-chunk", 1) == bits,
           "token by token the logits' bits differ")
    numbers = {int(word) for name in case["shapes"] for word in name.split(".") if word.isdigit()}
    rolled = sum(int(repeat) * int(layers or 1) for repeat, layers in STACK.findall(text))
    expect(rolled == len(numbers), f"{rolled} of {len(numbers)} layers lie in stacks")

    check_gradients(arguments, Golden(arguments.folder), model, weights, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
