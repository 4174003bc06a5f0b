"""--trace: every task once, on the row of the worker that ran it, and no two at a time.

How many tasks there are follows from the plan's grids, which are evaluated here
for every step.
"""

import argparse
import collections
import json
import os
import re

import programs
from programs import expect

WORKERS, CHUNK, NEW = 3, 3, 4
PROMPT = [1, 5, 2, 7, 3]


def grids(plan):
    """Phases in order: name, repeat, and the text of each extent."""
    maps = dict(re.findall(r"^(#\w+) = affine_map<\(\)\[s0, s1, s2\] -> \((.*)\)>$", plan, re.M))
    result, repeat = [], 1
    for line in plan.splitlines():
        if match := re.search(r'event\.segment ".*" repeat (\d+)', line):
            repeat = int(match[1])
        if match := re.search(r'event\.phase "(.*?)" grid (#\w+)', line):
            result.append((match[1], repeat, maps[match[2]].split(", ")))
    return result


def evaluate(extent, rows, past, outputs):
    text = re.sub(r"(\(?.*?\)?) ceildiv (\d+)", r"-(-(\1) // \2)", extent)
    return eval(text, {"s0": rows, "s1": past, "s2": outputs})


def steps():
    """(rows, past, outputs) of the prompt's chunks and of each new token but the last."""
    for past in range(0, len(PROMPT), CHUNK):
        rows = min(CHUNK, len(PROMPT) - past)
        yield rows, past, int(past + rows == len(PROMPT))
    for i in range(NEW - 1):
        yield 1, len(PROMPT) + i, 1


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder = arguments.folder
    program = programs.Program(arguments.batonc, folder, path("program"))
    plain = program.generate(PROMPT, NEW)
    traced = program.generate(PROMPT, NEW, "--workers", WORKERS, "--prefill-chunk", CHUNK,
                              "--trace", path("trace.json"))
    expect(traced["tokens"] == plain["tokens"], "tracing changes the result")
    expect(len(plain["tokens"]) == NEW, "the case ends too early")

    with open(path("trace.json")) as file:
        events = json.load(file)["traceEvents"]
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    expect(sorted(rows.values()) == ["steps"] + [f"worker {i}" for i in range(WORKERS)], f"rows {rows}")
    tasks = [e for e in events if e.get("cat") == "task"]
    waits = [e for e in events if e.get("cat") == "wait"]
    traced_steps = [e for e in events if e.get("cat") == "step"]
    expect(len(tasks) + len(waits) + len(traced_steps) + WORKERS + 2 == len(events), "events of an unknown kind")
    symbols = [tuple(e["args"][name] for name in ("rows", "past", "outputs")) for e in traced_steps]
    expect(symbols == list(steps()), f"steps {symbols}")
    for before, after in zip(traced_steps, traced_steps[1:]):
        expect(before["ts"] + before["dur"] <= after["ts"] + 0.002, f"steps overlap at {after}")

    expected = collections.Counter()
    for rows_, past, outputs in steps():
        for name, repeat, extents in grids(programs.run([arguments.batonc, folder, "--emit=event"]).stdout):
            count = 1
            for extent in extents:
                count *= evaluate(extent, rows_, past, outputs)
            for layer in range(repeat):
                for task in range(count):
                    expected[name, layer if repeat > 1 else None, task] += 1
    found = collections.Counter((e["name"], e["args"].get("layer"), e["args"]["task"]) for e in tasks)
    expect(found == expected, f"tasks differ: {(found - expected) + (expected - found)}")

    for tid in rows:
        end = 0
        for event in sorted((e for e in tasks if e["tid"] == tid), key=lambda e: e["ts"]):
            # Whole nanoseconds, in decimals of microseconds.
            expect(event["ts"] >= end - 1e-5 and event["dur"] >= 0, f"tasks overlap at {event}")
            expect(0 <= event["args"]["wait_us"] <= event["dur"] + 0.002, f"{event}")
            end = event["ts"] + event["dur"]
    for command, flags in [("logits", ["--tokens", "1,2,3", "--out", path("l.npy")]),
                           ("bench", ["--brief", "--prefill", "4", "--decode", "2"])]:
        programs.run([program.path, command, "--weights", folder, "--no-cache", "--quiet", *flags,
                      "--trace", path(command)])
        with open(path(command)) as file:
            expect(len(json.load(file)["traceEvents"]) > 10, f"{command} traces nothing")
    print(f"{len(tasks)} tasks of {WORKERS} workers, {len(waits)} visible waits")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))


if __name__ == "__main__":
    main()
