"""Training and decoding with the wide sides of low-rank pairs cut, against one rank.

A decoder of such pairs, compiled with --tensor-parallel=bottleneck for --mesh=tp=2 and
beside data parallelism: losses, norms and every gradient lie within 1e-5 of one rank's,
with several microbatches, too, and by ZeRO they have the bits that they have without;
threads, processes under mpirun and any number of workers have the same bits.
A layer's sums are four exchanges forward and four backward, of 7·b·s·r numbers and, forward,
b·s for each of its two norms, as `info` says and a run counts. A rank has half of what is
cut, and its tasks touch no more than is planned. Logits are one rank's, too. With --brief: without
processes, recomputing and watched tasks.
"""

import argparse
import array
import json
import math
import os
import re
import shutil

import programs
from data_parallel import LENGTH, PART, Trainer, compare, same
from deferred_norms import LAYERS, VOCABULARY, write_weights
from programs import MPI, QUICK, expect, run
from tensor_parallel import axes_of
from training import read_bytes, read_tensors, write_tokens

SEQUENCES, STEPS, WIDTH, RANK = 4, 4, 64, 8
FLAG = "--tensor-parallel=bottleneck"
# Numbers of each row that go at once: forward those of queries, keys, values and the
# norm's squares; of the output; of gate, up and squares; of what goes down; and back.
FORWARD = [3 * RANK + 1, RANK, 2 * RANK + 1, RANK]
BACKWARD = [RANK, 2 * RANK, RANK, 3 * RANK]


class Pairs(Trainer):
    """Of the model as it is written, with random weights."""

    def __init__(self, arguments, scratch, name, *flags):
        self.arguments, self.scratch, self.name = arguments, scratch, name
        self.program = os.path.join(scratch, name)
        self.runs = 0
        run([arguments.batonc, arguments.model, "--mode=train", QUICK, "--quiet", "-o", self.program, *flags])

    def info(self):
        return json.loads(run([self.program, "info", "--json"]).stdout)


def check_info(what, info):
    """What ranks of tp exchange in a layer, said without running."""
    for segment, wanted in (("layers", FORWARD), ("layers.backward", BACKWARD)):
        for kind in "all_to_all", "all_gather":
            here = [collective for collective in info["collectives"]
                    if re.fullmatch(segment + r"([.]\d+)?", collective["segment"])
                    and (collective["kind"], collective["axes"]) == (kind, ["tp"])]
            numbers = [eval(collective["payload"], {"rows": 1}) / 4 for collective in here]
            expect(numbers == wanted and all(collective["iterations"] == LAYERS for collective in here),
                   f"{what}: {kind} in {segment} of {numbers} numbers a row, expected {wanted}")
    expect(sum(FORWARD) == 7 * RANK + 2 and sum(BACKWARD) == 7 * RANK, "the formulas themselves")


def check_traffic(what, traffic, axes, rows, microbatches, updates):
    """Bytes of what ranks of tp exchange in a run, as formulas have them."""
    expected = {}

    def expect_calls(kinds, purpose, numbers, times):
        for kind in kinds:
            key = kind, purpose, 4 * rows * numbers
            expected[key] = expected.get(key, 0) + times * microbatches

    both = "all_to_all", "all_gather"
    for numbers in FORWARD + BACKWARD:
        expect_calls(both, "all_reduce", numbers, LAYERS)
    # The last norm's input; the loss, and the gradient of the head's input.
    expect_calls(["all_gather"], "all_gather", WIDTH, 1)
    for numbers in 1, 2, WIDTH:
        expect_calls(both, "all_reduce", numbers, 1)
    for collective in traffic["collectives"]:
        where = f"{what}: {collective['name']}"
        expect(collective["payload"] == eval(collective["formula"], {"rows": rows}),
               f"{where}: moved {collective['payload']} bytes, stated are {collective['formula']}")
        if collective["axes"] != ["tp"]:
            continue
        moved, ranks = collective["calls"] * collective["payload"], axes["tp"]
        groups = math.prod(axes.values()) // ranks
        expect(sum(collective["sent"]) == groups * (ranks - 1) * moved,
               f"{where}: ranks sent {collective['sent']} of {moved} bytes")
        key = collective["kind"], collective["operation"], collective["payload"]
        if collective["operation"] == "norm":
            expect(collective["calls"] == updates and collective["payload"] % PART == 0, f"{where}: {collective}")
            continue
        expected[key] = expected.get(key, 0) - collective["calls"]
    expect(not any(expected.values()),
           f"{what}: calls that formulas have and the run has not: "
           f"{({key: calls for key, calls in expected.items() if calls})}")


