"""test/gpu's scripts, dry: packed for the emulated device and run from the folder.

The verdict is "right", a second run finds nothing left to do, and a checkpoint that
was changed makes the first part fail, in a line of the results and by status.
"""

import argparse
import json
import os
import sys

import programs
from programs import expect, run


def test(arguments, scratch):
    scripts = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu")
    folder, results = os.path.join(scratch, "packed"), os.path.join(scratch, "results.jsonl")
    run([sys.executable, os.path.join(scripts, "pack.py"), arguments.batonc, folder,
         "--target=cuda:emulated", "--cases", arguments.case, "--shapes"])
    script = [sys.executable, os.path.join(folder, "run.py"), "--out", results]
    run(script)
    with open(results) as file:
        lines = [json.loads(line) for line in file]
    expect([line["verdict"] for line in lines] == ["right"], f"not right: {lines}")
    expect(run(script).stdout == "", "the second run does not see the first one's results")

    os.remove(results)
    checkpoint = os.path.join(folder, "cases", arguments.case, "checkpoint")
    os.truncate(os.path.join(checkpoint, "model.safetensors"), 1000)
    result = run(script, check=False)
    expect(result.returncode == 1 and "error" in json.loads(result.stdout),
           f"a damaged checkpoint: status {result.returncode}, {result.stdout}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("case")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
