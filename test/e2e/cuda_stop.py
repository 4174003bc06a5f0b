"""A kernel that generates by itself is told to stop, and stops at the next step's border.

With a signal behind the first token a program ends with the CPU's line and status, as
a persistent kernel and as graphs: with the CPU's tokens up to there, which are not all
that were asked for. (A kernel that went on would take the processor time of all.)
"""

import argparse
import os
import resource
import signal
import subprocess
import sys

import programs
from programs import Program, expect, run

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def processor_seconds():
    """Of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/random-checkpoint")
    model = path("model")
    run([sys.executable, tool, model, "--hidden", 64, "--layers", 2])
    # Without one tokens are numbers.
    os.remove(os.path.join(model, "tokenizer.json"))
    prompt, few, most = [1, 2, 3], 40, 2000
    forms = {"the CPU": [], "a persistent kernel": ["--target=cuda:emulated", "--batch-invariant"],
             "graphs": ["--target=cuda:emulated", "--batch-invariant", "--launch=graph"]}
    compiled = {name: Program(arguments.batonc, model, path(name.replace(" ", "-")), *flags)
                for name, flags in forms.items()}

    expected = compiled["the CPU"].generate(prompt, most)["tokens"]
    expect(len(expected) == most, f"the text ends by itself behind {len(expected)} tokens")
    for name, program in compiled.items():
        before = processor_seconds()
        expect(program.generate(prompt, few, "--workers", 2)["tokens"] == expected[:few], f"{name}: other tokens")
        usual = processor_seconds() - before
        for number in SIGNALS:
            before = processor_seconds()
            # What nobody reads waits: the CPU cannot end before the signal.
            process = subprocess.Popen([program.path, "generate", "--weights", model, "--tokens", "1,2,3",
                                        "--max-new-tokens", str(most), "--no-cache", "--quiet", "--workers", "2"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pipesize=4096)
            first = os.read(process.stdout.fileno(), 1).decode()
            process.send_signal(number)
            rest, said = process.communicate(timeout=60)
            seconds = processor_seconds() - before
            what = f"{name}, {number.name}"
            expect((process.returncode, said) == (1, "error: interrupted\n"),
                   f"{what}: status {process.returncode}, {said!r}")
            tokens = [int(token) for token in (first + rest).split(",")]
            expect(len(tokens) < most and tokens == expected[:len(tokens)],
                   f"{what}: {len(tokens)} tokens: {tokens}, expected {expected}")
            expect(name == "the CPU" or seconds < most // few * usual / 5,
                   f"{what}: {seconds:.2f} s of processor time, and {usual:.2f} s for {few} tokens")
            print(f"{what}: interrupted behind {len(tokens)} tokens, {seconds:.2f} s, and {usual:.2f} s for {few}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
