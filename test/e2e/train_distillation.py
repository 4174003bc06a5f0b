"""Losses that compare a student with a teacher (batonc --loss=distill), against PyTorch in F64.

- Six steps of AdamW beside a teacher whose tokens and probabilities a file gives have PyTorch's
  losses, divergences and cross-entropies, to 1e-4, and gradients that lie within 5e-6 of PyTorch's,
  in norm, in the last step of F64; by both divergences.
- The same bits for other numbers of workers, when a run is resumed, and, with --cuda, on
  emulated CUDA. Microbatches and packing change losses by rounding alone.

With --only-cuda: nothing but the CPU's bits on emulated CUDA, of two steps of few rows.

With --more: what `teach` writes is the softmax of the logits that `logits` writes, also when it was
interrupted; beside itself a model has no divergence; a rank for each half of the vocabulary, which an
adapter's output projection does not learn; a student learns; evaluation, refusals. With --meshes:
the same student on more meshes, with an adapter, in F16 and BF16; it comes closer to its teacher than
one that learns the data.
"""

import argparse
import json
import math
import os
import shutil
import struct

import programs
from programs import expect, quickly, rows_of, run
from train_documents import write_lines
from training import FORMATS, Golden, gradient_errors, lines_of, read_bytes, read_tensors

FORMATS.setdefault("I32", ("i", 4))
KEYS = ("loss", "kl", "nll")


