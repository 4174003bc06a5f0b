"""Losses of pairs of answers (batonc --loss=dpo), against PyTorch in F64.

- Ten steps of AdamW over six pairs have PyTorch's losses, rewards and log-probabilities, to
  1e-4, and gradients that lie within 1e-5 of PyTorch's, in norm, in the first step; in F64
  those of the last step do, too.
- The same bits for other numbers of workers, when a run is resumed, and, with --cuda, on
  emulated CUDA. Microbatches and packing change losses by rounding alone.

With --more: a pair's log-probabilities are those that `eval` of a program that trains on
each token measures, of texts and of conversations; the first loss is log 2, exactly so
margins 0; ranks, F16, validation, pairs that are too long, refusals. With --meshes: more ranks,
adapters, and BF16. With --only-cuda: nothing but the CPU's bits on emulated CUDA, of two steps of few pairs.
"""

import argparse
import json
import math
import os
import shutil

import programs
from programs import expect, quickly, run
from train_documents import TEMPLATE, write_lines
from training import Golden, gradient_errors, lines_of, read_bytes, read_tensors

REWARDS = ("rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies", "logps/chosen",
           "logps/rejected")
EXACT = ("model.safetensors", "optimizer.safetensors")
REFERENCES = "references.safetensors"


class Test:
    def __init__(self, arguments, scratch):
        self.arguments, self.scratch, self.runs = arguments, scratch, 0
        # Without a tokenizer each byte is a token.
        self.model = self.path("model")
        shutil.copytree(arguments.folder, self.model, ignore=shutil.ignore_patterns("tokenizer.json"))
        with open(os.path.join(self.model, "chat_template.jinja"), "w") as file:
            file.write(TEMPLATE)
        self.golden = Golden(arguments.adapter or arguments.folder, "preferences.json")
        self.data = write_lines(self.path("pairs.jsonl"), self.golden["pairs"])

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, name, *flags, loss="dpo"):
        adapter = [f"--adapter={self.arguments.adapter}"] if self.arguments.adapter else []
        run([self.arguments.batonc, self.model, "--mode=train", f"--loss={loss}", "--quiet", *adapter, *quickly([]),
             *flags, "-o", self.path(name)])
        return self.path(name)

    def start(self, program, *flags, out=None, data=None, begins=True, check=True):
        self.runs += 1
        usual = {"--seq": 64, "--packing": "none"}
        flags = [*(word for flag in usual if not any(str(word).startswith(flag) for word in flags)
                   for word in (flag, usual[flag])), *flags]
        begin = ["--weights", self.model] if begins else []
        if begins and self.arguments.adapter:
            begin += ["--adapter", self.arguments.adapter]
        return run([program, "train", *begin, "--data", data or self.data, "--out", out or self.path(f"run-{self.runs}"),
                    *flags], check=check)

    def train(self, program, *flags, **where):
        return lines_of(self.start(program, "--quiet", *flags, **where).stdout, "tokens_per_s")

    def fails(self, command, text):
        result = command if not isinstance(command, list) else run(command, check=False)
        lines = result.stderr.splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and text in lines[0],
               f"status {result.returncode}, {result.stderr!r}, expected one line with {text!r}")

    @property
    def settings(self):
        """Flags that make each step one of all pairs, as PyTorch does."""
        return [*(word for pair in self.golden["settings"].items() for word in pair), "--lr-schedule", "constant",
                "--dpo-beta", self.golden["beta"], "--validation-fraction", 0]


