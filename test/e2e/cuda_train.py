"""Training programs as CUDA kernels, run by the emulation on the host.

In F32, and with --batch-invariant, every body does the CPU's arithmetic, so that a run is
the CPU's bit for bit: the lines of steps with several microbatches and validations, and
the weights, gradients and optimizer's states behind them, for any number of workers and
order of threads.

In BF16 and F16 products run on tensor cores otherwise. They multiply what the CPU
multiplies and sum in another order; a last place of F32 moves some results across a tie
of the next product's rounding, a whole unit in the last place of the type, and these move
others: a change of 2^-22 in one norm's weight moves the CPU's own gradients by a quarter
of a unit (BF16) to a whole one (F16). So gradients and losses are within the bounds of
e2e.train_16bit of the CPU's; they are the same bits for any number of workers and order of
threads, and the thread sanitizer has nothing to report.

With --emit-unproved: so is a run that is resumed, and a step that is not finite ends
in the CPU's words. Both sanitizers have nothing to report, but a race where a phase of
the backward does not wait.
"""

import argparse
import json
import math
import os
import re
import shutil
import struct

import programs
from programs import expect, run
from sanitize import ENVIRONMENT, without_wait
from train_16bit import BOUND
from train_f64 import read


def test_tensor_cores(arguments, path, compile_flags):
    def train(program, out, *more, steps=1, seed=0):
        result = run([path(program), "train", "--weights", arguments.folder, "--data", path("tokens.u16"),
                      "--batch", 3, "--seq", 20, "--accumulate", 2, "--steps", steps, "--lr", 1e-3,
                      "--warmup", 0, "--out", path(out), "--quiet", *more],
                     env=dict(ENVIRONMENT, BATON_EMULATION_SEED=str(seed)))
        return [json.loads(line)["loss"] for line in result.stdout.splitlines()]

    def gradients(program, *more, seed=0):
        """Of a first step; and its loss."""
        out = f"{program}-first-{seed}"
        losses = train(program, out, "--gradients", path(out + ".gradients"), *more, seed=seed)
        with open(path(out + ".gradients"), "rb") as file:
            return losses[0], file.read(), {name: values for name, (_, _, values)
                                            in read(path(out + ".gradients")).items()}

    bound = BOUND[arguments.dtype]
    loss, _, expected = gradients("host")
    for program, *flags in (("sm_90a", "--target=cuda:emulated"), ("sm_80", "--target=cuda:emulated-sm_80"),
                            ("threads", "--target=cuda:emulated", "--sanitize=thread")):
        source = run([*compile_flags, *flags[:1], "--emit=cuda"]).stdout
        expect(f"baton_matrix_product_{arguments.dtype}<" in source
               and f"baton_matrix_product_gradient_{arguments.dtype}<" in source,
               f"{program}: products do not run on tensor cores")
        run([*compile_flags, *flags, "-o", path(program)])
        found, bits, tensors = gradients(program, "--workers", 3, seed=7)
        expect(abs(found / loss - 1) < bound / 16, f"{program}: the loss is {found}, the CPU's {loss}")
        worst = 0.0
        for name, values in expected.items():
            error = math.dist(values, tensors[name]) / math.hypot(*values)
            expect(error < bound, f"{program}: {name} is off by {error:.2e}")
            worst = max(worst, error)
        print(f"{program}: gradients are within {worst:.2e} of the CPU's")
        if program == "threads":
            continue
        expect(worst > 0, f"{program}: gradients are the CPU's bit for bit: nothing is tested")
        for workers, seed in ((1, 0), (2, 3)):
            expect(gradients(program, "--workers", workers, seed=seed)[:2] == (found, bits),
                   f"{program}, {workers} workers: other bits")
    curves = [train(program, program + "-curve", steps=12) for program in ("host", "sm_90a")]
    first = curves[0][0]
    expect(all(abs(mine - theirs) < 0.02 * first for mine, theirs in zip(*curves)) and curves[1][-1] < 0.9 * first,
           f"losses of 12 steps: {curves}")
    print(f"12 steps: from {first:.3f} to {curves[1][-1]:.3f}, on the CPU to {curves[0][-1]:.3f}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    tokens = [(7 * i + i // 13) % 97 for i in range(1024)]
    with open(path("tokens.u16"), "wb") as file:
        file.write(struct.pack(f"<{len(tokens)}H", *tokens))
    compile_flags = [arguments.batonc, arguments.folder, "--mode=train", "--quiet",
                     f"--optimizer={arguments.optimizer}", f"--recompute={arguments.recompute}",
                     f"--dtype={arguments.dtype}"]
    run([*compile_flags, "-o", path("host")])
    run([*compile_flags, "--target=cuda:emulated", "--batch-invariant", "-o", path("device")])

    def start(program, out, *more, seed=0):
        usual = {"--steps": 4, "--lr": 3e-3, "--warmup": 2}
        flags = [word for flag in usual if flag not in more for word in (flag, usual[flag])]
        return run([path(program), "train", "--weights", arguments.folder, "--data", path("tokens.u16"),
                    "--batch", 3, "--seq", 20, "--accumulate", 2, "--save-every", 2, *flags,
                    "--out", path(out), "--quiet", *more],
                   check=False, env=dict(ENVIRONMENT, BATON_EMULATION_SEED=str(seed)))

    def train(program, out, *more, seed=0):
        result = start(program, out, *more, seed=seed)
        expect(result.returncode == 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        for line in lines:
            del line["tokens_per_s"]
        return lines

    def same(one, other, files=("step-4/model.safetensors", "step-4/optimizer.safetensors")):
        for name in files:
            with open(path(f"{one}/{name}"), "rb") as first, open(path(f"{other}/{name}"), "rb") as second:
                expect(first.read() == second.read(), f"{other}: {name} is not that of {one}")

    lines = train("host", "host-run", "--validate-every", 2, "--gradients", path("host.gradients"))
    expect(len(lines) == 4 and "validation_loss" in lines[3], f"steps: {lines}")
    for workers, seed in ((1, 0), (3, 7)):
        out = f"device-run-{workers}"
        found = train("device", out, "--validate-every", 2, "--workers", workers,
                      "--gradients", path("device.gradients"), seed=seed)
        expect(found == lines, f"{workers} workers: {found}, expected {lines}")
        same("host-run", out)
        with open(path("host.gradients"), "rb") as one, open(path("device.gradients"), "rb") as other:
            expect(one.read() == other.read(), f"{workers} workers: gradients are not the CPU's")
    print("losses, gradients, weights and states are the CPU's bit for bit")
    if arguments.dtype != "f32":
        test_tensor_cores(arguments, path, compile_flags)
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
    phase, event = waiting[len(waiting) // 2]
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
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
