"""Attention on tensor cores under ThreadSanitizer: nothing to report as it is, and a
race without any one of its barriers, each of which is left out in turn.

Usage: planted.py PROGRAM HEADER
"""

import os
import re
import subprocess
import sys

# The first report is enough, and worth 66 as exit status.
ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:atexit_sleep_ms=0"}


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], env=ENVIRONMENT, capture_output=True,
                          text=True)


def main(program, header):
    failures = []
    for threads in (32, 64):
        for seed in (0, 1, 2):
            result = run(program, 0, threads, seed)
            if result.returncode != 0 or result.stderr:
                failures.append(f"{threads} threads, seed {seed}: {result.returncode}\n"
                                f"{result.stderr}")
    with open(header) as file:
        barriers = [(number, line.strip()) for number, line in enumerate(file, 1)
                    if re.search(r"__sync(threads|warp)\(\);", line)]
    if len(barriers) != 3:
        failures.append(f"other barriers than three in {header}: {barriers}")
    for number, barrier in barriers:
        for seed in (0, 1):
            result = run(program, number, 64, seed)
            race = "ThreadSanitizer: data race" in result.stderr
            if result.returncode != 66 or not race:
                failures.append(f"without {barrier} in line {number}, seed {seed}: "
                                f"{result.returncode}\n{result.stderr}")
            else:
                print(f"without {barrier} in line {number}, seed {seed}: a race")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
