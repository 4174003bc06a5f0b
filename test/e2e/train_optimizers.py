"""Every optimizer that comes with batonc, and the documentation's own, against formulas in F64.

A small model takes three steps. Its gradients and weights are read after each,
and what became of each weight is held against the formula, applied to the
weights and gradients before and to states that the test keeps itself, or, of states
that are kept in blocks, that the step before has saved. Also: the same bits for other numbers of workers, and after a resume; numbers that the run
sets; a step that is not finite changes nothing.
"""

import argparse
import json
import math
import os
import re

import programs
from programs import QUICK, expect, run
from training import NETWORK, read_tensors, write_optimizer_weights, write_tensors, write_tokens

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 16, "intermediate_size": 40, "num_hidden_layers": 3,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 37,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "torch_dtype": "float32",
}
# Each expert's matrices are parameters by themselves.
EXPERTS = CONFIG | {
    "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "intermediate_size": 32,
    "num_hidden_layers": 2, "num_local_experts": 3, "num_experts_per_tok": 2,
}
# One head has one score: a parameter of one number. Experts lie in tensors of three dimensions.
SINK = {
    "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "hidden_act": "silu",
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 1,
    "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 37, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False, "torch_dtype": "float32",
    "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 8, "attention_bias": True,
    "swiglu_limit": 7.0, "layer_types": ["sliding_attention", "full_attention"],
}
# A network for each element takes long in Python.
SMALL = CONFIG | {"intermediate_size": 24, "num_hidden_layers": 2}
# Several blocks, and ends of blocks, of each matrix; layers of whole ones and of others.
BLOCKS = CONFIG | {"hidden_size": 48, "intermediate_size": 96, "head_dim": 24, "vocab_size": 67}
STEPS, RATE, CLIP = 3, 0.02, 0.5


class Rule:
    """A formula for one parameter; states begin as zeros."""

    def __init__(self, shape, **numbers):
        self.shape = shape
        self.states = {}
        self.numbers = numbers

    def state(self, name, count):
        return self.states.setdefault(name, [0.0] * count)


class AdamW(Rule):
    def change(self, weight, gradient, step):
        beta1, beta2 = 0.9, self.numbers.get("beta2", 0.999)
        decay = 0.1 if len(self.shape) > 1 else 0.0
        mean, square = self.state("mean", len(weight)), self.state("square", len(weight))
        for i, g in enumerate(gradient):
            mean[i] = beta1 * mean[i] + (1 - beta1) * g
            square[i] = beta2 * square[i] + (1 - beta2) * g * g
        return [w - RATE * decay * w
                - RATE * (m / (1 - beta1**step)) / (math.sqrt(s / (1 - beta2**step)) + 1e-8)
                for w, m, s in zip(weight, mean, square)]


class Sgd(Rule):
    def change(self, weight, gradient, step):
        decay = self.numbers.get("weight_decay", 0.0) if len(self.shape) > 1 else 0.0
        momentum = self.state("momentum", len(weight))
        for i, (w, g) in enumerate(zip(weight, gradient)):
            momentum[i] = 0.9 * momentum[i] + g + decay * w
        return [w - RATE * m for w, m in zip(weight, momentum)]


class Lion(Rule):
    def change(self, weight, gradient, step):
        decay = 0.1 if len(self.shape) > 1 else 0.0
        mean = self.state("mean", len(weight))
        new = []
        for i, (w, g) in enumerate(zip(weight, gradient)):
            sign = 0.9 * mean[i] + 0.1 * g
            sign = (sign > 0) - (sign < 0)
            new.append(w - RATE * decay * w - RATE * sign)
            mean[i] = 0.99 * mean[i] + 0.01 * g
        return new


class Signs(Rule):
    """The first rule of docs/optimizers.md."""

    def change(self, weight, gradient, step):
        average = self.state("average", len(weight))
        for i, g in enumerate(gradient):
            average[i] = self.numbers.get("keep", 0.9) * average[i] + g
        return [w - math.copysign(RATE, a) for w, a in zip(weight, average)]


def product(a, b):
    columns = list(zip(*b))
    return [[sum(map(float.__mul__, row, column)) for column in columns] for row in a]


