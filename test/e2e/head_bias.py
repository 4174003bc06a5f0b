"""Training a model whose output projection has a bias, in all forms of the loss.

One column of the head's input is always one: the last norm's weight is 0 there, and its bias 1. So
that column of the head's weight is a bias as well, and it tells of the bias:

- A model whose bias moved into the column has the same losses, and the same gradients but for
  that column of the norm, to 1e-5 in norm: of each token, of pairs of answers
  (--loss=dpo), and beside a teacher (--loss=distill).
- The gradient of the bias is the column of the weight's gradient, bit for bit: sums over rows are one
  chain, as products are.

Validation and `eval` measure what the logits of the decoding program say. The same bits come of
other numbers of workers, of logits in many parts, of layers that are computed again, of a run that
is resumed, and of emulated CUDA. Ranks that have parts of the vocabulary, here uneven ones, parts of
the rows, of the optimizer's states or of the layers have one rank's losses and gradients,
to 1e-5. Beside an adapter the head is frozen: the pairs' gradients are those that follow
from the gradients of the weights.
"""

import argparse
import json
import math
import os
import re
import sys

import programs
from programs import Program, expect, quickly, rows_of, run
from train_documents import write_lines
from training import lines_of, read_bytes, read_tensors, write_tensors, write_tokens

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
import exported_weights  # noqa: E402

INPUTS = ["test/golden/exported_weights.py", "test/golden/projections.py", "test/golden/check.py",
          "test/e2e/inputs/exported/phi/*", "test/e2e/programs.py", "test/e2e/training.py", "test/e2e/train_documents.py",
          "build/bin/batonc"]
COLUMN, LENGTH, SEQUENCES, STEPS = 17, 20, 4, 3
HEAD, BIAS = "lm_head.weight", "lm_head.bias"
NORM = ("model.final_layernorm.weight", "model.final_layernorm.bias")
EXACT = ("model.safetensors", "optimizer.safetensors")
# Instead of the golden model's: all bytes are tokens, still no two ranks have as many of them, and equal
# parts of what is between a layer's products.
SIZES = {97: 257, 77: 76}
PAIRS = [{"prompt": "ONE:", "chosen": " TWO THREE", "rejected": " FOUR"},
         {"prompt": "4+4=", "chosen": "8", "rejected": "44, 4"},
         {"prompt": "A B C", "chosen": " D E", "rejected": " C B A"}]


def norm(values):
    return math.sqrt(math.fsum(value * value for value in values))


def off(found, wanted):
    """The distance, in parts of what it should be."""
    # Where an adapter's other matrix is still zero, so are gradients.
    return norm(a - b for a, b in zip(found, wanted, strict=True)) / (norm(wanted) or 1e-30)


