#!/usr/bin/env python3
"""How far off batonc plan offload is, and what it gains over naive streaming.

    test/bench/plan_offload.py --batonc build/bin/batonc --model DIR --memory 400MiB,600MiB --scratch FOLDER

For each memory the plan says which --max-batch, and what stays. Programs of the best size and of two others run
so (bench --batch, random weights, in a file past the system's cache), and their steps' times are held against
the plan's. The disk is measured again before each, as its rate changes with the neighbours of a virtual machine; the
plan is made with that rate. Naive streaming is the same program with one sequence, in the least memory that it takes,
where each layer comes when the one before is done. Prints a table in Markdown, and JSON with --json.
"""

import argparse
import json
import os
import re
import subprocess
import sys


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr}")
    return result.stdout


def size_in_bytes(text):
    number, unit = re.fullmatch(r"([\d.]+)(KiB|MiB|GiB)", text).groups()
    return float(number) * 1024 ** (["KiB", "MiB", "GiB"].index(unit) + 1)


def plan(arguments, memory, *flags):
    return json.loads(run([arguments.batonc, "plan", "offload", "--model", arguments.model, "--memory", memory,
                           "--prompt", arguments.prompt, "--generate", arguments.generate, "--sequences",
                           arguments.sequences, "--offload-dir", arguments.scratch, "--process", arguments.process,
                           "--json", "--quiet", *flags]))


def bench(arguments, program, sequences, *flags):
    return json.loads(run([program, "bench", "--batch", sequences, "--prefill", arguments.prompt, "--decode",
                           arguments.generate, "--repeat", "1", "--offload-dir", arguments.scratch, "--json", "--quiet",
                           *flags]))


def least_memory(program, arguments):
    """What the message says that a program takes."""
    result = subprocess.run([program, "bench", "--batch", "1", "--prefill", str(arguments.prompt), "--decode",
                             str(arguments.generate), "--memory", "1MiB", "--quiet"], capture_output=True, text=True)
    number, unit = re.search(r"less than the ([\d.]+) (KiB|MiB|GiB)", result.stderr).groups()
    return f"{float(number) * 1.02:.2f}{unit}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--model", required=True, help="a checkpoint's folder; its config.json will do")
    parser.add_argument("--memory", required=True, help="sizes, as 400MiB,1GiB")
    parser.add_argument("--scratch", required=True, help="a folder on a disk, with room for the weights twice")
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--generate", type=int, default=16)
    parser.add_argument("--sequences", type=int, default=32)
    parser.add_argument("--process", type=float, default=16e6)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    programs, rows, naive = {}, [], None

    def program_of(one):
        if one["compile"] not in programs:
            path = os.path.join(arguments.scratch, f"offloaded-{len(programs)}")
            run([arguments.batonc, arguments.model, *one["compile"].split(), "--quiet", "-o", path])
            programs[one["compile"]] = path
        return programs[one["compile"]]

    for memory in arguments.memory.split(","):
        first = plan(arguments, memory)
        fitting = [one["max_batch"] for one in first["all"] if "refusal" not in one]
        best = first["best"]["max_batch"]
        for sequences in sorted({best, fitting[0], fitting[len(fitting) // 2]}):
            # Now, as the disk is now.
            again = plan(arguments, memory, "--max-batch", sequences)
            one = again["best"]
            flags = one["run"].split()
            found = bench(arguments, program_of(one), sequences, flags[0], flags[2])
            step = found["batches"][0]
            measured = sequences / step["decode_mean_tokens_per_s"]
            rows.append({"memory": memory, "sequences": sequences, "best": sequences == best,
                         "disk_rate": again["disk_rate"], "predicted_s": one["step_s"], "measured_s": measured,
                         "error": one["step_s"] / measured - 1, "tokens_per_s": sequences / measured,
                         "planned": found["memory"]["planned"], "moved": found["memory"]["moved_weights"],
                         "predicted_moved": one["moved_weights"]})
    alone = plan(arguments, arguments.memory.split(",")[0], "--max-batch", "1")["best"]
    program = program_of(alone)
    found = bench(arguments, program, 1, "--memory", least_memory(program, arguments), "--no-prefetch")
    naive = found["batches"][0]["decode_mean_tokens_per_s"]

    if arguments.json:
        print(json.dumps({"rows": rows, "naive_tokens_per_s": naive}, indent=1))
        return
    print("| memory | sequences | the disk, GB/s | moved a step, MiB | predicted, ms | measured, ms | error | tokens/s | naive |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print(f"| {row['memory']} | {row['sequences']}{' (best)' if row['best'] else ''} | {row['disk_rate'] / 1e9:.2f} | "
              f"{row['moved'] / 2**20:.0f} | {row['predicted_s'] * 1e3:.1f} | {row['measured_s'] * 1e3:.1f} | "
              f"{row['error'] * 100:+.1f} % | {row['tokens_per_s']:.1f} | {row['tokens_per_s'] / naive:.1f}x |")
    print(f"\nNaive streaming: {naive:.2f} tokens/s.")


if __name__ == "__main__":
    main()
