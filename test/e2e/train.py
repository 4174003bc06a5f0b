"""A training run from beginning to end: it learns, stops, goes on, is refused.

Learning rates are those of the formula. A run that is interrupted after any checkpoint and resumed prints the lines and
leaves the weights of an uninterrupted one; so does one that validates of one that
does not. Its checkpoints are read by programs that decode, and give other logits
than before.
"""

import argparse
import json
import math
import os
import shutil

import programs
from programs import QUICK, Program, expect, run
from training import write_tokens


def expect_rates(lines, peak, warm_up, steps, final=0.1, fall=lambda done: (1 + math.cos(math.pi * done)) / 2):
    """Rising evenly before the peak, then along half a cosine, or as `fall` says, to `final` of it."""
    for line in lines:
        before = line["step"] - 1
        if before < warm_up:
            wanted = peak * (before + 1) / (warm_up + 1)
        else:
            done = (before - warm_up) / (steps - warm_up)
            wanted = peak * (final + (1 - final) * fall(done))
        expect(abs(line["lr"] / wanted - 1) < 1e-6, f"step {line['step']}: lr {line['lr']}, expected {wanted}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    case = programs.golden(arguments.folder)
    # A text that can be learnt: the next token is the one after.
    tokens = [(7 * i) % 97 for i in range(4096)]
    write_tokens(path("tokens.u16"), tokens)
    program = path("program")
    run([arguments.batonc, arguments.folder, "--mode=train", "--quiet", "-o", program])
    usual = {"--data": path("tokens.u16"), "--batch": 4, "--seq": 32, "--lr": 3e-3, "--warmup": 3}
    weights = ["--weights", arguments.folder]

    def train(out, *more, check=True, program=program):
        flags = [word for flag in usual if flag not in more for word in (flag, usual[flag])]
        result = run([program, "train", *flags, "--out", path(out), "--quiet", *more],
                     check=check)
        if not check:
            return result
        return [{key: value for key, value in json.loads(line).items() if key != "tokens_per_s"}
                for line in result.stdout.splitlines()]

    whole = train("whole", *weights, "--steps", 30, "--save-every", 10, "--keep", 2)
    expect([line["step"] for line in whole] == list(range(1, 31)), f"steps: {whole}")
    expect_rates(whole, usual["--lr"], usual["--warmup"], 30)
    linear = lambda done: 1 - done
    expect_rates(train("linear", *weights, "--steps", 6, "--lr-schedule", "linear"), usual["--lr"],
                 usual["--warmup"], 6, 0, linear)
    expect_rates(train("half", *weights, "--steps", 6, "--lr-schedule", "linear", "--final-fraction", 0.5),
                 usual["--lr"], usual["--warmup"], 6, 0.5, linear)
    expect(whole[-1]["loss"] < 0.3 * whole[0]["loss"], f"learns nothing: {whole}")
    expect(sorted(os.listdir(path("whole"))) == ["latest", "loss.svg", "losses.jsonl", "step-20", "step-30"],
           f"leaves {os.listdir(path('whole'))}")
    print(f"30 steps: {whole[0]['loss']:.3f} to {whole[-1]['loss']:.3f}")

    quick = path("quick")
    run([arguments.batonc, arguments.folder, "--mode=train", QUICK, "--quiet", "-o", quick])
    expect(train("quick-run", *weights, "--steps", 30, program=quick) == whole,
           f"{QUICK} makes other bits")

    # As killed after the second checkpoint, and damaged in it.
    shutil.copytree(path("whole"), path("parts"))
    with open(path("parts/step-30/model.safetensors"), "r+b") as file:
        file.seek(-5, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-5, os.SEEK_END)
        file.write(bytes([byte ^ 1]))
    rest = train("parts", *weights, "--steps", 30, "--save-every", 10, "--resume")
    expect(rest == whole[20:], f"goes on with {rest}, expected {whole[20:]}")
    for name in ("model.safetensors", "optimizer.safetensors"):
        with open(path(f"whole/step-30/{name}"), "rb") as one, \
                open(path(f"parts/step-30/{name}"), "rb") as other:
            expect(one.read() == other.read(), f"{name} differs after a resume")
    print("a resumed run is the uninterrupted one")
    flags = [word for flag in usual for word in (flag, 1e-3 if flag == "--lr" else usual[flag])]
    said = run([program, "train", *flags, *weights, "--out", path("parts"), "--steps", 31, "--resume"]).stderr
    expect("warning: --resume: after step 30 --lr 0.001 (was 0.003), --steps 31 (was 30)\n" in said,
           f"with other flags: {said}")

    # Measured or not, also when it goes on after a checkpoint: the same steps.
    measured = train("measured", *weights, "--steps", 30, "--save-every", 10, "--validate-every", 4)
    shutil.rmtree(path("measured/step-30"))
    # The checkpoint has all that a run begins with.
    rest = train("measured", "--steps", 30, "--save-every", 10, "--validate-every", 4, "--resume")
    expect(rest == measured[20:], f"goes on with {rest}, expected {measured[20:]}")
    losses = {line["step"]: line.pop("validation_loss") for line in measured if "validation_loss" in line}
    expect(sorted(losses) == [4, 8, 12, 16, 20, 24, 28, 30], f"validates after {sorted(losses)}")
    expect(measured == whole, f"a run that validates: {measured}, one that does not: {whole}")
    for name in ("model.safetensors", "optimizer.safetensors"):
        with open(path(f"whole/step-30/{name}"), "rb") as one, \
                open(path(f"measured/step-30/{name}"), "rb") as other:
            expect(one.read() == other.read(), f"{name} differs after validations")
    with open(path("measured/loss.svg")) as file:
        expect(">validation<" in file.read(), "the picture shows no validation loss")
    # What is measured is a step's loss over the sequences that are set aside: the
    # last twelve, of a text of 124.
    write_tokens(path("last.u16"), tokens[112 * 33:124 * 33])
    last = train("last", "--weights", path("whole/step-30"), "--data", path("last.u16"), "--batch", 12,
                 "--steps", 1, "--warmup", 0, "--validation-fraction", 0)
    expect(abs(losses[30] / last[0]["loss"] - 1) < 1e-6, f"validation: {losses[30]}, a step: {last[0]['loss']}")
    print(f"validation: {losses[4]:.3f} to {losses[30]:.3f}")

    decoder = Program(arguments.batonc, arguments.folder, path("decoder"))
    before = decoder.logits(case["tokens"][:16], path("before.npy"))
    decoder.weights = path("whole/step-30")
    expect(decoder.logits(case["tokens"][:16], path("after.npy")) != before,
           "the checkpoint decodes as the weights before")

    random = train("random", "--init-seed", 5, "--model", arguments.folder, "--steps", 4)
    expect(random == train("random-2", "--init-seed", 5, "--model", arguments.folder,
                           "--steps", 4, "--workers", 1), "random weights differ")

    def refused(message, *more, out="refused"):
        result = train(out, *more, check=False)
        lines = result.stderr.strip().splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and message in lines[0],
               f"{more}: expected '{message}', got {result}")
        expect(not os.path.exists(path("refused/step-1")), f"{more}: leaves a checkpoint")

    refused("--weights DIR to begin with, or --init-seed S", "--steps", 1)
    refused("or --resume alone", *weights, "--init-seed", 1, "--steps", 40, "--resume", out="whole")
    refused("the checkpoint has the model's files", "--model", arguments.folder, "--steps", 40, "--resume", out="whole")
    refused("--model DIR has to say", "--init-seed", 1, "--steps", 1)
    refused("no such file or folder", "--weights", path("nothing"), "--steps", 1)
    refused("a step takes at most", *weights, "--steps", 1, "--batch", 100000)
    refused("the model takes sequences of at most", *weights, "--steps", 1, "--seq", 100000)
    refused("--validate-every 1: no sequence is set aside", *weights, "--steps", 1, "--validate-every", 1,
            "--validation-fraction", 0, "--warmup", 0)
    refused("--lr-schedule", *weights, "--steps", 1, "--lr-schedule", "steep")
    refused("--final-fraction", *weights, "--steps", 1, "--warmup", 0, "--final-fraction", 2)
    refused("--resume", *weights, "--steps", 40, out="whole")
    refused("is of step 30 already", *weights, "--steps", 30, "--resume", out="whole")
    refused("is not finite: ", *weights, "--steps", 20, "--lr", 1e30, "--clip", 0)
    memory = json.loads(run([program, "info", "--json"]).stdout)["memory"]
    checkpoint = os.path.getsize(path("whole/step-30/model.safetensors"))
    # Weights, gradients and two moments.
    expect(memory["kv"] == 0 and memory["persistent"] >= 4 * (checkpoint - 10000),
           f"info: {memory}, of {checkpoint} bytes of weights")
    result = run([program, "generate", *weights, "--tokens", "1", "--max-new-tokens", 1],
                 check=False)
    expect(result.returncode == 1 and "compile one with --mode=decode" in result.stderr,
           f"a program that trains decodes: {result}")
    result = run([decoder.path, "train", *weights, "--data", "x", "--steps", 1, "--out", "y"],
                 check=False)
    expect(result.returncode == 1 and "compile one with --mode=train" in result.stderr,
           f"a program that decodes trains: {result}")
    for flag, problem in (("--schedule=order.mlir", "cannot read order.mlir"),
                          ("--disable-pass=norm-rewrites", "--mode=train runs no such pass")):
        result = run([arguments.batonc, arguments.folder, "--mode=train", flag, "-o",
                      path("none")], check=False)
        expect(result.returncode == 1 and problem in result.stderr, f"{flag}: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