def check_steps(test):
    golden, steps = test.golden, len(test.golden["steps"])
    program = test.compile("program", "--dtype=f32")
    weights = "adapter_model.safetensors" if test.arguments.adapter else "model.safetensors"

    def compare_lines(lines, what, bound):
        for number, (line, step) in enumerate(zip(lines, golden["steps"]), 1):
            for key, value in step.items():
                # Log-probabilities are sums of some twenty numbers.
                allowed = bound * max(1, abs(value), abs(step["logps/chosen"]) * ("rewards" in key))
                expect(abs(line[key] - value) <= allowed,
                       f"{what}, step {number}: {key} is {line[key]}, PyTorch's {value}, allowed {allowed:.1e}")

    def compare_gradients(name, key, what, bound=None):
        worst, found = 0.0, read_tensors(test.path(name))
        for tensor, _, error in gradient_errors(found, golden[key]):
            # The estimate may be a quarter too small.
            allowed = bound or 0.75 * max(1e-5, 2 * golden[key][tensor]["float32_error"])
            expect(error <= allowed, f"{what}: {tensor} is off by {error:.2e}, allowed {allowed:.2e}")
            worst = max(worst, error)
        print(f"{what}: gradients of {len(found)} tensors, worst error {worst:.2e}")

    def step(name, *flags, program=program, steps=1):
        lines = test.train(program, *test.settings, "--batch", 6, "--steps", steps, "--gradients", test.path(name), *flags)
        return lines, read_bytes(test.path(name))

    lines, first = step("first", "--workers", 1)
    compare_lines(lines, "the first step", 1e-5)
    compare_gradients("first", "first", "the first step")
    # Where nothing has changed yet, exactly so.
    expect(abs(lines[0]["loss"] - math.log(2)) < 1e-7 and all(lines[0][key] == 0 for key in REWARDS[:4]), f"{lines}")
    for workers in (2, 5):
        again, other = step("again", "--workers", workers)
        expect(again == lines and other == first, f"{workers} workers: {again}, one has {lines}")

    whole = test.path("whole")
    usual = [*test.settings, "--batch", 6]
    all_lines = test.train(program, *usual, "--steps", steps, "--save-every", 2, "--keep", 9, out=whole)
    compare_lines(all_lines, "AdamW", 1e-4)
    expect(len(all_lines) == steps and all_lines[-1]["loss"] < 0.3 * all_lines[0]["loss"], f"learns nothing: {all_lines}")
    print(f"{steps} steps: {all_lines[0]['loss']:.4f} to {all_lines[-1]['loss']:.4f}")

    # Resumed, it is the same run, beside the reference that the first one had.
    part = test.path("part")
    test.train(program, *usual, "--steps", 4, out=part)
    references = read_bytes(os.path.join(part, REFERENCES))
    expect(references == read_bytes(os.path.join(whole, REFERENCES)), "two runs have other references")
    rest = test.train(program, *usual, "--steps", steps, "--resume", out=part, begins=False)
    expect(rest == all_lines[4:], f"resumed: {rest}")
    for file in (weights, "optimizer.safetensors"):
        expect(read_bytes(f"{part}/step-{steps}/{file}") == read_bytes(f"{whole}/step-{steps}/{file}"),
               f"resumed, {file} differs")
    expect(read_bytes(os.path.join(part, REFERENCES)) == references, "resumed, references are others")

    # Microbatches, and several pairs in a sequence.
    packed = ["--seq", 120, "--packing=best"]
    report = json.loads(test.start(program, *test.settings, *packed, "--batch", 1, "--steps", 1, "--json",
                                   "--quiet").stdout.splitlines()[0])["data"]
    expect(report["epoch"]["sequences"] < report["pairs"] == 6, f"not packed: {report}")
    for flags in (["--batch", 2, "--accumulate", 3], [*packed, "--batch", report["epoch"]["sequences"]]):
        found, = test.train(program, *test.settings, *flags, "--steps", 1)
        for key in ("loss", "grad_norm", *REWARDS):
            expect(abs(found[key] - lines[0][key]) <= 2e-6 * abs(lines[0][key]), f"{flags}: {found}, at once {lines}")

    double = test.compile("double", "--dtype=f64")
    exact, _ = step("exact", program=double, steps=steps)
    # Transformers computes rotary tables in F32.
    compare_lines(exact, "F64", 1e-5)
    compare_gradients("exact", "last", "F64, the last step", bound=5e-6)

    if test.arguments.cuda:
        emulated = test.compile("emulated", "--dtype=f32", "--target=cuda:emulated", "--batch-invariant")
        found = test.train(emulated, *usual, "--steps", 2, out=test.path("emulated-run"))
        expect(found == all_lines[:2], f"emulated CUDA: {found}, the CPU has {all_lines[:2]}")
        for file in (f"step-2/{weights}", "step-2/optimizer.safetensors", REFERENCES):
            expect(read_bytes(test.path(f"emulated-run/{file}")) == read_bytes(f"{whole}/{file}"), f"emulated CUDA: {file}")


