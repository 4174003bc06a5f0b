"""Each operator that codegen/bodies declares has its files: the bodies of OPERATOR.td are
defined in codegen/cpu/library/OPERATOR.cpp and in codegen/cuda/library/OPERATOR.h. Says what
is missing, by operator.

Usage: operators.py FUNCTIONS.txt    lines of operator and function, from body-tblgen
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
INPUTS = ["codegen/bodies/*", "codegen/cpu/library/*", "codegen/cuda/library/*"]

# A library's file of an operator, and what defines a body in it: a function, or a macro
# that puts a name together.
LIBRARIES = ("codegen/cpu/library/{}.cpp", "codegen/cuda/library/{}.h")
DEFINITION = r"baton_task_{0}\b|baton_task_{1}##|BATON_[A-Z_]+\({0},"


def missing(operator, functions):
    for library in LIBRARIES:
        path = library.format(operator)
        if not (ROOT / path).exists():
            yield f"{path}: no such file"
            continue
        text = (ROOT / path).read_text()
        for function in functions:
            stem = re.sub("_(f32|bf16|f16)$", "", function)
            if not re.search(DEFINITION.format(re.escape(function), re.escape(stem)), text):
                yield f"{path}: no baton_task_{function}"


def main():
    operators = {}
    for line in Path(sys.argv[1]).read_text().splitlines():
        operator, function = line.split()
        operators.setdefault(operator, []).append(function)
    declared = {path.stem for path in (ROOT / "codegen/bodies").glob("[a-z]*.td")}
    problems = [f"codegen/bodies/{name}.td: not in Bodies.td" for name in declared - set(operators)]
    for operator, functions in sorted(operators.items()):
        problems += missing(operator, functions)
    for path in sorted((ROOT / "codegen/cpu/library").glob("*.cpp")):
        if path.stem not in operators and "void baton_task_" in path.read_text():
            problems.append(f"{path.relative_to(ROOT)}: has bodies that no .td declares")
    if problems:
        sys.exit("".join(f"failed: {problem}\n" for problem in problems))
    print(f"{len(operators)} operators, {sum(map(len, operators.values()))} functions")


if __name__ == "__main__":
    main()
