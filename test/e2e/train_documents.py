"""Documents of .jsonl files: what is learned of them, and that none sees another.

- A step of packed documents has, bit for bit, the losses and the gradients of products of
  the same documents each in a sequence of its own.
- `eval` says the losses that the logits of a decoding program come to, by file, for
  conversations, completions and texts, with --loss-on=completions and all.
- Files with weights, --resume, the report before the first step, validation, bad lines,
  several ranks; a checkpoint keeps the chat template.
- The file of events, read by a reader of its own.
"""

import argparse
import itertools
import json
import math
import os
import re
import shutil
import struct

import programs
from programs import QUICK, Program, expect, rows_of, run
from training import distance, lines_of, read_bytes, read_tensors

# Turns of bytes: neither side needs a tokenizer.
TEMPLATE = ("{% for message in messages %}{{ '<' + message.role[0] + '>' + message.content + '\\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<a>' }}{% endif %}")


def write_lines(path, lines):
    with open(path, "w") as file:
        file.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return path


def chat(*contents):
    return {"messages": [{"role": ("user", "assistant")[i % 2], "content": content}
                         for i, content in enumerate(contents)]}


def expected_document(line):
    """Bytes of a line's document, and which of them are targets."""
    if "text" in line:
        return list(line["text"].encode()), [True] * len(line["text"].encode())
    if "prompt" in line:
        pieces = [(line["prompt"], False), (line["completion"], True)]
    else:
        pieces = [piece for message in line["messages"] for piece in
                  ((f"<{message['role'][0]}>", False), (message["content"] + "\n", message["role"] == "assistant"))]
    tokens, mask = [], []
    for text, is_target in pieces:
        tokens += text.encode()
        mask += [is_target] * len(text.encode())
    return tokens, mask


class Test:
    def __init__(self, arguments, scratch):
        self.scratch, self.runs = scratch, 0
        self.model = self.path("model")
        shutil.copytree(arguments.folder, self.model, ignore=shutil.ignore_patterns("tokenizer.json"))
        with open(os.path.join(self.model, "chat_template.jinja"), "w") as file:
            file.write(TEMPLATE)
        self.batonc = arguments.batonc
        self.trainer = self.compile("trainer")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, name, *flags):
        run([self.batonc, self.model, "--mode=train", "--dtype=f32", QUICK, "--quiet", *flags, "-o", self.path(name)])
        return self.path(name)

    def train(self, *flags, trainer=None, check=True, out=None, begin=True):
        self.runs += 1
        out = out or self.path(f"run-{self.runs}")
        weights = ["--weights", self.model] if begin else []
        return run([trainer or self.trainer, "train", *weights, "--out", out, *flags], check=check)

    def evaluate(self, *flags, weights=None):
        return json.loads(run([self.trainer, "eval", "--weights", weights or self.model, "--quiet", "--json",
                               *flags]).stdout)


def check_packing(test):
    """Lengths on both sides of 64, where attention has blocks."""
    documents = [chat("Which document is the longest?", "This one: it goes on and on and on."),
                 {"text": "A text that stands alone, and before others."}]
    data = write_lines(test.path("packed.jsonl"), documents)

    def gradients(*flags):
        out = test.path(f"gradients-{test.runs}.safetensors")
        lines = lines_of(test.train("--data", data, "--steps", 1, "--validation-fraction", 0, "--gradients", out,
                                    "--seq", 124, "--quiet", *flags).stdout, "tokens_per_s")
        return lines[0]["loss"], read_tensors(out)

    loss, packed = gradients("--batch", 1)
    rows = json.loads(test.train("--data", data, "--steps", 1, "--validation-fraction", 0, "--seq", 124, "--batch", 1,
                                 "--quiet", "--json").stdout.splitlines()[0])["data"]["epoch"]
    expect(rows["sequences"] == 1 and rows["documents"] == 2, f"not packed: {rows}")
    # Products that add to a gradient go on where it ends, so the order of both decides, which
    # a seed does; other sums over rows are of a step's rows.
    alone = [gradients("--batch", 1, "--accumulate", 2, "--packing=none", "--seed", seed) for seed in range(4)]
    products = [name for name, (_, shape, _) in packed.items() if len(shape) == 2 and not re.search("wte|wpe|embed", name)]
    expect(len(products) > 6 and any(all(tensors[name] == packed[name] for name in products) for _, tensors in alone),
           "no order of documents alone has the gradients of those that are packed")
    for value, tensors in alone:
        expect(abs(value / loss - 1) < 1e-6, f"losses: {loss}, {value}")
        for name, (_, _, values) in packed.items():
            size = distance(values, [0] * len(values))
            expect(distance(tensors[name][2], values) < 1e-6 * size, f"{name}: gradients differ")
    # Of one target each, losses are added once.
    pairs = [{"prompt": "A document with much before its end:", "completion": "!"}, {"prompt": "Another", "completion": "?"}]
    data = write_lines(test.path("pairs.jsonl"), pairs)
    terms = [test.evaluate("--data", write_lines(test.path("pair.jsonl"), [pair]), "--seq", 124)["loss"] for pair in pairs]
    expected, = struct.unpack("<f", struct.pack("<f", terms[0] / 2 + terms[1] / 2))
    found = test.evaluate("--data", data, "--seq", 124)
    expect(found["targets"] == 2 and found["loss"] == expected, f"loss of both {found}, of each {terms}")
    # One behind the other in one document, the second sees the first.
    tokens, _ = expected_document(documents[0])
    joined = write_lines(test.path("joined.jsonl"), [{"prompt": bytes(tokens).decode(), "completion": documents[1]["text"]}])
    apart = write_lines(test.path("apart.jsonl"), documents[1:])
    seen, unseen = (test.evaluate("--data", name, "--seq", 124)["loss"] for name in (joined, apart))
    expect(abs(seen / unseen - 1) > 1e-4, f"what is before a document changes nothing: {seen}, {unseen}")