def check_emulated(test):
    """Two steps of few pairs."""
    program, emulated = test.compile("program", "--dtype=f32"), test.compile("emulated", "--dtype=f32", "--target=cuda:emulated",
                                                                            "--batch-invariant")
    lines = {name: test.train(one, *test.settings, "--batch", 2, "--seq", 32, "--steps", 2, out=test.path(f"run-of-{name}"))
             for name, one in (("cpu", program), ("cuda", emulated))}
    expect(len(lines["cpu"]) == 2 and lines["cuda"] == lines["cpu"], f"emulated CUDA: {lines}")
    for file in ("step-2/model.safetensors", "step-2/optimizer.safetensors", REFERENCES):
        expect(read_bytes(test.path(f"run-of-cuda/{file}")) == read_bytes(test.path(f"run-of-cpu/{file}")),
               f"emulated CUDA: {file}")
    print(f"emulated CUDA: the CPU's bits, {lines['cpu'][-1]['loss']:.5f}")


def turns(prompt, *answers):
    """A conversation: the user's words, the assistant's, and so on."""
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate((prompt, *answers))]


# Each pair, and both answers as documents by themselves.
FORMS = [
    ({"prompt": "2+2=", "chosen": "four", "rejected": "5"},
     {"prompt": "2+2=", "completion": "four"}, {"prompt": "2+2=", "completion": "5"}),
    ({"chosen": "Say it: yes", "rejected": "Say it: no, never"},
     {"prompt": "Say it:", "completion": " yes"}, {"prompt": "Say it:", "completion": " no, never"}),
    ({"prompt": turns("Hi"), "chosen": turns("Hi", "Hello.")[1:], "rejected": turns("Hi", "No!")[1:]},
     {"messages": turns("Hi", "Hello.")}, {"messages": turns("Hi", "No!")}),
    # What the assistant says in what both have in common is not learned.
    ({"chosen": turns("a", "b", "c", "d"), "rejected": turns("a", "b", "c", "e f")},
     {"prompt": turns("a", "b", "c"), "completion": turns("", "d")[1:]},
     {"prompt": turns("a", "b", "c"), "completion": turns("", "e f")[1:]}),
    ({"prompt": "a", "chosen": turns("a", "b"), "rejected": turns("a", "ccc")},
     {"messages": turns("a", "b")}, {"messages": turns("a", "ccc")}),
]


def check_forms(test):
    """What a pair says is what each answer's documents have as losses elsewhere."""
    plain = test.compile("plain", "--dtype=f32", loss="cross-entropy")
    program = test.compile("program", "--dtype=f32")
    for pair, *answers in FORMS:
        data = write_lines(test.path("form.jsonl"), [pair])
        flags = ["--steps", 1, "--batch", 1, "--validation-fraction", 0]
        line, = test.train(program, *flags, data=data)
        for key, answer in zip(("logps/chosen", "logps/rejected"), answers):
            found = json.loads(run([plain, "eval", "--weights", test.model, "--quiet", "--json", "--seq", 64, "--data",
                                    write_lines(test.path("answer.jsonl"), [answer])]).stdout)
            expected = -found["loss"] * found["targets"]
            expect(abs(line[key] / expected - 1) < 5e-6, f"{pair}: {key} is {line[key]}, eval says {expected}")
        expect(line["rewards/margins"] == 0, f"{line}")
    print(f"pairs of {len(FORMS)} forms have the log-probabilities of their answers")
    test.fails([program, "eval", "--weights", test.model, "--data", data, "--seq", 64, "--quiet"],
               "eval: this program's loss is of pairs")
    test.fails(test.start(plain, "--steps", 1, "--quiet", data=data, check=False), "--loss=dpo")
    test.fails(test.start(plain, "--steps", 1, "--quiet", "--dpo-beta", 1, check=False,
                          data=write_lines(test.path("text.jsonl"), [{"text": "abc"}])), "--dpo-beta: is for pairs")


