"""Losses and gradients of a training step against PyTorch's, in F64.

Every parameter's gradient lies within 1e-5 of PyTorch's, in norm, or within
twice the error of PyTorch's own F32 if that is larger. Losses and gradients are
the same bits for other numbers of workers and when they run again, and, summed
over microbatches, within the same bound. Where the golden file has them, the
losses of 50 steps of AdamW lie within 1e-4. So it is where attention stays the
products that importers write (--disable-pass=attention-fusion).

With --routers the losses of a mixture's routers are added, and microbatches, each of
which has its own, are PyTorch's, too.

The checkpoint of a step has what Transformers looks for: the tensors of the golden
one, which Transformers has written, by name and shape, in F32, and its config.json.
"""

import argparse
import glob
import json
import os
import struct

import programs
from programs import expect, quickly, run
from training import Golden, gradient_errors, lines_of, read_bytes, read_tensors


def header_of(path):
    """Of a safetensors file."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(size))


def check_checkpoint(folder, golden):
    expected = {}
    for file in glob.glob(os.path.join(golden, "*.safetensors")):
        expected |= {name: entry["shape"] for name, entry in header_of(file).items()
                     if name != "__metadata__" and entry["dtype"] != "U8"}
    found = header_of(os.path.join(folder, "model.safetensors"))
    # Without it Transformers refuses the file.
    expect(found.pop("__metadata__", {}).get("format") == "pt", f"{folder}: not said to be PyTorch's")
    expect({name: entry["shape"] for name, entry in found.items()} == expected,
           f"{folder}: holds {sorted(found)}, expected {sorted(expected)}")
    expect({entry["dtype"] for entry in found.values()} == {"F32"}, f"{folder}: {found}")
    for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"):
        if os.path.exists(os.path.join(golden, name)):
            expect(read_bytes(os.path.join(folder, name)) == read_bytes(os.path.join(golden, name)),
                   f"{folder}: another {name}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    golden = Golden(arguments.folder, "routers.json" if arguments.routers else "gradients.json")
    golden.write_tokens(path("tokens.u16"))
    program = path("program")
    run([arguments.batonc, arguments.folder, "--mode=train", "--dtype=f32", "--quiet",
         *quickly(arguments.flags), *golden.factors, "-o", program])

    count = 0

    def train(*flags):
        nonlocal count
        count += 1
        out = path(f"run-{count}")
        result = run([program, "train", "--weights", arguments.folder, "--data", path("tokens.u16"),
                      "--out", out, *golden.sequence, "--validation-fraction", 0, "--quiet", *flags])
        return lines_of(result.stdout)

    def step(name, *flags):
        lines = train("--steps", 1, "--gradients", path(name), *flags)
        return lines[0], read_bytes(path(name))

    line, first = step("one", *golden.batch, "--workers", 1)
    check_checkpoint(path("run-1/step-1"), arguments.folder)
    for workers in (1, 2, 5):
        again, other = step("again", *golden.batch, "--workers", workers)
        expect(again["loss"] == line["loss"] and again["grad_norm"] == line["grad_norm"],
               f"{workers} workers: {again}, one has {line}")
        expect(other == first, f"{workers} workers: other gradients")

    def compare(line, name, what, golden):
        for part in ("loss", "cross_entropy", "balance_loss", "z_loss"):
            if part in golden:
                error = abs(line[part] / golden[part] - 1)
                expect(error < 1e-5, f"{what}: {part} is {line[part]}, PyTorch's {golden[part]}")
        worst, total = 0.0, 0.0
        for tensor, kind, error in gradient_errors(read_tensors(path(name)), golden["tensors"]):
            expect(kind == "F32", f"{what}: {tensor} is in {kind}")
            reference = golden["tensors"][tensor]
            # The estimate may be a quarter too small.
            bound = 0.75 * max(1e-5, 2 * reference["float32_error"])
            expect(error <= bound, f"{what}: {tensor} is off by {error:.2e}, allowed {bound:.2e}")
            worst = max(worst, error)
            total += reference["norm"] ** 2
        norm = golden["norm"] if "norm" in golden else total**0.5
        expect(abs(line["grad_norm"] / norm - 1) < 1e-5,
               f"{what}: the norm is {line['grad_norm']}, PyTorch's {norm}")
        print(f"{what}: gradients of {len(golden['tensors'])} tensors, worst error {worst:.2e}")

    compare(line, "one", "one batch", golden)
    line, _ = step("parts", "--batch", 1, "--accumulate", len(golden["sequences"]))
    compare(line, "parts", "microbatches", golden["microbatches"] if arguments.routers else golden)

    if "losses" in golden:
        lines = train("--steps", 50, *golden.batch, "--lr", golden.contents.get("lr", 1e-3), "--lr-schedule", "constant",
                      "--weight-decay", 0.1, "--clip", 1)
        for number, (line, loss) in enumerate(zip(lines, golden["losses"], strict=True), 1):
            expect(abs(line["loss"] / loss - 1) < 1e-4,
                   f"step {number}: the loss is {line['loss']}, PyTorch's {loss}")
        print(f"50 steps of AdamW: {golden['losses'][0]:.3f} to {golden['losses'][-1]:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("--routers", action="store_true", help="with the losses of routers")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
