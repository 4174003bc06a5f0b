"""Every optimizer that comes with batonc, and the documentation's own, against formulas in F64.

A small model takes three steps. Its gradients and weights are read after each,
and what became of each weight is held against the formula, applied to the
weights and gradients before and to states that the test keeps itself. Also: the
same bits for other numbers of workers, and after a resume; numbers that the run
sets; a step that is not finite changes nothing.
"""

import argparse
import json
import math
import os

import programs
from programs import QUICK, expect, run
from training import read_tensors, write_tokens

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


RULES = {
    "adamw": lambda name, shape, **numbers: AdamW(shape, **numbers),
    "sgd": lambda name, shape, **numbers: Sgd(shape, **numbers),
    "lion": lambda name, shape, **numbers: Lion(shape, **numbers),
    "muon": muon_or_adamw,
    "signs": lambda name, shape, **numbers: Signs(shape, **numbers),
}


def norm(values):
    return math.sqrt(sum(value * value for value in values))


def values_of(path):
    return {name: values for name, (_, _, values) in read_tensors(path).items()}


def skips(path, compiled, train, begin):
    """A step that is not finite changes nothing. Gradients times so much are beyond F16,
    so that norms are infinite."""
    run([*compiled, "--dtype=f16", "-o", path("f16")])
    line = train("infinite", "--steps", 1, "--loss-scale", 2**32, program=path("f16"))[0]
    expect(line.get("skipped") and line["grad_norm"] is None, f"a finite step: {line}")
    for name, (_, _, values) in read_tensors(path("infinite", "step-1", "model.safetensors")).items():
        expect(values == begin[name][2], f"a step that is not finite changed {name}")
    states = read_tensors(path("infinite", "step-1", "optimizer.safetensors"))
    expect(states and not any(any(values) for _, _, values in states.values()),
           f"a step that is not finite changed states: {sorted(states)}")


def test(arguments, scratch):
    path = lambda *names: os.path.join(scratch, *names)
    os.mkdir(path("model"))
    with open(path("model", "config.json"), "w") as file:
        json.dump(EXPERTS if arguments.experts else CONFIG, file)
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

    def train(out, *flags, check=True, rate=RATE, program=path("program")):
        result = run([program, "train", "--init-seed", 3, "--model", path("model"), "--data",
                      path("tokens.u16"), "--batch", 2, "--seq", 24, "--lr", rate,
                      "--lr-schedule", "constant", "--clip", CLIP, "--quiet",
                      "--validation-fraction", 0, "--out", path(out), *flags], check=check)
        return [json.loads(line) for line in result.stdout.splitlines()] if check else result

    def weights(out, step):
        return values_of(path(out, f"step-{step}", "model.safetensors"))

    # A step with a learning rate of nothing leaves the weights that it began with.
    train("begin", "--steps", 1, rate="1e-38")
    begin = read_tensors(path("begin", "step-1", "model.safetensors"))

    def compare(what, *flags, **numbers):
        rules = {name: RULES[arguments.optimizer](name, shape, **numbers)
                 for name, (_, shape, _) in begin.items()}
        before = weights("begin", 1)
        worst = 0.0
        for step in range(1, STEPS + 1):
            out = f"{what}-{step}"
            line = train(out, "--steps", step, "--gradients", path("gradients"), *flags)[-1]
            factor = min(1.0, CLIP / line["grad_norm"])
            gradients, after = values_of(path("gradients")), weights(out, step)
            for name, rule in rules.items():
                wanted = rule.change(before[name], [factor * g for g in gradients[name]], step)
                far = norm(a - w for a, w in zip(after[name], wanted))
                moved = norm(w - b for w, b in zip(wanted, before[name]))
                # Weights are rounded to F32.
                rounding = 2**-24 * norm(wanted)
                error = max(0, far - rounding) / moved
                expect(error < 1e-4, f"{what}, step {step}: {name} is off by {error:.2e} of what "
                       "it moves")
                worst = max(worst, error)
            before = after
        print(f"{what}: {len(begin)} tensors, {STEPS} steps, worst error {worst:.2e}")

    compare("defaults")
    if arguments.optimizer == "sgd":
        compare("decay", "--set", "weight_decay=0.1", weight_decay=0.1)
    if arguments.optimizer == "signs":
        compare("set", "--set", "keep=0.5", keep=0.5)
    if arguments.optimizer == "adamw":
        compare("set", "--set", "beta2=0.95", beta2=0.95)
        compare("one-rule", "--set", "adamw.beta2=0.9", beta2=0.9)

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
    parser.add_argument("--document", help="the first MLIR in there is the optimizer")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
