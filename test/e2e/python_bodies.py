"""Task bodies as code train: the adjoints that follow from a function are its slopes.

For every function and operator of baton.body, over values, vectors and scores: gradients
of a training step in F64 are what central differences of the program's own losses say.
"""

import argparse
import math
import os
import random
import re
import sys

import programs
from programs import Program, expect, run
from train_f64 import norm, write
from training import lines_of, read_tensors, write_tokens

INPUTS = ["tools/python/baton/*", "test/e2e/programs.py", "test/e2e/train_f64.py", "test/e2e/training.py",
          "build/bin/batonc"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tools/python"))
import baton  # noqa: E402


@baton.body(rows=3, vectors=["scale", "shift"])
def mixture(x, y, scale, shift):
    # Away from where a logarithm or a root has no value, and an extremum no slope.
    positive = 2 + x * x
    powers = baton.exp(-positive) + baton.log(positive) - baton.sqrt(positive) / baton.rsqrt(positive + y ** 2)
    bounded = baton.tanh(y) * baton.erf(x) + baton.sigmoid(x - 1) * scale
    chosen = baton.maximum(x, y) * baton.minimum(y, shift) + baton.absolute(x - 0.5)
    return powers / 4 + bounded + 0.1 * chosen * scale - 1 / (3 + y * y)


@baton.body
def same(x):
    return x


@baton.body(rows=5, scores=True)
def squares(score):
    # Zero for minus infinity.
    return baton.maximum(score + 1, 0) ** 2 / 16


def model():
    result = baton.Model("bodies", max_seq=32, weights="f64")
    table = result.weight("embed", [24, 16])

    def layer(x):
        at = "layers.{layer}"
        q, k, v = (result.split_heads(result.linear(f"{at}.{part}", x, 16), 2) for part in "qkv")
        attended = result.causal_attention(at, q, k, v, 0.3, weights=lambda scores, name:
                                           result.custom(squares, scores, name=name))
        x = x + 0.2 * result.linear(at + ".out", attended, 16)
        gate, up = (result.linear(f"{at}.{part}", x, 20) for part in ("gate", "up"))
        scale, shift = (result.parameter(f"{at}.{part}", [20]) for part in ("scale", "shift"))
        product = result.custom(same, result.custom(mixture, gate, up, scale, shift, name=at + ".mixture"))
        return x + result.linear(at + ".down", product, 16)

    x = result.stack(result.embedding(result.tokens, table), 2, layer)
    return result.finish(result.linear("head", result.last_rows(x), weight=table))


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    os.mkdir(path("weights"))
    with open(path("weights/config.json"), "w") as file:
        file.write("{}")
    with open(path("model.mlir"), "w") as file:
        file.write(str(model()))
    # Two sequences, of which neither may see the other.
    draw = random.Random(2)
    write_tokens(path("tokens.u16"), draw.choices(range(24), k=34))
    trainer = Program(arguments.batonc, path("model.mlir"), path("trainer"), "--mode=train").path
    runs = 0

    def step(begin, *flags):
        nonlocal runs
        runs += 1
        result = run([trainer, "train", *begin, "--data", path("tokens.u16"), "--out", path(f"run-{runs}"), "--batch",
                      2, "--seq", 16, "--validation-fraction", 0, "--steps", 1, "--quiet", *flags])
        return lines_of(result.stdout)[0]["loss"]

    def loss(stored, *flags):
        write(path("weights/model.safetensors"), stored)
        return step(["--weights", path("weights")], *flags)

    step(["--init-seed", 1, "--model", path("weights")])
    stored = {name: ("F64", shape, [draw.gauss(0, 0.2) for _ in values]) for name, (_, shape, values)
              in sorted(read_tensors(path("run-1/step-1/model.safetensors")).items())}
    loss(stored, "--gradients", path("gradients"))
    worst = 0.0
    for name, (_, _, gradient) in read_tensors(path("gradients")).items():
        kind, shape, values = stored[name]
        direction = [draw.choice((-1e-5, 1e-5)) for _ in values]
        sides = [loss({**stored, name: (kind, shape, [value + side * along
                                                      for value, along in zip(values, direction)])})
                 for side in (1, -1)]
        found = math.fsum(map(float.__mul__, gradient, direction))
        error = abs((sides[0] - sides[1]) / 2 - found) / (norm(gradient) * 1e-5)
        expect(error < 1e-6, f"{name}: differences say {(sides[0] - sides[1]) / 2}, the gradient {found}")
        worst = max(worst, error)
    unread = re.findall(r"math\.\w+|arith\.\w+f\b", str(mixture))
    expect(len(set(unread)) > 14, f"the bodies have only {sorted(set(unread))}")
    print(f"{len(stored)} tensors, worst error {worst:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
