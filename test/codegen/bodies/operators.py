"""Each operator that codegen/bodies declares has its files, and they do what it needs.

- codegen/cpu/library/OPERATOR.cpp and codegen/cuda/library/OPERATOR.h define its bodies,
  of which the .td may say that one library only has them (libraries).
- codegen/bodies/OPERATOR.td states the operations of each body, which explain counts.
- passes/tiling/rules/OPERATOR.cpp and passes/sharding/rules/OPERATOR.cpp add its rules to
  the tables of these folders. An operator without says why in its .td: "No tiling rule:
  REASON."; files that a reason names are there.

Says what is missing, by operator.

Usage: operators.py FUNCTIONS.txt    lines of operator, function and libraries, from body-tblgen
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
INPUTS = ["codegen/bodies/*", "codegen/cpu/library/*", "codegen/cuda/library/*", "passes/tiling/*", "passes/sharding/*",
          "passes/collectives/*"]

# A library's file of an operator, and what defines a body in it: a function, or a macro
# that puts a name together.
LIBRARIES = {"cpu": "codegen/cpu/library/{}.cpp", "cuda": "codegen/cuda/library/{}.h"}
DEFINITION = r"baton_task_{0}\b|baton_task_{1}_?##|baton_task_{2}_##|BATON_[A-Z_]+\({0},|BATON_[A-Z_]+\({2}_##"
# Of blocks, which runtime/weight_blocks.h lists for macros.
BLOCKS = (ROOT / "runtime/weight_blocks.h").read_text()
FORMAT = re.compile("_(?:" + "|".join(re.findall(r"^  APPLY\((\w+), \w+\)", BLOCKS, re.MULTILINE)) + ")$")

# Kinds of rules: their folder, and the file whose table calls what each file of it defines.
RULES = {"tiling": ("passes/tiling/rules", "Rules.cpp"), "sharding": ("passes/sharding/rules", "RuleTable.cpp")}

REASON = re.compile(r"^// No (\w+) rule: ((?:.*\n//)*?.*\.)$", re.MULTILINE)
FILE = re.compile(r"\b(?:passes|codegen)/[\w/]+\.(?:cpp|h)\b")


def declaration(operator):
    return (ROOT / f"codegen/bodies/{operator}.td").read_text()


# What is missing of an operator -------------------------------------------------------


def missing_bodies(operator, functions):
    """`functions` has the libraries of each."""
    for library, file in LIBRARIES.items():
        path = file.format(operator)
        expected = [function for function, libraries in functions.items() if library in libraries]
        if not (ROOT / path).exists():
            if expected:
                yield f"{path}: no such file"
            continue
        text = (ROOT / path).read_text()
        for function in expected:
            stem = re.sub("_(f32|bf16|f16|mixed)$", "", function)
            names = [re.escape(name) for name in (function, stem, FORMAT.sub("", function))]
            if not re.search(DEFINITION.format(*names), text):
                yield f"{path}: no baton_task_{function}"


def missing_costs(operator):
    """Bodies that do not state their operations, nor does the class that they are of."""
    text = re.sub(r"//.*", "", declaration(operator))
    records = re.split(r"^(?=(?:def|class)\b)", text, flags=re.MULTILINE)[1:]
    classes = {"Body": False}
    for record in records:
        name, base = re.match(r"\w+\s+(\w+)(?:<[^>]*>)?\s*:\s*(\w+)", record).groups()
        states = "let flops =" in record or classes[base]
        if record.startswith("class"):
            classes[name] = states
        elif not states:
            yield f"codegen/bodies/{operator}.td: {name} states no operations (flops)"


def missing_rules(operator):
    reasons = dict(REASON.findall(declaration(operator)))
    for unknown in reasons.keys() - RULES.keys():
        yield f"codegen/bodies/{operator}.td: says why there is no {unknown} rule, and there are no rules of that kind"
    add = "add" + "".join(word.capitalize() for word in operator.split("_"))
    for kind, (folder, table) in RULES.items():
        path, reason = f"{folder}/{operator}.cpp", reasons.get(kind)
        if reason is not None:
            if (ROOT / path).exists():
                yield f"codegen/bodies/{operator}.td: says why there is no {kind} rule, and there is {path}"
            for file in FILE.findall(reason):
                if not (ROOT / file).exists():
                    yield f"codegen/bodies/{operator}.td: names {file}, which is not there"
        elif not (ROOT / path).exists():
            yield f"{path}: no such file, and codegen/bodies/{operator}.td does not say why"
        elif "rules.add" not in (ROOT / path).read_text():
            yield f"{path}: adds no rule"
        elif not re.search(rf"\b{add}\b", (ROOT / folder / table).read_text()):
            yield f"{folder}/{table}: does not call {add} of {path}"


# --------------------------------------------------------------------------------------


def strangers(operators):
    """Files under the name of an operator that codegen/bodies does not declare."""
    for path in sorted((ROOT / "codegen/bodies").glob("[a-z]*.td")):
        if path.stem not in operators:
            yield f"codegen/bodies/{path.name}: not in Bodies.td"
    for path in sorted((ROOT / "codegen/cpu/library").glob("*.cpp")):
        if path.stem not in operators and "void baton_task_" in path.read_text():
            yield f"{path.relative_to(ROOT)}: has bodies that no .td declares"
    for folder, _ in RULES.values():
        for path in sorted((ROOT / folder).glob("[a-z]*.cpp")):
            if path.stem not in operators:
                yield f"{path.relative_to(ROOT)}: there is no codegen/bodies/{path.stem}.td"


def main():
    operators = {}
    for line in Path(sys.argv[1]).read_text().splitlines():
        operator, function, libraries = line.split()
        operators.setdefault(operator, {})[function] = libraries.split(",")
    problems = list(strangers(operators))
    for operator, functions in sorted(operators.items()):
        problems += [*missing_bodies(operator, functions), *missing_costs(operator), *missing_rules(operator)]
    if problems:
        sys.exit("".join(f"failed: {problem}\n" for problem in problems))
    print(f"{len(operators)} operators, {sum(map(len, operators.values()))} functions")


if __name__ == "__main__":
    main()
