"""batonc compare: perplexities and divergences are those that follow from `FILE logits`.

- every number is that of a computation here, from the logits of each window alone;
- windows begin with the tokenizer's first token, and are the text's tokens otherwise;
- a model compared with itself does not differ, with other workers and as a program, too;
- what does not go together, and texts that are none, are refused in one line.
"""

import argparse
import array
import json
import math
import os
import random
import shutil
import struct
import subprocess

import programs
from programs import QUICK, Program, expect, run

CONTEXT, WINDOWS = 32, 5
WORDS = "the a hat is on and one two three it was red in of to by night we they go".split()


def rounded_checkpoint(source, target):
    """The same model with coarser weights: of BF16 numbers the last three bits are 0."""
    shutil.copytree(source, target)
    path = os.path.join(target, "model.safetensors")
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    head, numbers = data[:8 + size], bytearray(data[8 + size:])
    numbers[::2] = bytes(byte & 0xf8 for byte in numbers[::2])
    with open(path, "wb") as file:
        file.write(head + numbers)


class Streamed:
    """What `FILE logits --data` writes."""

    def __init__(self, program, text):
        command = [program.path, "logits", "--weights", program.weights, "--data", text, "--context",
                   str(CONTEXT), "--windows", str(WINDOWS), "--quiet", "--no-cache"]
        data = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        line, data = data.split(b"\n", 1)
        self.header = json.loads(line)
        count = CONTEXT * WINDOWS
        tokens = array.array("i", data[:4 * count])
        self.windows = [list(tokens[i:i + CONTEXT]) for i in range(0, count, CONTEXT)]
        self.rows = data[4 * count:]


def log_softmax(row):
    largest = max(row)
    base = largest + math.log(math.fsum(math.exp(x - largest) for x in row))
    return [x - base for x in row]


