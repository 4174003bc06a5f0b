"""ZeRO in groups of ranks: parts within a group, the same ones in every group.

On a mesh of dp=2,fsdp=2 losses, norms, gradients and steps of AdamW are within 1e-5 of
one rank's, and the same bits for stages 1 and 3, for any number of workers and, where
Open MPI is installed, on processes; steps of several microbatches are as near. Gradients
are scattered and weights gathered within groups only, parts of gradients added up over
them, once an update, in bytes as docs/sharding.md has them. A rank needs the memory of a
part of its group. Checkpoints go to one rank and come from there.
"""

import argparse
import json
import os
import random
import re
import shutil

import programs
from data_parallel import LENGTH, SEQUENCES, Trainer, compare, same
from programs import MPI, expect, run
from training import lines_of, read_bytes, read_tensors, write_tokens
from zero import memory, resumed

GROUPS, GROUP = 2, 2
RANKS = GROUPS * GROUP
STEPS = 4


def check_traffic(what, stage, traffic, described, updates, whole_bytes, gathered_bytes, room):
    moved = {"reduce_scatter": 0, "all_gather": 0, "all_reduce": 0}
    for collective in traffic["collectives"]:
        where, axes = f"{what}: {collective['name']}", described[collective["name"]]["axes"]
        bytes_moved = collective["calls"] * collective["payload"]
        members = {"dp": GROUPS, "fsdp": GROUP}
        members = members[axes[0]] if len(axes) == 1 else RANKS
        # Of a tensor every rank of n sends (n - 1) / n.
        expect(sum(collective["sent"]) * members == RANKS * (members - 1) * bytes_moved,
               f"{where}: sent {collective['sent']} of {bytes_moved} bytes over {axes}")
        if collective["operation"] in ("loss", "norm"):
            continue
        expect(axes == (["dp"] if collective["operation"] == "all_reduce" else ["fsdp"]), f"{where}: over {axes}")
        moved[collective["operation"]] += bytes_moved
    # A part is whole blocks of a tensor, 32 of them or more.
    part = moved.pop("all_reduce") / updates / 2
    expect(whole_bytes / GROUP <= part <= whole_bytes / GROUP + room, f"{what}: parts of {part} bytes over groups")
    expected = {"reduce_scatter": whole_bytes * updates,
                "all_gather": (gathered_bytes if stage == 3 else whole_bytes) * updates}
    expect(moved == expected, f"{what}: moved {moved}, expected {expected}")
    print(f"{what}: {moved} bytes within groups, twice {part:.0f} an update between them")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    draw = random.Random(9)
    write_tokens(path("tokens.u16"),
                 (draw.randrange(vocabulary) for _ in range(4 * SEQUENCES * (LENGTH + 1))))
    batch, parts = ["--batch", SEQUENCES], ["--batch", SEQUENCES // 2, "--accumulate", 3]
    mesh = f"--mesh=dp={GROUPS},fsdp={GROUP}"
    plain = Trainer(arguments, scratch, "plain")
    wanted, wanted_parts = plain.train(STEPS, *batch), plain.train(2, *parts)
    tensors = read_tensors(wanted[1])
    whole_bytes = sum(4 * len(values) for _, _, values in tensors.values())
    gathered_bytes = sum(4 * len(values) * (2 if re.search(r"[.]\d+[.]", name) and not name.endswith("bias") else 1)
                         for name, (_, _, values) in tensors.items())
    room = whole_bytes / 32 + 2 * 4 * 32 * len(tensors)
    needs, first = memory(plain), None
    for stage in (1, 3):
        what = f"{mesh} --zero={stage}"
        trainer = Trainer(arguments, scratch, f"zero{stage}", mesh, f"--zero={stage}")
        found = trainer.train(STEPS, *batch)
        compare(what, wanted, found)
        first = first or found
        same(f"{what}, as stage 1", first, found)
        described = {entry["name"]: entry for entry in
                     json.loads(run([trainer.program, "info", "--json"]).stdout)["collectives"]}
        check_traffic(what, stage, found[3], described, STEPS, whole_bytes, gathered_bytes, room)
        less = memory(trainer)
        for use, bytes_needed, least in (("optimizer", 2 * whole_bytes, 1), ("gradient", whole_bytes, 2),
                                         ("parameter", whole_bytes, 3)):
            share, room = bytes_needed / GROUP, bytes_needed / 32 + 2 * 4 * 32 * len(tensors)
            expect(less[use] == needs[use] if stage < least else share <= less[use] <= share + room,
                   f"{what}: {use} of {less[use]} bytes, plain {needs[use]}")
    # Of the last one, stage 3.
    same(f"{what}, more workers", found, trainer.train(STEPS, *batch, "--workers", 2 * RANKS))
    compare(f"{what}, microbatches", wanted_parts, trainer.train(2, *parts))
    if shutil.which("mpirun"):
        out = path("processes")
        result = run([*MPI, "-n", RANKS, trainer.program, "train", "--weights", arguments.folder, "--data",
                      path("tokens.u16"), "--out", out, "--seq", LENGTH, "--validation-fraction", 0, "--steps", STEPS,
                      "--lr", 1e-3, "--lr-schedule", "constant", "--gradients", out + ".gradients", "--quiet",
                      "--json", *batch])
        lines = lines_of(result.stdout, "tokens_per_s")[:-1]
        files = [read_bytes(f"{out}/step-{STEPS}/{name}") for name in ("model.safetensors", "optimizer.safetensors")]
        same(f"{what}, processes", found, (lines, out + ".gradients", files))
    for trainer, other in ((trainer, plain), (plain, trainer)):
        for line, expected in zip(resumed(trainer, other, STEPS, *batch)[0], wanted[0][-3:], strict=True):
            expect(abs(line["loss"] / expected["loss"] - 1) < 1e-5,
                   f"{trainer.name} after {other.name}: {line}, of one run {expected}")
    print("the same bits in all stages; checkpoints go both ways")

    result = run([arguments.batonc, arguments.folder, "--mode=train", "-o", path("refused"), mesh], check=False)
    expect(result.returncode == 1 and "ranks along fsdp have parts of what --zero=1, 2 or 3 says" in result.stderr,
           f"no stage: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
