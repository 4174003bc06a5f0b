"""Faults planted in bodies on tensor cores, one at a time: each is noticed, by
ThreadSanitizer, the emulation or a wrong result, and the headers as they are give
right results in silence. Every barrier of a header is left out in turn, too.

Usage: planted.py --clang CLANG --emulation ARCHIVE --source FOLDER [HEADER...]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

# For tools/test --changed: what it copies and compiles.
INPUTS = ["codegen/*/library/*", "runtime/*.h", "runtime/cuda/*.h", "runtime/cuda/emulation/*", "test/codegen/cuda/library/*", "test/oracle/*"]

TESTS, LIBRARY = "test/codegen/cuda/library", "codegen/cuda/library"
SEEDS = (0, 1, 2)
BARRIER = re.compile(r"__sync(threads|warp)\(\);")

RACE, WRONG, MISUSE, STUCK = "a race", "a wrong result", "misuse", "no end"
# A fault is what is planted, what the header says, what it says with the fault, and
# how that may show. It runs in the first shape, of which the macros are listed.
Body = namedtuple("Body", "header program shapes faults")

MATRIX_WARPS = (
    ("no wait for copies", "baton_copies_wait<stages - 2>();", "", RACE, WRONG),
    ("a wait for one stage too few", "baton_copies_wait<stages - 2>();",
     "baton_copies_wait<stages - 1>();", RACE, WRONG),
    ("a stage that is copied to the next one's place",
     "unsigned char *const to = memory + stage % stages",
     "unsigned char *const to = memory + (stage + 1) % stages", RACE, WRONG),
    ("activations stored where they are read", "activations.store(shared + (stage + 1) % 2",
     "activations.store(shared + (stage + 2) % 2", RACE),
)
STORE = "activations.store(shared + (stage + 1) % 3 * shape.activation_bytes());"
FENCE = "baton_shared_proxy_fence();"
MATRIX_WARPGROUPS = (
    ("copies before the barrier", "__syncthreads();\n      weights.follow(stage);",
     "weights.follow(stage);\n      __syncthreads();", RACE, WRONG, MISUSE),
    ("the wrong parity", "stage / stages % 2", "(stage / stages + 1) % 2",
     RACE, WRONG, MISUSE, STUCK),
    ("no wait for copies", "baton_barrier_wait(&full[stage % stages], stage / stages % 2);", "", RACE, MISUSE),
    ("no proxy fence behind stores", f"{STORE}\n      {FENCE}", STORE, RACE),
    ("a proxy fence before the stores", f"{STORE}\n      {FENCE}", f"{FENCE}\n      {STORE}", RACE),
    ("two stages of activations", "(stage + 1) % 3", "(stage + 1) % 2", RACE, WRONG),
    ("fragments overwritten while they are read", "baton_warpgroup_wait<steps - 1>();",
     "baton_warpgroup_wait<steps>();", WRONG),
    ("no wait before the product is read", "baton_warpgroup_wait<0>();", "", WRONG),
    ("a wait for all but the last group", "baton_warpgroup_wait<0>();",
     "baton_warpgroup_wait<1>();", WRONG),
    ("no fence of registers", "baton_warpgroup_fence();", "", MISUSE),
    ("multiplications that are not committed", "baton_warpgroup_commit();", "", WRONG, MISUSE),
    ("registers that are not exchanged", "upper ? loaded[i ^ 1] : loaded[i]", "loaded[i]", WRONG),
    ("a descriptor of rows 64 bytes apart", "uint64_t{1024 >> 4} << 32",
     "uint64_t{512 >> 4} << 32", MISUSE),
    ("a descriptor without a swizzle", "uint64_t{1} << 62", "uint64_t{0} << 62", MISUSE),
)
CHUNKS = (
    ("no wait for copies", "baton_copies_wait<shape.slots() - 2>();", ";", RACE, WRONG),
    ("a wait for one chunk too few", "baton_copies_wait<shape.slots() - 2>();",
     "baton_copies_wait<shape.slots() - 1>();", RACE, WRONG),
    ("a chunk too early", "copy(stage, shape.slots() - 1);", "copy(stage, shape.slots());", RACE, WRONG),
    ("a chunk that never comes", "if (stage > 0 && stage % shape.stages() == 0)", "if (false)", WRONG, RACE),
)
CHUNKS_OF_NUMBERS = (
    ("a wait for one chunk too few", "baton_copies_wait<shape.slots() - 2>();",
     "baton_copies_wait<shape.slots() - 1>();", RACE, WRONG),
    ("short chunks only where long ones come", "stage % shape.stages() == 0)\n      copy", "stage % 4 == 0)\n      copy",
     WRONG, RACE),
)
NUMBERS = (
    ("another input's numbers", "block<Format>(panel, stage, input + lane)",
     "block<Format>(panel, stage, input + (lane ^ 1))", WRONG),
    ("halves that change places", "rounded_eight(line, half);", "rounded_eight(line, 1 - half);", WRONG),
)
BLOCKS = (
    ("a stage decoded where one is read", "unsigned char *const to = memory + stage % 2 * bytes;",
     "unsigned char *const to = memory + (stage + 1) % 2 * bytes;", RACE, WRONG),
    ("another unit's scale", "Read::scales(block, unit, lane)", "Read::scales(block, unit, lane ^ 1)", WRONG),
)
INTEGERS = (
    ("rows stored where they are read", "rows.store(shared + (stage + 1) % 2",
     "rows.store(shared + (stage + 2) % 2", RACE),
    ("the other half's depths", "left[i][half * 2], left[i][half * 2 + 1]",
     "left[i][2 - half * 2], left[i][3 - half * 2]", WRONG),
    ("another row's sums", "from.sums[half] : from.sums[0]", "from.sums[1 - half] : from.sums[0]", WRONG),
)
RING_OF_BLOCKS = (
    ("a wait for one chunk too few", "baton_copies_wait<shape.slots() - 1>();",
     "baton_copies_wait<shape.slots()>();", RACE, WRONG),
    ("a chunk that is copied to the next one's place", "copy(slot);",
     "copy(slot + 1 == shape.slots() ? 0 : slot + 1);", RACE, WRONG),
    ("sums of a panel stored where the last ones are read", "first += 16, turn ^= 1)", "first += 16)", RACE),
)
ATTENTION_GRADIENT = (
    ("blocks copied to where they are read", "place = 3 - side;", "place = side;", RACE),
    ("what is known of queries stored where it is read", "queries.store(queries_of(place), thread);",
     "queries.store(queries_of(side), thread);", RACE),
)
PRODUCT_STORE = """columns.store(lines_of(next) + shape.left_bytes(), first_of(next) / 8,
                    next);
      """
PRODUCT_WARPS = (
    ("a stage stored where one is read", "rows.store(lines_of(next), chunk_of(next), next)",
     "rows.store(lines_of(next + 1), chunk_of(next + 1), next)", RACE),
    ("a stage read where the next is stored", "lefts = lines_of(stage)", "lefts = lines_of(stage + 1)", RACE, WRONG),
    ("another depth's right side", "chunk + lane / 8 % 2", "(chunk ^ 2) + lane / 8 % 2", WRONG),
    ("a stage that is not loaded", "columns.load(stage + 2);", "", WRONG),
)
PRODUCT_WARPGROUPS = (
    ("no proxy fence behind stores", FENCE, "", RACE),
    ("a proxy fence before the stores", f"{PRODUCT_STORE}{FENCE}", f"{FENCE}\n      {PRODUCT_STORE}", RACE),
    ("two stages", "stages = shape.stages();", "stages = 2;", RACE, WRONG),
    ("a stage stored where one is read", "rows.store(lines_of(next)", "rows.store(lines_of(next + 1)", RACE, WRONG),
    ("no wait for the stage before", "baton_warpgroup_wait<1>();", "", RACE, WRONG, MISUSE),
    ("no wait before sums are read", "baton_warpgroup_wait<0>();", "", WRONG),
    ("a wait for all but the last group", "baton_warpgroup_wait<0>();", "baton_warpgroup_wait<1>();", WRONG),
    ("no fence of registers", "baton_warpgroup_fence();", "", MISUSE),
    ("multiplications that are not committed", "baton_warpgroup_commit();", "", WRONG, MISUSE),
    ("another depth's left side", "describe_activations(lefts, first_of(stage) + step)",
     "describe_activations(lefts, first_of(stage) + (step ^ 16))", WRONG),
)
BODIES = (
    # Two warps, and one warpgroup.
    Body("matrix_warps.h", "matrix_program.cpp",
         [("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80")], MATRIX_WARPS),
    Body("matrix_warpgroups.h", "matrix_program.cpp",
         [("THREADS=128", "ROWS=64", "COLUMNS=64", "ARCHITECTURE=90")], MATRIX_WARPGROUPS),
    Body("matrix_chunks.h", "matrix_blocks_program.cpp",
         [("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80", "BLOCK=Q2_K", "INDEX=q2_k", "MIXED"),
          ("THREADS=128", "ROWS=64", "COLUMNS=64", "ARCHITECTURE=90", "BLOCK=Q4_0", "INDEX=q4_0")], CHUNKS),
    # Chunks of two lengths.
    Body("matrix_chunks.h", "matrix_blocks_program.cpp",
         [("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80", "BLOCK=Q2_K", "INDEX=q2_k", "PLAIN")],
         CHUNKS_OF_NUMBERS),
    Body("matrix_blocks.h", "matrix_blocks_program.cpp",
         [("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80", "BLOCK=Q4_0", "INDEX=q4_0")], BLOCKS),
    Body("matrix_blocks.h", "matrix_blocks_program.cpp",
         [("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80", "BLOCK=Q4_0", "INDEX=q4_0", "PLAIN"),
          ("THREADS=128", "ROWS=64", "COLUMNS=64", "ARCHITECTURE=90", "BLOCK=Q4_0", "INDEX=q4_0", "PLAIN")],
         NUMBERS),
    Body("matrix_integers.h", "matrix_blocks_program.cpp",
         [("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80", "BLOCK=Q2_K", "INDEX=q2_k", "INTEGERS"),
          ("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80", "BLOCK=Q4_0", "INDEX=q4_0", "INTEGERS")], INTEGERS),
    Body("stream_blocks.h", "matrix_blocks_program.cpp",
         [("THREADS=128", "ROWS=1", "COLUMNS=480", "ARCHITECTURE=80", "BLOCK=Q4_0", "INDEX=q4_0", "STREAM", "MIXED"),
          ("THREADS=64", "ROWS=1", "COLUMNS=96", "ARCHITECTURE=80", "BLOCK=Q2_K", "INDEX=q2_k", "STREAM")],
         RING_OF_BLOCKS),
    Body("product_matrix_warps.h", "product_matrix_program.cpp",
         [("THREADS=64", "ROWS=32", "COLUMNS=64", "ARCHITECTURE=80"),
          ("THREADS=32", "ROWS=32", "COLUMNS=256", "ARCHITECTURE=80")], PRODUCT_WARPS),
    Body("product_matrix_warpgroups.h", "product_matrix_program.cpp",
         [("THREADS=128", "ROWS=64", "COLUMNS=64", "ARCHITECTURE=90"),
          ("THREADS=128", "ROWS=64", "COLUMNS=256", "ARCHITECTURE=90")], PRODUCT_WARPGROUPS),
    Body("attention_matrix.h", "attention_program.cpp", [("THREADS=64",), ("THREADS=32",)], ()),
    Body("attention_gradient_matrix.h", "attention_gradient_program.cpp", [("THREADS=64",)],
         ATTENTION_GRADIENT),
)
ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:atexit_sleep_ms=0"}


def build(arguments, folder, body, shape, sanitizer):
    """The program's path; headers in the folder come first."""
    program = os.path.join(folder, "program")
    subprocess.run([arguments.clang, "-std=c++20", "-g", "-w", "-ffp-contract=off",
                    "-pthread", "-fuse-ld=lld", "-DBATON_EMULATION",
                    *(f"-D{macro}" for macro in shape),
                    *([f"-fsanitize={sanitizer}"] if sanitizer else []),
                    f"-I{folder}", f"-I{arguments.source}", "-o", program,
                    os.path.join(arguments.source, TESTS, body.program), arguments.emulation],
                   check=True)
    return program


