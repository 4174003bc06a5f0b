"""Training over the stages of a pipeline against one rank, with the same microbatches.

Compiled with --mesh=pp=2 for every schedule, or with --mesh=dp=2,pp=2: losses and the gradient of every tensor
lie within 1e-5 of one rank's; all schedules have the same bits, whatever the number of
workers, as threads and as processes. A message for each microbatch goes over each
border, of as many bytes as rows and width make, and as many microbatches are in flight
as the schedule says. Checkpoints are those of one rank: weights go in and out bit for
bit, and a run goes on with another schedule or another number of ranks. What does not
fit is refused in one line, and a rank that fails ends the run in one.
"""

import argparse
import json
import os
import random
import re
import shutil
from types import SimpleNamespace

import programs
from data_parallel import Trainer, compare, same
from programs import MPI, expect, run
from train_endings import edit_weights
from training import read_bytes, read_tensors, write_tokens

BATCH, LENGTH, MICROBATCHES, STEPS = 2, 12, 4, 3
SCHEDULES = ["gpipe", "1f1b", "zb-h1", "zb-h2", "interleaved:2"]


def tables_of(batonc, schedule, stages):
    """What batonc says of a schedule: its tables and microbatches in flight."""
    result = run([batonc, "pipeline", "--schedule", schedule, "--stages", stages,
                  "--microbatches", MICROBATCHES, "--json"])
    return json.loads(result.stdout)


def check_messages(what, traffic, chunks, stages, width, ranks=1):
    """Each microbatch's activations and gradients cross each border once."""
    borders = stages * chunks - 1
    rows = BATCH // ranks * LENGTH
    sent = {"activations": 0, "gradients": 0}
    for message in traffic["messages"]:
        where = f"{what}: {message['name']} of rank {message['rank']}"
        expect(message["payload"] == eval(message["formula"], {"rows": rows}),
               f"{where}: {message['payload']} bytes, stated are {message['formula']}")
        if message["channel"] not in sent:
            continue
        expect(message["payload"] == 4 * rows * width, f"{where}: {message['payload']} bytes")
        if message["direction"] == "send":
            sent[message["channel"]] += message["calls"]
    wanted = ranks * borders * MICROBATCHES * STEPS
    expect(sent == {"activations": wanted, "gradients": wanted},
           f"{what}: {sent} messages, expected {wanted} of each kind")
    operations = [collective["operation"] for collective in traffic["collectives"]
                  if collective["calls"]]
    expect(sorted(set(operations) & {"loss", "norm"}) == ["loss", "norm"],
           f"{what}: {operations}")


def check_in_flight(what, program, expected):
    info = json.loads(run([program, "info", "--json"]).stdout)["pipeline"]
    found = [rank["in_flight"] for rank in info["ranks"]]
    expect(found == expected, f"{what}: {found} microbatches in flight, the schedule says {expected}")
    expect(0 < info["bubble"] < 1, f"{what}: {info}")
    expect(all(rank["bytes"] > 0 for rank in info["ranks"]), f"{what}: {info}")


def mpi_results(trainer, ranks, steps, *flags):
    """What the same run gives under mpirun."""
    own = trainer.program
    wrapper = own + ".mpi"
    with open(wrapper, "w") as file:
        file.write("#!/bin/sh\nexec " + " ".join([*MPI, "-n", str(ranks)]) + f' "{own}" "$@"\n')
    os.chmod(wrapper, 0o755)
    trainer.program = wrapper
    try:
        return trainer.train(steps, *flags)
    finally:
        trainer.program = own


def refused(message, command):
    result = run(command, check=False, timeout=120)
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    expect(result.returncode != 0 and len(lines) == 1 and re.search(message, lines[0]),
           f"expected '{message}', got {result}")


def check_validation(arguments, path, one, many, parts, batch):
    """Losses of sequences that nobody trains with, and of how many there are no multiple;
    and a number that is not finite, which is named as one rank names it."""
    def train(trainer, out, *flags, weights=arguments.folder):
        return [trainer.program, "train", "--weights", weights, "--data", path("tokens.u16"), "--seq",
                LENGTH, "--steps", STEPS, "--lr", 1e-3, "--lr-schedule", "constant",
                "--out", path(out), "--quiet", *flags, *(parts if trainer is one else batch)]

    found = []
    for trainer, out in ((one, "validated-one"), (many, "validated-many")):
        for flags in ((), ("--validate-every", 1)):
            result = run(train(trainer, out + str(len(flags)), "--validation-fraction", 0.21, *flags))
            found.append([json.loads(line) for line in result.stdout.splitlines()])
    for alone, stages in zip(found[1], found[3], strict=True):
        expect(abs(stages["validation_loss"] / alone["validation_loss"] - 1) < 1e-5,
               f"validation: {stages}, of one rank {alone}")
    expect([line["loss"] for line in found[3]] == [line["loss"] for line in found[2]],
           f"validation changes losses: {found[2]} {found[3]}")

    stored = read_tensors(os.path.join(arguments.folder, "model.safetensors"))
    name = next(name for name, (_, shape, _) in stored.items() if len(shape) == 2 and ".1." in name)
    weights = edit_weights(SimpleNamespace(path=path, golden=arguments.folder), name,
                           lambda values, shape: [3e38 if value > 0 else -3e38 for value in values])
    said = []
    for trainer, out in ((one, "huge-one"), (many, "huge-many")):
        result = run(train(trainer, out, weights=weights), check=False)
        expect(result.returncode == 1 and "it begins in the op" in result.stderr, f"{result}")
        # A stage of one layer does not say which it is.
        said.append(re.split(", whose result| of layer", result.stderr)[0])
    expect(said[0] == said[1], f"{said[1]}, of one rank {said[0]}")
    print(said[1])


