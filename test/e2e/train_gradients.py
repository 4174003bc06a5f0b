"""Losses and gradients of a training step against PyTorch's, in F64.

Every parameter's gradient lies within 1e-5 of PyTorch's, in norm, or within
twice the error of PyTorch's own F32 if that is larger. Losses and gradients are
the same bits for other numbers of workers and when they run again, and, summed
over microbatches, within the same bound. Where the golden file has them, the
losses of 50 steps of AdamW lie within 1e-4.
"""

import argparse
import json
import os
import struct
import sys

import programs
from programs import expect, run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
from projections import distance, project  # noqa: E402


def tensors_of(path):
    """Name -> values of an F32 safetensors file."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    result = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        expect(entry["dtype"] == "F32", f"{name} is {entry['dtype']}")
        result[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return result


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "gradients.json")) as file:
        golden = json.load(file)
    sequences = golden["sequences"]
    tokens = [token for sequence in sequences for token in sequence]
    with open(path("tokens.u16"), "wb") as file:
        file.write(struct.pack(f"<{len(tokens)}H", *tokens))
    program = path("program")
    run([arguments.batonc, arguments.folder, "--mode=train", "--dtype=f32", "--quiet", "-o", program])

    count = 0

    def train(*flags):
        nonlocal count
        count += 1
        out = path(f"run-{count}")
        result = run([program, "train", "--weights", arguments.folder, "--data", path("tokens.u16"),
                      "--out", out, "--seq", len(sequences[0]) - 1, "--validation-fraction", 0,
                      "--quiet", *flags])
        return [json.loads(line) for line in result.stdout.splitlines()]

    def step(name, *flags):
        lines = train("--steps", 1, "--gradients", path(name), *flags)
        with open(path(name), "rb") as file:
            return lines[0], file.read()

    whole = ("--batch", len(sequences))
    line, first = step("one", *whole, "--workers", 1)
    for workers in (1, 2, 5):
        again, other = step("again", *whole, "--workers", workers)
        expect(again["loss"] == line["loss"] and again["grad_norm"] == line["grad_norm"],
               f"{workers} workers: {again}, one has {line}")
        expect(other == first, f"{workers} workers: other gradients")

    def compare(line, name, what):
        error = abs(line["loss"] / golden["loss"] - 1)
        expect(error < 1e-5, f"{what}: the loss is {line['loss']}, PyTorch's {golden['loss']}")
        found = tensors_of(path(name))
        worst, total = 0.0, 0.0
        for tensor, reference in golden["tensors"].items():
            names = [tensor, tensor.removeprefix("model."), tensor.removeprefix("transformer.")]
            values = next((found[name] for name in names if name in found), None)
            expect(values is not None, f"{what}: no gradient of {tensor}")
            error = distance(project(tensor, values), reference["projections"]) / reference["norm"]
            bound = max(1e-5, 2 * reference["float32_error"])
            expect(error <= bound, f"{what}: {tensor} is off by {error:.2e}, allowed {bound:.2e}")
            worst = max(worst, error)
            total += reference["norm"] ** 2
        expect(abs(line["grad_norm"] / total**0.5 - 1) < 1e-5,
               f"{what}: the norm is {line['grad_norm']}, PyTorch's {total ** 0.5}")
        print(f"{what}: gradients of {len(golden['tensors'])} tensors, worst error {worst:.2e}")

    compare(line, "one", "one batch")
    line, _ = step("parts", "--batch", 1, "--accumulate", len(sequences))
    compare(line, "parts", "microbatches")

    if "losses" in golden:
        lines = train("--steps", 50, *whole, "--lr", 1e-3, "--lr-schedule", "constant",
                      "--weight-decay", 0.1, "--clip", 1)
        for number, (line, loss) in enumerate(zip(lines, golden["losses"], strict=True), 1):
            expect(abs(line["loss"] / loss - 1) < 1e-4,
                   f"step {number}: the loss is {line['loss']}, PyTorch's {loss}")
        print(f"50 steps of AdamW: {golden['losses'][0]:.3f} to {golden['losses'][-1]:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
