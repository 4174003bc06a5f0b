#!/usr/bin/env python3
"""What the codes of an optimizer's states cost: losses of a small model, by format.

A Llama of a few layers reads the bytes of this project's documentation, with AdamW in
F32, and with `--optimizer=adamw_8bit` whose mean of squares is kept in other codes. Printed
are, for each seed: how far the weights lie from F32's behind a few steps, in parts of the
way that these went; the validation loss at the end of a longer run, and how far it lies
from F32's; and the largest norm of a gradient behind the warm-up, in which steps that
are too long show.

    test/bench/optimizer_formats.py --batonc build/bin/batonc
"""

import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
from training import read_tensors  # noqa: E402

SHORT = 25
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 96, "intermediate_size": 256, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 24, "vocab_size": 256,
    "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "torch_dtype": "float32",
}


def squares(root, floor):
    """A format of codes evenly apart in the root of this degree, 1, 2 or 4; with `floor`,
    what is not 0 has no code of 0."""
    roots = {1: 0, 2: 1, 4: 2}[root]

    def rooted(name, result, count=roots):
        lines = [f"  %{result}{i + 1} = math.sqrt %{result}{i} : f32" for i in range(count)]
        return "\n".join(line.replace(f"%{result}0", f"%{name}") for line in lines), \
            f"%{result}{count}" if count else f"%{name}"

    scale, last = rooted("largest", "l")
    encode, place = rooted("value", "v")
    raised = """  %one = arith.constant 1.0 : f32
  %raised = arith.maxnumf %place, %one : f32""" if floor else "  %raised = arith.addf %place, %zero : f32"
    powers = "\n".join(f"  %p{i + 1} = arith.mulf %p{i}, %p{i} : f32" for i in range(roots))
    return f"""update.format @fourth_root codes ui8 blocks [32, 32] scale (%largest) {{
  %most = arith.constant 255.0 : f32
{scale}
  %scale = arith.divf {last}, %most : f32
  update.yield %scale
}} encode (%value, %scale) {{
  %zero = arith.constant 0.0 : f32
{encode}
  %place = arith.divf {place}, %scale : f32
{raised}
  %has = arith.cmpf ogt, %value, %zero : f32
  %code = arith.select %has, %raised, %zero : f32
  update.yield %code
}} decode (%code, %scale) {{
  %p0 = arith.mulf %code, %scale : f32
{powers}
  update.yield %p{roots}
}}
"""


def rule(text, root, floor):
    """adamw_8bit with other codes of the mean of squares."""
    begin = text.index("update.format @fourth_root")
    end = text.index("update.rule")
    return text[:begin] + squares(root, floor) + text[end:]


def measure(arguments, path):
    os.mkdir(path("model"))
    with open(path("model/config.json"), "w") as file:
        json.dump(CONFIG, file)
    docs = os.path.join(ROOT, "docs")
    text = b"".join(open(os.path.join(docs, name), "rb").read()
                    for name in sorted(os.listdir(docs)) if name.endswith(".md"))
    with open(path("tokens.u16"), "wb") as file:
        file.write(struct.pack(f"<{len(text)}H", *text))
    with open(os.path.join(ROOT, "compiler/optimizers/adamw_8bit.mlir")) as file:
        own = file.read()
    optimizers = {"F32 (adamw)": "adamw", "as shipped (adamw_8bit)": "adamw_8bit"}
    for root, called in ((1, "linear"), (2, "square root"), (4, "fourth root")):
        for floor in (False, True):
            name = f"{called}, {'never' if floor else 'may become'} 0"
            optimizers[name] = path(f"codes-{root}-{floor}.mlir")
            with open(optimizers[name], "w") as file:
                file.write(rule(own, root, floor))

    runs = 0

    def train(seed, steps, *flags, rate="1e-3"):
        """The lines of a run, and its weights."""
        nonlocal runs
        runs += 1
        result = subprocess.run(
            [path("program"), "train", "--init-seed", str(seed), "--model", path("model"), "--data",
             path("tokens.u16"), "--batch", "4", "--seq", "128", "--lr", rate, "--steps", str(steps), "--quiet",
             "--workers", str(arguments.workers), "--out", path(f"run-{runs}"), *flags],
            check=False, capture_output=True, text=True)
        if result.returncode:
            sys.exit(result.stderr)
        weights = read_tensors(path(f"run-{runs}/step-{steps}/model.safetensors"))
        return ([json.loads(line) for line in result.stdout.splitlines()],
                [value for name in sorted(weights) for value in weights[name][2]])

    print(f"| mean of squares | weights off, {SHORT} steps | validation loss, {arguments.steps} steps | off F32's "
          "| largest norm |\n|---|---:|---:|---:|---:|")
    reference = {}
    for name, optimizer in optimizers.items():
        subprocess.run([arguments.batonc, path("model"), "--mode=train", "--quiet",
                        f"--optimizer={optimizer}", "-o", path("program")], check=True)
        losses, norms, far = [], [], []
        for seed in range(1, arguments.seeds + 1):
            short = ("--lr-schedule", "constant", "--validation-fraction", "0")
            _, weights = train(seed, SHORT, *short)
            lines, _ = train(seed, arguments.steps, "--warmup", "20", "--validate-every", str(arguments.steps))
            losses.append(lines[-1]["validation_loss"])
            norms.append(max(line["grad_norm"] for line in lines[20:]))
            if seed not in reference:
                _, begin = train(seed, 1, *short, rate="1e-38")
                reference[seed] = (losses[-1], weights, math.dist(begin, weights))
            far.append(math.dist(reference[seed][1], weights) / reference[seed][2])
        off = [loss - reference[i][0] for i, loss in enumerate(losses, 1)]
        spelled = lambda values, form: ", ".join(format(value, form) for value in values)
        print(f"| {name} | {spelled((100 * value for value in far), '.1f')} % | {spelled(losses, '.3f')} "
              f"| {spelled(off, '+.3f')} | {max(norms):.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    with tempfile.TemporaryDirectory() as scratch:
        measure(parser.parse_args(), lambda name: os.path.join(scratch, name))


if __name__ == "__main__":
    main()
