"""The page of a compiled program's server, in headless Chromium (test/runtime/serve/page.py)."""

import argparse
import os
import subprocess
import sys

import programs
from programs import Program, expect, run
from serve import ROOT, TEMPLATE

INPUTS = ["tools/random-checkpoint", "models/examples/bytes/*", "test/runtime/serve/*.py"]


def test(arguments, scratch):
    model = os.path.join(scratch, "toy")
    # Large enough that an answer is seen to come.
    run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--hidden", 256, "--layers", 6])
    with open(os.path.join(model, "chat_template.jinja"), "w") as file:
        file.write(TEMPLATE)
    program = Program(arguments.batonc, model, os.path.join(scratch, "program"), "--max-batch=4", "--max-rows=64",
                      "--max-seq=2048").path
    found = subprocess.run([sys.executable, os.path.join(ROOT, "test/runtime/serve/page.py"), "--program", program, "--weights", model])
    if found.returncode == 77:
        sys.exit(77)
    expect(found.returncode == 0, "the page")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
