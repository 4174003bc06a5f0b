#!/usr/bin/env python3
"""Compares the speed of programs: each with the first one.

    test/bench/programs.py PROGRAM PROGRAM... [--rounds 11]
    test/bench/programs.py TRAINER TRAINER... --model DIR --data TEXT

Programs that decode run `bench` with random weights, those that train a few steps, of
which the first two do not count. They run in turn, so that whatever else the machine does
hits all alike. Printed are the median of tokens/s, and the median of the ratio to the
first program in the same round.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile


def decode(program, arguments):
    """Measure -> tokens/s"""
    result = subprocess.run([program, "bench", "--prefill", str(arguments.prefill), "--decode", str(arguments.decode),
                             "--workers", str(arguments.workers), "--brief", "--json", "--quiet"],
                            check=True, capture_output=True, text=True)
    line = json.loads(result.stdout)
    return {kind: line[kind + "_tokens_per_s"] for kind in ("decode", "prefill")}


def train(program, arguments):
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run([program, "train", "--init-seed", "1", "--model", arguments.model, "--data",
                                 arguments.data, "--steps", "12", "--batch", str(arguments.batch), "--seq",
                                 str(arguments.seq), "--workers", str(arguments.workers), "--quiet", "--out",
                                 os.path.join(scratch, "run")], check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return {"train": statistics.median(line["tokens_per_s"] for line in lines[2:])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--prefill", type=int, default=64)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--model", help="of programs that train: the configuration's folder")
    parser.add_argument("--data", help="of programs that train: a text")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=64)
    arguments = parser.parse_args()
    measure = train if arguments.data else decode
    programs = [os.path.abspath(program) for program in arguments.programs]
    rounds = [[measure(program, arguments) for program in programs] for _ in range(arguments.rounds)]
    kinds = list(rounds[0][0])
    print(f"{arguments.workers} workers, {arguments.rounds} rounds")
    print(f"{'program':24}" + "".join(f" {kind + '/s':>12} {'ratio':>6}" for kind in kinds))
    for number, program in enumerate(programs):
        columns = ""
        for kind in kinds:
            speed = statistics.median(one[number][kind] for one in rounds)
            ratio = statistics.median(one[number][kind] / one[0][kind] for one in rounds)
            columns += f" {speed:12.0f} {ratio:6.3f}"
        print(f"{os.path.basename(program):24}{columns}")


main()
