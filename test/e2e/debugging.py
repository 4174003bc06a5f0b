"""What docs/debugging.md says of faults in task bodies is what its commands print.

Each "$ " line of the page's consoles runs, in a folder with the tree's top folders in it,
and what it prints is compared with the lines below it: "..." stands for any lines, and
places in memory may be others. The variables that a console sets last to the page's end.
"""

import argparse
import os
import re
import subprocess

import programs
from programs import QUICK, expect

INPUTS = ["docs/debugging.md", "models/examples/schedules/silu-body.mlir", "test/golden/llama-gqa/*",
          "test/e2e/programs.py", "build/bin/batonc", "build/bin/diff-run"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SECTION = "Debugging a body"


def consoles(page):
    """Command -> the lines that it prints, in the section's order."""
    with open(page) as file:
        section = re.search(rf"^## {SECTION}\n(.*?)^## ", file.read(), re.M | re.S)
    expect(section, f"{page} has no section '{SECTION}'")
    commands = []
    for block in re.findall(r"^```\n(\$ .*?)^```$", section[1], re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
    return commands


def is_printed(expected, output):
    """Whether the output is that of the page."""
    places = lambda text: re.sub(r"bytes \d+ to \d+", "bytes", text)
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(places(line)) + r"\n" for line in expected)
    return re.fullmatch(pattern, places(output)) is not None


def test(arguments, scratch):
    build = os.path.dirname(os.path.dirname(os.path.abspath(arguments.batonc)))
    for name, place in (("build", build), *((name, os.path.join(ROOT, name)) for name in ("models", "test"))):
        os.symlink(place, os.path.join(scratch, name))

    def shell(script):
        result = subprocess.run(["bash", "-c", script], cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)
        # What the shell adds when a program aborts.
        return re.sub(r"^bash: line .*\n", "", result.stdout, flags=re.M)

    variables = ""
    commands = consoles(arguments.page)
    expect(len(commands) > 20, f"{arguments.page}: only {len(commands)} commands")
    for command, expected in commands:
        if re.match(r"\w+=", command):
            variables += command.replace("bin/batonc ", f"bin/batonc {QUICK} ") + "\n"
            continue
        output = shell(variables + command)
        expect(is_printed(expected, output),
               f"$ {command}\n{output}\n{arguments.page} has:\n" + "\n".join(expected))

    # A place is that of this file, also where the program was compiled before.
    command = "sed '1i //' beyond.mlir > lower.mlir; $batonc -o lower --schedule=lower.mlir --sanitize=address; " \
              "./lower generate $run --max-new-tokens 4 --quiet"
    place = re.search(r'"beyond.mlir":(\d+)', "\n".join(line for _, lines in commands for line in lines))
    output = shell(variables + command)
    expect(f'loc("lower.mlir":{int(place[1]) + 1}:' in output, f"{output}\nexpected line {place[1]} + 1 of lower.mlir")
    print(f"{len(commands)} commands")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("page")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
