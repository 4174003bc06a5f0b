"""The emulated CUDA kernel of a golden checkpoint under the sanitizers.

- logits with several numbers of workers, chunks and shuffled schedules end without
  a report and with the bits of the program without a sanitizer, for portable bodies
  and, with BF16 weights, for those whose weights flow through the ring;
- the thread sanitizer is awake: a plan without one of its waits, and a frame of
  kernels without its barriers, fences, releases or polls, are reported;
- a ring that does not wait for its copies gives other logits;
- a wait that is never fulfilled ends the kernel with its event, phase and task.

With --clean only the first, with BF16 weights, and with warpgroups on tensor cores. With --brief
portable bodies only, under the thread sanitizer, and one fault of the frame.
"""

import argparse
import json
import os
import re
import shutil

import programs
from programs import Program, expect, run
from sanitize import ENVIRONMENT, substitute, without_wait

# What codegen/cuda/library/kernel.h says, and what it says with a fault.
FAULTS = {
    "no barrier between two bodies": ("void between() const { __syncthreads(); }",
                                      "void between() const {}"),
    "no barrier before a notification": ("notify(int64_t word, uint32_t tasks = 1) {\n    __syncthreads();",
                                         "notify(int64_t word, uint32_t tasks = 1) {\n"),
    "a relaxed notification": (
        "baton_add_release(counter, tasks)", "atomicAdd(counter, tasks)"),
    "relaxed polls": ("return baton_load_acquire(word);", "return baton_load_relaxed(word);"),
    "no barrier behind the polls": ("failed = __syncthreads_or(failed);", ""),
}
# The same of codegen/cuda/library/stream.h.
RING_FAULTS = {
    "no wait for a stage's copies": ("baton_copies_wait<Stages - Count>();", ""),
    "a wait for all but one stage too many": ("baton_copies_wait<Stages - Count>();",
                                              "baton_copies_wait<Stages - Count + 1>();"),
    "a stage that is copied to the next one's place": ("copy(behind(i));", "copy(behind(i + 1));"),
}
RUNS = ((1, 20, 1), (3, 20, 2), (4, 1, 3))


def shuffled(seed):
    return dict(ENVIRONMENT, BATON_EMULATION_SEED=str(seed))


def clean(arguments, case, what, flags, path, threads=32, runs=RUNS, sanitizers=("thread", "address")):
    """The plain program's logits, which those with a sanitizer repeat in silence.

    The ring's sums depend on a block's threads, of which there are few under the
    thread sanitizer: all programs have as many, `threads`.
    """
    with open(os.path.join(arguments.installation, "targets/cuda.json")) as file:
        target = json.load(file)
    with open(path("target.json"), "w") as file:
        json.dump(target | {"threads": threads}, file)
    flags = (*flags, f"--target-file={path('target.json')}")
    tokens = case["tokens"][:40]
    plain = Program(arguments.batonc, arguments.folder, path("plain"), *flags)
    references = {chunk: plain.logits(tokens, path("plain.npy"), "--prefill-chunk", chunk)
                  for chunk in {chunk for _, chunk, _ in runs}}
    for sanitizer in sanitizers:
        program = Program(arguments.batonc, arguments.folder, path(sanitizer),
                          f"--sanitize={sanitizer}", *flags)
        for workers, chunk, seed in runs:
            bits = program.logits(tokens, path("logits.npy"), "--workers", workers,
                                  "--prefill-chunk", chunk, environment=shuffled(seed))
            expect(bits == references[chunk],
                   f"{what}, {sanitizer}, {workers} workers: the logits' bits differ")
        print(f"{what}, {sanitizer}: nothing to report, and the bits of the plain program")
    return references


