"""What docs/examples.md says is what its commands print, and its models are what it says.

Each "$ " line of the page's consoles runs, in a folder with the tree's top folders in it.
Numbers with a point may be a twentieth off, as those of a run on another CPU. Then, for
every example, a small model with random weights against the reference below, in Python
alone: the loss and the slopes along random directions in F64, by differences of the
reference's losses, and the logits of the programs that decode, on both targets, for
prompts that are cut anywhere. Last, two ranks of tp: their losses and tokens, and how many
sums a layer exchanges.

With --brief, commands that neither train nor compile for two targets, and one model against the
reference, on CPUs.
"""

import argparse
import array
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys

import programs
from programs import QUICK, Program, expect, run
from train_f64 import norm, write
from training import lines_of, read_tensors, write_tokens

INPUTS = ["docs/examples.md", "models/examples/*.py", "models/examples/bytes/*", "tools/python/baton/*",
          "test/e2e/programs.py", "test/e2e/train_f64.py", "test/e2e/training.py", "build/bin/batonc"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
EXAMPLES = ("sigmoid_attention", "head_norm", "parallel_layers")
CONFIG = dict(model_type="llama", hidden_size=24, intermediate_size=40, num_hidden_layers=2,
              num_attention_heads=4, num_key_value_heads=2, head_dim=6, vocab_size=48,
              max_position_embeddings=40, rms_norm_eps=1e-5, rope_theta=100.0, hidden_act="silu",
              tie_word_embeddings=True, attention_bias=False)
# A power of two, and one: a row counts its inverse, which is a number of F32.
LENGTH = 33
# Commands that --brief leaves out.
LONG = re.compile("trainer|losses|target|cmp")
NUMBER = re.compile(r"\d+\.\d+(?:e-?\d+)?")


# ---------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------

def consoles(page):
    """(command, the lines that it prints), in the page's order."""
    with open(page) as file:
        blocks = re.findall(r"^```\n(\$ .*?)^```$", file.read(), re.M | re.S)
    commands = []
    for line in "".join(blocks).replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            commands[-1][1].append(line)
    return commands


def is_printed(expected, output):
    if NUMBER.sub("#", expected).split() != NUMBER.sub("#", output).split():
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(output))
    return all(abs(float(one) - float(other)) <= 0.05 * float(one) for one, other in pairs)


def check_page(arguments, scratch):
    build = os.path.dirname(os.path.dirname(os.path.abspath(arguments.batonc)))
    for name, place in (("build", build), *((name, os.path.join(ROOT, name)) for name in ("models", "tools"))):
        os.symlink(place, os.path.join(scratch, name))
    variables = f"python3() {{ {sys.executable} \"$@\"; }}\n"
    commands = consoles(arguments.page)
    expect(len(commands) > 15, f"{arguments.page}: only {len(commands)} commands")
    for command, expected in commands:
        if re.match(r"\w+=|export ", command):
            variables += command.replace("bin/batonc ", f"bin/batonc {QUICK} ") + "\n"
            continue
        if arguments.brief and LONG.search(command):
            continue
        result = subprocess.run(["bash", "-c", variables + command], cwd=scratch, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        expect(result.returncode == 0 and is_printed("\n".join(expected), result.stdout),
               f"$ {command}\n{result.stdout}\n{arguments.page} has:\n" + "\n".join(expected))
    for name in EXAMPLES:
        with open(os.path.join(ROOT, "models/examples", name + ".py")) as file:
            source = file.read()
        with open(arguments.page) as file:
            expect(f"```python\n{source}```" in file.read(), f"{arguments.page} does not show {name}.py")
    print(f"{len(commands)} commands")


# ---------------------------------------------------------------------------
# The reference
# ---------------------------------------------------------------------------

def single(x):
    """In F32, as the IR states numbers."""
    return array.array("f", [x])[0]


def product(matrix, x):
    return [math.fsum(map(float.__mul__, row, x)) for row in matrix]


def rms(x, weight, epsilon):
    factor = 1 / math.sqrt(math.fsum(v * v for v in x) / len(x) + epsilon)
    return [v * factor * w for v, w in zip(x, weight)]


def turned(head, place, frequencies):
    half = len(head) // 2
    cosines, sines = ([f(place * one) for one in frequencies] for f in (math.cos, math.sin))
    return [head[i] * cosines[i] - head[i + half] * sines[i] for i in range(half)] + \
           [head[i + half] * cosines[i] + head[i] * sines[i] for i in range(half)]


def weigh(name, scores):
    if name == "sigmoid_attention":
        return [1 / (1 + math.exp(4 - score)) for score in scores]
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / math.fsum(powers) for power in powers]


