"""Training with a part of the model on every rank, against one rank.

Compiled with --mesh=tp=2 and dp=2,tp=2 (or what is given): losses, norms and the
gradient of every tensor lie within 1e-5 of one rank's, with several microbatches,
too, and losses of several steps, whose gradients AdamW drives apart a little; threads, processes under mpirun and any number of workers have the same bits.
In each layer and microbatch ranks add up four tensors of b·s·h numbers, beside the
embedding, the loss and the norm. Checkpoints know no ranks: what one mesh has drawn,
saved and loaded, another one has bit for bit.

With --sequence-parallel ranks have parts of the rows as well, here uneven ones: in
each layer and microbatch they gather two tensors of b·s·h numbers forward and four
backward, and scatter the sums of two, and two.
"""

import argparse
import json
import math
import os
import shutil

import programs
from data_parallel import LENGTH, PART, Trainer, compare, same
from programs import MPI, expect, run
from training import lines_of, read_tensors, write_tokens

SEQUENCES, STEPS = 4, 4


def axes_of(mesh):
    return {name: int(size) for name, size in (axis.split("=") for axis in mesh.split(","))}


def check_traffic(what, traffic, axes, config, rows, microbatches, updates, sequences):
    """Bytes of what ranks of tp, and tq, exchange, as formulas have them."""
    layers, width = config["num_hidden_layers"], config["hidden_size"]
    tensor = [name for name in ("tp", "tq") if name in axes]
    moved = {}
    for collective in traffic["collectives"]:
        where = f"{what}: {collective['name']}"
        expect(collective["payload"] == eval(collective["formula"], {"rows": rows}),
               f"{where}: moved {collective['payload']} bytes, stated are {collective['formula']}")
        if not set(collective["axes"]) <= set(tensor):
            continue
        moved_here = collective["calls"] * collective["payload"]
        ranks = math.prod(axes[name] for name in collective["axes"])
        groups = math.prod(axes.values()) // ranks
        expect(sum(collective["sent"]) == groups * (ranks - 1) * moved_here,
               f"{where}: ranks sent {collective['sent']} of {moved_here} bytes")
        # Sums of gradients over tp, once an update, are no sums within a step.
        within = collective["name"].startswith(("all_reduce", "reduce_scatter", "all_gather"))
        purpose = ("step " if within else "") + collective["operation"]
        if collective["axes"] != tensor:
            purpose += " over " + collective["axes"][0]
        key = collective["kind"], purpose, collective["payload"]
        moved[key] = moved.get(key, 0) + collective["calls"]
    expected = {(kind, "step all_reduce", payload): 1 for kind in ("all_to_all", "all_gather")
                for payload in (4 * rows, 4 * rows * 2)}
    if sequences:
        # The embedding and the gradient of the head's input are scattered, and the head's
        # input and the gradient of the embedding gathered.
        expected["all_gather", "step all_gather", 4 * rows * width] = 6 * layers + 2
        expected["all_to_all", "step reduce_scatter", 4 * rows * width] = 4 * layers + 2
    else:
        # Of every layer four; the embedding, and the gradient of the head's input.
        for kind in "all_to_all", "all_gather":
            expected[kind, "step all_reduce", 4 * rows * width] = 4 * layers + 2
            # Gradients of the keys and values that ranks of tq share, and what they give
            # to the layer's input.
            if "tq" in axes:
                shared = config["hidden_size"] // config["num_attention_heads"]
                expected[kind, "step all_reduce over tq", 4 * rows * shared] = 2 * layers
                expected[kind, "step all_reduce over tp", 4 * rows * width] = layers
    for (kind, purpose, payload), times in expected.items():
        found = moved.pop((kind, purpose, payload), 0)
        expect(found == times * microbatches,
               f"{what}: {found} times {kind} of {payload} bytes for {purpose}, expected {times} in "
               f"each of {microbatches} microbatches")
    # What is left: sums of squares, once an update; gradients that add up over tp, too.
    for (kind, operation, payload), calls in moved.items():
        operation = operation.split(" over ")[0]
        expect(calls % updates == 0 and (operation == "all_reduce" or
                                         operation == "norm" and payload % PART == 0),
               f"{what}: {calls} times {kind} for {operation} of {payload} bytes")
    expect(any(operation.startswith("norm") for _, operation, _ in moved), f"{what}: no sum of squares")


