"""A training step of a model whose layers share parameters, against differences.

For every parameter the slope of the loss along a random direction, from two runs
with it moved forth and back, is what the gradient says: of shared ones the sum over
all layers, of all microbatches. Numbers have 24 bits, so that slopes agree within two
thousandths of the gradient's norm.
"""

import argparse
import json
import math
import os
import random
import shutil
import struct
from pathlib import Path

import programs
from programs import QUICK, expect, run
from training import lines_of, read_tensors, write_tokens

ROOT = Path(__file__).resolve().parents[2]
SHAPES = {"wte": (16, 8), "up": (12, 8), "bias": (12,), "down.0": (8, 12), "down.1": (8, 12), "down.2": (8, 12)}
REACH, BOUND = 4e-3, 2e-3


def write(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        chunk = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": SHAPES[name], "data_offsets": [len(data), len(data) + len(chunk)]}
        data += chunk
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    draw = random.Random(3)
    tensors = {name: [draw.gauss(0, 0.5) for _ in range(math.prod(shape))] for name, shape in SHAPES.items()}
    write_tokens(path("tokens.u16"), [draw.randrange(16) for _ in range(200)])
    sizes = json.loads((ROOT / "compiler/targets/cpu.json").read_text())
    with open(path("sizes.json"), "w") as file:
        json.dump(sizes | {"max_rows": 16, "max_outputs": 1}, file)
    run([arguments.batonc, ROOT / "test/e2e/inputs/shared_layers.mlir", "--mode=train", QUICK, "--quiet",
         f"--target-file={path('sizes.json')}", "-o", path("program")])
    os.mkdir(path("model"))
    with open(path("model/config.json"), "w") as file:
        file.write("{}")

    def step(moved, *flags):
        write(path("model/model.safetensors"), moved)
        shutil.rmtree(path("run"), ignore_errors=True)
        result = run([path("program"), "train", "--weights", path("model"), "--data", path("tokens.u16"),
                      "--out", path("run"), "--seq", 8, "--batch", 1, "--accumulate", 2, "--clip", 0,
                      "--validation-fraction", 0, "--steps", 1, "--quiet", *flags])
        return lines_of(result.stdout)[0]["loss"]

    step(tensors, "--gradients", path("gradients"))
    gradients = read_tensors(path("gradients"))
    expect(gradients.keys() == SHAPES.keys(), f"gradients of {sorted(gradients)}")
    worst = 0.0
    for name, values in tensors.items():
        direction = [draw.choice((-1.0, 1.0)) for _ in values]
        losses = [step(tensors | {name: [value + side * REACH * along
                                         for value, along in zip(values, direction)]})
                  for side in (1, -1)]
        found = (losses[0] - losses[1]) / (2 * REACH)
        gradient = gradients[name][2]
        expected = math.fsum(slope * along for slope, along in zip(gradient, direction))
        error = abs(found - expected) / math.sqrt(math.fsum(slope * slope for slope in gradient))
        expect(error < BOUND, f"{name}: differences say {found}, the gradient {expected}")
        worst = max(worst, error)
    print(f"against differences: {len(tensors)} tensors, worst error {worst:.2e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    programs.main(lambda scratch: test(parser.parse_args(), scratch))