def attention(name, weights, layer, rows, frequencies):
    dim, heads, groups = CONFIG["head_dim"], CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"]
    part = lambda kind: weights[f"model.layers.{layer}.self_attn.{kind}.weight"]
    scale = single(1 / math.sqrt(dim))
    cut = lambda x: [x[i:i + dim] for i in range(0, len(x), dim)]
    turn = lambda x, place: [turned(head, place, frequencies) for head in cut(x)]
    q = [turn(product(part("q_proj"), x), place) for place, x in enumerate(rows)]
    k = [turn(product(part("k_proj"), x), place) for place, x in enumerate(rows)]
    v = [cut(product(part("v_proj"), x)) for x in rows]
    for place in range(len(rows)):
        joined = []
        for head in range(heads):
            group = head // (heads // groups)
            scores = [product([k[j][group]], q[place][head])[0] * scale for j in range(place + 1)]
            factors = weigh(name, scores)
            out = [math.fsum(factor * v[j][group][e] for j, factor in enumerate(factors)) for e in range(dim)]
            joined += rms(out, part("head_norm"), single(1e-6)) if name == "head_norm" else out
        yield product(part("o_proj"), joined)


def feed_forward(weights, layer, x):
    part = lambda kind: weights[f"model.layers.{layer}.mlp.{kind}_proj.weight"]
    gate, up = product(part("gate"), x), product(part("up"), x)
    return product(part("down"), [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)])


