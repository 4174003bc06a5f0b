"""Mixtures that train on ranks that have some of the experts each, or a part of each.

What mesh_parallel.py does not look at, which compares gradients with one rank's:

- exchanges: what layers exchange, by formulas and as counted; what a rank has of experts and
  of their optimizer's states.
- all_to_all: the same where ranks have sequences of their own, and rows go to experts of others: counts,
  rows, what was sent of them; the bits of one rank's in what experts have added up.
- muon: Muon makes each expert's matrices orthogonal by themselves, whoever has them; where each is
  cut it is refused.
- drawn: a seed draws the same weights on every mesh.
- loss_scale: a step that is not finite on a rank is skipped on all.

With --few: two meshes of each.
"""

import argparse
import json
import math
import os

import programs
from data_parallel import LENGTH, Trainer, compare, same
from programs import QUICK, expect, run
from training import read_tensors, write_tokens

SEQUENCES, STEPS = 4, 3
BATCH = ["--batch", SEQUENCES]
# Folder, flags, and the ranks among which experts are cut.
MESHES = (("mixtral-top2", ["--mesh=tp=2"], ["tp"]),
          ("mixtral-top2", ["--mesh=ep=5"], ["ep"]),
          ("mixtral-top2", ["--mesh=tp=2,ep=5"], ["tp", "ep"]),
          ("mixtral-top2", ["--mesh=dp=2,ep=5"], ["ep"]),
          ("olmoe-top3", ["--mesh=ep=3", "--recompute=full"], ["ep"]))


def config_of(folder):
    with open(os.path.join(folder, "config.json")) as file:
        return json.load(file)


def info_of(trainer):
    return json.loads(run([trainer.program, "info", "--json"]).stdout)


