"""Reads the assembly of AssemblyKernels.cpp and checks its inner loops.

A change to a body, a pass or a flag can make an accumulator leave its register
without any diagnostic and cost half of the speed. So: every innermost loop that
multiplies holds at least the expected number of fused multiply-adds, stores
nothing, and does not touch the stack. With :unpacked, weights may be loaded from
an array there, by an index into registers of full width; what an accumulator or
a pointer leaves on the stack has no such form.

Usage: check_assembly.py FILE.s FUNCTION=FMAS[:unpacked]...
"""

import re
import sys


def inner_loops(lines):
    """Yields the instructions of every innermost loop of a function."""
    labels = {}
    for number, line in enumerate(lines):
        if match := re.match(r"(\.LBB\w+):", line):
            labels[match[1]] = number
        match = re.match(r"\s+j\w+\s+(\.LBB\w+)", line)
        if match and match[1] in labels:
            body = lines[labels[match[1]] + 1 : number + 1]
            if not any(re.match(r"\.LBB\w+:", inner) for inner in body):
                yield [inner.strip() for inner in body]


def check(name, lines, expected, unpacked):
    problems = []
    # Without a frame pointer %rbp is a register like any other.
    stack = ["%rsp"]
    if any(re.match(r"\s+movq\s+%rsp, %rbp", line) for line in lines):
        stack.append("%rbp")
    loops = [
        loop
        for loop in inner_loops(lines)
        if any(re.match(r"vfn?m(add|sub)\w+ps", line) for line in loop)
    ]
    if not loops:
        problems.append(f"{name}: no loop with packed fused multiply-adds")
    for loop in loops:
        count = sum(bool(re.match(r"vfn?m(add|sub)\w+ps", line)) for line in loop)
        if count < expected:
            problems.append(f"{name}: {count} multiply-adds, expected {expected}")
        for line in loop:
            loads_unpacked = unpacked and re.match(
                r"vmov[au]ps\s+-?\d*\(%rsp,%r\w+,4\), %[yz]mm\d+$", line)
            if any(name in line for name in stack) and not loads_unpacked:
                problems.append(f"{name}: touches the stack: {line}")
            if re.match(r"vmov\w+\s+%[xyz]mm\d+, .*\(", line):
                problems.append(f"{name}: stores: {line}")
            if line.startswith("call"):
                problems.append(f"{name}: calls: {line}")
    return problems


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    problems = []
    for argument in sys.argv[2:]:
        name, expected = argument.split("=")
        expected, _, unpacked = expected.partition(":")
        match = re.search(
            rf"^{name}:(.*?)^\s+\.size\s+{name},", text, re.MULTILINE | re.DOTALL
        )
        if match is None:
            problems.append(f"{name}: not found")
            continue
        problems += check(name, match[1].split("\n"), int(expected), unpacked == "unpacked")
    print("\n".join(problems) or "inner loops are as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
