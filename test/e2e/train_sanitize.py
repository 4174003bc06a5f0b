"""`batonc --mode=train --sanitize=thread|address` on one golden checkpoint.

A few steps with 2 and 5 workers (or those of --workers), of several microbatches
and with a validation, end without a report, and with the lines and weights of the
program without a sanitizer. With --emit-unproved, the sanitizers are awake: in a plan without one
of its waits the thread sanitizer reports a race, and in a plan with a wrong index
the address sanitizer an overflow, both inside a task body.
"""

import argparse
import json
import os
import re

import programs
from programs import QUICK, expect, run
from sanitize import ENVIRONMENT, substitute, without_wait
from training import write_tokens

WORKERS = (2, 5)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    write_tokens(path("tokens.u16"), ((7 * i + i // 13) % 97 for i in range(1024)))
    count = 0

    def train(program, *more, check=True):
        """The result, and the folder that it leaves."""
        nonlocal count
        count += 1
        out = path(f"run-{count}")
        return run([program, "train", "--weights", arguments.folder, "--data", path("tokens.u16"), "--batch", 3,
                    "--seq", 24, "--accumulate", 2, "--steps", 3, "--lr", 1e-3, "--validate-every", 2,
                    "--out", out, "--quiet", *more], check=check, env=ENVIRONMENT), out

    def answer(program, *more):
        result, out = train(program, *more)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        for line in lines:
            del line["tokens_per_s"]
        with open(os.path.join(out, "step-3/model.safetensors"), "rb") as file:
            return lines, file.read(), result.stderr

    compile_flags = [arguments.batonc, arguments.folder, "--mode=train", QUICK, "--quiet", *arguments.flags]
    run([*compile_flags, "-o", path("plain")])
    lines, weights, _ = answer(path("plain"))
    expect(len(lines) == 3 and "validation_loss" in lines[1], f"steps: {lines}")
    for sanitizer in arguments.sanitizer or ("thread", "address"):
        run([*compile_flags, f"--sanitize={sanitizer}", "-o", path(sanitizer)])
        for workers in arguments.workers or WORKERS:
            found = answer(path(sanitizer), "--workers", workers)
            expect(found == (lines, weights, ""),
                   f"{sanitizer}, {workers} workers: {found[0]}, {found[2]}, expected {lines}")
        print(f"{sanitizer}: nothing to report, and the bits of the plain program")
    if not arguments.emit_unproved:
        return

    plan = run([*compile_flags, "--emit=event"]).stdout

    def planted(sanitizer, what, plan, report):
        with open(path("planted.mlir"), "w") as file:
            file.write(plan)
        run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cpu", sanitizer,
             arguments.installation])
        # Whether workers are where they can race is up to the system: try again.
        for attempt in range(20):
            result, _ = train(path("planted"), "--workers", 4, check=False)
            if result.returncode != 0:
                break
        expect(result.returncode == 66 and report in result.stderr,
               f"{what}: no '{report}', but status {result.returncode} and\n{result.stderr}")
        frames = re.findall(r"#\d+ (?:0x\w+ in )?(baton_(?:phase|task)_\S+)", result.stderr)
        expect(frames, f"{what}: no task body in the report\n{result.stderr}")
        print(f"{what}: {report} in {frames[0]}")

    # Of the layers' backward.
    phases = re.findall(r'event\.phase "([^"]+)"(?:.*?waits \[#event\.wait<@"?([^" ,]+))?', plan)
    waiting = [(phase, event) for phase, event in phases if event and "grad" in phase]
    expect(waiting, f"no phase of the backward waits: {phases}")
    phase, event = waiting[len(waiting) // 2]
    planted("thread", f"{phase} without its wait for {event}", without_wait(plan, phase, event),
            "ThreadSanitizer: data race")
    # Of the 4096 rows that it has room for.
    beyond = substitute(r"(#event\.address<@norm, .*?-> \()", r"\g<1>4096 + ", plan)
    planted("address", "a norm 4096 rows too far", beyond, "AddressSanitizer: use-after-poison")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--emit-unproved")
    parser.add_argument("--installation", help="with --emit-unproved")
    parser.add_argument("--sanitizer", action="append", choices=("thread", "address"), help="both if none is given")
    parser.add_argument("--workers", action="append", type=int)
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
