#!/usr/bin/env python3
"""Tries Baton on a GPU: correctness first, then speed. Standard library only.

    run.py [--out results.jsonl] [--minutes 9] [--only correct|speed]

Runs in the folder that pack.py made. Every part is one line of JSON in the results;
parts whose lines are there already are left out, so that a run that was cut short is
continued by the same command. A part that fails or takes too long is a line too, and
parts that have failed are tried again.
"""

import argparse
import array
import datetime
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXTS = (128, 2048, 8192, 32768)


def numbers(path):
    """The F32 numbers of a .npy file."""
    with open(path, "rb") as file:
        data = file.read()
    values = array.array("f")
    values.frombytes(data[data.index(b"\n") + 1:])
    return values


def difference(one, other):
    """The largest difference, as a fraction of the largest number of `other`."""
    return max(map(lambda a, b: abs(a - b), one, other)) / max(map(abs, other))


class Part:
    """What one line of the results says: `command` runs a program within the time."""

    def __init__(self, deadline):
        self.deadline = deadline

    def command(self, *words):
        left = self.deadline - time.monotonic()
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                                timeout=max(1, left))
        if result.returncode:
            raise RuntimeError(f"{words[1]}: status {result.returncode}: "
                               f"{result.stderr.strip()[-500:]}")
        return result.stdout


def correct(part, name):
    """A golden checkpoint against the CPU's program, the reference, and itself."""
    folder = os.path.join(HERE, "cases", name)
    checkpoint = os.path.join(folder, "checkpoint")
    with open(os.path.join(checkpoint, "golden.json")) as file:
        case = json.load(file)
    tokens = ",".join(map(str, case["tokens"]))
    out = os.path.join(folder, "device.npy")

    def logits(program, *flags):
        part.command(os.path.join(folder, program), "logits", "--weights", checkpoint, "--tokens",
                     tokens, "--out", out, "--no-cache", "--quiet", *flags)
        return numbers(out)

    host = numbers(os.path.join(folder, "host.npy"))
    exact = logits("program.invariant")
    decoded = logits("program", "--prefill-chunk", 1)
    greedy = case["greedy"]
    answer = json.loads(part.command(
        os.path.join(folder, "program"), "generate", "--weights", checkpoint, "--tokens",
        ",".join(map(str, greedy["prompt"])), "--max-new-tokens", len(greedy["new_tokens"]),
        "--json", "--no-cache", "--quiet"))
    result = {
        "difference_from_host": difference(exact, host),
        "is_host_bit_for_bit": exact == host,
        "difference_decoded": difference(decoded, host),
        "repeats": logits("program", "--prefill-chunk", 1) == decoded,
        "same_with_3_workers": logits("program", "--prefill-chunk", 1, "--workers", 3) == decoded,
        "same_in_chunks_of_7": logits("program.invariant", "--prefill-chunk", 7) == exact,
        "greedy_tokens": answer["tokens"] == greedy["new_tokens"],
    }
    result["verdict"] = ("right" if all((result["repeats"], result["same_with_3_workers"],
                                         result["same_in_chunks_of_7"], result["greedy_tokens"]))
                         and max(result["difference_from_host"],
                                 result["difference_decoded"]) < 2e-4 else "WRONG")
    return result


def speed(part, name, context):
    """Decoding at a context, and the prompt before it, with weights of its own."""
    program = os.path.join(HERE, "shapes", name, "program")
    return json.loads(part.command(program, "bench", "--prefill", context, "--decode", 64,
                                   "--repeat", 1, "--json", "--quiet"))


def parts(only):
    if only != "speed" and os.path.isdir(os.path.join(HERE, "cases")):
        for name in sorted(os.listdir(os.path.join(HERE, "cases"))):
            yield f"correct/{name}", lambda part, name=name: correct(part, name)
    if only != "correct" and os.path.isdir(os.path.join(HERE, "shapes")):
        for context in CONTEXTS:
            for name in sorted(os.listdir(os.path.join(HERE, "shapes"))):
                yield (f"speed/{name}/{context}",
                       lambda part, name=name, context=context: speed(part, name, context))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results.jsonl")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--only", choices=["correct", "speed"])
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.minutes * 60
    with open(os.path.join(HERE, "about.json")) as file:
        about = json.load(file)
    done = set()
    if os.path.exists(arguments.out):
        with open(arguments.out) as file:
            done = {line["part"] for line in map(json.loads, file) if "error" not in line}
    wrong = False
    for name, work in parts(arguments.only):
        if name in done:
            continue
        if time.monotonic() > deadline:
            sys.exit("time is up; the same command continues")
        line = {"part": name, "date": datetime.datetime.now().isoformat(timespec="seconds"), **about}
        try:
            line |= work(Part(deadline))
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            line["error"] = str(error)
        wrong |= "error" in line or line.get("verdict") == "WRONG"
        text = json.dumps(line)
        with open(arguments.out, "a") as file:
            file.write(text + "\n")
        print(text, flush=True)
    sys.exit(1 if wrong else 0)


main()