class Muon(Rule):
    """In its own words: no transposition of wide matrices, A = X X^T always."""

    def change(self, weight, gradient, step):
        rows, columns = self.shape
        momentum = self.state("momentum", len(weight))
        ahead = []
        for i, g in enumerate(gradient):
            momentum[i] = 0.95 * momentum[i] + 0.05 * g
            ahead.append(0.95 * momentum[i] + 0.05 * g)
        norm = math.sqrt(sum(x * x for x in ahead))
        x = [[v / norm for v in ahead[r * columns:(r + 1) * columns]] for r in range(rows)]
        for _ in range(5):
            gram = product(x, list(zip(*x)))
            squared = product(gram, gram)
            mixed = [[-4.775 * g + 2.0315 * s for g, s in zip(*pair)]
                     for pair in zip(gram, squared)]
            turned = product(mixed, x)
            x = [[3.4445 * v + t for v, t in zip(*pair)] for pair in zip(x, turned)]
        scale = RATE * 0.2 * math.sqrt(max(rows, columns))
        return [w - RATE * 0.1 * w - scale * d
                for w, d in zip(weight, (v for row in x for v in row))]


def muon_or_adamw(name, shape, **numbers):
    usual = len(shape) == 1 or "embed" in name or "lm_head" in name
    return (AdamW if usual else Muon)(shape, **numbers)


class Adafactor(Rule):
    """As Shazeer and Stern have it, 2018, with their update clipping and relative steps: a
    matrix has the means of its rows' and columns' squares, a vector all of its squares'."""

    def change(self, weight, gradient, step):
        kept = 1 - step ** self.numbers.get("decay_rate", -0.8)
        squares = [g * g + 1e-30 for g in gradient]

        def average(name, values):
            state = self.state(name, len(values))
            state[:] = [kept * old + (1 - kept) * new for old, new in zip(state, values)]
            return state

        if len(self.shape) == 1:
            mean = average("all", squares)
        else:
            rows, columns = self.shape
            row = average("row", [sum(squares[r * columns:(r + 1) * columns]) / columns for r in range(rows)])
            column = average("column", [sum(squares[c::columns]) / rows for c in range(columns)])
            whole = sum(row) / rows
            mean = [r / whole * c for r in row for c in column]
        update = [g / math.sqrt(m) for g, m in zip(gradient, mean)]
        rms = lambda values: math.sqrt(sum(value * value for value in values) / len(values))
        rate = RATE * (max(1e-3, rms(weight)) if self.numbers.get("scale_parameter", 1) else 1)
        length = rate / max(1, rms(update) / self.numbers.get("clip_threshold", 1.0))
        return [w - rate * self.numbers.get("weight_decay", 0) * w - length * u for w, u in zip(weight, update)]


