"""What a run shows while it trains: a bar on a terminal, and nothing of it elsewhere.

Where standard error is a terminal, its line is drawn anew and cleared at the end;
lines of steps stay whole, also where they share that terminal. What goes to a file
or a pipe has no escape code, whatever the other stream is, and --quiet shows none
on a terminal either.
"""

import argparse
import json
import os
import re

import programs
from programs import expect, run
from terminals import watch
from training import read_bytes, write_tokens

STEPS = 4
CLEAR = "\r\x1b[K"


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    write_tokens(path("tokens.u16"), ((7 * i) % 97 for i in range(512)))
    run([arguments.batonc, arguments.folder, "--mode=train", "--optimize=1", "--quiet", "-o", path("program")])
    # Each matrix multiplies a row and its gradient, and makes its own.
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    width, heads = config["hidden_size"], config["num_attention_heads"]
    head = config.get("head_dim") or width // heads
    weights = (2 * heads + 2 * config["num_key_value_heads"]) * head * width + 3 * width * config["intermediate_size"]
    weights = config["num_hidden_layers"] * weights + width * config["vocab_size"]
    # The program's description of itself is a text in it.
    found = re.findall(rb'"flops_per_row":(\d+)', read_bytes(path("program")))
    expect(found == [str(6 * weights).encode()], f"operations for a row of {weights} weights: {found}")
    runs = 0

    def train(terminals, *flags):
        nonlocal runs
        runs += 1
        return watch([path("program"), "train", "--weights", arguments.folder, "--data", path("tokens.u16"),
                      "--seq", 16, "--batch", 2, "--steps", STEPS, "--save-every", 2,
                      "--out", path(f"run-{runs}"), *flags], terminals)

    def expect_lines(text, what):
        found = [json.loads(line)["step"] for line in text.splitlines() if line.startswith("{")]
        expect(found == list(range(1, STEPS + 1)), f"{what}: {text!r}")
        expect("\x1b" not in text and "\r" not in text, f"{what}: escape codes in {text!r}")

    def bars(text):
        return re.findall(re.escape(CLEAR) + rf"step (\d+)/{STEPS} \[([#.]{{12}})\] +(\d+) %  "
                          r"loss [\d.e+-]+  \d+ tokens/s  \d+ % MFU", text)

    out, bar = train({"stderr": None})
    expect_lines(out, "lines beside a terminal")
    shown = bars(bar)
    expect(shown and shown[0][0] == "1" and shown[-1] == (str(STEPS), "#" * 12, "100"), f"bars: {bar!r}")
    expect(bar.endswith(CLEAR) and CLEAR in bar[bar.index("[#"):], f"the line is not cleared: {bar!r}")
    expect(all(len(line) < 80 for line in bar.split(CLEAR)), f"lines that wrap: {bar!r}")

    # One terminal for both: a bar is gone before a line comes.
    both, _ = train({"stdout": None, "stderr": "stdout"})
    expect(bars(both), f"no bar: {both!r}")
    drawn = [line.split(CLEAR)[-1] for line in both.split("\n")]
    expect_lines("\n".join(drawn), "one terminal")
    expect(len(drawn) - drawn.count("") == STEPS, f"more than lines stay: {drawn}")

    for terminals, flags, what in (({}, (), "no terminal"), ({"stdout": None}, (), "lines on a terminal"),
                                   ({"stderr": None}, ("--quiet",), "quiet")):
        out, said = train(terminals, *flags)
        expect_lines(out, what)
        expect("\x1b" not in said and "\r" not in said and "tokens/s" not in said, f"{what}: {said!r}")
    print(f"bars on a terminal: {len(shown)} of {STEPS} steps; none elsewhere")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
