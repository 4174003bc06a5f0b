"""Faults planted in kernels: ThreadSanitizer must report each of them and name
the function, and nothing about the kernels as they are.

Usage: planted.py PROGRAM
"""

import os
import re
import subprocess
import sys

SHAPES = ((4, 32), (4, 128), (64, 32))
SEEDS = (0, 1, 2)
# What the report must name; faults between blocks may show in any task. Bytes
# that a proxy fence should hand over are written here and copied elsewhere.
FAULTS = {
    "persistent missing_barrier": "product_task",
    "persistent shuffle_for_barrier": "activation_task",
    "persistent missing_wait": "activation_task",
    "persistent relaxed_poll": r"\w+_task",
    "persistent relaxed_notify": r"\w+_task",
    "groups missing_wait": "copy_by_groups",
    "groups missing_barrier": "copy_by_groups",
    "bulk missing_proxy_fence": "exchange_rows",
    "bulk missing_full": "copy_in_bulk",
    "bulk early_empty": "copy_in_bulk",
}
# The first report is enough, and worth 66 as exit status.
ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:atexit_sleep_ms=0"}


def run(program, case, shape, seed):
    return subprocess.run([program, *case.split(), *map(str, shape), str(seed)],
                          env=ENVIRONMENT, capture_output=True, text=True)


def main(program):
    failures = []
    for kernel in ("persistent", "groups", "bulk"):
        for shape in SHAPES:
            for seed in SEEDS:
                result = run(program, f"{kernel} none", shape, seed)
                if result.returncode != 0 or result.stderr:
                    failures.append(f"{kernel} {shape} {seed}: {result.returncode}\n{result.stderr}")
    for case, function in FAULTS.items():
        for seed in SEEDS:
            result = run(program, case, (4, 128), seed)
            named = re.search(rf"#\d+ .*\b({function})\b", result.stderr)
            # Copies that nobody waits for may never come: no race, a wrong result.
            if case == "groups missing_wait" and result.returncode == 1:
                print(f"{case} {seed}: a wrong result")
            elif (result.returncode != 66 or not named
                    or "ThreadSanitizer: data race" not in result.stderr):
                failures.append(f"{case} {seed}: {result.returncode}\n{result.stderr}")
            else:
                print(f"{case} {seed}: data race in {named[1]}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