def reference(name, weights, tokens):
    """The logits of each row."""
    frequencies = [single(1 / single(CONFIG["rope_theta"] ** single(2 * i / CONFIG["head_dim"])))
                   for i in range(CONFIG["head_dim"] // 2)]
    epsilon = single(CONFIG["rms_norm_eps"])
    plus = lambda *values: [math.fsum(parts) for parts in zip(*values)]
    rows = [weights["model.embed_tokens.weight"][token] for token in tokens]
    for layer in range(CONFIG["num_hidden_layers"]):
        part = lambda kind: weights[f"model.layers.{layer}.{kind}layernorm.weight"]
        normed = [rms(x, part("input_"), epsilon) for x in rows]
        attended = list(attention(name, weights, layer, normed, frequencies))
        if name == "parallel_layers":
            rows = [plus(x, a, feed_forward(weights, layer, n)) for x, a, n in zip(rows, attended, normed)]
            continue
        rows = [plus(x, a) for x, a in zip(rows, attended)]
        rows = [plus(x, feed_forward(weights, layer, rms(x, part("post_attention_"), epsilon))) for x in rows]
    return [product(weights["model.embed_tokens.weight"], rms(x, weights["model.norm.weight"], epsilon)) for x in rows]


def loss_of(name, stored, tokens):
    losses = []
    for logits, target in zip(reference(name, nested(stored), tokens[:-1]), tokens[1:]):
        most = max(logits)
        losses.append(most + math.log(math.fsum(math.exp(x - most) for x in logits)) - logits[target])
    return math.fsum(losses) / len(losses)


def nested(stored):
    """Rows of matrices; vectors as they are."""
    return {name: values if len(shape) == 1 else
            [values[i:i + shape[1]] for i in range(0, len(values), shape[1])]
            for name, (_, shape, values) in stored.items()}


# ---------------------------------------------------------------------------
# The models
# ---------------------------------------------------------------------------

def drawn(checkpoint):
    """Random weights of a checkpoint's shapes, which no symmetry spares."""
    draw, stored = random.Random(5), {}
    for name, (_, shape, values) in sorted(read_tensors(checkpoint).items()):
        middle, spread = (1.0, 0.3) if len(shape) == 1 else (0.0, 1.0 if "embed" in name else 0.4)
        stored[name] = ("F64", shape, [middle + spread * draw.gauss(0, 1) for _ in values])
    return stored


def read_logits(path):
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[8:10], "little")
    return array.array("f", data[10 + size:])


def check_gradients(name, line, gradients, stored, tokens):
    loss = loss_of(name, stored, tokens)
    expect(abs(line["loss"] / loss - 1) < 1e-9, f"{name}: the loss is {line['loss']}, the reference's {loss}")
    expect(sorted(gradients) == sorted(stored), f"{name}: gradients of {sorted(gradients)}")
    draw, worst = random.Random(7), 0.0
    for tensor, (_, _, gradient) in gradients.items():
        kind, shape, values = stored[tensor]
        direction = [draw.choice((-1e-5, 1e-5)) for _ in values]
        sides = [loss_of(name, {**stored, tensor: (kind, shape, [value + side * along for value, along in
                                                                 zip(values, direction)])}, tokens)
                 for side in (1, -1)]
        found = math.fsum(map(float.__mul__, gradient, direction))
        error = abs((sides[0] - sides[1]) / 2 - found) / (norm(gradient) * 1e-5)
        expect(error < 1e-6, f"{name}, {tensor}: differences say {(sides[0] - sides[1]) / 2}, the gradient {found}")
        worst = max(worst, error)
    return worst


def check_model(arguments, scratch, name):
    path = lambda end: os.path.join(scratch, f"{name}-{end}")
    folder = path("weights")
    os.mkdir(folder)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(CONFIG, file)
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools/python")}
    text = run([sys.executable, os.path.join(ROOT, "models/examples", name + ".py"), folder], env=environment).stdout
    for end, form in (("model.mlir", text), ("f64.mlir", re.sub(r"(tensor<\d+ x \d+ x )f32>", r"\1f64>", text))):
        with open(path(end), "w") as file:
            file.write(form)
    tokens = random.Random(3).choices(range(CONFIG["vocab_size"]), k=LENGTH)
    write_tokens(path("tokens.u16"), tokens)

    def train(program, begin, *flags):
        """The losses, and the first step's line."""
        shutil.rmtree(path("run"), ignore_errors=True)
        result = run([program, "train", *begin, "--data", path("tokens.u16"), "--out", path("run"), "--batch", 1,
                      "--seq", LENGTH - 1, "--validation-fraction", 0, "--quiet", *flags])
        lines = lines_of(result.stdout)
        return [line["loss"] for line in lines], lines[0]

    # In F64, against the reference.
    trainer = Program(arguments.batonc, path("f64.mlir"), path("f64"), "--mode=train").path
    train(trainer, ["--init-seed", 1, "--model", folder], "--steps", 1)
    stored = drawn(os.path.join(path("run"), "step-1/model.safetensors"))
    write(os.path.join(folder, "model.safetensors"), stored)
    _, line = train(trainer, ["--weights", folder], "--steps", 1, "--gradients", path("gradients"))
    worst = check_gradients(name, line, read_tensors(path("gradients")), stored, tokens)

    # Programs that decode, on both targets, in steps of any length.
    expected = [x for row in reference(name, nested(stored), tokens[:-1]) for x in row]
    decoders = []
    for target in ("cpu",) if arguments.brief else ("cpu", "cuda:emulated"):
        decoder = Program(arguments.batonc, path("model.mlir"), path(target), f"--target={target}")
        decoder.weights = folder
        decoders.append((decoder.logits(tokens[:-1], path("logits.npy")), decoder.generate(tokens[:5], 12)["tokens"]))
        found = read_logits(path("logits.npy"))
        error = max(abs(a - b) for a, b in zip(found, expected)) / max(map(abs, expected))
        expect(len(found) == len(expected) and error < 1e-5, f"{name}, {target}: logits are off by {error:.1e}")
        for chunk in (1, 7):
            expect(decoder.generate(tokens[:17], 1, "--prefill-chunk", chunk)["tokens"] ==
                   decoder.generate(tokens[:17], 1)["tokens"], f"{name}: a prompt that is cut has other tokens")
    print(f"{name}: logits within {error:.1e}, slopes within {worst:.1e}")
    if arguments.brief:
        return
    expect(decoders[0] == decoders[1], f"{name}: the targets have other bits")

    # In F32, on one rank and on two.
    one, _ = train(Program(arguments.batonc, path("model.mlir"), path("one"), "--mode=train").path,
                   ["--weights", folder], "--steps", 4)
    expect(one[3] < one[0], f"{name}: losses are {one}")
    two, _ = train(Program(arguments.batonc, path("model.mlir"), path("two"), "--mode=train", "--mesh=tp=2").path,
                   ["--weights", folder], "--steps", 4)
    expect(all(abs(a / b - 1) < 1e-5 for a, b in zip(one, two)), f"{name}: losses are {one}, of two ranks {two}")
    half = Program(arguments.batonc, path("model.mlir"), path("half"), "--mesh=tp=2")
    half.weights = folder
    expect(half.generate(tokens[:5], 12)["tokens"] == decoders[0][1], f"{name}: two ranks have other tokens")


def test(arguments, scratch):
    if not arguments.models_only:
        check_page(arguments, scratch)
    for name in EXAMPLES[:1] if arguments.brief else EXAMPLES:
        check_model(arguments, scratch, name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--brief", action="store_true", help="nothing that takes long")
    parser.add_argument("--models-only", action="store_true", help="without the page")
    parser.add_argument("page")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
