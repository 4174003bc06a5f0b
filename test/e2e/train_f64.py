"""A training step in F64 against finite differences of its own losses.

For every parameter's tensor, the slope of the loss along a random direction,
from two runs with the tensor moved forth and back (central differences), is what
the gradient that the same program derives says: within 1e-6 of the gradient's
norm times the direction's, divided by the root of the number of elements, which
is what the slope along a random direction amounts to. Loss and gradients are
also PyTorch's in F64 (within 1e-5: it makes rotary tables in F32), and the same
bits for other numbers of workers.

With --activation the configuration has another one than the golden checkpoint, and
with --streams that many streams (hyper-connections) of random weights, so that
differences alone judge it. With --routers the losses of a mixture's routers are added.
"""

import argparse
import json
import math
import os
import random
import shutil
import struct

import programs
from programs import QUICK, expect, run
from training import Golden, gradient_errors, lines_of, read_bytes, read_tensors


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


def compare(line, gradients, golden):
    """With PyTorch's."""
    expect(abs(line["loss"] / golden["loss"] - 1) < 1e-7,
           f"the loss is {line['loss']}, PyTorch's {golden['loss']}")
    worst = 0.0
    for tensor, kind, error in gradient_errors(gradients, golden["tensors"]):
        expect(kind == "F64", f"the gradient of {tensor} is in {kind}")
        expect(error < 1e-5, f"{tensor} is off by {error:.2e} from PyTorch's")
        worst = max(worst, error)
    print(f"against PyTorch: worst error {worst:.2e}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    golden = Golden(arguments.folder, "routers.json" if arguments.routers else "gradients.json")
    golden.write_tokens(path("tokens.u16"))
    program = path("program")
    # The configuration; of the weights, one tensor is replaced at a time.
    moved = path("moved")
    os.mkdir(moved)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    if arguments.activation:
        field, = (name for name in ("hidden_act", "activation_function") if name in config)
        expect(config[field] != arguments.activation, f"{arguments.folder} has {field} {config[field]} itself")
        config[field] = arguments.activation
    if arguments.streams:
        config["hyper_connections"] = {"streams": arguments.streams}
    with open(os.path.join(moved, "config.json"), "w") as file:
        json.dump(config, file)
    run([arguments.batonc, moved, "--mode=train", QUICK, "--dtype=f64", "--quiet", *arguments.flags, *golden.factors,
         "-o", program])
    info = json.loads(run([program, "info", "--json"]).stdout)
    expect(info["model"]["dtype"] == "f64", f"info: {info['model']}")

    def step(weights, *flags):
        out = path("run")
        shutil.rmtree(out, ignore_errors=True)
        begin = ["--weights", weights] if weights else ["--init-seed", 1, "--model", moved]
        result = run([program, "train", *begin, "--data", path("tokens.u16"), "--out", out,
                      *golden.sequence, "--validation-fraction", 0, *golden.batch, "--steps", 1, "--quiet", *flags])
        return lines_of(result.stdout)[0]

    stored = {}
    if arguments.streams:
        # After a step by which no weight is a zero any more, nor a gate an equal one.
        step(None, "--lr", 0.05)
        stored = read_tensors(path("run/step-1/model.safetensors"))
    else:
        for name in sorted(os.listdir(arguments.folder)):
            if name.endswith(".safetensors"):
                stored.update(read_tensors(os.path.join(arguments.folder, name)))
    write(os.path.join(moved, "model.safetensors"), stored)
    line = step(moved, "--gradients", path("one"), "--workers", 1)
    saved = read_tensors(path("run/step-1/model.safetensors"))
    expect(all(kind == "F64" for kind, _, _ in saved.values()), "a checkpoint is not in F64")
    again = step(moved, "--gradients", path("three"), "--workers", 3)
    expect(read_bytes(path("one")) == read_bytes(path("three")), "3 workers: other gradients")
    expect(again["loss"] == line["loss"], f"3 workers: {again}, one has {line}")

    gradients = read_tensors(path("one"))
    if arguments.activation or arguments.streams:
        expect(abs(line["loss"] / golden["loss"] - 1) > 1e-4, f"PyTorch's loss, of another model: {line}")
    else:
        compare(line, gradients, golden)

    # A function with a kink has no slope across it: so near that none is crossed, which
    # leaves the difference of two losses fewer digits.
    reach, bound = (1e-7, 1e-5) if arguments.activation == "relu" else (1e-5, 1e-6)
    draw, worst = random.Random(7), 0.0
    # Gradients of streams' own parameters pass through all that comes after them; other
    # parameters are checked in the family's own checkpoint.
    checked = {name: gradient for name, gradient in gradients.items() if "hc" in name or not arguments.streams}
    expect(checked, "no parameter of streams")
    for name, (_, _, gradient) in checked.items():
        kind, shape, values = stored[name]
        size = norm(values) / math.sqrt(len(values)) or 1.0
        direction = [draw.choice((-1.0, 1.0)) for _ in values]
        length = reach * size
        losses = []
        for side in (1, -1):
            other = dict(stored)
            other[name] = (kind, shape, [value + side * length * along
                                         for value, along in zip(values, direction)])
            write(os.path.join(moved, "model.safetensors"), other)
            losses.append(step(moved)["loss"])
        found = (losses[0] - losses[1]) / (2 * length)
        expected = math.fsum(slope * along for slope, along in zip(gradient, direction))
        # Of an expert that no row goes to both are zero.
        error = abs(found - expected) / (norm(gradient) or 1e-30)
        expect(error < bound, f"{name}: differences say {found}, the gradient {expected}")
        worst = max(worst, error)
    print(f"against differences: {len(checked)} tensors, worst error {worst:.2e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("--streams", type=int, help="instead of one")
    parser.add_argument("--activation", help="instead of the checkpoint's own")
    parser.add_argument("--routers", action="store_true", help="with the losses of routers")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
