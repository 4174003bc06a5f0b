"""batonc quantize --calibration: errors of weights count by how large their inputs are.

- `calibrate` finds the mean squares of the values that `logits --dump` writes, for every linear;
- what --calibration makes is what --importance makes of them, bit for bit, of files and folders;
- by an independent reader, each linear's error by these inputs is smaller than without;
- nothing is left behind, and what is wrong is refused in one line.
"""

import argparse
import json
import os
import random
import subprocess

import programs
import quantised_reader
import quantised_writer
from programs import Program, expect, rows_of, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = ["tools/random-checkpoint", "models/examples/bytes/*", "build/lib/baton/quantize"]
CONTEXT, WINDOWS, LAYERS = 48, 3, 2
# The phase that writes a linear's inputs.
INPUTS_OF = {"self_attn.q_proj": "layers.input_layernorm", "self_attn.k_proj": "layers.input_layernorm",
             "self_attn.v_proj": "layers.input_layernorm", "self_attn.o_proj": "layers.self_attn.attention",
             "mlp.gate_proj": "layers.post_attention_layernorm", "mlp.up_proj": "layers.post_attention_layernorm",
             "mlp.down_proj": "layers.mlp.gate_up"}


def mean_squares(rows):
    return [sum(row[k] * row[k] for row in rows) / len(rows) for k in range(len(rows[0]))]


def dumped(program, text, folder):
    """{(phase, layer): rows} of all windows."""
    command = [program.path, "logits", "--weights", program.weights, "--data", text, "--context", str(CONTEXT),
               "--windows", str(WINDOWS), "--quiet", "--no-cache"]
    data = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    _, data = data.split(b"\n", 1)
    tokens = memoryview(data[:4 * CONTEXT * WINDOWS]).cast("i")
    found = {}
    for window in range(WINDOWS):
        own = list(tokens[window * CONTEXT:(window + 1) * CONTEXT - 1])
        values = os.path.join(folder, f"values{window}")
        program.logits(own, os.path.join(folder, "logits.npy"), "--dump", values)
        with open(os.path.join(values, "index.json")) as file:
            index = json.load(file)
        for value in index["values"]:
            if value["phase"] not in {*INPUTS_OF.values(), "norm"}:
                continue
            with open(os.path.join(values, value["file"]), "rb") as file:
                rows = rows_of(file.read())
            found.setdefault((value["phase"], value["iteration"]), []).extend(rows)
    return found


def check_squares(program, text, scratch):
    """The file of calibrate, and its values by tensor."""
    path = os.path.join(scratch, "squares.safetensors")
    run([program.path, "calibrate", "--weights", program.weights, "--data", text, "--context", CONTEXT,
         "--windows", WINDOWS, "--out", path, "--no-cache", "--quiet"])
    squares = {name: quantised_reader.values(tensor) for name, tensor in quantised_reader.tensors_of(path).items()}
    values = dumped(program, text, scratch)
    for layer in range(LAYERS):
        for linear, phase in INPUTS_OF.items():
            name = f"model.layers.{layer}.{linear}.weight"
            expected, found = mean_squares(values[phase, layer]), squares[name]
            expect(len(expected) == len(found), f"{name}: {len(found)} inputs, expected {len(expected)}")
            far = max(abs(a - b) / (a + 1e-30) for a, b in zip(expected, found))
            expect(far < 1e-6, f"{name}: mean squares are {far} off those of its inputs")
    # The head is of positions with logits, at least.
    head = next(name for name in squares if "embed_tokens" in name or "lm_head" in name)
    expect(len(squares[head]) == len(values["norm", 0][0]) and min(squares[head]) > 0, f"{head}: {squares[head][:4]}")
    return path, squares


def weighted_errors(folder, model, squares):
    """Of each quantised linear: sum over outputs and inputs of (error of the weight)^2 (input)^2."""
    after = quantised_reader.tensors_of(os.path.join(folder, "model.safetensors"))
    before = quantised_reader.tensors_of(os.path.join(model, "model.safetensors"))
    errors = {}
    for name, tensor in before.items():
        numbers, _ = quantised_reader.linear(after, name.removesuffix("weight"))
        if numbers is None or name not in squares:
            continue
        weights, counts = quantised_reader.values(tensor), squares[name]
        errors[name] = sum((w - q) ** 2 * counts[i % len(counts)] for i, (w, q) in enumerate(zip(weights, numbers)))
    return errors


