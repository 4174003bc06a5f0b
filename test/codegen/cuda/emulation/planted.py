"""Faults planted in the persistent kernel: ThreadSanitizer must report each of
them and name the task, and nothing about the kernel as it is.

Usage: planted.py PROGRAM
"""

import os
import re
import subprocess
import sys

SHAPES = ((4, 32), (4, 128), (64, 32))
SEEDS = (0, 1, 2)
# What the report must name; faults between blocks may show in any task.
FAULTS = {
    "missing_barrier": "product_task",
    "shuffle_for_barrier": "activation_task",
    "missing_wait": "activation_task",
    "missing_fence": r"\w+_task",
    "relaxed_notify": r"\w+_task",
}
ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:atexit_sleep_ms=0"}


def run(program, fault, shape, seed):
    return subprocess.run([program, fault, *map(str, shape), str(seed)],
                          env=ENVIRONMENT, capture_output=True, text=True)


def main(program):
    failures = []
    for shape in SHAPES:
        for seed in SEEDS:
            result = run(program, "none", shape, seed)
            if result.returncode != 0 or result.stderr:
                failures.append(f"none {shape} {seed}: {result.returncode}\n{result.stderr}")
    for fault, task in FAULTS.items():
        for seed in SEEDS:
            result = run(program, fault, (4, 128), seed)
            named = re.search(rf"#\d+ .*\b({task})<", result.stderr)
            if (result.returncode != 66 or not named
                    or "ThreadSanitizer: data race" not in result.stderr):
                failures.append(f"{fault} {seed}: {result.returncode}\n{result.stderr}")
            else:
                print(f"{fault} {seed}: data race in {named[1]}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
