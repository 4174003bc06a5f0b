#!/usr/bin/env python3
"""Compares schedules of one model: the default one, and each FILE.mlir given.

    test/bench/schedules.py build/bin/batonc MODEL FILE.mlir... [--rounds 15]

Runs them in turn, so that whatever else the machine does hits all alike, and
prints for each the median tokens/s, and the median of its ratio to the default
in the same round. Prefill is of 64 tokens, decode of 64 tokens after them.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("model")
    parser.add_argument("schedules", nargs="+")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        programs = {}
        for i, schedule in enumerate([None] + arguments.schedules):
            name = os.path.basename(schedule) if schedule else "default"
            programs[name] = os.path.join(scratch, str(i))
            subprocess.run([arguments.batonc, arguments.model, "-o", programs[name], "--quiet"] +
                           ([f"--schedule={schedule}"] if schedule else []), check=True)
        results = {name: [] for name in programs}
        for _ in range(arguments.rounds):
            for name, program in programs.items():
                run = subprocess.run([program, "bench", "--prefill", "64", "--decode", "64", "--json",
                                      "--quiet", "--workers", str(arguments.workers)],
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