def tensors(path):
    return {name: entry[2] for name, entry in read_tensors(path).items()}


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    write_tokens(path("tokens.u16"), ((11 * i * i + i // 7) % config["vocab_size"]
                                      for i in range(4 * SEQUENCES * (LENGTH + 1))))
    batch = ["--batch", SEQUENCES]
    parts = ["--batch", SEQUENCES // 2, "--accumulate", 2]
    cuts = "--sequence-parallel" in arguments.flag
    one = Trainer(arguments, scratch, "one")
    alone = {"a step": one.train(1, *batch), "steps": one.train(STEPS, *batch),
             "microbatches": one.train(1, *parts)}

    for mesh in arguments.meshes:
        axes = axes_of(mesh)
        ranks = 1
        for size in axes.values():
            ranks *= size
        sequences = SEQUENCES // axes.get("dp", 1)
        many = Trainer(arguments, scratch, mesh.replace(",", "-"), f"--mesh={mesh}", *arguments.flag)
        found = {"a step": many.train(1, *batch, "--workers", ranks),
                 "steps": many.train(STEPS, *batch, "--workers", ranks),
                 "microbatches": many.train(1, *parts)}
        for name, result in found.items():
            compare(f"{mesh}, {name}", alone[name], result, 1e-4 if name == "steps" else 1e-5)
        check_traffic(f"{mesh}, steps", found["steps"][3], axes, config, sequences * LENGTH, STEPS, STEPS,
                      cuts)
        check_traffic(f"{mesh}, microbatches", found["microbatches"][3], axes, config,
                      sequences * LENGTH // 2, 2, 1, cuts)
        same(f"{mesh}, more workers", found["steps"],
             many.train(STEPS, *batch, "--workers", 3 * ranks))
        if shutil.which("mpirun"):
            threads = many.program
            many.program = path("mpi")
            with open(many.program, "w") as script:
                script.write(f'#!/bin/sh\nexec {" ".join(MPI)} -n {ranks} {threads} "$@"\n')
            os.chmod(many.program, 0o755)
            same(f"{mesh}, processes", found["steps"], many.train(STEPS, *batch))
            many.program = threads
        else:
            print("without mpirun: threads only")
        if not cuts:
            cross(arguments, scratch, one, many, mesh, batch)


def cross(arguments, scratch, one, many, mesh, batch):
    """Weights and states of one mesh on another."""
    path = lambda name: os.path.join(scratch, name)

    def train(trainer, out, steps, rate, *flags):
        """Weights and states after the steps, and their lines."""
        result = run([trainer.program, "train", "--data", path("tokens.u16"), "--out", path(out), "--seq",
                      LENGTH, "--steps", steps, "--lr", rate, "--lr-schedule", "constant",
                      "--validation-fraction", 0, "--quiet", "--json", *batch, *flags])
        files = [tensors(os.path.join(path(out), f"step-{steps}", name))
                 for name in ("model.safetensors", "optimizer.safetensors")]
        return files, [line for line in lines_of(result.stdout, "tokens_per_s") if "loss" in line]

    # A step with a rate this small changes no bit of a weight, but of one that is 0.
    small = 1e-30
    settled = lambda weights: {name: [0 if abs(x) <= 2 * small else x for x in values]
                               for name, values in weights.items()}
    fresh = ["--init-seed", 3, "--model", arguments.folder]
    name = mesh.replace(",", "-")
    drawn = [settled(train(trainer, f"drawn-{kind}-{name}", 1, small, *fresh)[0][0])
             for kind, trainer in (("one", one), ("many", many))]
    expect(drawn[0] == drawn[1], f"{mesh}: other weights are drawn than on one rank")

    weights = ["--weights", arguments.folder]
    for kind, first, second in (("away", many, one), ("back", one, many)):
        out = f"{kind}-{name}"
        saved, _ = train(first, out, 2, 1e-3, *weights)
        shutil.copytree(path(out), path(out + "-on"))
        still, _ = train(second, out, 3, small, *weights, "--resume")
        expect(still[0] == saved[0], f"{mesh}, {kind}: weights are not those that were saved")
        _, on = train(second, out + "-on", 4, 1e-3, *weights, "--resume")
        _, straight = train(one, out + "-straight", 4, 1e-3, *weights)
        for line, wanted in zip(on, straight[2:], strict=True):
            expect(line["step"] == wanted["step"] and abs(line["loss"] / wanted["loss"] - 1) < 1e-5,
                   f"{mesh}, {kind}: {line} after another mesh, {wanted} without")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--flag", action="append", default=[], help="for batonc, of several ranks")
    parser.add_argument("folder")
    parser.add_argument("meshes", nargs="+")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