def chats(count):
    """Of which a rule is to be learned: the answer that repeats the question is preferred."""
    words = ("yes", "no", "why", "seven", "blue")
    return [{"prompt": f"{words[i % 5]} {i % 7}:", "chosen": f" {words[i % 5]}.", "rejected": f" {words[(i + 1 + i % 3) % 5]}."}
            for i in range(count)]


def check_runs(test):
    program = test.path("program")
    data = write_lines(test.path("many.jsonl"), chats(60))
    flags = ["--seq", 96, "--packing=best", "--batch", 4, "--lr", 1e-3, "--lr-schedule", "constant", "--validate-every", 6, "--steps", 12]
    result = test.start(program, *flags, "--json", data=data, out=test.path("learns"))
    report, *lines = [json.loads(line) for line in result.stdout.splitlines()]
    expect(report["data"]["pairs"] == 60 and report["data"]["validation_documents"] == 6
           and report["data"]["epoch"]["fill"] > 0.6, f"{report}")
    expect("data: 60 pairs of 1 file" in result.stderr, result.stderr)
    expect(lines[0]["rewards/margins"] == 0 and lines[-1]["rewards/accuracies"] > 0.9
           and lines[5]["validation_loss"] < math.log(2) and lines[-1]["validation_loss"] < lines[5]["validation_loss"],
           f"learns nothing: {lines}")
    print(f"held-out pairs: {lines[5]['validation_loss']:.3f} after 6 steps, {lines[-1]['validation_loss']:.3f} after 12")
    one = lines_of(test.start(program, *flags, "--quiet", data=data).stdout, "tokens_per_s")
    expect([{key: value for key, value in line.items() if key != "tokens_per_s"} for line in lines] == one, "two runs differ")

    # Ranks make the same steps, and the same references.
    references = read_tensors(test.path(f"learns/{REFERENCES}"))["logps"]
    expect(references[1] == [60, 2], f"{references[1]}")
    whole, most = test.arguments.meshes, ["--mesh=dp=2,tp=2", "--sequence-parallel"]
    for mesh in ((["--mesh=dp=2"], ["--mesh=tp=2"], ["--mesh=dp=2", "--zero=3"], most) if whole else (most,)):
        ranks = test.compile("ranks", "--dtype=f32", *mesh)
        out = test.path(f"ranks-{test.runs}")
        found = test.train(ranks, *flags[:-1], 6, "--workers", 4, data=data, out=out)
        for a, b in zip(found, one):
            expect(abs(a["loss"] - b["loss"]) < 2e-5 and abs(a["grad_norm"] / b["grad_norm"] - 1) < 1e-3
                   and abs(a["rewards/margins"] - b["rewards/margins"]) < 1e-3, f"{mesh}: {a}, one rank has {b}")
        ours = read_tensors(os.path.join(out, REFERENCES))["logps"]
        worst = max(abs(a - b) for a, b in zip(ours[2], references[2], strict=True))
        expect(worst < 1e-3 if "tp" in mesh[0] else worst == 0, f"{mesh}: references differ by {worst}")
        print(f"{' '.join(mesh)}: losses {found[0]['loss']:.5f} to {found[-1]['loss']:.5f}")

    # Beside an output projection that is frozen, too.
    few, lines = [*flags[:-1], 4, "--init-seed", 3], None
    for mesh in ([], ["--mesh=tp=2"], ["--mesh=dp=2,tp=2", "--zero=1"]) if whole else ():
        found = test.train(test.compile("ranks", "--dtype=f32", "--adapter=lora:r=4", *mesh), *few, "--workers", 4, data=data)
        lines = lines or found
        for a, b in zip(found, lines, strict=True):
            expect(abs(a["loss"] - b["loss"]) < 2e-5 and abs(a["grad_norm"] / b["grad_norm"] - 1) < 1e-3,
                   f"an adapter, {mesh}: {a}, one rank has {b}")
    expect(not lines or lines[-1]["loss"] < lines[0]["loss"], f"an adapter learns nothing: {lines}")

    # Products of 16 bits; in F16 losses are scaled, and what is said of pairs is not.
    for dtype in ("bf16", "f16") if whole else ("f16",):
        found = test.train(test.compile(dtype, f"--dtype={dtype}"), *flags, data=data)
        expect(abs(found[0]["loss"] - math.log(2)) < 1e-6 and found[0]["rewards/margins"] == 0
               and abs(found[0]["logps/chosen"] / one[0]["logps/chosen"] - 1) < 0.02
               and abs(found[-1]["loss"] - one[-1]["loss"]) < 0.1, f"{dtype}: {found}, F32 has {one}")


