"""batonc prune: checkpoints of fewer neurons and layers.

Neurons that are sums of others go without a trace by least squares, whose programs' logits
are the model's, and magnitude loses much more; second moments are those of the inputs
that a dump has; what is cut is what Python cuts. With --few: without half of all neurons, GPT-2, 16 bits and both
neurons and layers at once. The last comparison is with
Transformers, by hand or where it can be imported:

    venv/bin/python test/e2e/prune.py --batonc build/bin/batonc --transformers
"""

import argparse
import importlib
import json
import math
import os
import random
import shutil
import struct
import sys

import programs
from programs import Program, expect, rows_of, run
from training import read_tensors, write_tensors

INPUTS = ["build/lib/baton/prune", "models/examples/bytes/*", "test/golden/*/config.json", "test/golden/*/model.safetensors"]
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "../golden")
# Each byte is a token of its number.
TOKENIZER = os.path.join(HERE, "../../models/examples/bytes/tokenizer.json")
TOKENS = [(29 * i + i // 5) % 131 for i in range(40)]


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def rows_cut(shape, values, kept):
    width = math.prod(shape[1:])
    return [value for row in kept for value in values[row * width:(row + 1) * width]]


def columns_cut(shape, values, kept):
    return [values[row * shape[1] + column] for row in range(shape[0]) for column in kept]


def distance(a, b):
    """The largest difference, as a part of the largest number."""
    return max(abs(x - y) for x, y in zip(sum(a, []), sum(b, []))) / max(map(abs, sum(a, [])))


def mean_square(a, b):
    """Of the differences, as a part of that of the numbers."""
    return sum((x - y) ** 2 for x, y in zip(sum(a, []), sum(b, []))) / sum(x * x for x in sum(a, []))


class Model:
    """A golden checkpoint whose weights a test changes."""

    def __init__(self, name, path):
        self.path = path
        shutil.copytree(os.path.join(GOLDEN, name), path)
        shutil.copy(TOKENIZER, path)
        with open(os.path.join(path, "config.json")) as file:
            self.config = json.load(file)
        self.tensors = {name: (shape, list(values)) for name, (_, shape, values)
                        in read_tensors(os.path.join(path, "model.safetensors")).items()}

    def row(self, name, number):
        shape, values = self.tensors[name]
        return values[number * shape[1]:(number + 1) * shape[1]]

    def set_row(self, name, number, row):
        shape, values = self.tensors[name]
        values[number * shape[1]:(number + 1) * shape[1]] = map(f32, row)

    def column(self, name, number):
        shape, values = self.tensors[name]
        return values[number::shape[1]]

    def set_column(self, name, number, column):
        shape, values = self.tensors[name]
        values[number::shape[1]] = map(f32, column)

    def save(self):
        write_tensors(os.path.join(self.path, "model.safetensors"), self.tensors)
        return self


def plant(model, share):
    """Of Llama's MLPs: the last neurons become sums of two others, and speak louder than those."""
    for layer in range(model.config["num_hidden_layers"]):
        gate, up, down = (f"model.layers.{layer}.mlp.{name}_proj.weight" for name in ("gate", "up", "down"))
        neurons = model.tensors[gate][0][0]
        count = neurons // share
        for j in range(neurons - count, neurons):
            first, second = j - count, j - 2 * count
            for other in (second, j):
                model.set_row(gate, other, model.row(gate, first))
            # Exact in F32, as powers of two are, up to the sum's last place.
            model.set_row(up, j, [2 * a - b / 2 for a, b in zip(model.row(up, first), model.row(up, second))])
            model.set_column(down, j, [4 * value for value in model.column(down, j)])
    return count


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    names = iter(range(1000))

    def prune(model, *flags):
        output = path(f"pruned-{next(names)}")
        run([arguments.batonc, "prune", model, "-o", output, "--quiet", *flags])
        return output

    def logits(model, tokens=TOKENS):
        number = next(names)
        program = Program(arguments.batonc, model, path(f"program-{number}"))
        return rows_of(program.logits(tokens, path(f"logits-{number}.npy")))

    def tensors(folder):
        return read_tensors(os.path.join(folder, "model.safetensors"))

    def config(folder):
        with open(os.path.join(folder, "config.json")) as file:
            return json.load(file)

    # Sums of others.
    model = Model("llama-gqa", path("planted"))
    planted = plant(model, 5)
    model.save()
    neurons, layers = model.config["intermediate_size"], model.config["num_hidden_layers"]
    write_text(path("text"), 8000)
    data = ["--data", path("text"), "--windows", 16]
    least = ["--by=least-squares", *data]
    whole = logits(model.path)
    solved = prune(model.path, f"--mlp-neurons={neurons - planted}", *least)
    by_size = prune(model.path, f"--mlp-neurons={neurons - planted}")
    exact, rough = distance(whole, logits(solved)), distance(whole, logits(by_size))
    expect(exact < 2e-5, f"without neurons that are sums of others logits are {exact} off")
    expect(rough > 1000 * exact, f"by magnitude {rough}, by least squares {exact}")
    print(f"sums of others: {exact:.1e} off, by magnitude {rough:.1e}")
    for folder in (solved, by_size):
        expect(config(folder) == model.config | {"intermediate_size": neurons - planted}, config(folder))
        expect(tensors(folder)["model.layers.2.mlp.down_proj.weight"][1] == [60, neurons - planted], folder)

    # Of any model, fewer neurons than that: on the text least squares loses less.
    other = Model("llama-gqa", path("other")).save()
    with open(path("text"), "rb") as file:
        window = file.read(256)
    if not arguments.few:
        whole = logits(other.path, window[:-1])
        lost = lambda *flags: mean_square(whole, logits(prune(other.path, "--mlp-neurons=50%", *flags), window[:-1]))
        half, half_by_size = lost(*least), lost()
        expect(half < 0.8 * half_by_size, f"half of the neurons by least squares: {half}, by magnitude {half_by_size}")
        print(f"half of the neurons: {half:.3f} of the logits' squares by least squares, {half_by_size:.3f} by magnitude")

    # Moments against inputs that a dump has, of one window.
    program = Program(arguments.batonc, other.path, path("watched"), "--disable-pass=norm-rewrites")
    run([program.path, "logits", "--weights", other.path, "--tokens", ",".join(map(str, window[:-1])),
         "--out", path("one.npy"), "--dump", path("values"), "--no-cache", "--quiet"])
    run([program.path, "calibrate", "--weights", other.path, "--data", path("text"), "--context", 256, "--windows", 1,
         "--moments=.mlp.down_proj.weight", "--layers=1-2", "--out", path("moments.safetensors"), "--no-cache", "--quiet"])
    moments = read_tensors(path("moments.safetensors"))
    expect(sorted(moments) == [f"model.layers.{layer}.mlp.down_proj.weight" for layer in (1, 2)], sorted(moments))
    check_moments(path("values"), moments, neurons)

    # What magnitude keeps, from Python: the product of a neuron's norms.
    for folder in (prune(other.path, "--mlp-neurons=37"), prune(sharded(other, path("sharded")), "--mlp-neurons=37")):
        cut = tensors(folder)
        for layer in range(layers):
            prefix = f"model.layers.{layer}.mlp."
            gate, up, down = (other.tensors[f"{prefix}{name}_proj.weight"] for name in ("gate", "up", "down"))
            norm = lambda values: math.sqrt(sum(value * value for value in values))
            sizes = [norm(gate[1][60 * j:60 * j + 60]) * norm(up[1][60 * j:60 * j + 60]) * norm(down[1][j::neurons])
                     for j in range(neurons)]
            kept = sorted(sorted(range(neurons), key=lambda j: -sizes[j])[:37])
            for name, whole_tensor, how in (("gate", gate, rows_cut), ("up", up, rows_cut), ("down", down, columns_cut)):
                expect(list(cut[f"{prefix}{name}_proj.weight"][2]) == how(*whole_tensor, kept), f"{folder}: {prefix}{name}")

    # Gates and ups in one tensor; linears stored by their inputs, with biases; 16 bits.
    phi = Model("phi3-partial", path("phi")).save()
    cut = tensors(prune(phi.path, "--mlp-neurons=50%"))
    kept = phi.config["intermediate_size"] // 2
    shape, both = phi.tensors["model.layers.0.mlp.gate_up_proj.weight"]
    _, cut_shape, found = cut["model.layers.0.mlp.gate_up_proj.weight"]
    rows = [tuple(both[i * shape[1]:(i + 1) * shape[1]]) for i in range(shape[0])]
    places = [rows.index(tuple(found[i * shape[1]:(i + 1) * shape[1]])) for i in range(cut_shape[0])]
    expect(cut_shape[0] == 2 * kept and [place - shape[0] // 2 for place in places[kept:]] == places[:kept], places)
    if not arguments.few:
        logits(prune(phi.path, "--mlp-neurons=75%", *least))
        gpt = Model("gpt2-small", path("gpt"))
        for layer in range(gpt.config["n_layer"]):
            prefix = next(name for name in gpt.tensors if name.endswith(f"h.{layer}.mlp.c_fc.weight"))[:-len("c_fc.weight")]
            # Pairs of neurons that are equal.
            shape, biases = gpt.tensors[prefix + "c_fc.bias"]
            for j in range(0, shape[0], 2):
                gpt.set_column(prefix + "c_fc.weight", j + 1, gpt.column(prefix + "c_fc.weight", j))
                biases[j + 1] = biases[j]
        gpt.save()
        halved = prune(gpt.path, "--mlp-neurons=50%", *least)
        exact = distance(logits(gpt.path), logits(halved))
        expect(exact < 2e-5, f"gpt2 without neurons that are there twice: logits are {exact} off")
        expect(config(halved)["n_inner"] == shape[0] // 2, config(halved))
        shutil.copytree(os.path.join(GOLDEN, "gpt2-bf16"), path("bf16"))
        shutil.copy(TOKENIZER, path("bf16"))
        rounded = prune(path("bf16"), "--mlp-neurons=50%", *least)
        before = tensors(path("bf16"))
        expect(all(before[name][0] == kind for name, (kind, _, _) in tensors(rounded).items()), "types of weights")

    # Layers: the model that has the others only.
    short = Model("llama-gqa", path("short"))
    short.tensors = {name: tensor for name, tensor in short.tensors.items() if ".layers.1." not in name}
    short.tensors = {name.replace(".layers.2.", ".layers.1."): tensor for name, tensor in short.tensors.items()}
    with open(os.path.join(short.save().path, "config.json"), "w") as file:
        json.dump(short.config | {"num_hidden_layers": 2}, file)
    dropped = prune(other.path, "--drop-layers=1")
    expect(tensors(dropped) == tensors(short.path), "tensors of the layers that stay")
    expect(config(dropped) == config(short.path), config(dropped))
    expect(logits(dropped) == logits(short.path), "logits without a layer")
    if not arguments.few:
        both = prune(other.path, "--drop-layers=last:1", "--mlp-neurons=60", *least)
        expect(config(both) == other.config | {"num_hidden_layers": 2, "intermediate_size": 60}, config(both))
        # Neurons are chosen by what the shorter model does.
        expect(tensors(both) == tensors(prune(prune(other.path, "--drop-layers=2"), "--mlp-neurons=60", *least)), "both at once")
        # Runs of one layer at a time come to the same.
        expect(tensors(prune(other.path, "--mlp-neurons=60", *least, "--calibration-memory=1"))
               == tensors(prune(other.path, "--mlp-neurons=60", *least)), "a run for each layer")

    refusals(arguments, scratch, other, data)
    left = [name for name in os.listdir(scratch) if ".part" in name or ".temporary" in name]
    expect(not left, f"left behind: {left}")
    if arguments.transformers:
        return in_transformers(arguments, [solved, by_size, halved, dropped, both, prune(phi.path, "--mlp-neurons=50%"),
                                           prune(os.path.join(GOLDEN, "gemma3-windows"), "--mlp-neurons=50%", "--drop-layers=last:1"),
                                           prune(os.path.join(GOLDEN, "qwen3-norms"), "--mlp-neurons=50%", "--drop-layers=0")],
                               scratch)
    return None


def write_text(path, count):
    """Of letters that all vocabularies have as tokens."""
    random.seed(3)
    with open(path, "w") as file:
        file.write("".join(random.choice("abcdefghijklmnopqrstuvwxyz     \n") for _ in range(count)))


def sharded(model, path):
    """The same in two files with an index."""
    shutil.copytree(model.path, path)
    os.remove(os.path.join(path, "model.safetensors"))
    names = sorted(model.tensors)
    where = {}
    for number in (0, 1):
        file = f"model-{number + 1:05}-of-00002.safetensors"
        write_tensors(os.path.join(path, file), {name: model.tensors[name] for name in names[number::2]})
        where |= {name: file for name in names[number::2]}
    with open(os.path.join(path, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {}, "weight_map": where}, file)
    return path


def check_moments(values, moments, neurons):
    """Means of products of the inputs that a dump has, the MLPs' gated ones."""
    found = 0
    for name, (kind, shape, matrix) in moments.items():
        layer = name.split(".")[2]
        expect(kind == "F64" and shape == [neurons, neurons], f"{name}: {kind} {shape}")
        for file in os.listdir(values):
            if not file.endswith(f"mlp.gate_up.layer{layer}.npy"):
                continue
            with open(os.path.join(values, file), "rb") as stream:
                rows = rows_of(stream.read())
            expect(len(rows) == 255 and len(rows[0]) == neurons, f"{file}: {len(rows)} rows")
            for i, j in ((0, 0), (3, 7), (7, 3), (neurons - 1, 1)):
                mean = sum(row[i] * row[j] for row in rows) / len(rows)
                expect(abs(matrix[i * neurons + j] - mean) <= 1e-12 * max(1, abs(mean)),
                       f"{name}: {matrix[i * neurons + j]} of {i} and {j}, expected {mean}")
            found += 1
    expect(found == len(moments), f"{found} dumped inputs of {sorted(moments)}")


def refusals(arguments, scratch, model, data):
    path = lambda name: os.path.join(scratch, name)
    with open(path("a-text"), "w") as file:
        file.write("text " * 10)
    for source, flags, message in (
            (model.path, [], "nothing is to be pruned; give --mlp-neurons, --drop-layers or both"),
            (model.path, ["--mlp-neurons=0"], "--mlp-neurons: \"0\" is neither"),
            (model.path, ["--mlp-neurons=101"], "are more neurons than an MLP's 100"),
            (model.path, ["--mlp-neurons=120%"], "is no part from"),
            (model.path, ["--drop-layers=3"], "names layer 3, and the model's last one is 2"),
            (model.path, ["--drop-layers=last:3"], "drops all layers"),
            (model.path, ["--drop-layers=some"], "is neither last:8 nor a list"),
            (model.path, ["--mlp-neurons=50", "--by=least-squares"], "--data has to name a text"),
            (model.path, ["--mlp-neurons=50", "--by=magnitude", *data[:2]], "--data is for --by=least-squares"),
            (model.path, ["--mlp-neurons=50", "--by=least-squares", "--data", path("none")], "no such file"),
            (model.path, ["--mlp-neurons=50", "--by=least-squares", "--data", path("a-text")], "a-text"),
            (path("none"), ["--mlp-neurons=50"], "none: no such folder"),
            (os.path.join(GOLDEN, "mixtral-top2"), ["--mlp-neurons=50%"], "mixtures of experts"),
            (os.path.join(GOLDEN, "gptoss-mxfp4"), ["--drop-layers=0"], "is quantised"),
            (os.path.join(GOLDEN, "gemma3-windows"), ["--drop-layers=0"], "by 'sliding_window_pattern' a layer's kind follows")):
        output = path("refused")
        result = run([arguments.batonc, "prune", source, "-o", output, "--quiet", *flags], check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1,
               f"{flags}: {result}")
        expect(not os.path.exists(output), f"{flags}: left {output}")
    result = run([arguments.batonc, "prune", model.path, "-o", path("a-text"), "--drop-layers=0"], check=False)
    expect(result.returncode == 1 and "is there already" in result.stderr, result)


def in_transformers(arguments, folders, scratch):
    import torch
    import transformers

    for number, folder in enumerate(folders):
        model, loading = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                                           output_loading_info=True)
        for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
            expect(not loading[what], f"{folder}: {what}: {loading[what]}")
        with torch.no_grad():
            theirs = model.eval()(torch.tensor([[token % model.config.vocab_size for token in TOKENS]])).logits[0].tolist()
        program = Program(arguments.batonc, folder, os.path.join(scratch, f"t-{number}"), "--dtype=f32")
        tokens = [token % model.config.vocab_size for token in TOKENS]
        ours = rows_of(program.logits(tokens, os.path.join(scratch, f"t-{number}.npy")))
        expect(distance(theirs, ours) < 1e-4, f"{folder}: {distance(theirs, ours)} off Transformers'")
    print(f"{len(folders)} of them in Transformers")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--transformers", action="store_true")
    arguments = parser.parse_args()
    if arguments.transformers:
        try:
            for package in ("torch", "transformers"):
                importlib.import_module(package)
        except ImportError as failure:
            print(f"skipped: {failure}")
            sys.exit(77)
    programs.main(lambda scratch: test(arguments, scratch))