LINES = {"chats.jsonl": [chat("Hi", "Hello."), chat("ä?", "ö!", "More", "No more."), chat("a", "b", "c")],
         "pairs.jsonl": [{"prompt": "2+2=", "completion": "4"}, {"prompt": "", "completion": "x yz"}],
         "texts.jsonl": [{"text": "A first text."}, {"text": "another " * 6}]}


def check_losses(test):
    """Against logits, which another program computes, of each document alone."""
    program = Program(test.batonc, test.model, test.path("program"))
    paths = [write_lines(test.path(name), lines) for name, lines in LINES.items()]
    flags = [flag for path in paths for flag in ("--data", path)]
    for loss_on in ("completions", "all"):
        found = test.evaluate(*flags, "--seq", 64, "--batch", 2, f"--loss-on={loss_on}")
        expect([file["file"] for file in found["files"]] == paths, f"files: {found}")
        total, count = 0.0, 0
        for (name, lines), file in zip(LINES.items(), found["files"]):
            losses = []
            for line in lines:
                tokens, mask = expected_document(line)
                rows = rows_of(program.logits(tokens, test.path("logits.npy")))
                for i in range(1, len(tokens)):
                    if mask[i] or loss_on == "all":
                        top = max(rows[i - 1])
                        losses.append(top + math.log(sum(math.exp(value - top) for value in rows[i - 1]))
                                      - rows[i - 1][tokens[i]])
            mean = sum(losses) / len(losses)
            expect(file["targets"] == len(losses) and file["documents"] == len(lines)
                   and abs(file["loss"] / mean - 1) < 1e-5
                   and abs(math.log(file["perplexity"]) / file["loss"] - 1) < 1e-9,
                   f"{name}, {loss_on}: {file}, by logits {mean} of {len(losses)}")
            total, count = total + sum(losses), count + len(losses)
        expect(found["targets"] == count and abs(found["loss"] / (total / count) - 1) < 1e-5, f"all: {found}, {total / count}")
    print(f"{count} targets have the losses of their logits")


def records_of(path):
    """The records of a TFRecord file, whose checksums are computed bit by bit."""
    def masked(data):
        value = 0xFFFFFFFF
        for byte in data:
            value ^= byte
            for _ in range(8):
                value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        value ^= 0xFFFFFFFF
        return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF

    data = read_bytes(path)
    while data:
        length, check = struct.unpack("<QI", data[:12])
        record, (behind,) = data[12:12 + length], struct.unpack("<I", data[12 + length:16 + length])
        expect(check == masked(data[:8]) and behind == masked(record), f"{path}: a checksum is wrong")
        yield record
        data = data[16 + length:]