def test(arguments, scratch):
    model, text = os.path.join(scratch, "model"), os.path.join(scratch, "text")
    run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--hidden", 64, "--layers", LAYERS])
    generator = random.Random(1)
    with open(text, "w") as file:
        file.write(" ".join(generator.choice("the a hat is on one two three".split()) for _ in range(600)))
    program = Program(arguments.batonc, model, os.path.join(scratch, "program"), "--disable-pass=norm-rewrites")
    _, squares = check_squares(program, text, scratch)

    whole = os.path.join(scratch, "whole.safetensors")
    run([program.path, "calibrate", "--weights", model, "--data", text, "--windows", 4, "--out", whole, "--quiet"])

    def quantize(name, *flags):
        output = os.path.join(scratch, name)
        run([arguments.batonc, "quantize", model, "-o", output, "--quiet", *flags])
        path = os.path.join(output, "model.safetensors") if os.path.isdir(output) else output
        with open(path, "rb") as file:
            return output, file.read()

    calibration = ["--calibration", text, "--windows", 4]
    for format in ("q4_0",) if arguments.few else ("q4_0", "int4-g32"):
        _, plain = quantize(f"{format}-plain", "--format", format)
        _, calibrated = quantize(f"{format}-calibrated", "--format", format, *calibration)
        _, important = quantize(f"{format}-important", "--format", format, "--importance", whole)
        expect(calibrated == important, f"{format}: --calibration differs from --importance")
        expect(calibrated != plain, f"{format}: --calibration changes nothing")
    for format in ("int4-g32", "nvfp4") if arguments.few else ("int4-g32", "int8", "fp8", "nvfp4", "nf4"):
        whole_squares = {name: quantised_reader.values(tensor)
                         for name, tensor in quantised_reader.tensors_of(whole).items()}
        plain, _ = quantize(f"{format}-a", "--format", format)
        important, _ = quantize(f"{format}-b", "--format", format, "--importance", whole)
        before, after = (weighted_errors(folder, model, whole_squares) for folder in (plain, important))
        expect(len(before) == len(INPUTS_OF) * LAYERS, f"{format}: {sorted(before)} are quantised")
        for name, error in before.items():
            expect(after[name] <= error * (1 + 1e-9), f"{format}: {name} has the error {after[name]}, without {error}")
        gain = 1 - sum(after.values()) / sum(before.values())
        print(f"{format}: squared errors by inputs are {100 * gain:.1f} % smaller")
        expect(gain > 0, f"{format}: nothing is gained")
    left = [name for name in os.listdir(scratch) if ".part" in name]
    expect(not left, f"{left} are left behind")

    def refused(message, *command):
        result = run(command, check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1,
               f"{command}: {result.stderr}")

    quantizing = [arguments.batonc, "quantize", model, "-o", os.path.join(scratch, "no"), "--format", "q4_0"]
    refused("--calibration is for --scale search", *quantizing, "--scale", "max", *calibration)
    refused("--windows requires --calibration", *quantizing, "--windows", 4)
    refused("two ways to the same", *quantizing, *calibration, "--importance", whole)
    refused("nowhere: no such file", *quantizing, "--calibration", os.path.join(scratch, "nowhere"))
    with open(os.path.join(scratch, "short"), "w") as file:
        file.write("few")
    refused("3 tokens, fewer than the", *quantizing, "--calibration", os.path.join(scratch, "short"))
    refused("is no list of F32", *quantizing, "--importance", os.path.join(model, "model.safetensors"))
    other = os.path.join(scratch, "other")
    run([os.path.join(ROOT, "tools/random-checkpoint"), other, "--hidden", 128, "--layers", LAYERS])
    refused("it is of another model", arguments.batonc, "quantize", other, "-o", os.path.join(scratch, "no"),
            "--format", "q4_0", "--importance", whole)
    strange = os.path.join(scratch, "strange.safetensors")
    quantised_writer.write(strange, {"other.weight": ("F32", [2], quantised_writer.floats("F32", [1.0, 2.0])[0])})
    refused("has none of the model's tensors", *quantizing, "--importance", strange)
    fused = Program(arguments.batonc, model, os.path.join(scratch, "fused"))
    if not arguments.few:
        device = Program(arguments.batonc, model, os.path.join(scratch, "device"), "--target=cuda:emulated",
                         "--disable-pass=norm-rewrites")
        refused("compile it with --target=cpu", device.path, "calibrate", "--weights", model, "--data", text,
                "--out", os.path.join(scratch, "no.safetensors"))
    refused("compile with --disable-pass=norm-rewrites", fused.path, "calibrate", "--weights", model, "--data", text,
            "--out", os.path.join(scratch, "no.safetensors"))
    expect(not os.path.exists(os.path.join(scratch, "no")), "a file was written")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--few", action="store_true", help="of the formats")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