def check_refusals(arguments, program, path):
    def compiling(message, *flags):
        refused(message, [arguments.batonc, arguments.folder, "--mode=train", "--quiet",
                          "-o", path("none"), *flags])

    compiling("--pipeline=2f2b: unknown schedule", "--mesh=pp=2", "--pipeline=2f2b")
    compiling("3 microbatches are no multiple of 2 stages", "--mesh=pp=2",
              "--pipeline=interleaved:2", "--microbatches=3")
    compiling("--pipeline=gpipe: there is one stage", "--pipeline=gpipe")
    compiling("--microbatches: there is one stage", "--microbatches=4")
    compiling("too few for 64 positions", "--mesh=pp=64")

    def training(message, *flags):
        refused(message, [program, "train", "--weights", arguments.folder, "--data",
                          path("tokens.u16"), "--seq", LENGTH, "--steps", 5, "--batch", BATCH,
                          "--out", path("refused"), "--quiet", *flags])

    training("--accumulate 3: the schedule .* is compiled for 4 microbatches",
             "--accumulate", 3)
    training("compiled for 2 ranks", "--ranks", 3)
    # Ranks that fail or never come.
    training("rank 1: step 3, .*: this rank fails on purpose", "--rank-fault", "1:3:fail")
    # The steps before are over by then also on a machine that has much to do.
    training("rank 0 does not come; after 4 s", "--rank-fault", "0:3:stall",
             "--rank-timeout", 4)
    if shutil.which("mpirun"):
        refused("rank 1|rank 0", [*MPI, "-n", 2, program, "train", "--weights", arguments.folder,
                                  "--data", path("tokens.u16"), "--seq", LENGTH, "--steps", 5,
                                  "--batch", BATCH, "--out", path("died"), "--quiet",
                                  "--rank-fault", "1:3:die"])


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    width = config.get("hidden_size", config.get("n_embd"))
    width *= config.get("hyper_connections", {}).get("streams", 1)
    draw = random.Random(5)
    write_tokens(path("tokens.u16"), (draw.randrange(config["vocab_size"])
                                      for _ in range(64 * BATCH * (LENGTH + 1))))
    batch = ["--batch", BATCH]
    one = Trainer(arguments, scratch, "one")
    parts = [*batch, "--accumulate", MICROBATCHES]
    alone = one.train(1, *parts), one.train(STEPS, *parts)

    first = None
    mesh = "--mesh=pp=2" if arguments.dp == 1 else f"--mesh=dp={arguments.dp},pp=2"
    for schedule in arguments.schedules:
        chunks = int(schedule.split(":")[1]) if ":" in schedule else 1
        many = Trainer(arguments, scratch, schedule.replace(":", "-"), mesh,
                       f"--pipeline={schedule}", f"--microbatches={MICROBATCHES}")
        found = many.train(1, *batch), many.train(STEPS, *batch, "--workers", 2)
        for what, mine, wanted in zip(("a step", "steps"), found, alone):
            compare(f"{schedule}, {what}", wanted, mine)
        check_messages(schedule, found[1][3], chunks, 2, width, arguments.dp)
        check_in_flight(schedule, many.program,
                        tables_of(arguments.batonc, schedule, 2)["in_flight"])
        if first is None:
            first = found
            for workers in (2, 3, 6):
                same(f"{schedule}, {workers} workers", found[1],
                     many.train(STEPS, *batch, "--workers", workers))
            # Weights come out as they went in.
            run([many.program, "train", "--weights", arguments.folder, "--data",
                 path("tokens.u16"), "--out", path("kept"), "--seq", LENGTH, "--steps", 1,
                 "--lr", 1e-30, "--quiet", *batch])
            stored = read_tensors(os.path.join(arguments.folder, "model.safetensors"))
            kept = read_tensors(path("kept/step-1/model.safetensors"))
            expect(kept and all(stored[name][2] == values for name, (_, _, values) in
                                kept.items()), "weights have changed")
            # A run goes on with another number of ranks.
            for mine, other in ((many, one), (one, many)):
                moved = os.path.join(scratch, f"{mine.name}-to-{other.name}")
                begun = os.path.join(scratch, f"{mine.name}-1")
                shutil.copytree(begun, moved)
                result = run([other.program, "train", "--weights", arguments.folder, "--data",
                              path("tokens.u16"), "--out", moved, "--resume", "--seq", LENGTH,
                              "--validation-fraction", 0, "--steps", STEPS, "--lr", 1e-3,
                              "--lr-schedule", "constant", "--quiet",
                              *(parts if other is one else batch)])
                losses = [json.loads(line)["loss"] for line in result.stdout.splitlines()]
                for loss, line in zip(losses, alone[1][0][1:], strict=True):
                    expect(abs(loss / line["loss"] - 1) < 1e-5,
                           f"{mine.name} to {other.name}: {loss}, of one run {line}")
            check_validation(arguments, path, one, many, parts, batch)
        elif chunks == 1:
            same(f"{schedule} and {arguments.schedules[0]}", first[1], found[1])
        else:
            # Squares of gradients are added stage by stage: of another cut, the norm's
            # last bits may be others.
            expect(found[0][0][0]["loss"] == first[0][0][0]["loss"] and
                   read_bytes(found[0][1]) == read_bytes(first[0][1]),
                   f"{schedule}: other losses or gradients")
        if shutil.which("mpirun"):
            same(f"{schedule}, processes", found[1], mpi_results(many, 2 * arguments.dp, STEPS, *batch))
    if arguments.refusals:
        check_refusals(arguments, many.program, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--refusals", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("schedules", nargs="*", default=SCHEDULES)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