class Test:
    def __init__(self, arguments, scratch):
        self.arguments, self.scratch, self.runs = arguments, scratch, 0
        # Without a tokenizer each byte is a token.
        self.model = self.path("model")
        shutil.copytree(arguments.folder, self.model, ignore=shutil.ignore_patterns("tokenizer.json"))
        self.golden = Golden(arguments.adapter or arguments.folder, "distillation.json")
        self.data = write_lines(self.path("documents.jsonl"), self.golden["documents"])
        self.teacher = None

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, name, *flags, adapter=None):
        adapter = adapter or ([f"--adapter={self.arguments.adapter}"] if self.arguments.adapter else [])
        run([self.arguments.batonc, self.model, "--mode=train", "--loss=distill", "--quiet", *adapter, *quickly([]), *flags,
             "-o", self.path(name)])
        return self.path(name)

    def teach(self, out, *flags, data=None, weights=None, check=True):
        """Asks the model itself."""
        program = self.path("teacher")
        if not os.path.exists(program):
            run([self.arguments.batonc, self.model, "--max-batch=1", "--max-outputs=16", "--quiet", *quickly([]), "-o", program])
        usual = {"--seq": 64, "--data": data or self.data, "--weights": weights or self.model}
        flags = [*(word for flag in usual if flag not in flags for word in (flag, usual[flag])), *flags]
        return run([program, "teach", "--out", out, "--quiet", *flags], check=check)

    def start(self, program, *flags, out=None, data=None, teacher=None, begins=True, check=True):
        self.runs += 1
        usual = {"--seq": 64, "--packing": "none", "--teacher": teacher or self.teacher}
        flags = [*(word for flag in usual if not any(str(word).startswith(flag) for word in flags) and usual[flag]
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


def write_teacher(path, tensors):
    """The file that is there, with other elements: name -> values."""
    data = bytearray(read_bytes(path))
    (size,) = struct.unpack("<Q", data[:8])
    for name, entry in json.loads(data[8:8 + size]).items():
        if name in tensors:
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            letter = FORMATS[entry["dtype"]][0]
            data[begin:end] = struct.pack(f"<{len(tensors[name])}{letter}", *tensors[name])
            assert end - begin == 4 * len(tensors[name])
    with open(path, "wb") as file:
        file.write(data)


def take_teacher(test):
    """PyTorch's teacher, in a folder that is one of these documents."""
    golden, test.teacher = test.golden, test.path("taught")
    test.teach(test.teacher, "--top-k", golden["top_k"], "--temperature", golden["temperature"])
    flat = lambda name: [value for row in golden[name] for value in row]
    write_teacher(f"{test.teacher}/teacher-00000.safetensors",
                  {"tokens": flat("tokens"), "logps": flat("logps"), "rest": golden["rest"]})


def usual_flags(golden, which):
    reference = golden["runs"][which]
    return [*(word for pair in golden["settings"].items() for word in pair), "--lr-schedule", "constant",
            "--validation-fraction", 0, "--divergence", which, "--kl", reference["kl"], "--ce", reference["ce"]]


def check_emulated(test):
    """Two steps of some rows, more than a tile has."""
    take_teacher(test)
    flags = ["--dtype=f32", "--teacher-top-k=7"]
    program, emulated = test.compile("program", *flags), test.compile("emulated", *flags, "--target=cuda:emulated",
                                                                      "--batch-invariant")
    for which in test.golden["runs"]:
        runs = {name: test.train(one, *usual_flags(test.golden, which), "--batch", 3, "--seq", 32, "--steps", 2,
                                 out=test.path(f"{name}-{which}")) for name, one in (("cpu", program), ("cuda", emulated))}
        expect(len(runs["cpu"]) == 2 and runs["cuda"] == runs["cpu"], f"{which}: {runs}")
        for file in ("model.safetensors", "optimizer.safetensors"):
            expect(read_bytes(test.path(f"cuda-{which}/step-2/{file}")) == read_bytes(test.path(f"cpu-{which}/step-2/{file}")),
                   f"{which}, emulated CUDA: {file}")
        print(f"{which}: the CPU's bits, {runs['cpu'][-1]['loss']:.5f}")


def check_steps(test):
    golden, steps = test.golden, len(test.golden["runs"]["forward"]["steps"])
    take_teacher(test)
    weights = "adapter_model.safetensors" if test.arguments.adapter else "model.safetensors"
    program, double = test.compile("program", "--dtype=f32", "--teacher-top-k=7"), test.compile("double", "--dtype=f64")
    batch = len(golden["documents"])

    for which, reference in golden["runs"].items():
        usual = usual_flags(golden, which)

        def compare_lines(lines, what, bound):
            expect(len(lines) == steps, f"{what}: {lines}")
            for number, (line, step) in enumerate(zip(lines, reference["steps"]), 1):
                for key in KEYS:
                    allowed = bound * max(1, abs(step[key]))
                    expect(abs(line[key] - step[key]) <= allowed,
                           f"{what}, step {number}: {key} is {line[key]}, PyTorch's {step[key]}, allowed {allowed:.1e}")

        def compare_gradients(name, what, bound=None):
            worst, found = 0.0, read_tensors(test.path(name))
            for tensor, _, error in gradient_errors(found, reference["last"]):
                allowed = bound or 0.75 * max(1e-4, 2 * reference["last"][tensor]["float32_error"])
                expect(error <= allowed, f"{what}: {tensor} is off by {error:.2e}, allowed {allowed:.2e}")
                worst = max(worst, error)
            print(f"{what}: gradients of {len(found)} tensors, worst error {worst:.2e}")

        whole, flags = test.path(f"whole-{which}"), [*usual, "--batch", batch]
        lines = test.train(program, *flags, "--steps", steps, "--save-every", 2, "--keep", 9, "--gradients",
                           test.path("last"), "--workers", 1, out=whole)
        compare_lines(lines, which, 1e-4)
        compare_gradients("last", f"{which}, the last step")
        exact = test.train(double, *flags, "--steps", steps, "--gradients", test.path("exact"))
        compare_lines(exact, f"{which}, F64", 1e-5)
        compare_gradients("exact", f"{which}, F64, the last step", bound=5e-6)

        # Other workers; resumed.
        part = test.path(f"part-{which}")
        first = test.train(program, *flags, "--steps", 4, "--workers", 3, out=part)
        rest = test.train(program, *flags, "--steps", steps, "--resume", out=part, begins=False)
        expect(first + rest == lines, f"{which}: {first} and resumed {rest}, at once {lines}")
        for file in (weights, "optimizer.safetensors"):
            expect(read_bytes(f"{part}/step-{steps}/{file}") == read_bytes(f"{whole}/step-{steps}/{file}"),
                   f"{which}: resumed, {file} differs")

        # Microbatches, and several documents in a sequence.
        for flags in (["--batch", 2, "--accumulate", batch // 2], ["--seq=64", "--packing=best", "--batch", 6]):
            found, = test.train(program, *usual, *flags, "--steps", 1)
            for key in (*KEYS, "grad_norm"):
                expect(abs(found[key] - lines[0][key]) <= 4e-6 * abs(lines[0][key]), f"{flags}: {found}, at once {lines[0]}")

        if test.arguments.cuda:
            emulated = test.path("emulated")
            if not os.path.exists(emulated):
                test.compile("emulated", "--dtype=f32", "--teacher-top-k=7", "--target=cuda:emulated", "--batch-invariant")
            found = test.train(emulated, *usual, "--batch", batch, "--steps", 2, out=test.path(f"emulated-{which}"))
            expect(found == lines[:2], f"emulated CUDA: {found}, the CPU has {lines[:2]}")
            for file in (weights, "optimizer.safetensors"):
                expect(read_bytes(test.path(f"emulated-{which}/step-2/{file}")) == read_bytes(f"{whole}/step-2/{file}"),
                       f"emulated CUDA: {file}")


def distribution(logits, count, temperature):
    """The likeliest tokens of a row, their logarithms and the rest's."""
    scaled = [value / temperature for value in logits]
    largest = max(scaled)
    log_sum = largest + math.log(math.fsum(math.exp(value - largest) for value in scaled))
    tokens = sorted(sorted(range(len(scaled)), key=lambda i: (-scaled[i], i))[:count])
    others = math.fsum(math.exp(scaled[i] - log_sum) for i in set(range(len(scaled))) - set(tokens))
    return tokens, [scaled[i] - log_sum for i in tokens], math.log(others) if len(tokens) < len(scaled) else -math.inf


def check_teacher(test):
    """What is written, beside the logits of the same program."""
    documents, few = test.golden["documents"], test.path("few")
    test.teach(few, "--top-k", 4, "--temperature", 1.5)
    tensors = read_tensors(f"{few}/teacher-00000.safetensors")
    vocabulary, row, behind = None, 0, None
    for document in documents[:3]:
        prompt, answer = document["prompt"].encode(), document["completion"].encode()
        program, npy = test.path("teacher"), test.path("logits.npy")
        run([program, "logits", "--weights", test.model, "--tokens", ",".join(map(str, prompt + answer)), "--out", npy,
             "--quiet"])
        rows = rows_of(read_bytes(npy))
        vocabulary = len(rows[0])
        # The token that ends a text is learned, where there is one.
        behind = json.load(open(f"{few}/teacher.json"))["targets"] - sum(len(d["completion"].encode()) for d in documents)
        expect(behind in (0, len(documents)), f"{behind} targets more than bytes")
        for logits in rows[len(prompt) - 1:len(prompt) + len(answer) - (behind == 0)]:
            tokens, logps, rest = distribution(logits, 4, 1.5)
            found = [list(tensors[name][2][4 * row:4 * row + 4]) for name in ("tokens", "logps")]
            worst = max(abs(a - b) for a, b in zip([*logps, rest], [*found[1], tensors["rest"][2][row]]))
            expect(found[0] == tokens and worst < 2e-5, f"target {row}: {found}, logits say {tokens} {logps} {rest}")
            row += 1
    expect(tensors["tokens"][1] == [json.load(open(f"{few}/teacher.json"))["targets"], 4], f"{tensors['tokens'][1]}")
    print(f"{row} targets are named as their logits say")

    # Shards, of which one is missing and another is half written.
    parts, names = test.path("parts"), []
    report = json.loads(test.teach(parts, "--top-k", 4, "--temperature", 1.5, "--shard", 600, "--json").stdout)
    names = sorted(name for name in os.listdir(parts) if name != "teacher.json")
    expect(report["shards"] == len(names) > 3 and report["written"] == report["targets"], f"{report}, {names}")
    for name in ("tokens", "logps", "rest"):
        joined = [value for file in names for value in read_tensors(f"{parts}/{file}")[name][2]]
        expect(joined == list(tensors[name][2]), f"shards have other {name}")
    before = {name: read_bytes(f"{parts}/{name}") for name in names}
    os.remove(f"{parts}/{names[1]}")
    again = ["--top-k", 4, "--temperature", 1.5, "--shard", 600, "--json"]
    size = len(read_tensors(f"{parts}/{names[0]}")["rest"][2])
    report = json.loads(test.teach(parts, *again).stdout)
    expect(0 < report["written"] < 3 * size + 40 and {name: read_bytes(f"{parts}/{name}") for name in names} == before,
           f"a second time {report}")
    with open(f"{parts}/{names[2]}", "wb") as file:
        file.write(before[names[2]][:-8])
    test.fails(test.teach(parts, *again, check=False), names[2])
    program = test.compile("student", "--dtype=f32")
    test.fails(test.start(program, "--steps", 1, "--batch", 1, "--quiet", teacher=parts, check=False),
               f"--teacher: {parts}/{names[2]}")
    os.remove(f"{parts}/{names[2]}")
    test.fails(test.start(program, "--steps", 1, "--batch", 1, "--quiet", teacher=parts, check=False),
               f"{names[2]}: is not there yet")
    report = json.loads(test.teach(test.path("dry"), "--top-k", 4, "--json", "--dry-run").stdout)
    expect(report["bytes"] == 36 * report["targets"] and not os.path.exists(test.path("dry")), f"{report}")

    # Beside itself, by some tokens and by all.
    whole = test.path("all-tokens")
    test.teach(whole, "--top-k", "all", "--temperature", 2)
    everything = test.compile("everything", "--dtype=f32", "--teacher-top-k=all")
    for one, teacher in ((program, few), (everything, whole), (everything, few)):
        for which in ("forward", "reverse"):
            line, = test.train(one, "--steps", 1, "--batch", 2, "--divergence", which, teacher=teacher)
            expect(abs(line["kl"]) < 2e-6 and line["grad_norm"] < 5e-4 < line["nll"], f"{teacher}, {which}: {line}")
    expect(json.load(open(f"{whole}/teacher.json"))["top_k"] == vocabulary, "all are not all")
    test.fails(test.start(program, "--steps", 1, "--batch", 1, "--quiet", teacher=whole, check=False)
               if vocabulary > 64 else [program, "info", "--no"], f"--teacher-top-k={vocabulary}" if vocabulary > 64 else "no")


def check_runs(test):
    """A student with other weights."""
    words = ("yes", "no", "why", "seven", "blue")
    data = write_lines(test.path("many.jsonl"), [{"prompt": f"{words[i % 5]} {i % 7}:", "completion": f" {words[(i * 3) % 5]}."}
                                                 for i in range(60)])
    taught = test.path("many-taught")
    test.teach(taught, "--top-k", 16, data=data)
    program = test.path("student")
    usual = ["--seq", 96, "--packing=best", "--batch", 4, "--lr", 2e-3, "--lr-schedule", "constant"]
    begin = ["--init-seed", 3, "--model", test.model]
    where = {"data": data, "teacher": taught, "begins": False}
    test.many, test.taught = data, taught
    flags = [*usual, "--steps", 6, "--validate-every", 3, *begin]
    one = test.train(program, *flags, **where)
    expect(one[-1]["kl"] < one[0]["kl"] and one[-1]["validation_loss"] < one[2]["validation_loss"]
           and abs(one[0]["loss"] - one[0]["kl"]) < 1e-6, f"learns nothing: {one}")

    def compare(name, found, expected):
        for a, b in zip(found, expected, strict=True):
            expect(abs(a["loss"] - b["loss"]) < 5e-5 and abs(a["kl"] - b["kl"]) < 5e-5 and abs(a["nll"] - b["nll"]) < 5e-5
                   and abs(a["grad_norm"] / b["grad_norm"] - 1) < 1e-3, f"{name}: {a}, one rank has {b}")
        print(f"{name}: divergence {found[0]['kl']:.5f} to {found[-1]['kl']:.5f}")

    whole = test.arguments.meshes
    mixed = ["--divergence", "reverse", "--kl", 0.5, "--ce", 0.5]
    other = test.train(program, *flags, *mixed, **where)
    expect(abs(other[0]["loss"] - 0.5 * (other[0]["kl"] + other[0]["nll"])) < 1e-5, f"{other[0]}")
    most = ["--mesh=dp=2,tp=2", "--sequence-parallel"]
    for mesh in ((["--mesh=dp=2"], ["--mesh=tp=2"], ["--mesh=dp=2", "--zero=3"], most) if whole else (most,)):
        ranks = test.compile("ranks", "--dtype=f32", *mesh)
        compare(" ".join(mesh), test.train(ranks, *flags, "--workers", 4, **where), one)
        if "tp" in mesh[0]:
            compare(f"{' '.join(mesh)}, reverse", test.train(ranks, *flags, *mixed, "--workers", 4, **where), other)
    # Beside an output projection that is frozen, too.
    beside, first = {"data": data, "teacher": taught}, None
    for mesh in ([], ["--mesh=tp=2"], *([["--mesh=dp=2,tp=2", "--zero=1"]] if whole else [])):
        ranks = test.compile("ranks", "--dtype=f32", *mesh, adapter=["--adapter=lora:r=4"])
        found = test.train(ranks, *usual, "--steps", 4, "--init-seed", 3, "--ce", 1, "--kl", 0.5, "--workers", 4, **beside)
        first = first or found
        compare(f"an adapter, {' '.join(mesh)}", found, first)
    expect(first[0]["kl"] < 1e-6 < first[-1]["kl"] and first[-1]["nll"] < first[0]["nll"], f"an adapter: {first}")
    if not whole:
        test.train(program, *usual, "--steps", 6, *begin, "--kl", 0, "--ce", 1, out=test.path("far"), **where)
        return check_eval(test, program, "far/step-6")
    for dtype in ("bf16", "f16"):
        found = test.train(test.compile(dtype, f"--dtype={dtype}"), *flags, **where)
        expect(all(abs(a["kl"] - b["kl"]) < 0.05 and abs(a["nll"] - b["nll"]) < 0.05 for a, b in zip(found, one)),
               f"{dtype}: {found}, F32 has {one}")

    # Held-out documents: after as many steps nearer to the teacher than by the data alone.
    many = [*usual, "--steps", 40, "--validate-every", 40, *begin]
    near = test.train(program, *many, out=test.path("near"), **where)
    test.train(program, *many, "--kl", 0, "--ce", 1, out=test.path("far"), **where)
    measured = {}
    for name in ("near", "far"):
        line, = test.train(program, *usual[:5], "--lr", 1e-30, "--steps", 1, "--validate-every", 1, "--weights",
                           test.path(f"{name}/step-40"), **where)
        measured[name] = line["validation_loss"]
    expect(abs(measured["near"] - near[-1]["validation_loss"]) < 1e-5 and measured["near"] < 0.7 * measured["far"],
           f"{measured}, {near[-1]}")
    print(f"KL(teacher || student) on held-out documents: {measured['near']:.4f}, of cross-entropy alone {measured['far']:.4f}")
    return check_eval(test, program, "far/step-40")


def check_eval(test, program, weights):
    """Without a teacher a program measures how well it foretells the data."""
    plain = test.path("plain")
    run([test.arguments.batonc, test.model, "--mode=train", "--dtype=f32", "--quiet", *quickly([]), "-o", plain])
    found = [json.loads(run([one, "eval", "--weights", test.path(weights), "--data", test.many, "--seq", 96, "--batch", 4,
                             "--json", "--quiet"]).stdout)["loss"] for one in (program, plain)]
    expect(abs(found[0] - found[1]) < 1e-5, f"eval: {found}")


def check_refusals(test):
    program, batonc = test.path("student"), test.arguments.batonc
    flags = ["--steps", 1, "--batch", 1, "--quiet", "--validation-fraction", 0]
    text = write_lines(test.path("plain.txt"), ["some text " * 40])
    for more, where, words in (
            (["--kl", -1], {}, "--kl: expected"), (["--kl", 0], {}, "--kl and --ce are both 0"),
            (["--divergence", "both"], {}, "--divergence: expected forward or reverse"),
            ([], {"data": test.data}, "teacher.json: is of 60 documents"),
            (["--seq", 8], {}, "run teach with the same flags"),
            ([], {"teacher": test.path("nowhere")}, "teacher.json: is not there")):
        place = {"data": test.many, "teacher": test.taught, **where}
        test.fails(test.start(program, *flags, *more, **place, check=False), words)
    test.fails([program, "train", "--weights", test.model, "--data", text, "--teacher", test.taught, "--out", test.path("text"),
                "--seq", 64, *flags], "--data: this program's loss compares with a teacher")
    test.fails(test.start(program, *flags, data=test.many, check=False), "--teacher is missing")
    test.fails(test.start(test.path("plain"), *flags, data=test.many, teacher=test.taught, check=False),
               "--teacher: is for losses that have a teacher")
    other = test.path("other")
    shutil.copytree(test.taught, other)
    description = json.load(open(f"{other}/teacher.json"))
    for key, value, words in (("vocabulary", 32000, "has a vocabulary of 32000"), ("format", "x", "is no description")):
        with open(f"{other}/teacher.json", "w") as file:
            json.dump({**description, key: value}, file)
        test.fails(test.start(program, *flags, data=test.many, teacher=other, check=False), words)
    shutil.copy(f"{test.taught}/teacher.json", other)
    shard = f"{other}/teacher-00000.safetensors"
    rest = list(read_tensors(shard)["rest"][2])
    write_teacher(shard, {"rest": [0.0] * len(rest)})
    test.fails(test.start(program, *flags, data=test.many, teacher=other, check=False), "add up to 1; the file is damaged")
    out = test.path("settings")
    begin = {"data": test.many, "teacher": test.taught, "out": out}
    test.start(program, *flags, **begin)
    warned = test.start(program, "--steps", 2, "--batch", 1, "--validation-fraction", 0, "--resume", "--kl", 0.5, begins=False,
                        **begin)
    expect("--kl 0.5 (was 1.0)" in warned.stderr, warned.stderr)
    for more, words in ((["--top-k", 0], "--top-k: expected"), (["--top-k", 999999], "--top-k 999999: the vocabulary"),
                        (["--packing=none"], "--packing: what a teacher"), (["--data", text], "--data: a teacher speaks"),
                        (["--seq", 999999], "--seq 999999: the model takes"),
                        (["--temperature", 3], "is of other data, flags or weights")):
        test.fails(test.teach(test.taught, "--top-k", 16, *more, data=test.many, check=False)
                   if "--top-k" not in more else test.teach(test.taught, *more, data=test.many, check=False), words)
    compile_ = [batonc, test.model, "-o", test.path("refused")]
    for more, words in ((["--loss=distill"], "--loss=distill is for --mode=train"),
                        (["--mode=train", "--teacher-top-k=3"], "--teacher-top-k is for --loss=distill"),
                        (["--mode=train", "--loss=distill", "--teacher-top-k=0"], "--teacher-top-k=0: expected"),
                        (["--mode=train", "--loss=distill", "--mesh=pp=2", "--microbatches=2"], "--loss=distill with --mesh=pp=N"),
                        (["--mode=train", "--loss=distill", "--router-z-loss=1"], "--router-z-loss with --loss=distill")):
        test.fails([*compile_, *more], words)


def test(arguments, scratch):
    test = Test(arguments, scratch)
    if arguments.more:
        check_teacher(test)
        check_runs(test)
        check_refusals(test)
    elif arguments.meshes:
        test.compile("student", "--dtype=f32")
        check_runs(test)
    elif arguments.only_cuda:
        check_emulated(test)
    else:
        check_steps(test)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--cuda", action="store_true", help="on emulated CUDA, too")
    parser.add_argument("--only-cuda", action="store_true", help="emulated CUDA, of few rows, and nothing else")
    parser.add_argument("--more", action="store_true", help="not the steps, but all else that needs few programs")
    parser.add_argument("--meshes", action="store_true", help="what needs more")
    parser.add_argument("folder", help="of the model, with distillation.json")
    parser.add_argument("adapter", nargs="?", help="that PEFT has saved, with distillation.json")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
