"""A training step in F64 against finite differences of its own losses.

For every parameter's tensor, the slope of the loss along a random direction,
from two runs with the tensor moved forth and back (central differences), is what
the gradient that the same program derives says: within 1e-6 of the gradient's
norm times the direction's, divided by the root of the number of elements, which
is what the slope along a random direction amounts to. Loss and gradients are
also PyTorch's in F64 (within 1e-5: it makes rotary tables in F32), and the same
bits for other numbers of workers.
"""

import argparse
import json
import math
import os
import random
import shutil
import struct
import sys

import programs
from programs import expect, run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
from projections import distance, project  # noqa: E402

FORMATS = {"F32": ("f", 4), "F64": ("d", 8), "F16": ("e", 2)}


def read(path):
    """Name -> (shape, values) of a safetensors file."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    result = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] == "U8":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":
            bits = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
            values = struct.unpack(f"<{len(bits)}f", b"".join(struct.pack("<I", b << 16) for b in bits))
        else:
            letter, width = FORMATS[entry["dtype"]]
            values = struct.unpack(f"<{(end - begin) // width}{letter}", data[begin:end])
        result[name] = (entry["dtype"], entry["shape"], values)
    return result


def write(path, tensors):
    """All of them in F64."""
    header, chunks, place = {}, [], 0
    for name, (_, shape, values) in tensors.items():
        chunk = struct.pack(f"<{len(values)}d", *values)
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [place, place + len(chunk)]}
        chunks.append(chunk)
        place += len(chunk)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def norm(values):
    return math.sqrt(math.fsum(value * value for value in values))


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "gradients.json")) as file:
        golden = json.load(file)
    sequences = golden["sequences"]
    tokens = [token for sequence in sequences for token in sequence]
    with open(path("tokens.u16"), "wb") as file:
        file.write(struct.pack(f"<{len(tokens)}H", *tokens))
    program = path("program")
    run([arguments.batonc, arguments.folder, "--mode=train", "--dtype=f64", "--quiet", "-o", program])
    info = json.loads(run([program, "info", "--json"]).stdout)
    expect(info["model"]["dtype"] == "f64", f"info: {info['model']}")

    def step(weights, *flags):
        out = path("run")
        shutil.rmtree(out, ignore_errors=True)
        result = run([program, "train", "--weights", weights, "--data", path("tokens.u16"), "--out", out,
                      "--seq", len(sequences[0]) - 1, "--batch", len(sequences), "--steps", 1,
                      "--validation-fraction", 0, "--quiet", *flags])
        return json.loads(result.stdout)

    stored = {}
    for name in sorted(os.listdir(arguments.folder)):
        if name.endswith(".safetensors"):
            stored.update(read(os.path.join(arguments.folder, name)))
    line = step(arguments.folder, "--gradients", path("one"), "--workers", 1)
    saved = read(path("run/step-1/model.safetensors"))
    expect(all(kind == "F64" for kind, _, _ in saved.values()), "a checkpoint is not in F64")
    again = step(arguments.folder, "--gradients", path("three"), "--workers", 3)
    with open(path("one"), "rb") as one, open(path("three"), "rb") as three:
        expect(one.read() == three.read(), "3 workers: other gradients")
    expect(again["loss"] == line["loss"], f"3 workers: {again}, one has {line}")

    gradients = read(path("one"))
    expect(abs(line["loss"] / golden["loss"] - 1) < 1e-7,
           f"the loss is {line['loss']}, PyTorch's {golden['loss']}")
    worst = 0.0
    for tensor, reference in golden["tensors"].items():
        names = [tensor, tensor.removeprefix("model."), tensor.removeprefix("transformer.")]
        kind, _, values = next(gradients[name] for name in names if name in gradients)
        expect(kind == "F64", f"the gradient of {tensor} is in {kind}")
        error = distance(project(tensor, values), reference["projections"]) / reference["norm"]
        expect(error < 1e-5, f"{tensor} is off by {error:.2e} from PyTorch's")
        worst = max(worst, error)
    print(f"against PyTorch: worst error {worst:.2e}")

    # The configuration and all tensors; one is replaced at a time.
    moved = path("moved")
    os.mkdir(moved)
    shutil.copy(os.path.join(arguments.folder, "config.json"), moved)
    draw, worst = random.Random(7), 0.0
    for name, (_, _, gradient) in gradients.items():
        kind, shape, values = stored[name]
        size = norm(values) / math.sqrt(len(values)) or 1.0
        direction = [draw.choice((-1.0, 1.0)) for _ in values]
        length = 1e-5 * size
        losses = []
        for side in (1, -1):
            other = dict(stored)
            other[name] = (kind, shape, [value + side * length * along
                                         for value, along in zip(values, direction)])
            write(os.path.join(moved, "model.safetensors"), other)
            losses.append(step(moved)["loss"])
        found = (losses[0] - losses[1]) / (2 * length)
        expected = math.fsum(slope * along for slope, along in zip(gradient, direction))
        error = abs(found - expected) / norm(gradient)
        expect(error < 1e-6, f"{name}: differences say {found}, the gradient {expected}")
        worst = max(worst, error)
    print(f"against differences: {len(gradients)} tensors, worst error {worst:.2e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