class SmallFcLopt(Rule):
    """As PyLO's AdafacLO has it, in words of its own: features of each element, divided by the
    roots of their mean squares, and a network that makes of them a direction and a magnitude."""

    TIMES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000)
    OFFSETS = {"momentum_decays": (0.15216392, 0.14245212, 0.06812963), "rms_decays": (0.01079706,),
               "adafactor_decays": (0.18621896, -0.10864615, -0.06185547)}
    network = {}

    def decays(self, name, usual):
        offsets = self.network.get(name, self.OFFSETS[name])
        return [min(1, max(0, 1 - math.exp(10 * (math.log(1 - b) / 10 + offset))))
                for b, offset in zip(usual, offsets, strict=True)]

    def averaged(self, name, decay, values):
        state = self.state(name, len(values))
        state[:] = [decay * old + (1 - decay) * new for old, new in zip(state, values)]
        return list(state)

    def factors(self, gradient, momenta):
        """Lists of features, each of all elements: of g, of rows and columns, and of momenta."""
        squares = [g * g + 1e-30 for g in gradient]
        decays = self.decays("adafactor_decays", (0.9, 0.99, 0.999))
        safe = lambda values: [1 / math.sqrt(max(value, 1e-9)) for value in values]
        if len(self.shape) == 1:
            means = [self.averaged(f"all {k}", decay, squares) for k, decay in enumerate(decays)]
            inverse = [[1 / math.sqrt(v + 1e-8) for v in mean] for mean in means]
            return ([[g * f for g, f in zip(gradient, safe([v + 1e-9 for v in mean]))] for mean in means],
                    [*means, *means, *inverse, *inverse],
                    [[m / math.sqrt(v + 1e-6) for m, v in zip(momentum, mean)]
                     for momentum, mean in zip(momenta, means)])
        # A row is what has one index of the smaller dimension, of two alike the first.
        rows, columns = self.shape
        flipped = rows > columns
        place = [(i % columns, i // columns) if flipped else (i // columns, i % columns) for i in range(len(gradient))]
        count, length = (columns, rows) if flipped else (rows, columns)
        of_rows, of_columns = [0.0] * count, [0.0] * length
        for square, (r, c) in zip(squares, place):
            of_rows[r] += square / length
            of_columns[c] += square / count
        g_factors, rows_of, columns_of, m_factors = [], [], [], []
        for k, decay in enumerate(decays):
            row = self.averaged(f"row {k}", decay, of_rows)
            column = self.averaged(f"column {k}", decay, of_columns)
            mean = sum(row) / count
            by_row, by_column = safe([v / (mean + 1e-9) for v in row]), safe(column)
            both = [by_row[r] * by_column[c] for r, c in place]
            g_factors.append([g * f for g, f in zip(gradient, both)])
            m_factors.append([m * f for m, f in zip(momenta[k], both)])
            rows_of.append([row[r] for r, _ in place])
            columns_of.append([column[c] for _, c in place])
        inverse = [[1 / math.sqrt(v + 1e-8) for v in values] for values in (*rows_of, *columns_of)]
        return g_factors, [*rows_of, *columns_of, *inverse], m_factors

    def layer(self, name, known=()):
        """The layer as a function of all inputs but the last ones, which are the same for every element."""
        weight, bias = self.network[f"network.{name}.weight"], self.network[f"network.{name}.bias"]
        width = len(weight) // len(bias)
        rows = [list(weight[i * width:(i + 1) * width]) for i in range(len(bias))]
        fixed = [b + sum(map(float.__mul__, row[width - len(known):], known)) for b, row in zip(bias, rows)]
        rows = [row[:width - len(known)] for row in rows]
        return lambda inputs: [b + sum(map(float.__mul__, row, inputs)) for b, row in zip(fixed, rows)]

    def change(self, weight, gradient, step):
        momenta = [self.averaged(f"momentum {k}", decay, gradient)
                   for k, decay in enumerate(self.decays("momentum_decays", (0.9, 0.99, 0.999)))]
        rms = self.averaged("rms", *self.decays("rms_decays", (0.999,)), [g * g for g in gradient])
        inverse = [1 / math.sqrt(r + 1e-6) for r in rms]
        g_factors, sides, m_factors = self.factors(gradient, momenta)
        features = [gradient, weight, *momenta, rms, *([m * i for m, i in zip(momentum, inverse)] for momentum in momenta),
                    inverse, *g_factors, *sides, *m_factors]
        expect(len(features) == 28, f"{len(features)} features")
        scaled = []
        for values in features:
            scale = 1 / math.sqrt(1e-5 + sum(v * v for v in values) / len(values))
            scaled.append([v * scale for v in values])
        times = [math.tanh((step - 1) / time - 1) for time in self.TIMES]
        new = []
        hidden, output = [self.layer("input", times), self.layer("linear_0")], self.layer("output")
        for w, *inputs in zip(weight, *scaled):
            for layer in hidden:
                inputs = [max(0.0, value) for value in layer(inputs)]
            direction, magnitude = output(inputs)
            new.append(w - self.numbers.get("rate", RATE) * direction * math.exp(0.001 * magnitude)
                       * self.numbers.get("step_mult", 0.01))
        return new


BLOCK = 32


class AdamW8bit(AdamW):
    """With averages that are codes of 8 bits and a scale for each block: what the step
    before has saved is decoded, and what this one saves has to be what its new averages
    are encoded to. A code may lie on either side where F32, and the digits of the printed norm, decide."""

    FORMATS = {
        "exp_avg": (127, lambda value: value, lambda root: root),
        "exp_avg_sq": (255, lambda value: value ** 0.25, lambda root: root ** 4),
    }

    def blocks(self):
        """The indices of each block, and where its scale is."""
        rows, columns = self.shape if len(self.shape) > 1 else (1, *self.shape)
        wide = (columns + BLOCK - 1) // BLOCK
        found = {}
        for row in range(rows):
            for column in range(columns):
                found.setdefault(row // BLOCK * wide + column // BLOCK, []).append(row * columns + column)
        return found

    def begin(self, saved):
        """`saved` has (codes, scales) of each state; nothing before the first step."""
        self.averages = {}
        for name, (_, _, number) in self.FORMATS.items():
            values = self.averages[name] = [0.0] * math.prod(self.shape)
            if saved:
                codes, scales = saved[name]
                for block, indices in self.blocks().items():
                    for i in indices:
                        values[i] = number(codes[i] * scales[block])

    def state(self, name, count):
        return self.averages[{"mean": "exp_avg", "square": "exp_avg_sq"}[name]]

    def expect_saved(self, what, saved):
        for name, (most, root, _) in self.FORMATS.items():
            (codes, scales), values = saved[name], self.averages[name]
            blocks = self.blocks()
            expect(len(scales) == len(blocks) and len(codes) == len(values), f"{what}: {name} has other blocks")
            for block, indices in blocks.items():
                scale = max(root(abs(values[i])) for i in indices) / most
                expect(abs(scales[block] - scale) <= 1e-5 * scale, f"{what}: {name}, block {block}: "
                       f"the scale is {scales[block]}, expected {scale}")
                for i in indices:
                    code = math.copysign(root(abs(values[i])), values[i]) / scale if scale else 0
                    if most == 255 and values[i] > 0:
                        code = max(code, 1)
                    expect(abs(codes[i] - code) < 0.51, f"{what}: {name}[{i}] has the code {codes[i]} of {code}")


RULES = {
    "adafactor": lambda name, shape, **numbers: Adafactor(shape, **numbers),
    "adamw": lambda name, shape, **numbers: AdamW(shape, **numbers),
    "adamw_8bit": lambda name, shape, **numbers: AdamW8bit(shape, **numbers),
    "sgd": lambda name, shape, **numbers: Sgd(shape, **numbers),
    "lion": lambda name, shape, **numbers: Lion(shape, **numbers),
    "muon": muon_or_adamw,
    "small_fc_lopt": lambda name, shape, **numbers: SmallFcLopt(shape, **numbers),
    "signs": lambda name, shape, **numbers: Signs(shape, **numbers),
}


def norm(values):
    return math.sqrt(sum(value * value for value in values))


def values_of(path):
    return {name: values for name, (_, _, values) in read_tensors(path).items()}


def saved_states(path, name, shape):
    """(codes, scales) of each state of a tensor, as a checkpoint has them: of all layers
    behind one another, by the program's name."""
    layer = re.search(r"[.]layers[.](\d+)[.]", name)
    name = re.sub(r"[.]layers[.]\d+[.]", ".layers.", name).removeprefix("model.")
    tensors = read_tensors(path, codes=True)
    result = {}
    for state in AdamW8bit.FORMATS:
        pair = []
        for suffix, count in (("", math.prod(shape)), (".scale", len(AdamW8bit(shape).blocks()))):
            values = tensors[f"{name}.{state}{suffix}"][2]
            begin = int(layer.group(1)) * count if layer else 0
            expect(layer or len(values) == count, f"{name}.{state}{suffix} has {len(values)} elements, not {count}")
            pair.append(values[begin:begin + count])
        result[state] = pair
    return result


def takes_two_bytes(path, begin):
    """What is kept are two codes of one byte for each element, and two scales for each
    block; memory begins on a line."""
    elements = sum(math.prod(shape) for _, shape, _ in begin.values())
    blocks = sum(len(AdamW8bit(shape).blocks()) for _, shape, _ in begin.values())
    wanted = 2 * elements + 2 * 4 * blocks
    needs = json.loads(run([path("program"), "info", "--json"]).stdout)["training_memory"]["optimizer"]
    expect(wanted <= needs <= wanted + 4 * 64 * len(begin), f"states take {needs} bytes, expected {wanted}")
    saved = read_tensors(path("defaults-3", "step-3", "optimizer.safetensors"), codes=True)
    types = {kind: sum(len(values) for other, _, values in saved.values() if other == kind)
             for kind in ("I8", "U8", "F32")}
    expect(types == {"I8": elements, "U8": elements, "F32": 2 * blocks} and len(saved) % 4 == 0,
           f"saved are {types} of {elements} elements in {blocks} blocks")
    print(f"states of {elements} elements: {needs} bytes planned, {wanted} of them in use")


def takes_few_bytes(path, begin):
    """A matrix has a number for each row and column."""
    wanted = sum(4 * sum(shape) for _, shape, _ in begin.values())
    needs = json.loads(run([path("program"), "info", "--json"]).stdout)["training_memory"]["optimizer"]
    expect(wanted <= needs <= wanted + 2 * 64 * len(begin), f"states take {needs} bytes, expected {wanted}")
    saved = read_tensors(path("defaults-3", "step-3", "optimizer.safetensors"))
    expect(sum(4 * len(values) for _, _, values in saved.values()) == wanted, f"saved are {sorted(saved)}")
    print(f"states of {wanted} bytes")


def stores_no_features(path, compiled, begin):
    """Of a matrix's elements states are four, of a vector's seven, and of rows and columns three
    each; nothing else of a parameter's size is planned, and the passes go through what they name."""
    elements = sum(math.prod(shape) for _, shape, _ in begin.values())
    vectors = sum(shape[0] for _, shape, _ in begin.values() if len(shape) == 1)
    sides = sum(sum(shape) for _, shape, _ in begin.values() if len(shape) == 2)
    wanted = 4 * (4 * elements + 3 * vectors + 3 * sides)
    info = json.loads(run([path("program"), "info", "--json"]).stdout)
    needs = info["training_memory"]["optimizer"]
    expect(wanted <= needs <= wanted + 10 * 64 * len(begin), f"states take {needs} bytes, expected {wanted}")
    plan = run([*compiled, "--emit=event"]).stdout
    held = {name: math.prod(map(int, extents.split(", "))) for name, extents in
            re.findall(r'event[.]buffer @(\S+) transient .*? capacity \[([\d, ]+)\]', plan)}
    updates = {name: count for name, count in held.items() if ".small_fc_lopt" in name}
    least = min(math.prod(shape) for _, shape, _ in begin.values() if len(shape) == 2)
    expect(updates and max(updates.values()) < least, f"of a parameter of {least} elements or more, held are {updates}")
    print(f"states of {elements} elements: {needs} bytes, {wanted} in use; of no feature are there more than "
          f"{max(updates.values())} numbers")


def moves_few_bytes(path, compiled):
    # Of a matrix: its gradient for sums of rows, and of columns; six tensors for features' squares;
    # six, of which five are written, for the step. Rows, columns, vectors and weights are less.
    os.mkdir(path("large"))
    with open(path("large", "config.json"), "w") as file:
        json.dump(CONFIG | {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 1, "head_dim": 128}, file)
    run([word if word != path("model") else path("large") for word in compiled] + ["-o", path("large-program")])
    elements = json.loads(run([path("large-program"), "info", "--json"]).stdout)["training_memory"]["parameter"] // 4
    forecast = json.loads(run([path("large-program"), "train", "--dry-run", "--json", "--batch", 1, "--seq", 8]).stdout)
    moved = forecast["kinds"]["updates"]["bytes"] / elements
    expect(4 * 19 <= moved < 4 * 21, f"updates move {moved:.1f} bytes for each of {elements} elements")
    print(f"updates move {moved:.1f} bytes for each of {elements} elements")


def refuses_weights(path, train):
    """One line for each file that is no optimizer's."""
    network = {name: ((*shape,), [0.5] * math.prod(shape)) for name, shape in NETWORK.items()}
    without = {name: tensor for name, tensor in network.items() if name != "network.output.bias"}
    cases = [
        (None, ["--optimizer-weights is missing", "network.input.weight [32, 39]"]),
        (without, ["refused.safetensors: there is no tensor \"network.output.bias\""]),
        (network | {"network.output.bias": ((3,), [0.5] * 3)},
         ["refused.safetensors: tensor \"network.output.bias\" is [3], expected [2]"]),
        (network | {"network.output.bias": ((2,), [0.5, math.inf])},
         ["refused.safetensors: tensor \"network.output.bias\" has a number that is not finite"]),
    ]
    for tensors, messages in cases:
        if tensors:
            write_tensors(path("refused.safetensors"), tensors)
        own = ["--optimizer-weights", path("refused.safetensors")] if tensors else []
        result = train("refused", "--steps", 1, own=own, check=False)
        expect(result.returncode == 1 and result.stderr.count("\n") == 1
               and all(message in result.stderr for message in messages), f"{messages}: {result}")
        print(result.stderr.strip())


def skips(path, compiled, train, begin):
    """A step that is not finite changes nothing. Gradients times so much are beyond F16,
    so that norms are infinite."""
    run([*compiled, "--dtype=f16", "-o", path("f16")])
    line = train("infinite", "--steps", 1, "--loss-scale", 2**32, program=path("f16"))[0]
    expect(line.get("skipped") and line["grad_norm"] is None, f"a finite step: {line}")
    for name, (_, _, values) in read_tensors(path("infinite", "step-1", "model.safetensors")).items():
        expect(values == begin[name][2], f"a step that is not finite changed {name}")
    states = read_tensors(path("infinite", "step-1", "optimizer.safetensors"), codes=True)
    expect(states and not any(any(values) for _, _, values in states.values()),
           f"a step that is not finite changed states: {sorted(states)}")


def test(arguments, scratch):
    path = lambda *names: os.path.join(scratch, *names)
    os.mkdir(path("model"))
    with open(path("model", "config.json"), "w") as file:
        json.dump(EXPERTS if arguments.experts else SINK if arguments.sink else BLOCKS if arguments.optimizer == "adamw_8bit" else
                  SMALL if arguments.optimizer == "small_fc_lopt" and not arguments.more else CONFIG, file)
    write_tokens(path("tokens.u16"), ((i * i + 3 * i) % 37 for i in range(200)))
    optimizer = arguments.optimizer
    if arguments.document:
        with open(arguments.document) as file:
            rule = file.read().split("```mlir\n")[1].split("```")[0]
        optimizer = path("rule.mlir")
        with open(optimizer, "w") as file:
            file.write(rule)
    compiled = [arguments.batonc, path("model"), "--mode=train", QUICK, f"--optimizer={optimizer}", "--quiet"]
    run([*compiled, "-o", path("program")])

    # A learned optimizer's rate is about one.
    learned = arguments.optimizer == "small_fc_lopt"
    usual = 0.5 if learned else RATE
    own = ["--optimizer-weights", path("network.safetensors")] if learned else []
    if learned:
        SmallFcLopt.network = write_optimizer_weights(path("network.safetensors"))

    def train(out, *flags, check=True, rate=usual, program=path("program"), clip=CLIP, own=own, quiet=True):
        result = run([program, "train", "--init-seed", 3, "--model", path("model"), "--data",
                      path("tokens.u16"), "--batch", 2, "--seq", 24, "--lr", rate,
                      "--lr-schedule", "constant", "--clip", clip, *["--quiet"][:quiet],
                      "--validation-fraction", 0, "--out", path(out), *own, *flags], check=check)
        return [json.loads(line) for line in result.stdout.splitlines()] if check else result

    def weights(out, step):
        return values_of(path(out, f"step-{step}", "model.safetensors"))

    # A step with a learning rate of nothing leaves the weights that it began with.
    train("begin", "--steps", 1, rate="1e-38")
    begin = read_tensors(path("begin", "step-1", "model.safetensors"))
    if arguments.sink:
        begin = {name: tensor for name, tensor in begin.items() if ".mlp." not in name}
        expect(any(shape == [1] for _, shape, _ in begin.values()), f"no parameter of one number among {sorted(begin)}")

    def compare(what, *flags, begin=begin, limit=1e-4, digits=24, how={}, steps=STEPS, **numbers):
        if learned:
            numbers["rate"] = usual
        rules = {name: RULES[arguments.optimizer](name, shape, **numbers)
                 for name, (_, shape, _) in begin.items()}
        before = {name: values for name, (_, _, values) in begin.items()}
        worst = 0.0
        for step in range(1, steps + 1):
            out = f"{what}-{step}"
            line = train(out, "--steps", step, "--gradients", path("gradients"), *flags, **how)[-1]
            factor = min(1.0, CLIP / line["grad_norm"]) if "clip" not in how else 1.0
            gradients, after = values_of(path("gradients")), weights(out, step)
            saved = lambda name, step: saved_states(
                path(f"{what}-{step}", f"step-{step}", "optimizer.safetensors"), name, begin[name][1])
            for name, rule in rules.items():
                if isinstance(rule, AdamW8bit):
                    rule.begin(saved(name, step - 1) if step > 1 else None)
                wanted = rule.change(before[name], [factor * g for g in gradients[name]], step)
                far = norm(a - w for a, w in zip(after[name], wanted))
                moved = norm(w - b for w, b in zip(wanted, before[name]))
                # Weights are rounded to the program's type.
                rounding = 2.0**-digits * norm(wanted)
                error = max(0, far - rounding) / moved
                expect(error < limit, f"{what}, step {step}: {name} is off by {error:.2e} of what "
                       "it moves")
                worst = max(worst, error)
                if isinstance(rule, AdamW8bit):
                    rule.expect_saved(f"{what}, step {step}, {name}", saved(name, step))
            before = after
        print(f"{what}: {len(begin)} tensors, {steps} steps, worst error {worst:.2e}")

    compare("defaults")
    if arguments.sink:
        return
    if arguments.optimizer == "sgd":
        compare("decay", "--set", "weight_decay=0.1", weight_decay=0.1)
    if arguments.optimizer == "signs":
        compare("set", "--set", "keep=0.5", keep=0.5)
    if arguments.optimizer == "adafactor":
        compare("fixed", "--set", "scale_parameter=0", "--set", "clip_threshold=0.5", "--set", "weight_decay=0.1",
                "--set", "decay_rate=-0.5", scale_parameter=0, clip_threshold=0.5, weight_decay=0.1, decay_rate=-0.5)
        takes_few_bytes(path, begin)
    if arguments.optimizer == "adamw":
        compare("set", "--set", "beta2=0.95", beta2=0.95)
        compare("one-rule", "--set", "adamw.beta2=0.9", beta2=0.9)

    if arguments.optimizer == "adamw_8bit":
        takes_two_bytes(path, begin)
    if learned and not arguments.experts:
        stores_no_features(path, compiled, begin)
        if arguments.more:
            moves_few_bytes(path, compiled)
        refuses_weights(path, train)
        # Where nothing but the formula decides; and decays of the file's.
        run([*compiled, "--dtype=f64", "-o", path("f64")])
        how = {"program": path("f64"), "clip": 0}
        train("begin-f64", "--steps", 1, **how | {"rate": "1e-38"})
        exact = read_tensors(path("begin-f64", "step-1", "model.safetensors"))
        if arguments.more:
            compare("f64", begin=exact, limit=1e-6, digits=53, how=how)
        SmallFcLopt.network = write_optimizer_weights(
            path("other.safetensors"), seed=6, momentum_decays=(0.5, -0.1, 0.0), rms_decays=(0.25,),
            adafactor_decays=(0.125, 0.0, 0.5))
        compare("other", "--set", "step_mult=0.02", steps=3 if arguments.more else 2, begin=exact, limit=1e-6, digits=53, step_mult=0.02,
                how=how | {"own": ["--optimizer-weights", path("other.safetensors")]})

    files = ("model.safetensors", "optimizer.safetensors")

    def content(out, step):
        return [open(path(out, f"step-{step}", name), "rb").read() for name in files]

    wanted = content("defaults-3", 3)
    for workers in (1, 2, 5):
        train(f"workers-{workers}", "--steps", 3, "--workers", workers)
        expect(content(f"workers-{workers}", 3) == wanted, f"{workers} workers: other bits")
    train("resumed", "--steps", 2)
    train("resumed", "--steps", 3, "--resume")
    expect(content("resumed", 3) == wanted, "a resumed run has other bits")
    if learned and not arguments.experts:
        result = train("resumed", "--steps", 4, "--resume", check=False, quiet=False,
                       own=["--optimizer-weights", path("other.safetensors")])
        expect(result.returncode == 0 and "after step 3 --optimizer-weights " in result.stderr,
               f"resumed with other weights: {result}")

    # Of AdamW train_16bit.py shows it.
    if arguments.optimizer != "adamw":
        skips(path, compiled, train, begin)

    for text, message in (("beta", "expected NAME=VALUE"), ("nonsense=1", "has the number"),
                          ("weight_decay=", "no finite number"),
                          ("weight_decay=nan", "no finite number")):
        result = train("refused", "--steps", 1, "--set", text, check=False)
        expect(result.returncode == 1 and message in result.stderr, f"--set {text}: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("optimizer")
    parser.add_argument("--experts", action="store_true", help="of a mixture of experts")
    parser.add_argument("--more", action="store_true",
                        help="of small_fc_lopt: a larger model, its own decays in F64, and what a step moves")
    parser.add_argument("--sink", action="store_true", help="of a model with a parameter of one number; only formulas")
    parser.add_argument("--document", help="the first MLIR in there is the optimizer")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
