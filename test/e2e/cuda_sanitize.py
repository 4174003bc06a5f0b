"""The emulated CUDA kernel of a golden checkpoint under the sanitizers.

- logits with several numbers of workers, chunks and shuffled schedules end without
  a report and with the bits of the program without a sanitizer;
- the thread sanitizer is awake: a plan without one of its waits, and a frame of
  kernels without its barriers, fences, releases or polls, are reported.
"""

import argparse
import os
import re
import shutil

import programs
from programs import Program, expect, run
from sanitize import ENVIRONMENT, without_wait

# What codegen/cuda/library/kernel.h says, and what it says with a fault.
FAULTS = {
    "no barrier between two bodies": ("void between() const { __syncthreads(); }",
                                      "void between() const {}"),
    "no barrier before a notification": ("notify(int64_t word) {\n    __syncthreads();",
                                         "notify(int64_t word) {\n"),
    "a relaxed notification": (
        "baton_add_release(events + word * BATON_DEVICE_WORD_STRIDE, 1)",
        "atomicAdd(events + word * BATON_DEVICE_WORD_STRIDE, 1)"),
    "no fence behind the polls": ("    if (polled)\n      baton_fence();\n", ""),
    "no barrier behind the polls": ("failed = __syncthreads_or(failed);", ""),
}


def planted(arguments, case, what, plan, installation, path):
    with open(path("planted.mlir"), "w") as file:
        file.write(plan)
    run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cuda:emulated",
         "thread", installation])
    tokens = ",".join(map(str, case["tokens"][:40]))
    # Whether blocks are where they can race is up to the system: try again.
    for attempt in range(20):
        result = run([path("planted"), "logits", "--weights", arguments.folder,
                      "--tokens", tokens, "--out", path("planted.npy"), "--no-cache",
                      "--quiet", "--workers", 4, "--prefill-chunk", 20],
                     check=False, env=dict(ENVIRONMENT, BATON_EMULATION_SEED=str(attempt)))
        if result.returncode != 0:
            break
    expect(result.returncode == 66 and "ThreadSanitizer: data race" in result.stderr,
           f"{what}: no race, but status {result.returncode} and\n{result.stderr}")
    frames = re.findall(r"#\d+ (?:0x\w+ in )?(phase_\w+|baton_task_\w+)", result.stderr)
    expect(frames, f"{what}: no task in the report\n{result.stderr}")
    print(f"{what}: a race in {frames[0]}")


def test(arguments, scratch):
    case = programs.golden(arguments.folder)
    path = lambda name: os.path.join(scratch, name)
    emulated = "--target=cuda:emulated"
    plain = Program(arguments.batonc, arguments.folder, path("plain"), emulated)
    reference = plain.logits(case["tokens"][:40], path("plain.npy"))
    for sanitizer in ("thread", "address"):
        program = Program(arguments.batonc, arguments.folder, path(sanitizer), emulated,
                          f"--sanitize={sanitizer}")
        for workers, chunk, seed in ((1, 20, 1), (3, 20, 2), (4, 7, 3)):
            bits = program.logits(case["tokens"][:40], path("logits.npy"), "--workers", workers,
                                  "--prefill-chunk", chunk,
                                  environment=dict(ENVIRONMENT, BATON_EMULATION_SEED=str(seed)))
            expect(bits == reference, f"{sanitizer}, {workers} workers: the logits' bits differ")
        print(f"{sanitizer}: nothing to report, and the bits of the plain program")

    plan = run([arguments.batonc, arguments.folder, emulated, "--emit=event"]).stdout
    phases = re.findall(r'event\.phase "([^"]+)"(?:.*?waits \[#event\.wait<@"?([^" ,]+))?', plan)
    attention = next(pair for pair in phases if pair[1] and pair[0].endswith("attention"))
    planted(arguments, case, f"{attention[0]} without its wait for {attention[1]}",
            without_wait(plan, *attention), arguments.installation, path)

    copy = path("installation")
    shutil.copytree(arguments.installation, copy)
    header = os.path.join(copy, "include/codegen/cuda/library/kernel.h")
    with open(header) as file:
        frame = file.read()
    for what, (right, wrong) in FAULTS.items():
        expect(frame.count(right) == 1, f"kernel.h does not say {right} once")
        with open(header, "w") as file:
            file.write(frame.replace(right, wrong))
        planted(arguments, case, what, plan, copy, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--emit-unproved", required=True)
    parser.add_argument("--installation", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
