#!/usr/bin/env python3
"""Compares schedules of one model: the default one, and each FILE.mlir given.

    test/bench/schedules.py build/bin/batonc MODEL FILE.mlir... [--rounds 15]
    test/bench/schedules.py build/bin/batonc MODEL --undo

With --undo, also what is left of the default schedule without each of its fusions,
groupings and recomputations, without all of them ("unfused"), with one event for
each phase instead of each tile, and with both: the same tiles, an op each, and an
event each. What changes nothing in the executable is not run.

Runs them in turn, so that whatever else the machine does hits all alike, and
prints for each the median tokens/s, and the median of its ratio to the default
in the same round. Prefill is of 64 tokens, decode of 64 tokens after them.
"""

import argparse
import filecmp
import json
import os
import re
import statistics
import subprocess
import tempfile

DECISION = re.compile(r"^ *transform\.baton\.(fuse|group|recompute) (%\w+)\n", re.M)


def undone(default):
    """(name, schedule) for every decision that can be left out of a schedule."""
    for found in DECISION.finditer(default):
        yield f"without {found[1]} {found[2]}", default[:found.start()] + default[found.end():]
    unfused = DECISION.sub("", default)
    coarse = default.replace('"per_tile"', '"per_phase"')
    assert unfused != default and coarse != default, "the default schedule reads otherwise"
    yield "unfused", unfused
    yield "one event per phase", coarse
    yield "unfused, one event per phase", unfused.replace('"per_tile"', '"per_phase"')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("model")
    parser.add_argument("schedules", nargs="*")
    parser.add_argument("--undo", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--prefill", type=int, default=64)
    parser.add_argument("--decode", type=int, default=64)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        command = [arguments.batonc, arguments.model, "--quiet"]
        if arguments.undo:  # unfused scores span the longest sequence
            command.append(f"--max-seq={arguments.prefill + arguments.decode + 64}")
        schedules = {"default": None}
        schedules.update((os.path.basename(path), path) for path in arguments.schedules)
        if arguments.undo:
            default = subprocess.run(command + ["--emit=schedule"], check=True,
                                     capture_output=True, text=True).stdout
            for i, (name, text) in enumerate(undone(default)):
                schedules[name] = os.path.join(scratch, f"undone-{i}.mlir")
                with open(schedules[name], "w") as file:
                    file.write(text)
        programs = {}
        for i, (name, schedule) in enumerate(schedules.items()):
            program = os.path.join(scratch, str(i))
            subprocess.run(command + ["-o", program] +
                           ([f"--schedule={schedule}"] if schedule else []), check=True)
            if not programs or not filecmp.cmp(program, programs["default"], shallow=False):
                programs[name] = program
        results = {name: [] for name in programs}
        for _ in range(arguments.rounds):
            for name, program in programs.items():
                run = subprocess.run([program, "bench", "--brief", "--prefill", str(arguments.prefill),
                                      "--decode", str(arguments.decode), "--json", "--quiet",
                                      "--workers", str(arguments.workers)],
                                     check=True, capture_output=True, text=True)
                results[name].append(json.loads(run.stdout))
    print(f"{arguments.workers} workers, {arguments.rounds} rounds")
    print(f"{'schedule':32} {'decode/s':>9} {'ratio':>6} {'prefill/s':>10} {'ratio':>6}  verdict")
    for name, runs in results.items():
        columns = []
        for key in ("decode_tokens_per_s", "prefill_tokens_per_s"):
            values = [run[key] for run in runs]
            ratios = [value / usual[key] for value, usual in zip(values, results["default"])]
            columns += [f"{statistics.median(values):9.0f}", f"{statistics.median(ratios):6.3f}"]
        print(f"{name:32} {columns[0]} {columns[1]}  {columns[2]} {columns[3]}  {runs[0]['verdict']}")


main()
