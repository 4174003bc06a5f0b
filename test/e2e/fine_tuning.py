"""The commands of docs/fine-tuning.md, as they stand there, one after the other.

Blocks of Python become make.py, which the next commands run. What never ends (serve), and
what needs packages (pyarrow), is left out.
"""

import argparse
import json
import os
import re
import subprocess

import programs
from programs import expect

INPUTS = ["docs/fine-tuning.md", "tools/self-distill", "test/golden/gpt2-small/*", "build/lib/baton/merge"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
LEFT_OUT = re.compile(r" serve |parquet-to-jsonl")


def test(arguments, scratch):
    # As from the checkout's top.
    for name in ("test", "tools", "models"):
        os.symlink(os.path.join(ROOT, name), os.path.join(scratch, name))
    os.makedirs(os.path.join(scratch, "build/bin"))
    os.symlink(os.path.abspath(arguments.batonc), os.path.join(scratch, "build/bin/batonc"))
    with open(os.path.join(ROOT, "docs/fine-tuning.md")) as file:
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.M | re.S)
    ran = 0
    for language, block in blocks:
        if language == "python":
            with open(os.path.join(scratch, "make.py"), "w") as file:
                file.write(block)
        elif not language and re.search(r"^(\w+=|build/|tools/|\./|python3 |cp |cat |echo )", block, re.M):
            # A command may go over several lines, between quotes.
            kept = "\n".join(line for line in block.split("\n") if not LEFT_OUT.search(line))
            result = subprocess.run(["bash", "-euo", "pipefail", "-c", kept], cwd=scratch, capture_output=True, text=True,
                                    env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
            expect(result.returncode == 0, f"{kept}\nexited with {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
            ran += 1
    with open(os.path.join(scratch, "distilled/report.json")) as file:
        report = json.load(file)
    expect(report["answers"]["learned"] > 0 and "after" in report, report)
    for name in ("run/step-300", "pairs/step-300", "tuned-model", "distilled-model"):
        expect(os.path.exists(os.path.join(scratch, name)), f"{name} is not there")
    print(f"{ran} blocks; {report['answers']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
