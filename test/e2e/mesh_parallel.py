"""Training on a mesh of data, tensor and pipeline parallelism against one rank, with
the same microbatches.

Of --mesh=dp=2,tp=2,pp=2, or what is given, with each of the schedules and stages of ZeRO
that are given, such as "1f1b" and "zb-h1+zero=2", or with every one of both: losses, norms and the gradient of every
tensor lie within 1e-5 of one rank's, and losses of several steps of AdamW. Combinations
that differ in the schedule, or in ZeRO up to stage 1, have the same bits, and those of
stages 2 and 3 one another's; so have any number of workers and, of the first combination
or, with --every, of all, processes.
Checkpoints know nothing of ranks: a run goes on with one rank, and one rank's with many,
and weights come out as they went in. With --brief the last is left out, and so are
processes.

With --set the model has other fields in its config.json, and random weights.
"""

import argparse
import json
import os
import random
import shutil

import programs
from data_parallel import LENGTH, Trainer, compare, same
from pipeline_parallel import BATCH, MICROBATCHES, SCHEDULES, STEPS, mpi_results
from programs import QUICK, expect, run
from training import read_tensors, write_tokens


def resumed(scratch, begun, trainer, flags, wanted):
    """Goes on with another program's first run."""
    out = os.path.join(scratch, f"{begun.name}-to-{trainer.name}")
    shutil.copytree(os.path.join(scratch, f"{begun.name}-1"), out)
    result = run([trainer.program, "train", "--weights", trainer.arguments.folder, "--data",
                  os.path.join(scratch, "tokens.u16"), "--out", out, "--resume", "--seq", LENGTH,
                  "--validation-fraction", 0, "--steps", STEPS, "--lr", 1e-3, "--lr-schedule",
                  "constant", "--quiet", *flags])
    losses = [json.loads(line)["loss"] for line in result.stdout.splitlines()]
    for loss, line in zip(losses, wanted[1:], strict=True):
        expect(abs(loss / line["loss"] - 1) < 1e-5,
               f"{begun.name} to {trainer.name}: {loss}, of one run {line}")


def check_kept(arguments, scratch, trainer, *flags):
    """A step with a rate this small changes no weight but one that is 0."""
    out = os.path.join(scratch, f"kept-{trainer.name}")
    run([trainer.program, "train", "--weights", arguments.folder, "--data",
         os.path.join(scratch, "tokens.u16"), "--out", out, "--seq", LENGTH, "--steps", 1, "--lr", 1e-30,
         "--quiet", *flags])
    stored = read_tensors(os.path.join(arguments.folder, "model.safetensors"))
    kept = read_tensors(os.path.join(out, "step-1/model.safetensors"))
    expect(kept and all(abs(mine - wanted) <= 2e-30 for name, (_, _, values) in kept.items()
                        for mine, wanted in zip(values, stored[name][2], strict=True)),
           "weights have changed")


def changed(arguments, scratch):
    """A checkpoint of the shape that --set asks for."""
    model = os.path.join(scratch, "shape")
    os.mkdir(model)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    for field, value in arguments.set:
        expect(field in config, f"config.json has no {field}")
        config[field] = json.loads(value)
    with open(os.path.join(model, "config.json"), "w") as file:
        json.dump(config, file)
    write_tokens(os.path.join(scratch, "some.u16"), range(64))
    trainer, out = os.path.join(scratch, "shape-trainer"), os.path.join(scratch, "shaped")
    run([arguments.batonc, model, "--mode=train", "--dtype=f32", "--quiet", QUICK, "-o", trainer])
    run([trainer, "train", "--init-seed", 3, "--model", model, "--data", os.path.join(scratch, "some.u16"),
         "--validation-fraction", 0, "--seq", 8, "--batch", 1, "--steps", 1, "--lr", 1e-30, "--out", out, "--quiet"])
    return os.path.join(out, "step-1")


def test(arguments, scratch):
    if arguments.set:
        arguments.folder = changed(arguments, scratch)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    draw = random.Random(5)
    write_tokens(os.path.join(scratch, "tokens.u16"),
                 (draw.randrange(config["vocab_size"]) for _ in range(64 * arguments.batch * (LENGTH + 1))))
    batch = ["--batch", arguments.batch]
    stages = "pp=" in arguments.mesh
    parts = [*batch, "--accumulate", MICROBATCHES]
    ranks = 1
    for axis in arguments.mesh.split(","):
        ranks *= int(axis.split("=")[1])
    dtype = f"--dtype={arguments.dtype}"
    one = Trainer(arguments, scratch, "one", dtype)
    alone = one.train(1, *parts), one.train(STEPS, *parts)

    combinations = arguments.combinations
    if arguments.every:
        combinations = [f"{schedule}+zero={zero}" for schedule in (SCHEDULES if stages else ["plain"])
                        for zero in range(4)]
    first = {}
    for combination in combinations:
        schedule, _, zero = combination.partition("+zero=")
        zero = int(zero or 0)
        flags = [f"--zero={zero}"] * (zero > 0)
        if stages:
            flags += [f"--pipeline={schedule}", f"--microbatches={MICROBATCHES}"]
        many = Trainer(arguments, scratch, combination.replace(":", "-"), dtype, f"--mesh={arguments.mesh}",
                       *flags, *arguments.flag)
        own = batch if stages else parts
        found = many.train(1, *own), many.train(STEPS, *own, "--workers", ranks)
        compare(f"{combination}, a step", alone[0], found[0])
        # AdamW drives the gradients of further steps apart a little.
        compare(f"{combination}, steps", alone[1], found[1], 1e-4)
        if shutil.which("mpirun") and (arguments.every or not (first or arguments.brief)):
            same(f"{combination}, processes", found[1], mpi_results(many, ranks, STEPS, *own))
        # Of another cut, the norm's last bits may be others.
        key = zero > 1, schedule if ":" in schedule else ""
        if key in first:
            same(f"{combination} and {first[key][0]}", first[key][1], found[1])
            continue
        first[key] = combination, found[1]
        same(f"{combination}, more workers", found[1], many.train(STEPS, *own, "--workers", 3 * ranks))
        if len(first) > 1 and zero < 2:
            continue
        resumed(scratch, many, one, parts, alone[1][0])
        resumed(scratch, one, many, own, alone[1][0])
        if arguments.brief:
            continue
        check_kept(arguments, scratch, many, *own)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--mesh", default="dp=2,tp=2,pp=2")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--batch", type=int, default=BATCH, help="sequences of a microbatch, of all ranks")
    parser.add_argument("--flag", action="append", default=[], help="for batonc, of several ranks")
    parser.add_argument("--set", action="append", default=[], type=lambda text: text.split("=", 1),
                        metavar="FIELD=JSON")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--every", action="store_true", help="all combinations, as threads and as processes")
    parser.add_argument("folder")
    parser.add_argument("combinations", nargs="*")
    arguments = parser.parse_args()
    if bool(arguments.combinations) == arguments.every:
        parser.error("which combinations: some, or --every")
    programs.main(lambda scratch: test(arguments, scratch))