def planted(arguments, case, what, plan, installation, path):
    with open(path("planted.mlir"), "w") as file:
        file.write(plan)
    run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cuda:emulated",
         "thread", installation])
    tokens = ",".join(map(str, case["tokens"][:40]))
    # Whether blocks are where they can race is up to the system: try again, with
    # either kernel.
    for attempt in range(20):
        result = run([path("planted"), "logits", "--weights", arguments.folder,
                      "--tokens", tokens, "--out", path("planted.npy"), "--no-cache",
                      "--quiet", "--workers", 4, "--prefill-chunk", (20, 1)[attempt % 2]],
                     check=False, env=shuffled(attempt))
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
    streaming = (emulated, "--dtype=bf16")
    if arguments.clean:
        clean(arguments, case, "the ring", streaming, path)
        # Multiplications by warpgroups take four warps; the sanitizer follows two blocks
        # of them.
        clean(arguments, case, "tensor cores", streaming, path, threads=128, runs=((1, 20, 1), (2, 20, 2)),
              sanitizers=("thread",))
        return
    if arguments.brief:
        clean(arguments, case, "portable bodies", (emulated,), path, sanitizers=("thread",))
    else:
        clean(arguments, case, "portable bodies", (emulated,), path)
        references = clean(arguments, case, "the ring", streaming, path)

    plan = run([arguments.batonc, arguments.folder, emulated, "--emit=event"]).stdout
    phases = re.findall(r'event\.phase "([^"]+)"(?:.*?waits \[#event\.wait<@"?([^" ,]+))?', plan)
    attention = next(pair for pair in phases if pair[1] and pair[0].endswith("attention"))
    planted(arguments, case, f"{attention[0]} without its wait for {attention[1]}",
            without_wait(plan, *attention), arguments.installation, path)

    # A wait for more notifications than come ends the kernel, in words.
    with open(path("planted.mlir"), "w") as file:
        file.write(substitute(r'(event\.tensor @"?[\w.+]*attention\.done"? .* count )#?\w+(\(.*\))?',
                              r"\g<1>affine_map<()[s0, s1, s2] -> (1000)>", plan))
    run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cuda:emulated", "",
         arguments.installation])
    # Of several workers, any that waits may be the first to give up.
    for workers, phase, counts in ((1, r"layers\.self_attn\.o_proj[^\"]*", r"expected 1000, saw \d+"),
                                   (3, r"[^\"]+", r"expected \d+, saw \d+")):
        result = run([path("planted"), "logits", "--weights", arguments.folder, "--tokens", "1,2",
                      "--out", path("planted_out.npy"), "--no-cache", "--quiet", "--workers", workers],
                     check=False, env=dict(ENVIRONMENT, BATON_EMULATION_WAIT="1"))
        expect(result.returncode == 1 and re.fullmatch(
            r"error: the kernel on the emulated device was ended: worker \d waited more than 1 s "
            rf'for event word \d+ in phase "{phase}", iteration 0, task \d+: {counts}\n',
            result.stderr), f"a wait without end: status {result.returncode}, {result.stderr}")
        expect(not os.path.exists(path("planted_out.npy")), "logits of a kernel that was ended")
    print("a wait without end:", result.stderr.strip())

    copy = path("installation")
    shutil.copytree(arguments.installation, copy)
    shutil.copy(path("target.json"), os.path.join(copy, "targets/cuda.json"))
    for what, edit in edits(copy, "kernel.h", dict(list(FAULTS.items())[:1 if arguments.brief else None])):
        edit()
        planted(arguments, case, what, plan, copy, path)
    if arguments.brief:
        return

    # A thread's ring is its own: no race tells, but the bits do.
    with open(path("planted.mlir"), "w") as file:
        file.write(run([arguments.batonc, arguments.folder, *streaming, "--emit=event"]).stdout)
    sound = {"no fault": ("stage = 0;\n  // What", "stage = 0;\n  // What")}
    for what, edit in edits(copy, "stream.h", sound | RING_FAULTS):
        edit()
        run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cuda:emulated", "",
             copy])
        run([path("planted"), "logits", "--weights", arguments.folder,
             "--tokens", ",".join(map(str, case["tokens"][:40])), "--out", path("planted.npy"),
             "--no-cache", "--quiet", "--prefill-chunk", 1], env=shuffled(1))
        with open(path("planted.npy"), "rb") as file:
            same = file.read() == references[1]
        expect(same == (what == "no fault"),
               f"{what}: {'the same' if same else 'other'} logits")
        print(f"{what}: {'the same' if same else 'other'} logits")


def edits(installation, header, faults):
    """(what, edit) for each fault; `edit` writes the header with only this one."""
    place = os.path.join(installation, "include/codegen/cuda/library", header)
    with open(place) as file:
        sound = file.read()

    def write(text):
        with open(place, "w") as file:
            file.write(text)

    for what, (right, wrong) in faults.items():
        expect(sound.count(right) == 1, f"{header} does not say {right} once")
        yield what, lambda: write(sound.replace(right, wrong))
    write(sound)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--emit-unproved", required=True)
    parser.add_argument("--clean", action="store_true", help="no faults")
    parser.add_argument("--brief", action="store_true", help="portable bodies, one sanitizer, one fault of the frame")
    parser.add_argument("--installation", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
