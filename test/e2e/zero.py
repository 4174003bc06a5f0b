"""ZeRO: ranks that have only a part of what a parameter needs, against plain data
parallelism of as many ranks.

With --zero=1, 2 and 3: losses, norms, gradients, weights and the optimizer's states are
the same bits after every step, with --variants also for Lion and Muon, in F16 (with a step
that is skipped), F64 and with states in blocks, for any number of workers, on threads and, where Open MPI is
installed, on processes. Steps of several microbatches have them with --zero=1; where
gradients are exchanged in every one, sums are made in another order: they are near, and
2 and 3 have the same bits. What ranks exchange is counted, with rows of its own for the
loss and the norm. Memory is a rank's part. Checkpoints know nothing of ranks.
States in blocks would have other codes if ranks had rows of a block each. With --brief: processes
of the last stage only, and one other number of workers.
"""

import argparse
import json
import os
import random
import re
import shutil

import programs
from data_parallel import LENGTH, PART, SEQUENCES, Trainer, compare, same
from programs import MPI, expect, run
from train_optimizers import BLOCK, AdamW8bit, saved_states
from training import lines_of, read_bytes, read_tensors, write_tokens


def check_traffic(what, stage, traffic, ranks, updates, steps, whole_bytes, gathered_bytes):
    """Of gradients and of weights every rank sends (n - 1) / n each time: scattered once
    an update or, from stage 2 on, a step, gathered once an update or, in stage 3, for
    every pass through the layers that reads them. Loss and norm have rows of their own."""
    moved = {"reduce_scatter": 0, "all_gather": 0}
    for collective in traffic["collectives"]:
        where = f"{what}: {collective['name']}"
        expect(collective["payload"] == eval(collective["formula"]),
               f"{where}: moved {collective['payload']} bytes, stated are {collective['formula']}")
        bytes_moved = collective["calls"] * collective["payload"]
        expect(sum(collective["sent"]) == (ranks - 1) * bytes_moved,
               f"{where}: {ranks} ranks sent {collective['sent']} of {bytes_moved} bytes")
        if collective["operation"] == "loss":
            expect((collective["calls"], collective["payload"]) == (steps, ranks * PART), f"{where}: {collective}")
        elif collective["operation"] == "norm":
            # Of each tensor about 32 numbers a layer, in whole cache lines.
            expect(collective["calls"] == updates and collective["payload"] < whole_bytes / 4, f"{where}: {collective}")
        else:
            moved[collective["operation"]] += bytes_moved
    expected = {"reduce_scatter": whole_bytes * (updates if stage == 1 else steps),
                "all_gather": gathered_bytes * steps if stage == 3 else whole_bytes * updates}
    expect(moved == expected, f"{what}: moved {moved}, expected {expected}")
    print(f"{what}: {moved} bytes, {(ranks - 1)}/{ranks} of them sent by each of {ranks} ranks")


def memory(trainer):
    return json.loads(run([trainer.program, "info", "--json"]).stdout)["training_memory"]


def resumed(trainer, other, steps, *flags):
    """What a run of `trainer` comes to when `other` has made all steps but three."""
    begun = other.train(steps - 3, *flags)
    source = os.path.join(other.scratch, f"{other.name}-{other.runs}")
    out = os.path.join(trainer.scratch, f"{trainer.name}-{trainer.runs + 1}")
    shutil.copytree(source, out)
    expect(len(begun[0]) == steps - 3, "other steps than asked for")
    return trainer.train(steps, "--resume", *flags)


