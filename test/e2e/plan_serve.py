"""batonc plan serve makes the steps of a compiled program: as many, of as many rows, with the same tokens found and the
same texts sent back, over the settings of test/bench/plan_serve.py, whose lengths are shorter here. Nothing is said of
how long they take.

And bench --step-times, where its grid comes from: its file has a time for each point, also on ranks, and what does not fit
is refused by name."""

import argparse
import json
import os
import sys

import programs
from programs import QUICK, expect, run

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
SCRIPT = os.path.join(ROOT, "test/bench/plan_serve.py")
INPUTS = ["test/bench/*.py"]
LIMITS = ["--max-batch=8", "--max-rows=128", "--max-seq=256"]


def check_grid(grid):
    axes = [len(grid[name]) for name in ("outputs", "rows", "contexts")]
    expect([len(grid["seconds"]), len(grid["seconds"][0]), len(grid["seconds"][0][0])] == axes, f"{grid}")
    expect(all(time > 0 for plane in grid["seconds"] for line in plane for time in line), f"{grid}")
    expect(grid["outputs"][0] == grid["rows"][0] == 0 and grid["mean_to_median"] > 0.5, f"{grid}")
    expect([grid[f"max_{name}"] for name in ("sequences", "rows", "positions")] == [8, 128, 256], f"{grid}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    work = path("work")
    os.makedirs(work)
    program = os.path.join(work, "program")
    run([arguments.batonc, arguments.folder, QUICK, "--quiet", "-o", program, *LIMITS])
    for what in ("measure", "run", "report"):
        result = run([sys.executable, SCRIPT, what, arguments.batonc, arguments.folder, work, "--longest", 256, "--scale", 0.35,
                      "--rounds", 1, "--batch-only"])
    expect("22 settings of batch: error" in result.stdout, result.stdout)
    with open(os.path.join(work, "results.json")) as file:
        runs = [run[0] for run in json.load(file).values()]
    for key in ("cached_tokens", "preemptions"):
        expect(any(run[key] for run in runs), f"no setting has {key}")

    times = path("times.json")
    bench = [program, "bench", "--quiet", "--workers", 2, "--repeat", 1, "--step-times", times]
    printed = json.loads(run([*bench, "--json"]).stdout)
    check_grid(printed)
    expect([printed[name] for name in ("outputs", "rows", "contexts")] ==
           [[0, 1, 2, 4, 8], [0, 16, 32, 64, 120], [0, 33, 135]], f"{printed}")
    with open(times) as file:
        expect(json.load(file) == printed, "the file is not what is printed")
    run([arguments.batonc, arguments.folder, QUICK, "--quiet", "-o", path("two"), "--mesh=tp=2", *LIMITS])
    # A row with logits for each sequence: the chunk is one's own.
    few = ["--batch", 8, "--chunks", 7, "--contexts", "3,70"]
    check_grid(json.loads(run([path("two"), *bench[1:], *few, "--json"]).stdout))

    run([arguments.batonc, arguments.folder, QUICK, "--quiet", "-o", path("one")])
    for command, words in (
            ([*bench, "--batch", 9], "--batch: 9 rows with logits are more than the program's 8; compile with larger --max-batch"),
            ([*bench, "--chunks", 121], "--chunks: 121 rows of prompts are more than the 120 that a step has beside 8 with logits"),
            ([*bench, "--contexts", 200], "--contexts: 200 positions before 120 rows of a prompt are more than the program's 256"),
            ([*bench, "--profile"], "--profile does not go with --step-times"),
            ([program, "bench", "--chunks", 4], "--chunks requires --step-times"),
            ([path("one"), *bench[1:]], "bench: --step-times: this program holds one sequence; compile with --max-batch"),
            ([*bench[:-1], path("none/times.json")], "none/times.json: cannot be written"),
            ([arguments.batonc, "plan", "serve", "--simulate", "--step-times", times, "--prompt", 300, "--longest-answer", 1],
             "what binds is the longest sequence: the program has 256 positions"),
            ([arguments.batonc, "plan", "serve", "--step-times", times, "--max-batch", 16],
             "--max-batch: 16 is above the 8 of the program")):
        result = run(command, check=False)
        expect(result.returncode == 1 and words in result.stderr, f"{command}: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
