#!/usr/bin/env python3
"""Holds what `batonc plan train --framework=baton` foresees against programs that train on this machine.

    test/bench/plan_train.py BATONC MODEL FOLDER [--devices 2] [--global-batch 4] [--sequence 256] [--plans 6]

MODEL is a checkpoint's folder, or one with a config.json only; everything else lies in FOLDER. All splits of so many ranks
are described; of the plans, ordered by their seconds, some are compiled and run that lie evenly between the fastest and the
slowest, in turns (--rounds). The median step counts. What is printed: foreseen and measured seconds of each, their ratio,
the mean error, and whether the order is the same (Spearman's rank correlation). Nothing is fitted. Timings want a machine
on which nothing else runs.
"""

import argparse
import json
import os
import random
import statistics
import struct
import subprocess


def output(command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def planned(arguments):
    return json.loads(output([arguments.batonc, "plan", "train", "--model", arguments.model, "--framework", "baton",
                              "--device", arguments.device, "--devices", arguments.devices, "--global-batch",
                              arguments.global_batch, "--sequence", arguments.sequence, "--top", 1000, "--json",
                              *(["--dtype", arguments.dtype] if arguments.dtype else [])]))


def chosen(plans, count):
    """Evenly from the fastest to the slowest."""
    last = len(plans) - 1
    return [plans[round(last * at / max(1, count - 1))] for at in range(min(count, len(plans)))]


def compiled(arguments, plan, number):
    program = os.path.join(arguments.folder, f"plan-{number}")
    if not os.path.exists(program):
        output([arguments.batonc, arguments.model, "-o", program, "--quiet", *plan["flags"].split()])
    return program


def step_seconds(arguments, program, plan, data):
    """Of the median step behind the first, which touches memory for the first time."""
    run = os.path.join(arguments.folder, "run")
    subprocess.run(["rm", "-rf", run], check=True)
    lines = output([program, "train", "--init-seed", 1, "--model", arguments.model, "--data", data, "--steps",
                    arguments.steps + 1, "--out", run, "--json", "--quiet", "--validation-fraction", 0,
                    *(f"{flag}={value}" for flag, value in plan["train"].items())])
    steps = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    tokens = arguments.global_batch * arguments.sequence
    return statistics.median(tokens / step["tokens_per_s"] for step in steps[1:] if "tokens_per_s" in step)


def ranks(values):
    order = sorted(range(len(values)), key=lambda at: values[at])
    result = [0] * len(values)
    for place, at in enumerate(order):
        result[at] = place
    return result


def correlation(left, right):
    if len(left) < 2:
        return 1.0
    return statistics.correlation(ranks(left), ranks(right))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--device", default="this-machine", help="or a file of batonc calibrate")
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--global-batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--dtype")
    parser.add_argument("--plans", type=int, default=6)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    with open(os.path.join(arguments.model, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    data = os.path.join(arguments.folder, "tokens.u32" if vocabulary > 1 << 16 else "tokens.u16")
    generator = random.Random(1)
    tokens = [generator.randrange(vocabulary) for _ in range(40 * arguments.global_batch * arguments.sequence)]
    with open(data, "wb") as file:
        file.write(struct.pack(f"<{len(tokens)}{'I' if data.endswith('32') else 'H'}", *tokens))

    plans = chosen(planned(arguments)["plans"], arguments.plans)
    programs = [compiled(arguments, plan, number) for number, plan in enumerate(plans)]
    # What the machine gives now, beside each round.
    foreseen, measured = [[] for _ in plans], [[] for _ in plans]
    for _ in range(arguments.rounds):
        now = {plan["flags"] + str(plan["train"]): plan["seconds"] for plan in planned(arguments)["plans"]}
        for at, (plan, program) in enumerate(zip(plans, programs)):
            foreseen[at].append(now[plan["flags"] + str(plan["train"])])
            measured[at].append(step_seconds(arguments, program, plan, data))
    foreseen = [statistics.median(values) for values in foreseen]
    measured = [statistics.median(values) for values in measured]
    print("| plan | foreseen s | measured s | ratio |\n|---|---:|---:|---:|")
    for plan, said, found in zip(plans, foreseen, measured):
        told = " ".join(f"{flag}={value}" for flag, value in plan["train"].items())
        print(f"| `{plan['flags']}` `{told}` | {said:.3f} | {found:.3f} | {said / found:.2f} |")
    errors = [abs(said / found - 1) for said, found in zip(foreseen, measured)]
    print(f"\nmean error {statistics.mean(errors):.1%}, largest {max(errors):.1%}; "
          f"rank correlation {correlation(foreseen, measured):.2f}")


if __name__ == "__main__":
    main()
