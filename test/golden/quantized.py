"""Golden bytes of what `batonc quantize` writes, of each format and both ways to choose scales.

    python3 test/golden/quantized.py --batonc build/bin/batonc          # rewrites quantized.json
    python3 test/golden/quantized.py --batonc build/bin/batonc --check

One matrix of tools/random-checkpoint, that of the tables of docs/quantised-weights.md. Of its
bytes quantized.json has a hash; of a folder's linear, of all its tensors. Readers of the
definitions in Python (test/e2e/gguf_reader.py, quantised_reader.py) find the error that is
reported, which is the tables'.
"""

import argparse
import hashlib
import json
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import gguf_reader  # noqa: E402
import programs  # noqa: E402
import quantised_reader  # noqa: E402
from programs import expect, run  # noqa: E402

INPUTS = ["build/bin/batonc", "build/lib/baton/quantize", "docs/quantised-weights.md", "test/golden/quantized.*",
          "test/e2e/gguf_reader.py", "test/e2e/quantised_reader.py", "test/e2e/programs.py", "tools/random-checkpoint"]
GOLDEN = os.path.join(ROOT, "test/golden/quantized.json")
FILES = ["q8_0", "q6_k", "q5_1", "q5_k", "q5_0", "q4_1", "q4_k", "q4_0", "q3_k", "q2_k"]
FOLDERS = ["int4-g32", "int4-g64", "int4-g128", "int8", "fp8", "nvfp4", "mxfp4", "nf4"]
LINEAR = "model.layers.0.mlp.up_proj."


def documented():
    """{format: {scale: per cent}} of the tables."""
    found = {}
    with open(os.path.join(ROOT, "docs/quantised-weights.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if cells[0] in FILES and cells[2].endswith("%"):
                found[cells[0]] = {"max": cells[2], "search": cells[3]}
            elif len(cells) == 7 and cells[5].endswith("%"):
                names = re.findall(r"`([^`]*)`", cells[0])
                names = [names[0]] + [names[0][:4] + name if name.startswith("-") else name for name in names[1:]]
                for name, largest, search in zip(names, cells[5].strip(" %").split(", "), cells[6].strip(" %").split(", ")):
                    found[name] = {"max": largest, "search": search}
    return {name: {scale: value.removesuffix(" %") for scale, value in both.items()} for name, both in found.items()}


def written(batonc, model, kind, scale, output):
    """The linear's bytes, its numbers, and the error that is reported."""
    summary = json.loads(run([batonc, "quantize", model, "--format", kind, "--scale", scale, "-o", output, "--json",
                              "--quiet"]).stdout)
    if kind in FILES:
        name = "blk.0.ffn_up.weight"
        stored, _, data = gguf_reader.Reader(output).tensors[name]
        expect(stored == kind.upper(), f"{kind}: is stored as {stored}")
        numbers = gguf_reader.numbers(stored, data)
    else:
        name = LINEAR + "weight"
        tensors = quantised_reader.tensors_of(os.path.join(output, "model.safetensors"))
        parts = {part: tensor for part, tensor in sorted(tensors.items()) if part.startswith(LINEAR)}
        data = b"".join(f"{part} {dtype} {shape}\n".encode() + raw for part, (dtype, shape, raw) in parts.items())
        numbers, _ = quantised_reader.linear(tensors, LINEAR)
    error, = (tensor["rms_error"] for tensor in summary["tensors"] if tensor["name"] == name)
    return data, numbers, error


def test(arguments, scratch):
    model = os.path.join(scratch, "model")
    run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--hidden", 256, "--layers", 1, "--seed", 1])
    weights = quantised_reader.values(quantised_reader.tensors_of(os.path.join(model, "model.safetensors"))[LINEAR + "weight"])
    norm = math.sumprod(weights, weights) if hasattr(math, "sumprod") else sum(x * x for x in weights)
    table, found = documented(), {}
    expect(sorted(table) == sorted(FILES + FOLDERS), f"the tables have {sorted(table)}")
    for kind in FILES + FOLDERS:
        found[kind] = {}
        for scale in ("max", "search"):
            data, numbers, reported = written(arguments.batonc, model, kind, scale, os.path.join(scratch, f"{kind}-{scale}"))
            error = math.sqrt(sum((x - y) ** 2 for x, y in zip(weights, numbers)) / norm)
            expect(abs(error - reported) < 1e-6, f"{kind}, {scale}: the error is {error}, and {reported} is reported")
            expect(f"{100 * error:.2f}" == table[kind][scale],
                   f"{kind}, {scale}: the error is {100 * error:.4f} %, the page says {table[kind][scale]} %")
            found[kind][scale] = hashlib.sha256(data).hexdigest()
    text = json.dumps(found, indent=1) + "\n"
    if not arguments.check:
        with open(GOLDEN, "w", encoding="utf-8") as file:
            file.write(text)
        return
    with open(GOLDEN, encoding="utf-8") as file:
        golden = json.load(file)
    for kind in FILES + FOLDERS:
        for scale in ("max", "search"):
            expect(found[kind][scale] == golden[kind][scale], f"{kind}, --scale {scale}: writes other bytes than the golden ones")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
