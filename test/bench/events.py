#!/usr/bin/env python3
"""What a phase costs when there is next to nothing to compute.

    test/bench/events.py build/bin/batonc [--hidden 64] [--layers 32] [--rounds 15]

Compiles a model of many small layers and divides the time of a decode step (the
best window of 8 tokens, of all rounds) by the number of its phases. With one
worker that is the bodies and the loop around them; what it takes longer with two
is the price of events between cores, as far as their sharing the work does not
hide it. The whole time is therefore an upper bound of the overhead.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    tools = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
    with tempfile.TemporaryDirectory() as scratch:
        model, program = os.path.join(scratch, "model"), os.path.join(scratch, "program")
        subprocess.run([sys.executable, os.path.join(tools, "random-checkpoint"), model,
                        f"--hidden={arguments.hidden}", f"--layers={arguments.layers}"],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([arguments.batonc, model, "-o", program, "--max-seq=1024", "--quiet"],
                       check=True)
        info = json.loads(subprocess.run([program, "info", "--json"], check=True,
                                         capture_output=True, text=True).stdout)
        phases = sum(phase["repeat"] for phase in info["phases"])
        runs = {workers: [] for workers in arguments.workers}
        for _ in range(arguments.rounds):
            for workers in arguments.workers:
                run = subprocess.run([program, "bench", "--brief", "--prefill=16", "--decode=256", "--json",
                                      "--quiet", f"--workers={workers}"],
                                     check=True, capture_output=True, text=True)
                runs[workers].append(json.loads(run.stdout))
    print(f"{phases} phases a step, {arguments.rounds} rounds")
    print("workers   us a phase: best   median   verdict")
    for workers, results in runs.items():
        times = [1e6 / run["decode_tokens_per_s"] / phases for run in results]
        print(f"{workers:7} {min(times):18.2f} {statistics.median(times):8.2f}   "
              f"{results[0]['verdict']}")


main()