def fields_of(message):
    """(number, value) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = message[at:at + size], at + size
            yield key >> 3, struct.unpack("<d" if size == 8 else "<f", value)[0] if key & 7 in (1, 5) else value


def check_events(folder, lines):
    found, starts = {}, []
    for name in sorted(name for name in os.listdir(folder) if "tfevents" in name):
        for number, record in enumerate(records_of(os.path.join(folder, name))):
            event = dict(fields_of(record))
            if number == 0:
                expect(event[3] == b"brain.Event:2", f"{name}: {event}")
            elif number == 1:
                expect(dict(fields_of(event[7])) == {1: 1}, f"{name}: {event}")
                starts.append(event[2])
            else:
                values = [dict(fields_of(value)) for tag, value in fields_of(event[5]) if tag == 1]
                found[event[2]] = {value[1].decode(): value[2] for value in values}
    single = lambda value: struct.unpack("<f", struct.pack("<f", value))[0]
    for line in lines:
        expected = {key: single(value) for key, value in line.items() if key != "step"}
        expect(found[line["step"]].pop("mfu", 0) > 0, f"step {line}: no utilisation")
        expect(found.pop(line["step"]) == expected, f"step {line}: events differ")
    expect(not found, f"events of other steps: {found}")
    return starts


def check_runs(test):
    data = ["--data", write_lines(test.path("many.jsonl"), [chat(f"Say {i}", "n" * (i % 9) + str(i)) for i in range(40)]),
            "--data", write_lines(test.path("more.jsonl"), [{"text": f"text {i} " * (1 + i % 4)} for i in range(30)]) + "=0.5"]
    flags = [*data, "--seq", 64, "--batch", 2, "--lr", 1e-3, "--warmup", 1, "--validate-every", 4]
    whole = test.path("whole")
    result = test.train(*flags, "--steps", 12, "--save-every", 6, "--json", "--tensorboard", out=whole)
    report, *lines = [json.loads(line) for line in result.stdout.splitlines()]
    report = report["data"]
    expect(report["documents"] == 70 and report["validation_documents"] == 7 and report["bad_lines"] == 0
           and report["epoch"]["documents"] == 36 + 13 and report["epoch"]["fill"] > 0.85
           and [file["weight"] for file in report["files"]] == [1, 0.5]
           and report["targets"] == sum(file["targets"] for file in report["files"]), f"report: {report}")
    expect("data: 70 documents of 2 files" in result.stderr and "filled" in result.stderr, result.stderr)
    expect(lines[-1]["validation_loss"] < 0.95 * lines[3]["validation_loss"] and lines[-1]["loss"] < lines[0]["loss"],
           f"learns nothing: {lines}")
    expect(check_events(whole, lines) == [1], "one run, several starts")
    expect(os.path.exists(os.path.join(whole, "step-12/chat_template.jinja")), "no template in the checkpoint")

    # Resumed, it is the same run.
    weights = read_bytes(os.path.join(whole, "step-12/model.safetensors"))
    shutil.rmtree(os.path.join(whole, "step-12"))
    again = test.train(*flags, "--steps", 12, "--save-every", 6, "--resume", "--quiet", "--tensorboard", out=whole, begin=False)
    same = [{key: value for key, value in line.items() if key != "tokens_per_s"} for line in lines]
    expect(lines_of(again.stdout, "tokens_per_s") == same[6:], f"resumed: {again.stdout}")
    expect(read_bytes(os.path.join(whole, "step-12/model.safetensors")) == weights, "resumed, weights differ")
    expect(check_events(whole, lines[:6] + lines_of(again.stdout)) == [1, 7], "starts of both runs")
    other = test.train(*flags[:-4], "--packing=none", "--steps", 14, "--resume", out=whole, begin=False)
    expect("--packing none (was best)" in other.stderr, f"another packing is not told: {other.stderr}")

    # Two ranks make the same steps.
    both = test.train(*flags, "--steps", 3, "--quiet", trainer=test.compile("both", "--mesh=dp=2"))
    one = test.train(*flags, "--steps", 3, "--quiet")
    for a, b in itertools.zip_longest(lines_of(both.stdout), lines_of(one.stdout)):
        expect(abs(a["loss"] / b["loss"] - 1) < 1e-5 and abs(a["grad_norm"] / b["grad_norm"] - 1) < 1e-4, f"{a}, {b}")
    trained = test.evaluate(*data[:2], "--seq", 64, weights=os.path.join(whole, "step-12"))["loss"]
    expect(trained < 0.95 * test.evaluate(*data[:2], "--seq", 64)["loss"], f"eval of the checkpoint: {trained}")


def check_refusals(test):
    bad = write_lines(test.path("bad.jsonl"), [{"text": "good enough"}, "{\"text\": 1}", {"text": "good as well"}])
    text = write_lines(test.path("plain.txt"), ["some text " * 40])
    parquet = write_lines(test.path("x.parquet"), ["PAR1"])
    both = ["--steps", 1, "--seq", 32, "--batch", 1]
    for flags, words in ((["--data", bad], f"{bad}:2: text: expected a text (--skip-bad-lines"),
                         (["--data", parquet], "tools/parquet-to-jsonl x.parquet"),
                         (["--data", bad + "=0"], "a weight above 0"),
                         (["--data", bad, "--data", text], f"{text} is no .jsonl file"),
                         (["--data", text, "--packing=none"], "--packing: is for documents"),
                         (["--data", bad, "--skip-bad-lines", "--loss-on=some"], "--loss-on: expected"),
                         (["--data", bad, "--skip-bad-lines", "--packing=some"], "--packing: expected"),
                         (["--data", bad, "--skip-bad-lines", "--long-documents=some"], "--long-documents: expected")):
        result = test.train(*flags, *both, check=False)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        expect(result.returncode == 1 and len(errors) == 1 and words in errors[0], f"{flags}: {result}")
    result = test.train("--data", bad, "--skip-bad-lines", *both)
    expect(f"1 line; the first: {bad}:2: text" in result.stderr, f"what was left out is not told: {result.stderr}")
    result = run([test.trainer, "eval", "--weights", test.model, "--data", text, "--seq", 32, "--quiet"])
    expect("perplexity" in result.stdout and "384 targets" in result.stdout, f"eval of a text: {result.stdout}")


def test(arguments, scratch):
    own = Test(arguments, scratch)
    check_packing(own)
    if arguments.packing_only:
        return
    check_losses(own)
    check_runs(own)
    check_refusals(own)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--packing-only", action="store_true", help="the first of the checks")
    parser.add_argument("folder", help="a golden checkpoint with 256 tokens or more")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
