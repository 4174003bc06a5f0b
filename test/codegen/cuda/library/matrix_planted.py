"""Faults planted in linears on tensor cores, one at a time: each is noticed, by
ThreadSanitizer, the emulation or a wrong result, and the headers as they are give
right results in silence.

Usage: matrix_planted.py --clang CLANG --emulation ARCHIVE --source FOLDER
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

# The shapes that run: two warps, and one warpgroup.
WARPS = ("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80")
WARPGROUPS = ("THREADS=128", "ROWS=64", "COLUMNS=64", "ARCHITECTURE=90")
SEEDS = (0, 1, 2)

RACE, WRONG, MISUSE, STUCK = "a race", "a wrong result", "misuse", "no end"
# What is planted, what the header says, what it says with the fault, and how that
# may show.
FAULTS = {
    ("matrix_warps.h", WARPS): (
        ("no barrier between stages", "baton_copies_wait<stages - 2>();\n      __syncthreads();",
         "baton_copies_wait<stages - 2>();", RACE),
        ("no wait for copies", "baton_copies_wait<stages - 2>();", "", RACE, WRONG),
        ("a wait for one stage too few", "baton_copies_wait<stages - 2>();",
         "baton_copies_wait<stages - 1>();", RACE, WRONG),
        ("a stage that is copied to the next one's place",
         "unsigned char *const to = weights + stage % stages", "unsigned char *const to = weights + (stage + 1) % stages",
         RACE, WRONG),
        ("activations stored where they are read", "activations.store(shared + (stage + 1) % 2",
         "activations.store(shared + (stage + 2) % 2", RACE),
        ("no barrier before the product", "baton_copies_wait<0>();\n  __syncthreads();",
         "baton_copies_wait<0>();", RACE),
        ("no barrier between tiles", "// Whatever was in shared memory has been read.\n  __syncthreads();",
         "", RACE),
    ),
    ("matrix_warpgroups.h", WARPGROUPS): (
        ("no barrier between stages", "__syncthreads();\n      if (thread == 0)\n        copy(",
         "if (thread == 0)\n        copy(", RACE, WRONG, MISUSE),
        ("copies before the barrier", "__syncthreads();\n      if (thread == 0)\n        copy(stage + stages - 1);",
         "if (thread == 0)\n        copy(stage + stages - 1);\n      __syncthreads();", RACE, WRONG),
        ("the wrong parity", "stage / stages % 2", "(stage / stages + 1) % 2",
         RACE, WRONG, MISUSE, STUCK),
        ("no wait for copies", "baton_barrier_wait(&full[slot], stage / stages % 2);", "", RACE, MISUSE),
        ("no proxy fence behind stores", "shape.activation_bytes());\n      baton_shared_proxy_fence();",
         "shape.activation_bytes());", RACE),
        ("a proxy fence before the stores", "      activations.store(shared + (stage + 1) % 3 * shape.activation_bytes());\n      baton_shared_proxy_fence();",
         "      baton_shared_proxy_fence();\n      activations.store(shared + (stage + 1) % 3 * shape.activation_bytes());", RACE),
        ("two stages of activations", "(stage + 1) % 3", "(stage + 1) % 2", RACE, WRONG),
        ("fragments overwritten while they are read", "baton_warpgroup_wait<steps - 1>();",
         "baton_warpgroup_wait<steps>();", WRONG),
        ("no wait before the product is read", "baton_warpgroup_wait<0>();", "", WRONG),
        ("a wait for all but the last group", "baton_warpgroup_wait<0>();", "baton_warpgroup_wait<1>();", WRONG),
        ("no fence of registers", "baton_warpgroup_fence();", "", MISUSE),
        ("multiplications that are not committed", "baton_warpgroup_commit();", "", WRONG, MISUSE),
        ("registers that are not exchanged", "upper ? loaded[i ^ 1] : loaded[i]", "loaded[i]", WRONG),
        ("a descriptor of rows 64 bytes apart", "uint64_t{1024 >> 4} << 32", "uint64_t{512 >> 4} << 32", MISUSE),
        ("a descriptor without a swizzle", "uint64_t{1} << 62", "uint64_t{0} << 62", MISUSE),
    ),
}
ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:atexit_sleep_ms=0"}


def build(arguments, folder, shape, sanitizer, program):
    subprocess.run([arguments.clang, "-std=c++20", "-O1", "-g", "-w", "-ffp-contract=off", "-pthread",
                    "-fuse-ld=lld", "-DBATON_EMULATION", *(f"-D{macro}" for macro in shape),
                    *([f"-fsanitize={sanitizer}"] if sanitizer else []), f"-I{folder}",
                    f"-I{arguments.source}", "-o", program,
                    os.path.join(arguments.source, "test/codegen/cuda/library/matrix_program.cpp"),
                    arguments.emulation], check=True)


def run(program, seed):
    """What is noticed, None if nothing is, and what it says."""
    try:
        result = subprocess.run([program, str(seed)], env=ENVIRONMENT, capture_output=True, text=True,
                                timeout=60)
    except subprocess.TimeoutExpired:
        return STUCK, ""
    text = result.stdout + result.stderr
    if result.returncode == 66 and re.search(r"ThreadSanitizer: data race(.|\n)*#\d+ .*matrix", text):
        return RACE, text
    if result.returncode == 1:
        return WRONG, text
    if result.returncode < 0 and "emulation: " in text:
        return STUCK if "is stuck" in text else MISUSE, text
    return (None if result.returncode == 0 and not text else "something else"), text


def main(arguments, scratch):
    failures = []
    library = os.path.join(scratch, "codegen/cuda/library")
    shutil.copytree(os.path.join(arguments.source, "codegen/cuda/library"), library)
    program = os.path.join(scratch, "program")
    for (header, shape), faults in FAULTS.items():
        for sanitizer in (None, "thread"):
            build(arguments, scratch, shape, sanitizer, program)
            for seed in SEEDS:
                noticed, text = run(program, seed)
                if noticed:
                    failures.append(f"{header}, seed {seed}: {noticed}\n{text}")
        place = os.path.join(library, header)
        with open(place) as file:
            sound = file.read()
        for what, right, wrong, *kinds in faults:
            if sound.count(right) != 1:
                failures.append(f"{header} does not say {right} once")
                continue
            with open(place, "w") as file:
                file.write(sound.replace(right, wrong))
            build(arguments, scratch, shape, "thread" if RACE in kinds else None, program)
            for seed in SEEDS:
                noticed, text = run(program, seed)
                print(f"{header}, {what}, seed {seed}: {noticed}", flush=True)
                if noticed not in kinds:
                    failures.append(f"{header}, {what}, seed {seed}: {noticed}\n{text}")
        with open(place, "w") as file:
            file.write(sound)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang", required=True)
    parser.add_argument("--emulation", required=True)
    parser.add_argument("--source", required=True)
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(main(parser.parse_args(), folder))