def run(program, seed):
    """What is noticed, None if nothing is, and what it says."""
    try:
        result = subprocess.run([program, str(seed)], env=ENVIRONMENT, capture_output=True,
                                text=True, timeout=60)
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


def planted(body, sound):
    """What is planted, the header with it, and how it may show."""
    for barrier in BARRIER.finditer(sound):
        line = sound.count("\n", 0, barrier.start()) + 1
        yield (f"without {barrier[0]} in line {line}",
               sound[:barrier.start()] + ";" + sound[barrier.end():], (RACE, MISUSE))
    for what, right, wrong, *kinds in body.faults:
        yield what, sound.replace(right, wrong) if sound.count(right) == 1 else None, kinds


def test(arguments, folder, body):
    """Failures, in words; where its faults are not asked for, of the header as it is."""
    failures = []
    for shape in body.shapes:
        for sanitizer in (None, "thread"):
            program = build(arguments, folder, body, shape, sanitizer)
            for seed in SEEDS:
                noticed, text = run(program, seed)
                if noticed:
                    failures.append(f"{body.header}, {shape}, seed {seed}: {noticed}\n{text}")
    if arguments.headers and body.header not in arguments.headers:
        return failures
    place = os.path.join(folder, LIBRARY, body.header)
    with open(place) as file:
        sound = file.read()
    if not BARRIER.search(sound):
        failures.append(f"{body.header} has no barrier")
    for what, header, kinds in planted(body, sound):
        if header is None:
            failures.append(f"{body.header} has no one place for {what}")
            continue
        with open(place, "w") as file:
            file.write(header)
        program = build(arguments, folder, body, body.shapes[0], "thread" if RACE in kinds else None)
        for seed in SEEDS:
            noticed, text = run(program, seed)
            print(f"{body.header}, {what}, seed {seed}: {noticed}", flush=True)
            if noticed not in kinds:
                failures.append(f"{body.header}, {what}, seed {seed}: {noticed}\n{text}")
    with open(place, "w") as file:
        file.write(sound)
    return failures


def main(arguments, folder):
    shutil.copytree(os.path.join(arguments.source, LIBRARY), os.path.join(folder, LIBRARY))
    failures = [failure for body in BODIES for failure in test(arguments, folder, body)]
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang", required=True)
    parser.add_argument("--emulation", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("headers", nargs="*", metavar="HEADER", help="whose faults are planted: all, if none is named")
    arguments = parser.parse_args()
    if unknown := set(arguments.headers) - {body.header for body in BODIES}:
        parser.error(f"no faults are known for {', '.join(unknown)}")
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(arguments, scratch))
