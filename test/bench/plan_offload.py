#!/usr/bin/env python3
"""How far off batonc plan offload is, and what it gains over naive streaming.

    test/bench/plan_offload.py --batonc build/bin/batonc --model DIR --memory 400MiB,600MiB --scratch FOLDER

For each memory and each --max-batch the plan is compiled as it is written (batonc --plan), and as many sequences of
--prompt and --generate tokens go through `FILE batch`, which takes the memory that was planned: the run's seconds are held
against the plan's. The machine and the disk are measured by each plan, right before its run, since both change with the
neighbours of a virtual machine. Naive streaming is one sequence, in the least memory that its program takes, where each
layer comes when the one before is done (--no-prefetch). Prints a table in Markdown, or JSON with --json.

Programs are compiled first: --compile does only this, so that what is measured can be a run of its own.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys


def run(command, check=True):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if check and result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr}")
    return result


def plan(arguments, memory, sequences):
    return json.loads(run([arguments.batonc, "plan", "offload", "--model", arguments.model, "--memory", memory,
                           "--prompt", arguments.prompt, "--generate", arguments.generate, "--sequences", sequences,
                           "--max-batch", sequences, "--offload-dir", arguments.scratch, "--process", arguments.process,
                           "--json", "--quiet"]).stdout)


def program_of(arguments, sequences):
    """A program of so many sequences; what it has in memory runs say."""
    path = os.path.join(arguments.scratch, f"offloaded-{sequences}")
    if not os.path.exists(path):
        flags = ["--max-batch", sequences, "--max-rows", max(sequences, 64), "--max-seq", arguments.prompt + arguments.generate]
        run([arguments.batonc, arguments.model, *flags, "--offload", "--quiet", "-o", path])
    return path


def batch(arguments, program, sequences, generate, *flags, check=True):
    requests, out = (os.path.join(arguments.scratch, name) for name in ("in.jsonl", "out.jsonl"))
    generator = random.Random(sequences)
    with open(requests, "w") as file:
        for number in range(sequences):
            tokens = [generator.randrange(256) for _ in range(arguments.prompt)]
            file.write(json.dumps({"id": str(number), "tokens": tokens, "max_new_tokens": generate}) + "\n")
    if os.path.exists(out):
        os.remove(out)
    return run([program, "batch", "--weights", arguments.model, "--requests", requests, "--out", out, "--prompt-lookup", 0,
                "--json", "--quiet", *flags], check)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--model", required=True, help="a checkpoint's folder, with weights")
    parser.add_argument("--memory", required=True, help="sizes, as 400MiB,1GiB")
    parser.add_argument("--scratch", required=True, help="a folder on a disk")
    parser.add_argument("--max-batch", default="1,8,32", help="how many sequences share a step")
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--process", type=float, default=10e6, help="bytes; batonc plan offload measures them, too")
    parser.add_argument("--compile", action="store_true", help="compile what will be measured, and end")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.max_batch.split(",")]
    for sequences in sorted({1, *sizes}):
        program_of(arguments, sequences)
    if arguments.compile:
        return

    # The least is what the message says.
    program = program_of(arguments, 1)
    refusal = batch(arguments, program, 1, 8, "--memory", "1MiB", check=False).stderr
    number, unit = re.search(r"less than the ([\d.]+) (KiB|MiB|GiB)", refusal).groups()
    found = json.loads(batch(arguments, program, 1, 8, "--memory", f"{float(number) * 1.02:.2f}{unit}", "--no-prefetch").stdout)
    naive = found["tokens_per_s"]

    if not arguments.json:
        print("| memory | sequences | the disk, GB/s | beside workers | moved a step, MiB | predicted, s | measured, s | error "
              "| of it waiting, s | steps | tokens/s | naive |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    rows = []
    for memory in arguments.memory.split(","):
        for sequences in sizes:
            planned = plan(arguments, memory, sequences)
            one = planned["best"]
            own = [f"{flag}={one['compile'][flag]}" for flag in ("--memory", "--kv-memory", "--kv-in-memory")]
            found = json.loads(batch(arguments, program_of(arguments, sequences), sequences, arguments.generate, *own).stdout)
            row = {"memory": memory, "sequences": sequences, "predicted_s": one["seconds"], "measured_s": found["seconds"],
                   "error": one["seconds"] / found["seconds"] - 1, "tokens_per_s": found["tokens_per_s"],
                   "planned_steps": one["steps"], "steps": found["steps"], "planned_moved": one["moved_weights"],
                   "moved": found["memory"]["moved_weights"], "waited_s": found["memory"]["waited_s"],
                   **{key: planned[key] for key in ("disk_rate", "busy_disk_rate", "share_beside_disk", "memory_rate",
                                                    "operation_rate")}}
            rows.append(row)
            if not arguments.json:
                print(f"| {memory} | {sequences} | {row['disk_rate'] / 1e9:.2f} | {row['busy_disk_rate'] / 1e9:.2f} | "
                      f"{row['moved'] / 2**20:.0f} | {row['predicted_s']:.2f} | {row['measured_s']:.2f} | "
                      f"{row['error'] * 100:+.1f} % | {row['waited_s']:.2f} | {row['steps']} | {row['tokens_per_s']:.1f} | "
                      f"{row['tokens_per_s'] / naive:.1f}x |", flush=True)
    if arguments.json:
        print(json.dumps({"rows": rows, "naive_tokens_per_s": naive}, indent=1))
    else:
        print(f"\nNaive streaming: {naive:.2f} tokens/s.")


if __name__ == "__main__":
    main()