def check_memory(what, one, many, tensors, ranks):
    """Of each tensor a rank has a part, of the last norm all."""
    sizes = {name: math.prod(shape) for name, (_, shape, _) in tensors.items()}
    cut = sum(size for name, size in sizes.items() if name not in ("final", "head")) / ranks
    head = math.ceil(VOCABULARY / ranks) * WIDTH
    for use, times in (("parameter", 4), ("gradient", 4), ("optimizer", 8)):
        room = many[use] - times * (cut + head + sizes["final"])
        expect(0 <= room <= times // 4 * 64 * len(tensors),
               f"{what}: {use} {many[use]}, {room} bytes more than of its parts; of one rank {one[use]}")


def train(arguments, scratch, tensors):
    path = lambda name: os.path.join(scratch, name)
    batch = ["--batch", SEQUENCES]
    parts = ["--batch", SEQUENCES // 2, "--accumulate", 2]
    one = Pairs(arguments, scratch, "one")
    alone = {"a step": one.train(1, *batch), "steps": one.train(STEPS, *batch), "microbatches": one.train(1, *parts)}
    for mesh in arguments.meshes:
        axes = axes_of(mesh)
        ranks = math.prod(axes.values())
        sequences = SEQUENCES // axes.get("dp", 1)
        many = Pairs(arguments, scratch, mesh.replace(",", "-"), f"--mesh={mesh}", FLAG)
        check_info(mesh, many.info())
        found = {"a step": many.train(1, *batch, "--workers", ranks),
                 "steps": many.train(STEPS, *batch, "--workers", ranks),
                 "microbatches": many.train(1, *parts)}
        for name, result in found.items():
            compare(f"{mesh}, {name}", alone[name], result, 1e-4 if name == "steps" else 1e-5)
        check_traffic(f"{mesh}, steps", found["steps"][3], axes, sequences * LENGTH, STEPS, STEPS)
        check_traffic(f"{mesh}, microbatches", found["microbatches"][3], axes, sequences * LENGTH // 2, 2, 1)
        check_memory(mesh, one.info()["training_memory"], many.info()["training_memory"], tensors, axes["tp"])
        same(f"{mesh}, more workers", found["steps"], many.train(STEPS, *batch, "--workers", 3 * ranks))
        if arguments.brief:
            continue
        if shutil.which("mpirun"):
            threads = many.program
            many.program = path("mpi")
            with open(many.program, "w") as script:
                script.write(f'#!/bin/sh\nexec {" ".join(MPI)} -n {ranks} {threads} "$@"\n')
            os.chmod(many.program, 0o755)
            same(f"{mesh}, processes", found["steps"], many.train(STEPS, *batch))
        else:
            print("without mpirun: threads only")
        if "dp" in axes:
            for stage in "13":
                zero = Pairs(arguments, scratch, f"zero-{stage}", f"--mesh={mesh}", FLAG, f"--zero={stage}")
                same(f"{mesh}, --zero={stage}", found["steps"], zero.train(STEPS, *batch))
        for mode in "selective", "full":
            name = f"{mode}-{mesh}".replace(",", "-")
            again = Pairs(arguments, scratch, name, f"--mesh={mesh}", FLAG, f"--recompute={mode}")
            same(f"{mesh}, --recompute={mode}", found["steps"], again.train(STEPS, *batch))

    if arguments.brief:
        return
    watched = Pairs(arguments, scratch, "watched", "--mesh=tp=2", FLAG, "--sanitize=address")
    run([watched.program, "train", "--weights", arguments.folder, "--data", path("tokens.u16"), "--seq", LENGTH,
         "--steps", 2, "--validation-fraction", 0, "--out", path("watched-run"), "--quiet", "--workers", 4,
         "--check-memory", path("touched.json"), *batch])
    with open(path("touched.json")) as file:
        report = json.load(file)
    expect(0 < report["touched"] <= report["planned"], f"touches {report}")


def decode(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    tokens = ",".join(str(11 * i % VOCABULARY) for i in range(40))

    def logits(name, *flags, workers=(2, 5), start=()):
        run([arguments.batonc, arguments.model, "--quiet", QUICK, "-o", path(name), *flags])
        results = []
        for count in workers:
            run([*start, path(name), "logits", "--weights", arguments.folder, "--no-cache", "--quiet",
                 "--workers", count, "--tokens", tokens, "--out", path("logits.npy")])
            results.append(read_bytes(path("logits.npy")))
        expect(results[0] == results[1], f"{name}: other bits with {workers[1]} workers")
        return array.array("f", results[0][-4 * 40 * VOCABULARY:])

    def generate(name):
        return json.loads(run([path(name), "generate", "--weights", arguments.folder, "--tokens", tokens,
                               "--max-new-tokens", 20, "--json", "--quiet"]).stdout)["tokens"]

    one, many = logits("decode-one"), logits("decode-two", "--mesh=tp=2", FLAG)
    error = max(abs(a - b) for a, b in zip(one, many, strict=True)) / max(map(abs, one))
    expect(error < 1e-5, f"logits are off by {error}")
    expect(generate("decode-one") == generate("decode-two"), "other tokens on two ranks")
    if shutil.which("mpirun") and not arguments.brief:
        expect(logits("decode-two", "--mesh=tp=2", FLAG, start=[*MPI, "-n", 2]) == many,
               "processes have other logits than threads")
    info = json.loads(run([path("decode-two"), "info", "--json"]).stdout)
    found = [eval(collective["payload"], {"rows": 1}) / 4 for collective in info["collectives"]
             if (collective["segment"], collective["kind"]) == ("layers", "all_to_all")]
    expect(found == FORWARD, f"decoding: sums of {found} numbers a row, expected {FORWARD}")
    print(f"logits within {error:.1e}")


def refuse(arguments, scratch):
    """In one line, with nothing left behind."""
    path = lambda name: os.path.join(scratch, name)
    with open(arguments.model) as file:
        text = file.read()
    uneven = {"uneven.mlir": text.replace("<160 x 8 x f32>", "<161 x 8 x f32>").replace("x 160 x", "x 161 x"),
              # One table for tokens and logits: ranks would have columns of it, and rows.
              "tied.mlir": re.sub(r'  %head = model.parameter \["head"\] : !table\n', "", text).replace("%head", "%table")}
    for name, changed in uneven.items():
        expect(changed != text, f"{name} is the same model")
        with open(path(name), "w") as file:
            file.write(changed)
    golden, two = arguments.golden, "--mesh=tp=2"
    for model, flags, message in (
            (golden, [two, FLAG], "tactic 'bottleneck': it has no linear that widens what another one has narrowed"),
            (arguments.model, [FLAG], f"{FLAG}: it is ranks along tp that have parts of layers; add tp=N to --mesh"),
            (arguments.model, ["--mesh=dp=2", FLAG], f"{FLAG}: it is ranks along tp that have parts of layers"),
            (arguments.model, ["--mesh=tp=2,tq=2", FLAG], f"{FLAG} with --mesh=tp=2,tq=2: queries of one key/value"),
            (arguments.model, ["--mesh=tp=2,pp=2", FLAG], f"{FLAG} with --mesh=tp=2,pp=2 is not built yet: stages send"),
            (arguments.model, [two, FLAG, "--sequence-parallel"], f"{FLAG} with --sequence-parallel: ranks have parts"),
            (arguments.model, [two, "--tensor-parallel=diagonal"],
             "--tensor-parallel=diagonal is unknown; there is megatron, bottleneck"),
            (arguments.model, ["--mesh=tp=3", FLAG], "is not divisible by axis \"tp\" of size 3"),
            (path("uneven.mlir"), [two, FLAG], "161, is not divisible by axis \"tp\" of size 2"),
            (path("tied.mlir"), [two, FLAG], "cannot be localized")):
        result = run([arguments.batonc, model, "--mode=train", *flags, "-o", path("refused")], check=False)
        expect(result.returncode == 1 and result.stderr.count("\n") == 1 and message in result.stderr
               and not os.path.exists(path("refused")), f"{flags}: expected '{message}': {result}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(arguments.model) as file:
        text = "".join(line for line in file if not line.startswith("dist.mesh"))
    arguments.model, arguments.folder = path("model.mlir"), path("weights")
    with open(arguments.model, "w") as file:
        file.write(text)
    os.mkdir(arguments.folder)
    write_weights(text, arguments.folder)
    write_tokens(path("tokens.u16"), ((11 * i * i + i // 7) % VOCABULARY for i in range(4 * SEQUENCES * (LENGTH + 1))))
    refuse(arguments, scratch)
    train(arguments, scratch, read_tensors(os.path.join(arguments.folder, "model.safetensors")))
    decode(arguments, scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--golden", required=True, help="a model without low-rank pairs")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("model")
    parser.add_argument("meshes", nargs="+")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