def check_refusals(test):
    program, batonc = test.path("program"), test.arguments.batonc
    data = write_lines(test.path("few.jsonl"), [*chats(3), {"prompt": "a", "chosen": "b" * 90, "rejected": "c" * 9}])
    flags = ["--steps", 1, "--batch", 1, "--validation-fraction", 0]
    cut = json.loads(test.start(program, *flags, "--json", "--quiet", data=data).stdout.splitlines()[0])["data"]
    expect(cut["too_long"] == 1 and cut["pairs"] == 4, f"{cut}")
    dropped = json.loads(test.start(program, *flags, "--json", "--quiet", "--long-documents=drop",
                                    data=data).stdout.splitlines()[0])["data"]
    expect(dropped["too_long"] == 1 and dropped["pairs"] == 3, f"{dropped}")
    text = write_lines(test.path("plain.txt"), ["some text " * 40])
    bad = write_lines(test.path("bad.jsonl"), [{"prompt": "a", "completion": "b"}])
    for more, where, words in ((["--dpo-beta", 0], data, "--dpo-beta: expected"),
                               ([], text, "--data " + text + ": this program's loss is of pairs"),
                               ([], bad, bad + ":1: expected \"chosen\" and \"rejected\""),
                               (["--loss-on=all"], data, "--loss-on=all: of pairs"),
                               (["--long-documents=split"], data, "--long-documents=split: a pair")):
        test.fails(test.start(program, *flags, "--quiet", *more, data=where, check=False), words)
    out = test.path("other")
    test.train(program, *flags, data=data, out=out)
    more = ["--steps", 2, *flags[2:], "--resume", "--quiet"]
    test.fails(test.start(program, *more, data=test.path("many.jsonl"), out=out, begins=False, check=False),
               f"{REFERENCES}: is of other pairs")
    warned = test.start(program, *more[:-1], "--dpo-beta", 0.5, data=data, out=out, begins=False)
    expect("--dpo-beta 0.5 (was 0.1)" in warned.stderr, warned.stderr)
    os.remove(os.path.join(out, REFERENCES))
    test.fails(test.start(program, "--steps", 3, *more[2:], data=data, out=out, begins=False, check=False),
               f"{REFERENCES} is not there")
    compile_ = [batonc, test.model, "-o", test.path("refused")]
    for more, words in ((["--loss=dpo"], "--loss=dpo is for --mode=train"),
                        (["--mode=train", "--loss=ppo"], "--loss=ppo"),
                        (["--mode=train", "--loss=dpo", "--mesh=pp=2", "--microbatches=2"], "--loss=dpo with --mesh=pp=N"),
                        (["--mode=train", "--loss=dpo", "--router-z-loss=1"], "--router-z-loss with --loss=dpo")):
        test.fails([*compile_, *more], words)


def test(arguments, scratch):
    test = Test(arguments, scratch)
    if arguments.more:
        check_forms(test)
        check_runs(test)
        check_refusals(test)
    elif arguments.meshes:
        test.compile("program", "--dtype=f32")
        check_runs(test)
    elif arguments.only_cuda:
        check_emulated(test)
    else:
        check_steps(test)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--cuda", action="store_true", help="on emulated CUDA, too")
    parser.add_argument("--only-cuda", action="store_true", help="emulated CUDA, of few pairs, and nothing else")
    parser.add_argument("--more", action="store_true", help="not the steps, but all else that needs few programs")
    parser.add_argument("--meshes", action="store_true", help="what needs more")
    parser.add_argument("folder", help="of the model, with preferences.json")
    parser.add_argument("adapter", nargs="?", help="that PEFT has saved, with preferences.json")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