def in_blocks(arguments, scratch, mesh, batch):
    """Codes of 8 bits and scales of blocks: those of ranks that have all, of any stage."""
    plain = Trainer(arguments, scratch, "blocks-plain", mesh, "--optimizer=adamw_8bit")
    line, gradients, _, _ = plain.train(1, *batch)
    states = os.path.join(scratch, "blocks-plain-1", "step-1", "optimizer.safetensors")
    factor = 0.1 * min(1.0, 1.0 / line[0]["grad_norm"])
    parted = matrices = needed = 0
    # Experts are several to a tensor of the program's, which is whole where a cut would part blocks.
    tensors = {name: tensor for name, tensor in read_tensors(gradients).items() if ".experts." not in name}
    has_experts = len(tensors) < len(read_tensors(gradients))
    for name, (_, shape, values) in tensors.items():
        rows, columns = (1, *shape)[-2:]
        # So much of each state a rank has, in whole blocks of rows, or of a vector's elements.
        units, size, scales = ((-(-rows // BLOCK), BLOCK * columns, -(-columns // BLOCK)) if rows > 1 else
                               (-(-columns // BLOCK), BLOCK, 1))
        needed += 2 * -(-units // arguments.ranks) * (size + 4 * scales)
        codes, _ = saved_states(states, name, shape)["exp_avg"]
        wanted = [factor * value for value in values]

        def off(blocks):
            """How many codes are not those of such blocks."""
            count = 0
            for indices in blocks:
                scale = max(abs(wanted[i]) for i in indices) / 127
                count += sum(abs(codes[i] - wanted[i] / scale) > 0.51 for i in indices) if scale else 0
            return count

        whole = AdamW8bit(shape).blocks().values()
        expect(off(whole) == 0, f"{name}: codes are not those of whole blocks")
        border = -(-rows // arguments.ranks)
        if rows == 1 or border % BLOCK == 0:
            continue
        matrices += 1
        parts = [part for indices in whole for rank in range(arguments.ranks)
                 if (part := [i for i in indices if i // columns // border == rank])]
        parted += off(parts) > 0
    expect(matrices > 4 and parted == matrices, f"of {matrices} matrices {parted} have other codes in parted blocks")
    print(f"cut after equal numbers of rows, {parted} of {matrices} matrices would have other codes")

    wanted, other = plain.train(3, *batch), plain
    for stage in (1, 2, 3):
        trainer = Trainer(arguments, scratch, f"blocks-{stage}", mesh, "--optimizer=adamw_8bit", f"--zero={stage}")
        what = f"states in blocks, --zero={stage}"
        same(what, wanted, trainer.train(3, *batch, "--workers", stage * arguments.ranks))
        found = memory(trainer)["optimizer"]
        expect(has_experts or needed <= found <= needed + 4 * 64 * len(tensors),
               f"{what}: {found} bytes, expected {needed}")
        rest = (wanted[0][2:], *wanted[1:])
        begun = other.train(2, *batch)
        expect(len(begun[0]) == 2, f"{what}: {begun[0]}")
        out = os.path.join(scratch, f"{trainer.name}-{trainer.runs + 1}")
        shutil.copytree(os.path.join(scratch, f"{other.name}-{other.runs}"), out)
        same(f"{what} after {other.name}", rest, trainer.train(3, "--resume", *batch))
        other = trainer
        print(f"{what}: the same bits, {found} bytes of states")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    draw = random.Random(7)
    write_tokens(path("tokens.u16"),
                 (draw.randrange(vocabulary) for _ in range(4 * SEQUENCES * (LENGTH + 1))))
    batch = ["--batch", SEQUENCES]
    parts = ["--batch", SEQUENCES // 2, "--accumulate", 3]
    ranks = arguments.ranks
    mesh = f"--mesh=dp={ranks}"

    if arguments.blocks:
        return in_blocks(arguments, scratch, mesh, batch)
    plain = Trainer(arguments, scratch, "plain", mesh)
    zero = {stage: Trainer(arguments, scratch, f"zero{stage}", mesh, f"--zero={stage}") for stage in (1, 2, 3)}
    saved = ["--save-every", 1, "--keep", 9]
    wanted, wanted_parts = plain.train(6, *batch, *saved), plain.train(2, *parts)
    tensors = read_tensors(wanted[1])
    whole_bytes = sum(4 * len(values) for _, _, values in tensors.values())
    # A pass through the layers reads their weights forward and backward, but for
    # biases, which no adjoint reads; what stands outside is gathered once.
    gathered_bytes = sum(4 * len(values) * (2 if re.search(r"[.]\d+[.]", name) and not name.endswith("bias") else 1)
                         for name, (_, _, values) in tensors.items())
    needs, less, accumulated = memory(plain), {}, {}
    expect(0 <= needs["optimizer"] - 2 * whole_bytes <= 2 * 64 * len(tensors) and needs["parameter"] >= whole_bytes,
           f"memory: {needs}")
    for stage, trainer in zero.items():
        what = f"--zero={stage}"
        found = trainer.train(6, *batch, *saved)
        same(what, wanted, found)
        for step in range(1, 7):
            for name in ("model.safetensors", "optimizer.safetensors"):
                one, other = (read_bytes(path(f"{made.name}-1/step-{step}/{name}")) for made in (plain, trainer))
                expect(one == other, f"{what}: other {name} after step {step}")
        check_traffic(what, stage, found[3], ranks, 6, 6, whole_bytes, gathered_bytes)
        for workers in (3 * ranks,) if arguments.brief else (ranks, 3 * ranks):
            same(f"{what}, {workers} workers", found, trainer.train(6, *batch, "--workers", workers))
        accumulated[stage] = trainer.train(2, *parts)
        if stage == 1:
            same(f"{what}, microbatches", wanted_parts, accumulated[1])
        else:
            compare(f"{what}, microbatches", wanted_parts, accumulated[stage])
            same(f"{what}, microbatches, as stage 2", accumulated[2], accumulated[stage])
        check_traffic(f"{what}, microbatches", stage, accumulated[stage][3], ranks, 2, 6, whole_bytes, gathered_bytes)

        if shutil.which("mpirun") and (stage == 3 or not arguments.brief):
            out = path(f"processes-{stage}")
            result = run([*MPI, "-n", ranks, trainer.program, "train", "--weights", arguments.folder, "--data",
                          path("tokens.u16"), "--out", out, "--seq", LENGTH, "--validation-fraction", 0, "--steps", 6,
                          "--lr", 1e-3, "--lr-schedule", "constant", "--gradients", out + ".gradients", "--quiet",
                          "--json", *batch])
            lines = lines_of(result.stdout, "tokens_per_s")
            traffic = lines.pop()["communication"]["collectives"]
            files = [read_bytes(f"{out}/step-6/{name}") for name in ("model.safetensors", "optimizer.safetensors")]
            same(f"{what}, processes", found, (lines, out + ".gradients", files))
            expect(traffic == found[3]["collectives"], f"{what}: processes count otherwise than threads")

        # Parts, but for the ends of tensors that divide into no even blocks: a tensor has
        # 32 blocks or more, of whole cache lines.
        less[stage] = memory(trainer)
        for use, bytes_needed, first in (("optimizer", 2 * whole_bytes, 1), ("gradient", whole_bytes, 2),
                                         ("parameter", whole_bytes, 3)):
            if stage < first:
                expect(less[stage][use] == needs[use], f"{what}: {use}: {less[stage]}, plain {needs}")
                continue
            share, room = bytes_needed / ranks, bytes_needed / 32 + 2 * 4 * 32 * len(tensors)
            expect(share <= less[stage][use] <= share + room,
                   f"{what}: {use} of {less[stage][use]} bytes, expected {share} and at most {room} more")
        print(f"{what}: the bits of plain data parallelism; memory {less[stage]}")

    # From every mesh to every other one.
    one = Trainer(arguments, scratch, "one")
    double = Trainer(arguments, scratch, "double", f"--mesh=dp={2 * ranks}", "--zero=1")
    rest = (wanted[0][3:], *wanted[1:])
    for trainer, other in ((zero[1], plain), (zero[2], zero[1]), (zero[3], zero[2]), (plain, zero[3])):
        same(f"{trainer.name} after {other.name}", rest, resumed(trainer, other, 6, *batch))
    alone = one.train(6, *batch)
    for trainer, other in ((one, zero[1]), (zero[3], one), (double, zero[3]), (zero[1], double)):
        lines = resumed(trainer, other, 6, *batch)[0]
        for line, expected in zip(lines, alone[0][3:], strict=True):
            expect(abs(line["loss"] / expected["loss"] - 1) < 1e-5,
                   f"{trainer.name} after {other.name}: {line}, one rank has {expected}")
    print("checkpoints go from every mesh to every other one")

    said = run([zero[3].program, "info"]).stdout
    expect("weights of 0 tensors" not in said and "tensors in parts" in said, f"info: {said}")
    if not arguments.variants:
        return

    # What a rule needs whole stays whole.
    for name, flag, *stages in (("muon", "--optimizer=muon", 1, 3), ("lion", "--optimizer=lion", 2),
                                ("f64", "--dtype=f64", 3)):
        plain = Trainer(arguments, scratch, f"{name}-plain", mesh, flag)
        wanted, plain_bytes = plain.train(3, *batch), memory(plain)["optimizer"]
        for stage in stages:
            trainer = Trainer(arguments, scratch, f"{name}-{stage}", mesh, flag, f"--zero={stage}")
            same(f"{name}, --zero={stage}", wanted, trainer.train(3, *batch))
            bytes_needed = memory(trainer)["optimizer"]
            expect(plain_bytes / 2 < bytes_needed < plain_bytes if name == "muon" else
                   bytes_needed < plain_bytes / ranks * 1.1, f"{name}: states of {bytes_needed} bytes of {plain_bytes}")
            print(f"{name}, --zero={stage}: the same bits")

    # A step that is not finite is skipped on all ranks, whose gradients are whole, or in parts.
    results = {stage: Trainer(arguments, scratch, f"f16-{stage}", mesh, "--dtype=f16", f"--zero={stage}")
               .train(10, *batch, "--loss-scale", 2.0 ** 24) for stage in (0, 1, 3)}
    expect(any(line.get("skipped") for line in results[0][0]) and not results[0][0][-1].get("skipped"),
           f"no step, or every one, was skipped: {results[0][0]}")
    for stage in (1, 3):
        same(f"f16, --zero={stage}", results[0], results[stage])
    print("f16: the same bits, and the same steps skipped")

    for flags, message in ((["--zero=1"], "--zero=1: there is one rank; --mesh says which there are"),
                           ([mesh, "--zero=4"], "--zero=4 is unknown")):
        result = run([arguments.batonc, arguments.folder, "--mode=train", "-o", path("refused"), *flags], check=False)
        expect(result.returncode == 1 and message in result.stderr, f"{flags}: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--variants", action="store_true", help="other optimizers and types, too")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--blocks", action="store_true", help="states in blocks alone")
    parser.add_argument("folder")
    parser.add_argument("ranks", type=int)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
