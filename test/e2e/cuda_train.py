"""Training programs as CUDA kernels, run by the emulation on the host.

In F32, and with --batch-invariant, every body does the CPU's arithmetic, so that a run is
the CPU's bit for bit: the lines of steps with several microbatches and validations, and
the weights, gradients and optimizer's states behind them, for any order of threads.

With --emit-unproved: for another number of workers, too, and so is a run that is resumed, and a step that is not finite ends
in the CPU's words. Both sanitizers have nothing to report, but a race where a phase of
the backward does not wait.
"""

import argparse
import json
import os
import re
import shutil

import programs
from programs import QUICK, expect, run
from sanitize import ENVIRONMENT, without_wait
from training import lines_of, read_bytes, write_optimizer_weights, write_tokens


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    write_tokens(path("tokens.u16"), ((7 * i + i // 13) % 97 for i in range(1024)))
    compile_flags = [arguments.batonc, arguments.folder, "--mode=train", QUICK, "--quiet",
                     f"--optimizer={arguments.optimizer}", f"--recompute={arguments.recompute}",
                     f"--dtype={arguments.dtype}", *arguments.flags]
    run([*compile_flags, "-o", path("host")])
    # In 16 bits, for bodies that sum as the CPU does. In F32 there are no others.
    portable = [] if arguments.dtype == "f32" else ["--batch-invariant"]
    if arguments.threads:
        usual = os.path.join(os.path.dirname(arguments.batonc), "../lib/baton/targets/cuda.json")
        portable.append(programs.changed_target(usual, path("target.json"), threads=arguments.threads))
    run([*compile_flags, "--target=cuda:emulated", *portable, "-o", path("device")])

    own = []
    if arguments.optimizer == "small_fc_lopt":
        own = ["--optimizer-weights", path("network.safetensors")]
        write_optimizer_weights(own[1])

    def start(program, out, *more, seed=0):
        usual = {"--steps": arguments.steps, "--lr": 3e-3, "--warmup": 2}
        flags = [word for flag in usual if flag not in more for word in (flag, usual[flag])]
        return run([path(program), "train", "--weights", arguments.folder, "--data", path("tokens.u16"),
                    "--batch", 3, "--seq", 20, "--accumulate", 2, "--save-every", 2, *flags,
                    "--out", path(out), "--quiet", *own, *more],
                   check=False, env=dict(ENVIRONMENT, BATON_EMULATION_SEED=str(seed)))

    def train(program, out, *more, seed=0):
        result = start(program, out, *more, seed=seed)
        expect(result.returncode == 0, result.stderr)
        return lines_of(result.stdout, "tokens_per_s")

    def same(one, other, files=("model.safetensors", "optimizer.safetensors")):
        for name in (f"step-{arguments.steps}/{file}" for file in files):
            expect(read_bytes(path(f"{one}/{name}")) == read_bytes(path(f"{other}/{name}")),
                   f"{other}: {name} is not that of {one}")

    lines = train("host", "host-run", "--validate-every", 2, "--gradients", path("host.gradients"))
    expect(len(lines) == arguments.steps and "validation_loss" in lines[-1], f"steps: {lines}")
    for workers, seed in ((1, 0), (3, 7)) if arguments.emit_unproved else ((3, 7),):
        out = f"device-run-{workers}"
        found = train("device", out, "--validate-every", 2, "--workers", workers,
                      "--gradients", path("device.gradients"), seed=seed)
        expect(found == lines, f"{workers} workers: {found}, expected {lines}")
        same("host-run", out)
        expect(read_bytes(path("host.gradients")) == read_bytes(path("device.gradients")),
               f"{workers} workers: gradients are not the CPU's")
    print("losses, gradients, weights and states are the CPU's bit for bit")
    if not arguments.emit_unproved:
        return

    # As killed after the first checkpoint; and the other target's goes on, too.
    for name, begun, program in (("resumed", "device-run-3", "device"), ("crossed", "host-run", "device")):
        shutil.copytree(path(begun), path(name))
        shutil.rmtree(path(f"{name}/step-4"))
        rest = train(program, name, "--validate-every", 2, "--resume", "--workers", 2)
        expect(rest == lines[2:], f"{name}: goes on with {rest}, expected {lines[2:]}")
        same("host-run", name)
    print("a resumed run is the uninterrupted one")

    # Where a step's numbers stop being finite.
    said = []
    for program in ("host", "device"):
        result = start(program, f"{program}-broken", "--lr", 1e30, "--clip", 0, "--warmup", 0)
        expect(result.returncode == 1 and "is not finite: " in result.stderr
               and not os.path.exists(path(f"{program}-broken/step-4")), f"{program}: {result}")
        said.append(result.stderr)
    expect(said[0] == said[1], f"not finite: {said}")
    print(said[1].strip())

    train("device", "traced", "--steps", 2, "--workers", 2, "--trace", path("trace.json"))
    with open(path("trace.json")) as file:
        names = {event["name"] for event in json.load(file)["traceEvents"] if event["ph"] == "X"}
    info = json.loads(run([path("device"), "info", "--json"]).stdout)
    missing = {phase["name"] for phase in info["phases"]} - names
    expect(len(names) > 20 and not missing, f"the trace lacks {missing}")
    expect(info["device"]["kind"] == "cuda:emulated" and len(info["device"]["kernels"]) == 1,
           f"info: {info['device']}")
    result = start("device", "guarded", "--check-memory", path("touched.json"))
    expect(result.returncode == 1 and result.stderr.startswith("error: --check-memory: the program runs on a device")
           and result.stderr.count("\n") == 1, f"--check-memory: {result}")

    for sanitizer in ("thread", "address"):
        run([*compile_flags, "--target=cuda:emulated", f"--sanitize={sanitizer}", "-o", path(sanitizer)])
        found = train(sanitizer, f"{sanitizer}-run", "--validate-every", 2, "--workers", 3, seed=5)
        expect(found == lines, f"{sanitizer}: {found}, expected {lines}")
        same("host-run", f"{sanitizer}-run")
    print("the sanitizers have nothing to report")

    plan = run([*compile_flags, "--target=cuda:emulated", "--emit=event"]).stdout
    phases = re.findall(r'event\.phase "([^"]+)"(?:.*?waits \[#event\.wait<@"?([^" ,]+))?', plan)
    waiting = [(phase, event) for phase, event in phases if event and "grad" in phase]
    # A product over rows that all workers made: of norms, most workers read their own rows,
    # and a race shows in one attempt of four, or none of twenty on a busy machine.
    phase, event = waiting[0]
    with open(path("planted.mlir"), "w") as file:
        file.write(without_wait(plan, phase, event))
    run([arguments.emit_unproved, path("planted.mlir"), path("planted"), "cuda:emulated", "thread",
         arguments.installation])
    # Whether blocks are where they can race is up to the system: try again.
    for attempt in range(20):
        result = start("planted", f"planted-{attempt}", "--workers", 4, seed=attempt)
        if result.returncode != 0:
            break
    expect(result.returncode == 66 and "ThreadSanitizer: data race" in result.stderr,
           f"{phase} without its wait for {event}: status {result.returncode} and\n{result.stderr}")
    print(f"{phase} without its wait for {event}: a race")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--installation")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--recompute", default="none")
    parser.add_argument("--emit-unproved", help="also resumes, failures, traces and sanitizers")
    parser.add_argument("--steps", type=int, default=4, help="4, or 2 without --emit-unproved")
    parser.add_argument("--threads", type=int, help="of a block, other than usual: fewer take less time")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
