"""Parts of a step's rows that have their logits one after the other change no bits.

Programs whose logits are of two parts, of some and of as many as there may be
train on steps that fill some of the parts, on any number of workers; so do programs
for an odd number of rows, of whose two halves both have the middle one. No plan has
a place for the logits of all rows, however much memory there is for them.
"""

import argparse
import json
import math
import os
import re

import programs
from programs import QUICK, expect, run
from training import lines_of, read_bytes, write_tokens

MOST_ROWS = 96


def describe(path, usual, vocabulary, most, parts):
    """The CPU's description, for steps of so many rows and memory for the logits of
    one of so many parts of them."""
    with open(usual) as file:
        description = json.load(file)
    description["training"] |= {"max_rows": most, "linear_rows": 8, "linear_columns": 32,
                                "logits_bytes": most // parts * vocabulary * 4}
    with open(path, "w") as file:
        json.dump(description, file)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    write_tokens(path("tokens.u16"),
                 ((7919 * i + 31) % min(vocabulary, 60000) for i in range(4 * MOST_ROWS)))

    def phases(plan):
        return len(re.findall(r'event\.phase "[^"]*\.loss\.logits(?:\.\d+)?" ', plan))

    def expect_no_logits_of(rows, plan):
        """Values of a step that are as wide as the vocabulary have fewer rows."""
        found = []
        for name, capacity in re.findall(r"event\.buffer @(\S+) transient .* capacity \[([\d, ]+)\]", plan):
            sizes = [int(size) for size in capacity.split(", ")]
            if vocabulary in sizes:
                found.append((name, math.prod(sizes) // vocabulary))
        expect(found and all(height < rows for _, height in found), f"of {rows} rows: {found}")

    compiled = [arguments.batonc, arguments.folder, "--mode=train", "--quiet"]
    for usual in (compiled, [*compiled, "--target=cuda:emulated"]):
        plan = run([*usual, "--emit=event"]).stdout
        rows = int(re.search(r" max_rows (\d+)", plan)[1])
        expect(rows > 1000, f"usually {rows} rows")
        expect_no_logits_of(rows, plan)

    found = {}
    # Two halves, and, of more parts, the halves of one.
    cases = [(MOST_ROWS, 2, 2), (MOST_ROWS, 8, 9)]
    if not arguments.few:
        cases += [(MOST_ROWS, 1, 2), (MOST_ROWS, 4, 5), (MOST_ROWS - 1, 1, 2), (MOST_ROWS - 1, 5, 6)]
    for most, parts, emitted in cases:
        name = f"{most}-{parts}"
        target, program = path(f"target-{name}"), path(f"program-{name}")
        describe(target, arguments.target, vocabulary, most, parts)
        plan = run([*compiled, "--target-file", target, "--emit=event"]).stdout
        expect(phases(plan) == emitted, f"{name}: {phases(plan)} parts, expected {emitted}")
        expect_no_logits_of(most, plan)
        run([*compiled, QUICK, "--target-file", target, "-o", program])
        # One row, parts of one row, a whole one, one row more, and all parts.
        for rows in (1, 2, MOST_ROWS // 8, MOST_ROWS // 8 + 1, MOST_ROWS // 2 + 3, MOST_ROWS - 1, MOST_ROWS):
            if rows > most:
                continue
            for workers in (1, 3):
                out = path(f"out-{name}-{rows}-{workers}")
                result = run([program, "train", "--weights", arguments.folder, "--data", path("tokens.u16"),
                              "--seq", rows, "--batch", 1, "--accumulate", 2, "--steps", 2, "--lr", 1e-3,
                              "--validation-fraction", 0, "--workers", workers, "--quiet", "--out", out])
                losses = lines_of(result.stdout, "tokens_per_s")
                expect(len(losses) == 2, result.stdout)
                results = losses, read_bytes(os.path.join(out, "step-2/model.safetensors"))
                expect(found.setdefault(rows, results) == results,
                       f"{parts} parts of {most}, {rows} rows, {workers} workers: other bits")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--target", required=True, help="compiler/targets/cpu.json")
    parser.add_argument("--few", action="store_true", help="two numbers of parts only")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
