"""The commands of docs/fine-tuning.md, as they stand there, one after the other.

Blocks of Python become make.py, which the next commands run. What never ends (serve), and
what needs packages (pyarrow), is left out. With --brief: of few steps, compiled quickly.
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
# What takes long, and what does instead.
BRIEF = [("range(2000)", "range(80)"), ("--steps 300", "--steps 10"), ("step-300", "step-10"), ("--validate-every 150", "--validate-every 5"),
         ("--steps 40", "--steps 4"), ("step-40", "step-4"), ("[:200]", "[:12]")]
LEFT_OUT = re.compile(r" serve |parquet-to-jsonl")


def test(arguments, scratch):
    # As from the checkout's top.
    for name in ("test", "tools", "models"):
        os.symlink(os.path.join(ROOT, name), os.path.join(scratch, name))
    os.makedirs(os.path.join(scratch, "build/bin"))
    if arguments.brief:
        programs.quick_batonc(os.path.abspath(arguments.batonc), os.path.join(scratch, "build/bin/batonc"))
    else:
        os.symlink(os.path.abspath(arguments.batonc), os.path.join(scratch, "build/bin/batonc"))
    steps = 300
    with open(os.path.join(ROOT, "docs/fine-tuning.md")) as file:
        text = file.read()
    if arguments.brief:
        steps = 10
        for usual, less in BRIEF:
            expect(usual in text, f"docs/fine-tuning.md has no {usual}")
            text = text.replace(usual, less)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
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
    for name in (f"run/step-{steps}", f"pairs/step-{steps}", "tuned-model", "distilled-model"):
        expect(os.path.exists(os.path.join(scratch, name)), f"{name} is not there")
    print(f"{ran} blocks; {report['answers']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--brief", action="store_true")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
