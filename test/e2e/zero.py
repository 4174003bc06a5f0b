"""ZeRO: ranks that have only a part of what a parameter needs, against plain data
parallelism of as many ranks.

With --zero=1: losses, norms, gradients, weights and the optimizer's states are the
same bits after every step, for AdamW, Lion and Muon, in F32, BF16 and F16 (with a step
that is skipped), for steps of several microbatches, for any number of workers, on
threads and, where Open MPI is installed, on processes. Ranks exchange each gradient
and each weight once for an update, and rows of their own for the loss and the norm.
Memory for the optimizer's states is a rank's part. Checkpoints know nothing of ranks.
"""

import argparse
import json
import os
import random
import shutil

import programs
from data_parallel import LENGTH, PART, SEQUENCES, Trainer, same
from programs import expect, run
from training import lines_of, read_bytes, read_tensors, write_tokens

MPI = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def check_traffic(what, traffic, ranks, updates, steps, whole_bytes):
    """What ranks send: 2 (n - 1) / n of all weights for each update, and two rows of
    their own."""
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
    for operation, found in moved.items():
        expect(found == updates * whole_bytes,
               f"{what}: {operation} moved {found} bytes, expected {updates} times {whole_bytes}")


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

    plain = Trainer(arguments, scratch, "plain", mesh)
    zero = Trainer(arguments, scratch, "zero", mesh, "--zero=1")
    wanted = plain.train(6, *batch, "--save-every", 1, "--keep", 9)
    found = zero.train(6, *batch, "--save-every", 1, "--keep", 9)
    same("--zero=1", wanted, found)
    for step in range(1, 7):
        for name in ("model.safetensors", "optimizer.safetensors"):
            one, other = (read_bytes(path(f"{trainer.name}-1/step-{step}/{name}")) for trainer in (plain, zero))
            expect(one == other, f"--zero=1: other {name} after step {step}")
    whole_bytes = sum(4 * len(values) for _, _, values in read_tensors(found[1]).values())
    check_traffic("--zero=1", found[3], ranks, 6, 6, whole_bytes)
    for workers in (ranks, 3 * ranks):
        same(f"--zero=1, {workers} workers", found, zero.train(6, *batch, "--save-every", 1, "--keep", 9, "--workers", workers))
    accumulated = zero.train(2, *parts)
    same("--zero=1, microbatches", plain.train(2, *parts), accumulated)
    check_traffic("--zero=1, microbatches", accumulated[3], ranks, 2, 6, whole_bytes)
    print(f"--zero=1 on {ranks} ranks: the bits of plain data parallelism")

    if shutil.which("mpirun"):
        out = path("processes")
        result = run([*MPI, "-n", ranks, zero.program, "train", "--weights", arguments.folder, "--data",
                      path("tokens.u16"), "--out", out, "--seq", LENGTH, "--validation-fraction", 0, "--steps", 6,
                      "--lr", 1e-3, "--lr-schedule", "constant", "--gradients", out + ".gradients", "--quiet",
                      "--json", *batch])
        lines = lines_of(result.stdout, "tokens_per_s")
        traffic = lines.pop()["communication"]["collectives"]
        files = [read_bytes(f"{out}/step-6/{name}") for name in ("model.safetensors", "optimizer.safetensors")]
        same("processes", found, (lines, out + ".gradients", files))
        expect(traffic == found[3]["collectives"], "processes count otherwise than threads")
        print("processes: the bits and counters of threads")

    # States of a part, but for the ends of tensors that divide into no even blocks.
    needs, less = memory(plain), memory(zero)
    tensors = len(read_tensors(found[1]))
    expect(0 <= needs["optimizer"] - 2 * whole_bytes <= 2 * 64 * tensors
           and less["parameter"] == needs["parameter"] == whole_bytes, f"memory: {needs}, {less}")
    share = 2 * whole_bytes / ranks
    # Two numbers for each element of a block, of which a tensor has 32, in whole cache lines.
    room = 2 * whole_bytes / 32 + 2 * 4 * 32 * tensors
    expect(share <= less["optimizer"] <= share + room,
           f"memory: states of {less['optimizer']} bytes, expected {share} and at most {room} more")
    print(f"states: {less['optimizer']} bytes of {needs['optimizer']}")

    # From every mesh to every other one.
    one = Trainer(arguments, scratch, "one")
    double = Trainer(arguments, scratch, "double", f"--mesh=dp={2 * ranks}", "--zero=1")
    straight = plain.train(6, *batch)
    rest = (straight[0][3:], *straight[1:])
    same("parts after wholes", rest, resumed(zero, plain, 6, *batch))
    same("wholes after parts", rest, resumed(plain, zero, 6, *batch))
    alone = one.train(6, *batch)
    for trainer, other in ((one, zero), (zero, one), (double, zero), (zero, double)):
        lines = resumed(trainer, other, 6, *batch)[0]
        for line, expected in zip(lines, alone[0][3:], strict=True):
            expect(abs(line["loss"] / expected["loss"] - 1) < 1e-5,
                   f"{trainer.name} after {other.name}: {line}, one rank has {expected}")
    print("checkpoints go from every mesh to every other one")

    # What a rule needs whole stays whole.
    for name, *flags in (("muon", "--optimizer=muon"), ("lion", "--optimizer=lion"), ("bf16", "--dtype=bf16"),
                         ("f64", "--dtype=f64")):
        each = [Trainer(arguments, scratch, f"{name}-{kind}", mesh, *flags, *more)
                for kind, more in (("plain", []), ("zero", ["--zero=1"]))]
        same(name, *(trainer.train(3, *batch) for trainer in each))
        needs, less = (memory(trainer)["optimizer"] for trainer in each)
        expect((needs / 2 < less < needs) if name == "muon" else less < needs / ranks * 1.1,
               f"{name}: states of {less} bytes of {needs}")
        print(f"{name}: the same bits")

    # A step that is not finite is skipped on all ranks.
    each = [Trainer(arguments, scratch, f"f16-{kind}", mesh, "--dtype=f16", *more)
            for kind, more in (("plain", []), ("zero", ["--zero=1"]))]
    results = [trainer.train(4, *batch, "--loss-scale", 2.0 ** 24) for trainer in each]
    expect(any(line.get("skipped") for line in results[0][0]) and not results[0][0][-1].get("skipped"),
           f"no step, or every one, was skipped: {results[0][0]}")
    same("f16", *results)
    print("f16: the same bits, and the same steps skipped")

    for flags, message in ((["--zero=1"], "--zero=1: there is one rank; --mesh says which there are"),
                           ([mesh, "--zero=4"], "--zero=4 is unknown")):
        result = run([arguments.batonc, arguments.folder, "--mode=train", "-o", path("refused"), *flags], check=False)
        expect(result.returncode == 1 and message in result.stderr, f"{flags}: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    parser.add_argument("ranks", type=int)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