class Fixture:
    def __init__(self, arguments, scratch):
        self.arguments, self.scratch = arguments, scratch
        write_tokens(os.path.join(scratch, "tokens.u16"),
                     ((11 * i * i + i // 7) % 131 for i in range(8 * SEQUENCES * (LENGTH + 1))))
        self.runs = 0

    def trainer(self, name, *flags):
        self.arguments.folder = os.path.join(self.arguments.golden, name)
        self.runs += 1
        return Trainer(self.arguments, self.scratch, f"trainer-{self.runs}", *flags)

    def refused(self, message, name, *flags):
        result = run([self.arguments.batonc, os.path.join(self.arguments.golden, name), "--mode=train", QUICK, "--quiet",
                      "-o", os.path.join(self.scratch, "none"), *flags], check=False)
        lines = result.stderr.splitlines()
        expect(result.returncode == 1 and len(lines) == 1 and message in lines[0], f"{name} {flags}: {result}")
        print(lines[0])


def exchanges(fixture):
    for name, flags, cut in (MESHES[2], MESHES[4]) if fixture.arguments.few else MESHES:
        what = f"{name} {' '.join(flags)}"
        folder = os.path.join(fixture.arguments.golden, name)
        config = config_of(folder)
        hidden, k, layers = config["hidden_size"], config["num_experts_per_tok"], config["num_hidden_layers"]
        axes = dict(axis.split("=") for axis in flags[0].removeprefix("--mesh=").split(","))
        sizes = {axis: int(size) for axis, size in axes.items()}
        one, many = fixture.trainer(name), fixture.trainer(name, *flags)
        info = info_of(many)
        # Rows' sums, forward and backward, and the gradients of their experts' weights. With tp attention has its
        # two, too.
        found = {}
        for entry in info["collectives"]:
            if entry["kind"] == "all_to_all" and entry["segment"].startswith("layers") and \
                    entry["operation"] == "all_reduce" and "dp" not in entry["axes"]:
                step = "layers.backward" if entry["segment"].startswith("layers.backward") else "layers"
                key = step, tuple(entry["axes"]), entry["payload"]
                found[key] = found.get(key, 0) + 1
                expect(entry["iterations"] == layers, f"{what}: {entry}")
        wide, narrow = f"4 * rows * {hidden}", f"4 * rows * {k}"
        expected = {("layers", tuple(cut), wide): 1, ("layers.backward", tuple(cut), wide): 1,
                    ("layers.backward", tuple(cut), narrow): 1}
        if "tp" in sizes:
            for segment in ("layers", "layers.backward"):
                key = segment, ("tp",), wide
                expected[key] = expected.get(key, 0) + 1
        expect(found == expected, f"{what}: layers exchange {found}, expected {expected}")

        # Weights, gradients and two states each of AdamW.
        tensors = read_tensors(os.path.join(folder, "model.safetensors"))
        experts = sum(len(values) for tensor, (_, _, values) in tensors.items() if ".experts." in tensor)
        parts = math.prod(sizes[axis] for axis in cut)
        whole, part = (info_of(trainer)["training_memory"] for trainer in (one, many))
        for use, copies in (("parameter", 1), ("gradient", 1), ("optimizer", 2)):
            less = whole[use] - part[use]
            wanted = 4 * copies * experts * (parts - 1) // parts
            expect(less == wanted if cut == ["ep"] and "dp" not in sizes else less >= wanted,
                   f"{what}: {use} takes {less} bytes less, of experts {wanted}")

        # Of one step: these times the rows of a rank, as counted.
        traffic = many.train(1, *BATCH)[3]
        rows = SEQUENCES * LENGTH // sizes.get("dp", 1)
        for collective in traffic["collectives"]:
            payload = eval(collective["formula"], {"rows": rows})
            expect(collective["payload"] == payload, f"{what}: {collective}, expected {payload} bytes")
            ranks = math.prod(sizes[axis] for axis in collective["axes"])
            groups = math.prod(sizes.values()) // ranks
            expect(sum(collective["sent"]) == groups * (ranks - 1) * collective["calls"] * payload,
                   f"{what}: ranks sent {collective['sent']} of {payload} bytes, {collective['calls']} times")
        print(f"{what}: a layer exchanges {expected}")


# Folder, flags, and sequences of a step.
EXCHANGED = (("mixtral-top2", ["--mesh=ep=5"], 5),
             ("mixtral-top2", ["--mesh=dp=2,ep=5"], 10),
             ("olmoe-top3", ["--mesh=ep=3", "--recompute=full"], 3),
             ("mixtral-top2", ["--mesh=tp=2,ep=5"], 5))


def all_to_all(fixture):
    for name, flags, sequences in EXCHANGED[1:3] if fixture.arguments.few else EXCHANGED:
        what = f"{name} {' '.join(flags)} --expert-parallel=all-to-all"
        folder = os.path.join(fixture.arguments.golden, name)
        config = config_of(folder)
        hidden, k, layers = config["hidden_size"], config["num_experts_per_tok"], config["num_hidden_layers"]
        sizes = {axis: int(size) for axis, size in
                 (axis.split("=") for axis in flags[0].removeprefix("--mesh=").split(","))}
        batch = ["--batch", sequences]
        one, many = fixture.trainer(name), fixture.trainer(name, *flags, "--expert-parallel=all-to-all")
        info = info_of(many)
        # Counts, a row of 16 for each rank; rows, forward there and back, and backward gradients there, rows again,
        # and gradients back. What is computed again is sent again.
        again = "--recompute=full" in flags
        found = {}
        for entry in info["collectives"]:
            if entry["operation"] in ("exchange_counts", "dispatch_rows", "combine_rows"):
                step = "layers.backward" if entry["segment"].startswith("layers.backward") else "layers"
                key = step, entry["operation"], entry["payload"]
                found[key] = found.get(key, 0) + 1
                expect(entry["iterations"] == layers and entry["axes"] == ["ep"], f"{what}: {entry}")
        counts, rows = f"4 * {sizes['ep']} * 16", f"4 * rows * {k} * {hidden}"
        expected = {("layers", "exchange_counts", counts): 1, ("layers", "dispatch_rows", rows): 1,
                    ("layers", "combine_rows", rows): 1, ("layers.backward", "exchange_counts", counts): 1,
                    ("layers.backward", "dispatch_rows", rows): 2, ("layers.backward", "combine_rows", rows): 1 + again}
        expect(found == expected, f"{what}: layers exchange {found}, expected {expected}")

        # Of experts a rank has its own, of all else what it has without ep.
        tensors = read_tensors(os.path.join(folder, "model.safetensors"))
        experts = sum(len(values) for tensor, (_, _, values) in tensors.items() if ".experts." in tensor)
        whole, part = (info_of(trainer)["training_memory"] for trainer in (one, many))
        for use, copies in (("parameter", 1), ("gradient", 1), ("optimizer", 2)):
            less = whole[use] - part[use]
            wanted = 4 * copies * experts * (sizes["ep"] - 1) // sizes["ep"]
            expect(less == wanted if list(sizes) == ["ep"] else less >= wanted,
                   f"{what}: {use} takes {less} bytes less, of experts {wanted}")

        alone, ranks = one.train(STEPS, *batch), many.train(STEPS, *batch)
        compare(what, alone, ranks, 1e-4)
        same(f"{what}, more workers", ranks, many.train(STEPS, *batch, "--workers", 3 * math.prod(sizes.values())))
        step = many.train(1, *batch)
        # One chain over all rows that an expert got, in the order of sequences; and a row's bits depend on no other.
        if list(sizes) == ["ep"]:
            mine, wanted = read_tensors(step[1]), read_tensors(one.train(1, *batch)[1])
            chained = [tensor for tensor in wanted if ".experts." in tensor]
            expect(chained and all(mine[tensor] == wanted[tensor] for tensor in chained),
                   f"{what}: gradients of experts have other bits than those of one rank")
        traffic = step[3]
        moved = {}
        for collective in traffic["collectives"]:
            own = sequences * LENGTH // sizes["ep"] // sizes.get("dp", 1)
            payload = eval(collective["formula"], {"rows": own})
            expect(collective["payload"] == payload, f"{what}: {collective}, expected {payload} bytes")
            kind, sent = collective["kind"], sum(collective["sent"])
            if kind in ("dispatch", "combine"):
                # As often as a row goes to an expert of another rank, in whole rows.
                most = math.prod(sizes.values()) * collective["calls"] * payload
                expect(0 < sent < most and sent % (4 * hidden) == 0, f"{what}: {sent} bytes sent of {most}")
                moved.setdefault(kind, set()).add(sent)
        # What goes comes back, and is as much in both directions.
        expect(moved["dispatch"] == moved["combine"] and len(moved["dispatch"]) == 1, f"{what}: ranks sent {moved}")
        print(f"{what}: a layer exchanges {expected}; {moved['dispatch'].pop()} bytes went to others")

    fixture.refused("5 experts", "mixtral-top2", "--mesh=ep=2", "--expert-parallel=all-to-all")
    fixture.refused("it is no mixture of experts", "llama-gqa", "--mesh=ep=2", "--expert-parallel=all-to-all")
    fixture.refused("add ep=N to --mesh", "mixtral-top2", "--mesh=dp=2", "--expert-parallel=all-to-all")
    fixture.refused("leave one of them out", "mixtral-top2", "--mesh=tp=5,ep=5", "--tensor-parallel=experts",
                    "--expert-parallel=all-to-all")
    result = run([fixture.arguments.batonc, os.path.join(fixture.arguments.golden, "mixtral-top2"), "--mesh=ep=5",
                  "--expert-parallel=all-to-all", "-o", os.path.join(fixture.scratch, "none")], check=False)
    expect(result.returncode == 1 and "is for --mode=train" in result.stderr, f"decoding: {result}")


def muon(fixture):
    one, many = (fixture.trainer("mixtral-top2", "--optimizer=muon", *flags) for flags in ([], ["--mesh=ep=5"]))
    alone, found = (trainer.train(STEPS, *BATCH) for trainer in (one, many))
    compare("muon, ep=5", alone, found, 1e-4)
    if not fixture.arguments.few:
        both = fixture.trainer("mixtral-top2", "--optimizer=muon", "--mesh=dp=2,ep=5", "--zero=1")
        compare("muon, dp=2,ep=5, --zero=1", alone, both.train(STEPS, *BATCH), 1e-4)
    same("muon, more workers", found, many.train(STEPS, *BATCH, "--workers", 11))
    fixture.refused("it is of the whole parameter, of which each rank of", "mixtral-top2", "--optimizer=muon", "--mesh=tp=2")


def drawn(fixture):
    results = []
    for flags in ([], ["--mesh=ep=5"], ["--mesh=tp=2,ep=5"]):
        trainer = fixture.trainer("mixtral-top2", *flags)
        out = os.path.join(fixture.scratch, f"drawn-{len(results)}")
        # So small a rate changes no weight but one that is 0.
        run([trainer.program, "train", "--init-seed", 3, "--model", fixture.arguments.folder, "--data",
             os.path.join(fixture.scratch, "tokens.u16"), "--validation-fraction", 0, "--seq", LENGTH, "--steps", 1,
             "--lr", 1e-30, "--out", out, "--quiet", *BATCH])
        weights = read_tensors(os.path.join(out, "step-1/model.safetensors"))
        results.append({name: [0 if abs(x) <= 2e-30 else x for x in values] for name, (_, _, values) in weights.items()})
    expect(results[0] == results[1] == results[2], "other weights are drawn on ranks")


def loss_scale(fixture):
    trainer = fixture.trainer("mixtral-top2", "--dtype=f16", "--mesh=ep=5")
    lines = trainer.train(10, *BATCH, "--loss-scale", 2.0 ** 24)[0]
    expect(any(line.get("skipped") for line in lines) and not lines[-1].get("skipped"), f"skipped: {lines}")


CASES = {case.__name__: case for case in (exchanges, all_to_all, muon, drawn, loss_scale)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("golden")
    parser.add_argument("case", choices=CASES)
    arguments = parser.parse_args()
    programs.main(lambda scratch: CASES[arguments.case](Fixture(arguments, scratch)))
