"""Training over several ranks against one rank, with the same sequences a step.

Compiled with --mesh=dp=2 and dp=4: the loss and the gradient of every tensor lie
within 1e-5 of one rank's, in norm, and so do losses of several steps of AdamW, also
when a step has several microbatches. Losses, gradients and weights are the same
bits for any number of workers and any size of buckets. What ranks exchange are the
bytes of all gradients, once for each update, and a number for each loss.
"""

import argparse
import json
import os
import random

import programs
from programs import QUICK, expect, run
from training import lines_of, read_bytes, read_tensors, write_tokens

SEQUENCES, LENGTH, STEPS, PART = 8, 12, 6, 64


def norm(values):
    return sum(value * value for value in values) ** 0.5


class Trainer:
    def __init__(self, arguments, scratch, name, *flags):
        self.arguments, self.scratch, self.name = arguments, scratch, name
        self.program = os.path.join(scratch, name)
        self.runs = 0
        if not any(flag.startswith("--dtype") for flag in flags):
            flags = ("--dtype=f32", *flags)
        run([arguments.batonc, arguments.folder, "--mode=train", QUICK, "--quiet", "-o", self.program,
             *flags])

    def train(self, steps, *flags):
        """The lines of a run, its gradients, its last checkpoint, and what ranks
        exchanged (None for one rank)."""
        self.runs += 1
        out = os.path.join(self.scratch, f"{self.name}-{self.runs}")
        result = run([self.program, "train", "--weights", self.arguments.folder, "--data",
                      os.path.join(self.scratch, "tokens.u16"), "--out", out, "--seq", LENGTH,
                      "--validation-fraction", 0, "--steps", steps, "--lr", 1e-3,
                      "--lr-schedule", "constant", "--gradients", out + ".gradients",
                      "--quiet", "--json", *flags])
        lines = lines_of(result.stdout, "tokens_per_s")
        traffic = lines.pop()["communication"] if "communication" in lines[-1] else None
        files = [read_bytes(os.path.join(out, f"step-{steps}", name))
                 for name in ("model.safetensors", "optimizer.safetensors")]
        return lines, out + ".gradients", files, traffic


def compare(what, one, other, bound=1e-5):
    """Losses, norms and gradients, the latter as far as the bound."""
    for mine, wanted in zip(other[0], one[0], strict=True):
        for key in ("loss", "grad_norm"):
            expect(abs(mine[key] / wanted[key] - 1) < 1e-5,
                   f"{what}, step {mine['step']}: {key} is {mine[key]}, of one rank {wanted[key]}")
    mine, wanted = read_tensors(other[1]), read_tensors(one[1])
    expect(mine.keys() == wanted.keys(), f"{what}: other tensors")
    worst = 0.0
    for name, (_, _, values) in wanted.items():
        # That of an expert that no row goes to is zero on all meshes.
        error = norm(a - b for a, b in zip(mine[name][2], values, strict=True)) / (norm(values) or 1e-30)
        expect(error < bound, f"{what}: the gradient of {name} is off by {error:.2e}")
        worst = max(worst, error)
    print(f"{what}: {len(wanted)} gradients, worst error {worst:.2e}")


def same(what, one, other):
    expect(other[0] == one[0], f"{what}: other losses, {other[0]} and {one[0]}")
    expect(read_bytes(other[1]) == read_bytes(one[1]), f"{what}: other gradients")
    expect(other[2] == one[2], f"{what}: other weights or states")


def check_traffic(what, traffic, ranks, updates, steps, gradient_bytes):
    moved = {"all_to_all": 0, "all_gather": 0}
    for collective in traffic["collectives"]:
        where = f"{what}: {collective['name']}"
        expect(collective["payload"] == eval(collective["formula"]),
               f"{where}: moved {collective['payload']} bytes, stated are {collective['formula']}")
        bytes_moved = collective["calls"] * collective["payload"]
        # Every rank sends its part, or what is others', to all others.
        expect(sum(collective["sent"]) == (ranks - 1) * bytes_moved,
               f"{where}: {ranks} ranks sent {collective['sent']} of {bytes_moved} bytes")
        if collective["operation"] == "loss":
            expect((collective["calls"], collective["payload"]) == (steps, ranks * PART),
                   f"{where}: {collective}")
        else:
            moved[collective["kind"]] += bytes_moved
    for kind, found in moved.items():
        expect(found == updates * gradient_bytes,
               f"{what}: {kind} moved {found} bytes, expected {updates} times {gradient_bytes}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    draw = random.Random(5)
    write_tokens(path("tokens.u16"),
                 (draw.randrange(vocabulary) for _ in range(4 * SEQUENCES * (LENGTH + 1))))
    batch = ["--batch", SEQUENCES]
    parts = ["--batch", SEQUENCES // 2, "--accumulate", 3]

    one = Trainer(arguments, scratch, "one")
    alone = {"a step": one.train(1, *batch), "steps": one.train(STEPS, *batch),
             "microbatches": one.train(2, *parts)}
    gradient_bytes = sum(4 * len(values) for _, _, values in
                         read_tensors(alone["a step"][1]).values())
    plans = [run([arguments.batonc, arguments.folder, "--mode=train", "--emit=event", *mesh]).stdout
             for mesh in ([], ["--mesh=dp=1"])]
    expect(plans[0] == plans[1], "dp=1 is another plan than that of no mesh")

    for ranks in arguments.ranks:
        what = f"dp={ranks}"
        many = Trainer(arguments, scratch, f"dp{ranks}", f"--mesh=dp={ranks}")
        found = {"a step": many.train(1, *batch, "--workers", ranks),
                 "steps": many.train(STEPS, *batch, "--workers", 2 * ranks),
                 "microbatches": many.train(2, *parts)}
        for name, result in found.items():
            compare(f"{what}, {name}", alone[name], result)
        check_traffic(f"{what}, steps", found["steps"][3], ranks, STEPS, STEPS, gradient_bytes)
        check_traffic(f"{what}, microbatches", found["microbatches"][3], ranks, 2, 6,
                      gradient_bytes)
        for workers in (ranks, 3 * ranks):
            same(f"{what}, {workers} workers", found["steps"],
                 many.train(STEPS, *batch, "--workers", workers))

    # As many sequences as ranks divide.
    refused = run([many.program, "train", "--weights", arguments.folder, "--data",
                   path("tokens.u16"), "--seq", LENGTH, "--steps", 1, "--batch", ranks + 1,
                   "--out", path("refused"), "--quiet"], check=False)
    expect(refused.returncode == 1 and "--batch" in refused.stderr, f"uneven batches: {refused}")
    if not arguments.buckets:
        return

    # Smaller buckets exchange the same.
    target = json.loads(read_bytes(arguments.buckets))
    target["training"]["bucket_bytes"] = 1000
    with open(path("target.json"), "w") as file:
        json.dump(target, file)
    small = Trainer(arguments, scratch, "small", f"--mesh=dp={ranks}",
                    f"--target-file={path('target.json')}")
    result = small.train(STEPS, *batch)
    same("small buckets", found["steps"], result)
    check_traffic("small buckets", result[3], ranks, STEPS, STEPS, gradient_bytes)
    expect(len(result[3]["collectives"]) > len(found["steps"][3]["collectives"]),
           "no more buckets than before")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--buckets", metavar="TARGET",
                        help="the CPU's description, to exchange smaller buckets, too")
    parser.add_argument("folder")
    parser.add_argument("ranks", type=int, nargs="+")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
