#!/usr/bin/env python3
"""Compares training steps of several ranks with those of one rank, of the same global
batch and with the same number of workers in all.

    test/bench/ranks.py build/bin/batonc --work DIR [--meshes dp=2 dp=2+zero=1 tp=2]
                        [--workers 2] [--hidden 256] [--layers 4] [--batch 8] [--seq 128]
                        [--steps 12] [--rounds 5] [--mpi]

Makes a random checkpoint in DIR and compiles it for one rank and for each of --meshes:
what batonc's --mesh takes, and behind a + what other flags are to be (zero=1: --zero=1).
The verdict comes first: the losses of all steps have to agree to 1e-5. Then, over all
rounds, in which the programs take turns, the median of the steps' times but for each
process's first two, the ratio to one rank's, and the bytes that a step sends.
"""

import argparse
import json
import math
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys

WARM = 2


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr}")
    return result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("--work", required=True)
    for name, default in dict(workers=2, hidden=256, layers=4, batch=8, seq=128, steps=12, rounds=5).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--meshes", nargs="+", default=["dp=2", "dp=2+zero=1", "tp=2"])
    parser.add_argument("--mpi", action="store_true", help="also ranks that are processes")
    options = parser.parse_args()
    path = lambda name: os.path.join(options.work, name)
    os.makedirs(options.work, exist_ok=True)
    tools = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools")
    model = path("model")
    run([os.path.join(tools, "random-checkpoint"), model, "--hidden", options.hidden, "--layers", options.layers])
    with open(os.path.join(model, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    generator = random.Random(1)
    count = options.batch * (options.seq + 1) * (options.steps + 2)
    with open(path("tokens.u16"), "wb") as file:
        file.write(struct.pack(f"<{count}H", *(generator.randrange(vocabulary) for _ in range(count))))

    programs = {"one rank": [path("one")]}
    run([options.batonc, model, "--mode=train", "--quiet", "-o", path("one")])
    ranks = {"one rank": 1}
    for mesh in options.meshes:
        program, (axes, *flags) = path(mesh), mesh.split("+")
        run([options.batonc, model, "--mode=train", f"--mesh={axes}", *(f"--{flag}" for flag in flags), "--quiet", "-o",
             program])
        count = math.prod(int(axis.split("=")[1]) for axis in axes.split(","))
        programs[f"{mesh}, threads"] = [program]
        if options.mpi:
            programs[f"{mesh}, processes"] = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                                              "-n", count, program]
        ranks |= dict.fromkeys(programs.keys() - ranks, count)

    times, losses, sent = {name: [] for name in programs}, {}, {}
    for _ in range(options.rounds):
        for name, command in programs.items():
            shutil.rmtree(path("out"), ignore_errors=True)
            lines = [json.loads(line) for line in run(
                [*command, "train", "--weights", model, "--data", path("tokens.u16"), "--batch", options.batch,
                 "--seq", options.seq, "--steps", options.steps, "--workers", options.workers, "--out", path("out"),
                 "--validation-fraction", 0, "--json", "--quiet"]).splitlines()]
            if "communication" in lines[-1]:
                sent[name] = sum(sum(entry["sent"]) for entry in
                                 lines.pop()["communication"]["collectives"]) / options.steps / ranks[name]
            losses[name] = [line["loss"] for line in lines]
            times[name] += [options.batch * options.seq / line["tokens_per_s"] for line in lines[WARM:]]

    reference = losses["one rank"]
    for name, found in losses.items():
        worst = max(abs(a - b) / abs(a) for a, b in zip(reference, found))
        print(f"{name}: losses within {worst:.1e} of one rank's")
        if worst > 1e-5:
            sys.exit("losses differ")
    usual = statistics.median(times["one rank"])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        traffic = f", {sent[name] / 1e6:.2f} MB sent by each rank" if name in sent else ""
        print(f"{name}: {1e3 * median:.1f} ms a step, {median / usual:.3f} of one rank's{traffic}")


if __name__ == "__main__":
    main()