class Test:
    def __init__(self, arguments, scratch):
        self.arguments, self.scratch, self.runs = arguments, scratch, 0
        with open(os.path.join(arguments.folder, "model.mlir")) as file:
            text = re.sub(r"(?<=[< ])\d+(?= x )", lambda size: str(SIZES.get(int(size[0]), size[0])), file.read())
        with open(self.path("model.mlir"), "w") as file:
            file.write(text)
        self.shapes = {name: [SIZES.get(size, size) for size in shape]
                       for name, shape in programs.golden(arguments.folder)["shapes"].items()}
        self.vocabulary, self.width = self.shapes[HEAD]
        self.family = text.split('family "')[1].split('"')[0]
        tensors = {name: list(exported_weights.values(name, shape)) for name, shape in self.shapes.items()}
        for name, value in zip(NORM, (0.0, 1.0)):
            tensors[name][COLUMN] = value
        self.biased = self.write("biased", tensors)
        moved = {name: list(values) for name, values in tensors.items()}
        for token, value in enumerate(tensors[BIAS]):
            moved[HEAD][token * self.width + COLUMN] += value
        moved[BIAS] = [0.0] * self.vocabulary
        self.moved = self.write("moved", moved)
        self.other = self.write("other", {**tensors, BIAS: [-value for value in tensors[BIAS]]})
        write_tokens(self.path("tokens.u16"),
                     ((11 * i * i + i // 7) % self.vocabulary for i in range(8 * SEQUENCES * (LENGTH + 1))))

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write(self, name, tensors):
        """A folder of weights."""
        os.mkdir(self.path(name))
        write_tensors(self.path(f"{name}/model.safetensors"),
                      {tensor: (self.shapes[tensor], values) for tensor, values in tensors.items()})
        with open(self.path(f"{name}/config.json"), "w") as file:
            json.dump({"model_type": self.family}, file)
        return self.path(name)

    def compile(self, name, *flags):
        run([self.arguments.batonc, self.path("model.mlir"), "--mode=train", "--quiet", *quickly([]), *flags, "-o", self.path(name)])
        return self.path(name)

    def train(self, program, *flags, steps=1, weights=None, data=None, out=None):
        """The lines of a run, and its last gradients."""
        self.runs += 1
        out = out or self.path(f"run-{self.runs}")
        source = ["--data", data, "--seq", 64, "--packing", "none", "--batch", len(PAIRS)] if data else \
            ["--data", self.path("tokens.u16"), "--seq", LENGTH, "--batch", SEQUENCES]
        begin = [] if "--resume" in flags else ["--weights", weights or self.biased]
        usual = {"--lr": 1e-3, "--validation-fraction": 0}
        result = run([program, "train", *begin, *source, "--out", out, "--steps", steps, "--lr-schedule", "constant", "--quiet",
                      "--gradients", out + ".gradients", *flags,
                      *(word for flag in usual if flag not in flags for word in (flag, usual[flag]))])
        gradients = {name: values for name, (_, _, values) in read_tensors(out + ".gradients").items()}
        return lines_of(result.stdout, "tokens_per_s"), gradients

    @property
    def pairs(self):
        return write_lines(self.path("pairs.jsonl"), PAIRS)

    @property
    def documents(self):
        return write_lines(self.path("documents.jsonl"),
                           [{"prompt": pair["prompt"], "completion": pair["chosen"]} for pair in PAIRS])

    def teach(self):
        """What a model with another bias says of the documents."""
        program = self.path("teacher")
        run([self.arguments.batonc, self.path("model.mlir"), "--max-batch=1", "--max-outputs=16", "--quiet", *quickly([]),
             "-o", program])
        run([program, "teach", "--weights", self.other, "--data", self.documents, "--seq", 64, "--top-k", 7, "--temperature", 1.5,
             "--out", self.path("taught"), "--quiet"])
        return self.path("taught")

    def column(self, values):
        return values[COLUMN::self.width]


def compare(what, found, wanted, without=()):
    """Lines and gradients, to 1e-5; `without` tells of elements that may be others."""
    for mine, other in zip(found[0], wanted[0], strict=True):
        for key, value in other.items():
            expect(abs(mine[key] - value) <= 1e-5 * max(1, abs(value)), f"{what}: {key} is {mine[key]}, expected {value}")
    expect(found[1].keys() == wanted[1].keys(), f"{what}: other gradients")
    worst = 0.0
    for name, values in wanted[1].items():
        keep = [not (name in without and i == COLUMN) for i in range(len(values))]
        error = off([a for a, kept in zip(found[1][name], keep) if kept], [a for a, kept in zip(values, keep) if kept])
        expect(error < 1e-5, f"{what}: the gradient of {name} is off by {error:.2e}")
        worst = max(worst, error)
    print(f"{what}: gradients of {len(wanted[1])} tensors, worst error {worst:.2e}")


def check_column(test, what, gradients):
    expect(gradients[BIAS] == test.column(gradients[HEAD]), f"{what}: the gradient of the bias is not that of the column "
           f"of ones, but {off(gradients[BIAS], test.column(gradients[HEAD])):.2e} off")
    expect(norm(gradients[BIAS]) > 0, f"{what}: the bias has no gradient")


def check_losses(test):
    """All forms of the loss."""
    cases = {"tokens": ([], []), "pairs": (["--loss=dpo"], ["--dpo-beta", 0.3]),
             "a teacher": (["--loss=distill", "--teacher-top-k=7"], ["--teacher", test.teach(), "--ce", 0.5])}
    for what, (compiling, flags) in cases.items():
        data = {"pairs": test.pairs, "a teacher": test.documents}.get(what)
        program = test.compile(what.split()[-1], *compiling)
        biased = test.train(program, *flags, data=data)
        check_column(test, what, biased[1])
        # A step's own norm counts the column that is not compared.
        lines = [{key: value for key, value in line.items() if key != "grad_norm"} for line in biased[0]]
        other = test.train(program, *flags, data=data, weights=test.moved)
        compare(f"{what}, moved", other, (lines, biased[1]), NORM)
        without = test.train(program, *flags, data=data, weights=test.other)
        key = "logps/chosen" if what == "pairs" else "loss"
        expect(abs(without[0][0][key] / biased[0][0][key] - 1) > 1e-3, f"{what}: another bias has the same loss, {without[0]}")
        more = test.train(program, *flags, "--workers", 3, data=data)
        expect(more == test.train(program, *flags, "--workers", 1, data=data) == biased, f"{what}, other workers: {more[0]}")


def check_measures(test, program):
    """What is measured of text is what the logits of a program that decodes say."""
    tokens = [(7 * i * i + 3 * i) % test.vocabulary for i in range(LENGTH + 1)]
    write_tokens(test.path("measured.u16"), tokens)
    # The last of five sequences.
    write_tokens(test.path("tokens.u16"), [token % 100 for token in range(SEQUENCES * len(tokens))] + tokens)
    decoder = Program(test.arguments.batonc, test.path("model.mlir"), test.path("decoder"))
    decoder.weights = test.biased
    decoder.logits(tokens[:-1], test.path("logits.npy"))
    losses = []
    for row, token in zip(rows_of(read_bytes(test.path("logits.npy"))), tokens[1:], strict=True):
        top = max(row)
        losses.append(top + math.log(math.fsum(math.exp(value - top) for value in row)) - row[token])
    mean = math.fsum(losses) / len(losses)
    found = json.loads(run([program, "eval", "--weights", test.biased, "--data", test.path("measured.u16"), "--seq", LENGTH,
                            "--quiet", "--json"]).stdout)
    expect(abs(found["loss"] / mean - 1) < 1e-5, f"eval: {found}, the logits say {mean}")
    lines, _ = test.train(program, "--validation-fraction", 0.2, "--validate-every", 1, "--lr", 1e-30)
    expect(abs(lines[0]["validation_loss"] / mean - 1) < 1e-5, f"validation: {lines}, the logits say {mean}")
    print(f"eval and validation: {mean:.6f}, as the logits say")


def check_bits(test):
    """What changes no bit: other workers, parts of the logits, layers again, a resumed run."""
    program = test.compile("program")

    def whole(program, *flags, steps=STEPS, **where):
        out = test.path(f"whole-{test.runs}")
        found = test.train(program, "--accumulate", 2, *flags, steps=steps, out=out, **where)
        return found, [read_bytes(f"{out}/step-{steps}/{file}") for file in EXACT], out

    wanted, files, _ = whole(program)
    expect(wanted[0][-1]["loss"] < wanted[0][0]["loss"], f"learns nothing: {wanted[0]}")
    target = json.loads(read_bytes(os.path.join(os.path.dirname(test.arguments.batonc), "../lib/baton/targets/cpu.json")))
    parts = test.path("parts.json")
    with open(parts, "w") as file:
        rows = 2 * SEQUENCES * LENGTH - 1
        json.dump(target | {"training": target["training"] | {"max_rows": rows, "logits_bytes": 4 * test.vocabulary * rows}}, file)
    few = test.path("few.json")
    with open(few, "w") as file:
        rows = 2 * SEQUENCES * LENGTH
        json.dump(target | {"training": target["training"] | {"max_rows": rows, "logits_bytes": 4 * test.vocabulary * rows // 8}}, file)
    for what, flags in {"layers again": ["--recompute=full"], "an odd number of rows": [f"--target-file={parts}"],
                        "eight parts": [f"--target-file={few}"]}.items():
        found, other, _ = whole(test.compile(what.replace(" ", "-"), *flags))
        expect(found == wanted and other == files, f"{what}: {found[0]}, expected {wanted[0]}")
    out = test.path("resumed")
    test.train(program, "--accumulate", 2, steps=1, out=out)
    lines, gradients = test.train(program, "--accumulate", 2, "--resume", steps=STEPS, out=out)
    expect(lines == wanted[0][1:] and gradients == wanted[1], f"resumed: {lines}, expected {wanted[0][1:]}")
    expect([read_bytes(f"{out}/step-{STEPS}/{file}") for file in EXACT] == files, "resumed: other weights or states")
    print("the same bits of layers again, of parts, and of a resumed run")
    check_measures(test, program)


def check_adapter(test):
    """Pairs of rank 2, of which one matrix is zero at first."""
    module, rank, alpha = "fc2", 2, 6
    name = f"model.layers.1.mlp.{module}.weight"
    _, full = test.train(test.compile("full"))
    program = test.compile("adapted", f"--adapter=lora:r={rank},alpha={alpha},targets={module}")
    out = test.path("adapted-run")
    _, found = test.train(program, "--lr", 1e-30, out=out)
    expect(all("lora" in tensor for tensor in found), f"frozen weights have gradients: {sorted(found)}")
    drawn = {tensor: values for tensor, (_, _, values) in read_tensors(f"{out}/step-1/adapter_model.safetensors").items()}
    pick = lambda tensors, which: next(values for tensor, values in tensors.items()
                                       if f"layers.1.mlp.{module}." in tensor and which in tensor)
    down, up = pick(drawn, "lora_A"), pick(found, "lora_B")
    rows, columns = test.shapes[name]
    weight = full[name]
    wanted = [alpha / rank * math.fsum(weight[n * columns + k] * down[r * columns + k] for k in range(columns))
              for n in range(rows) for r in range(rank)]
    error = off(up, wanted)
    expect(error < 1e-5, f"an adapter: the gradient is off by {error:.2e}")
    print(f"an adapter beside a frozen head: {error:.2e}")


def check_ranks(test):
    one = test.compile("one")
    wanted = {"a step": test.train(one), "microbatches": test.train(one, "--accumulate", 2, steps=2)}
    for mesh, *flags in (["tp=2"], ["dp=2,tp=2", "--sequence-parallel"], ["dp=2", "--zero=3"], ["pp=2"]):
        many = test.compile("many", f"--mesh={mesh}", *flags)
        what = " ".join([mesh, *flags])
        # A schedule of stages needs as many microbatches.
        for name, (lines, gradients) in wanted.items():
            if mesh == "pp=2" and name == "a step":
                continue
            more = ["--accumulate", 2] if name == "microbatches" else []
            found = test.train(many, *more, steps=len(lines))
            compare(f"{what}, {name}", found, (lines, gradients))
        expect(test.train(many, *more, "--workers", 5, steps=len(lines)) == found, f"{what}: other workers, other bits")
    # Rows of pairs count otherwise when their gradients are made; the head beside an adapter is frozen.
    cases = {"pairs": (["--loss=dpo"], [], test.pairs),
             "a teacher": (["--loss=distill", "--teacher-top-k=7"], ["--teacher", test.teach(), "--ce", 0.5], test.documents),
             "an adapter": (["--adapter=lora:r=2"], [], None)}
    for what, (compiling, flags, data) in cases.items():
        alone, cut = (test.train(test.compile(name, *compiling, *mesh), *flags, data=data)
                      for name, mesh in (("alone", []), ("cut", ["--mesh=tp=2"])))
        compare(f"tp=2, {what}", cut, alone)


def check_device(test):
    """Emulated CUDA."""
    host, device = (test.compile(name, *flags) for name, flags in
                    (("host", []), ("device", ["--target=cuda:emulated", "--batch-invariant"])))
    runs = [test.train(program, "--accumulate", 2, "--workers", 2, steps=2, out=test.path(f"on-{i}"))
            for i, program in enumerate((host, device))]
    expect(runs[0] == runs[1], f"emulated CUDA: {runs[1][0]}, the CPU has {runs[0][0]}")
    for file in EXACT:
        expect(read_bytes(test.path(f"on-0/step-2/{file}")) == read_bytes(test.path(f"on-1/step-2/{file}")),
               f"emulated CUDA: {file} is not the CPU's")
    print("emulated CUDA has the CPU's bits")


CHECKS = {"losses": check_losses, "bits": check_bits, "adapter": check_adapter, "ranks": check_ranks, "cuda": check_device}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    parser.add_argument("checks", nargs="+", choices=CHECKS)
    arguments = parser.parse_args()

    def test(scratch):
        prepared = Test(arguments, scratch)
        for name in arguments.checks:
            CHECKS[name](prepared)

    programs.main(test)