def rows_of(program, window, path):
    """Of the window's second half, by `logits --tokens`: log-probabilities."""
    file = program.logits(window[:-1], path)
    values = array.array("f", file[-4 * (CONTEXT - 1) * program.vocabulary:])
    width = program.vocabulary
    rows = [values[i * width:(i + 1) * width] for i in range(CONTEXT // 2, CONTEXT - 1)]
    return b"".join(row.tobytes() for row in rows), [log_softmax(row) for row in rows]


def mean(values):
    return math.fsum(values) / len(values)


def margin(values):
    """Student's, of 95 % and 4 degrees of freedom."""
    spread = math.fsum((value - mean(values)) ** 2 for value in values) / (len(values) - 1)
    return 2.7764451 * math.sqrt(spread / len(values))


def expect_near(found, values, function, what):
    """A number and its interval, from the means of windows."""
    for name, value in (("value", mean(values)), ("low", mean(values) - margin(values)),
                        ("high", mean(values) + margin(values))):
        expect(math.isclose(found[name], function(value), rel_tol=1e-6, abs_tol=1e-9),
               f"{what}: {name} is {found[name]}, expected {function(value)}")


def check_numbers(found, a, b, streams, scratch):
    losses, others, divergences, same = [], [], [], []
    bits = [b"", b""]
    for window in streams[0].windows:
        sides = []
        for i, program in enumerate((a, b)):
            raw, logs = rows_of(program, window, os.path.join(scratch, "rows.npy"))
            bits[i] += raw
            sides.append(logs)
        targets = window[-len(sides[0]):]
        losses.append(-mean([row[token] for row, token in zip(sides[0], targets)]))
        others.append(-mean([row[token] for row, token in zip(sides[1], targets)]))
        divergences.append([math.fsum(math.exp(p) * (p - q) for p, q in zip(first, second))
                            for first, second in zip(*sides)])
        same.append(mean([first.index(max(first)) == second.index(max(second))
                          for first, second in zip(*sides)]))
    for stream, raw in zip(streams, bits):
        expect(stream.rows == raw, "rows of a stream have other bits than those of --tokens")
    expect_near(found["a"]["perplexity"], losses, math.exp, "perplexity of A")
    expect_near(found["b"]["perplexity"], others, math.exp, "perplexity of B")
    expect_near(found["perplexity_ratio"], [y - x for x, y in zip(losses, others)], math.exp, "their ratio")
    expect_near(found["kl"], [mean(each) for each in divergences], lambda x: max(x, 0), "KL")
    expect_near(found["same_best"], same, lambda x: min(max(x, 0), 1), "same best tokens")
    every = sorted(sum(divergences, []))
    expect(math.isclose(found["kl"]["max"], every[-1], rel_tol=1e-6, abs_tol=1e-9), f"the most: {found['kl']}")
    middle = (every[(len(every) - 1) // 2] + every[len(every) // 2]) / 2
    expect(math.isclose(found["kl"]["median"], middle, rel_tol=1e-6, abs_tol=1e-9), f"the median: {found['kl']}")
    expect(found["tokens"] == len(every) and found["windows"] == WINDOWS, f"sizes: {found}")


def check_windows(program, stream, text, begin):
    """All windows but for their first tokens are the text's own: those of a prompt that fits."""
    found = program.tokens_of(text)
    for number, window in enumerate(stream.windows):
        expected = found[number * CONTEXT:(number + 1) * CONTEXT]
        expect(window == [begin, *expected[1:]], f"window {number} is {window}, expected {expected}")


class TextProgram(Program):
    def __init__(self, batonc, model, output):
        super().__init__(batonc, model, output)
        with open(os.path.join(model, "config.json")) as file:
            self.vocabulary = json.load(file)["vocab_size"]

    def tokens_of(self, text):
        result = run([self.path, "generate", "--weights", self.weights, "--prompt", text, "--max-new-tokens", 1,
                      "--json", "--no-cache", "--quiet"])
        return json.loads(result.stdout)["prompt_tokens"]


def check_refusals(command, path, folder, text):
    def refused(arguments, message):
        result = run([*command, *arguments], check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1,
               f"{arguments}: {result.stderr}")
        expect(not result.stdout, f"{arguments}: {result.stdout}")

    with open(path("empty.txt"), "w"):
        pass
    with open(path("short.txt"), "w") as file:
        file.write("the hat")
    data = ["--data", text]
    refused([folder], "--data is required")
    refused([folder, "--data", path("empty.txt")], "empty.txt: the text is empty")
    refused([folder, "--data", path("short.txt")], "fewer than the 512 of a window; give a longer text")
    refused([folder, "--data", path("none.txt")], "none.txt: no such file")
    refused([folder, "--data", folder], "is no plain file")
    refused([path("none"), *data], "none: no such file or folder")
    refused([folder, *data, "--context", "3"], "--context 3 is out of range, expected 4")
    refused([folder, *data, "--context", "4096"], "--max-seq is 4096")
    refused([folder, *data, "--windows", "0"], "--windows 0 is out of range")
    refused([folder, os.path.join(folder, "../gpt2-small"), *data], "has a vocabulary of 259 tokens, and the reference one")
    refused([path("a"), *data], "a: has no weights of its own; --weights-a names")
    refused([folder, *data, "--weights-b", folder], "--weights-b: there is no B")
    refused([path("a"), *data, "--weights-a", path("none")], "none")
    other = path("other-tokens")
    shutil.copytree(folder, other)
    tokenizer = os.path.join(other, "tokenizer.json")
    with open(tokenizer) as file:
        description = json.load(file)
    description["model"]["merges"] = []
    with open(tokenizer, "w") as file:
        json.dump(description, file)
    refused([folder, other, *data], "makes other tokens of the text than the reference: token")


def test(arguments, scratch):
    path = lambda *names: os.path.join(scratch, *names)
    folder = os.path.abspath(arguments.folder)
    generator = random.Random(1)
    text = " ".join(generator.choice(WORDS) for _ in range(1500))
    with open(path("text.txt"), "w") as file:
        file.write(text)
    rounded_checkpoint(folder, path("rounded"))
    a = TextProgram(arguments.batonc, folder, path("a"))
    b = TextProgram(arguments.batonc, path("rounded"), path("b"))
    streams = [Streamed(program, path("text.txt")) for program in (a, b)]
    with open(os.path.join(folder, "tokenizer.json")) as file:
        begin = next(token["id"] for token in json.load(file)["added_tokens"]
                     if token["content"] == "<|begin_of_text|>")
    check_windows(a, streams[0], text[:480], begin)

    command = [arguments.batonc, "compare", "--quiet", QUICK, "--no-cache"]
    sizes = ["--data", path("text.txt"), "--context", CONTEXT, "--windows", WINDOWS]
    found = json.loads(run([*command, folder, path("rounded"), *sizes, "--json"]).stdout)
    check_numbers(found, a, b, streams, scratch)
    expect(found["kl"]["value"] > 0 and found["same_best"]["value"] < 1, f"rounding changes nothing: {found}")

    # Programs that were compiled before, and other workers, have the same bits.
    again = json.loads(run([*command, path("a"), path("b"), "--weights-a", folder, "--weights-b", path("rounded"),
                            *sizes, "--json", "--workers", 4]).stdout)
    for key in ("perplexity_ratio", "kl", "same_best"):
        expect(again[key] == found[key], f"as programs: {key} is {again[key]}, expected {found[key]}")

    alone = json.loads(run([*command, folder, *sizes, "--json"]).stdout)
    expect(alone["a"] == found["a"] and "b" not in alone, f"alone: {alone}")
    itself = json.loads(run([*command, folder, folder, *sizes, "--json"]).stdout)
    expect(itself["kl"] == dict.fromkeys(["value", "low", "high", "median", "percentile_99", "max"], 0.0),
           f"a model differs from itself: {itself}")
    expect(itself["same_best"]["low"] == 1 and itself["perplexity_ratio"]["low"] == 1, f"{itself}")
    lines = run([*command, folder, folder, *sizes]).stdout.splitlines()
    expect(len(lines) == 6 and lines[-1] == "same best token  100.000 %  (100.000 % to 100.000 %)", f"{lines}")
    check_refusals(command, path, folder, path("text.txt"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
