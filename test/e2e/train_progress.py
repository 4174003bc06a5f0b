"""What a run shows while it trains: a bar on a terminal, and nothing of it elsewhere.

Where standard error is a terminal, its line is drawn anew and cleared at the end;
lines of steps stay whole, also where they share that terminal. What goes to a file
or a pipe has no escape code, whatever the other stream is, and --quiet shows none
on a terminal either.
"""

import argparse
import json
import os
import pty
import re
import subprocess
import threading

import programs
from programs import expect, run
from training import write_tokens

STEPS = 4
CLEAR = "\r\x1b[K"


def watch(command, terminals):
    """The texts of both streams, of which some are terminals of their own."""
    ends, texts, threads = {}, {}, []

    def read(name, end):
        text = b""
        while True:
            # A terminal whose other side is closed is an error.
            try:
                part = os.read(end, 4096)
            except OSError:
                part = b""
            if not part:
                break
            text += part
        os.close(end)
        # Terminals turn line feeds into both characters.
        texts[name] = text.decode().replace("\r\n", "\n")

    for name in ("stdout", "stderr"):
        if name in terminals and terminals[name] in ends:
            ends[name] = ends[terminals[name]]
            continue
        here, there = pty.openpty() if name in terminals else os.pipe()
        ends[name] = there
        threads.append(threading.Thread(target=read, args=(name, here)))
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, **ends)
    for end in set(ends.values()):
        os.close(end)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(process.wait() == 0, f"{command}: {texts}")
    return texts.get("stdout", ""), texts.get("stderr", "")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    write_tokens(path("tokens.u16"), ((7 * i) % 97 for i in range(512)))
    run([arguments.batonc, arguments.folder, "--mode=train", "--quiet", "-o", path("program")])
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
        return re.findall(re.escape(CLEAR) + rf"step (\d+)/{STEPS} \[([#.]{{20}})\] +(\d+) %  "
                          r"loss [\d.e+-]+  \d+ tokens/s", text)

    out, bar = train({"stderr": None})
    expect_lines(out, "lines beside a terminal")
    shown = bars(bar)
    expect(shown and shown[0][0] == "1" and shown[-1] == (str(STEPS), "#" * 20, "100"), f"bars: {bar!r}")
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
