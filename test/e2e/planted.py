"""Errors planted in programs on purpose: the comparison with the reference must
see each of them, by ten times its tolerance, unless the proof refuses the plan.

The edits are made in IR that batonc prints and takes back: an operand gone, an
index shifted, heads in another order.
"""

import argparse
import json
import os
import re
import shutil

import programs
from programs import Program, expect

PRIMITIVE = "--disable-pass=attention-fusion,linear-grouping,norm-rewrites"


def substitute(pattern, replacement, text):
    """Edits the first match; there has to be one."""
    text, count = re.subn(pattern, replacement, text, count=1)
    expect(count == 1, f"nothing matches {pattern}")
    return text


def dropped_bias(text, index=0):
    """One linear of the stack loses its bias."""
    matches = list(re.finditer(r"(model\.linear %\w+, %\w+) bias %\w+( (?:\{[^}]*\} )?: \([^()]*), [^(),]*(\) ->)", text))
    match = matches[index]
    return text[: match.start()] + match[1] + match[2] + match[3] + text[match.end():]


def wrong_head(text):
    """Query head h reads key/value head h mod G instead of h / (H / G)."""
    groups = int(re.search(r"rows x (\d+) x \d+ x f32>\) -> !model.tensor<kv x", text)[1])
    match = re.search(r"( *)(%\w+) = model\.transpose (%\w+) \{permutation = array<i64: 1, 0, 2>\} : "
                      r"\(!model\.tensor<rows x (\d+) x (\d+) x f32>\)", text)
    indent, query, heads, width = match[1], match[3], int(match[4]), match[5]
    times = heads // groups
    expect(groups > 1 and times > 1, "the case has no groups of heads")

    def reordered(value, label, outer, inner):
        """Splits heads into [outer, inner] and swaps the two."""
        flat = f"!model.tensor<rows x {heads} x {width} x f32>"
        split = f"!model.tensor<rows x {outer} x {inner} x {width} x f32>"
        turned = f"!model.tensor<rows x {inner} x {outer} x {width} x f32>"
        return (f"{indent}%{label}1 = model.reshape {value} : ({flat}) -> {split}\n"
                f"{indent}%{label}2 = model.transpose %{label}1 {{permutation = array<i64: 0, 2, 1, 3>}} : ({split}) -> {turned}\n"
                f"{indent}%{label}3 = model.reshape %{label}2 : ({turned}) -> {flat}\n")

    line_start = match.start()
    text = (text[:line_start] + reordered(query, "q", times, groups)
            + text[line_start:].replace(f"model.transpose {query} ", "model.transpose %q3 ", 1))
    match = re.search(rf"( *)(%\w+) = model\.reshape (%\w+) : \(!model\.tensor<rows x {heads} x {width} x f32>\)"
                      rf" -> !model\.tensor<rows x {heads * int(width)} x f32>", text)
    return (text[: match.start()] + reordered(match[3], "o", groups, times)
            + text[match.start():].replace(f"model.reshape {match[3]} :", "model.reshape %o3 :", 1))


def late_mask(plan):
    """Every row sees one position too many: the body's position is one higher."""
    call = re.search(r'event\.call "attention" \[.*', plan)
    edited, count = re.subn(r"#event\.count<\(d0, d1\)\[s0, s1, s2\] -> \(d0 \* 16 \+ s1\)>",
                            "#event.count<(d0, d1)[s0, s1, s2] -> (d0 * 16 + s1 + 1)>", call[0])
    expect(count == 1, "the call of attention has no position")
    return plan.replace(call[0], edited)


def rope_base(scratch, folder):
    """A copy of the checkpoint whose rotary base is one percent off."""
    copy = os.path.join(scratch, "base")
    shutil.copytree(folder, copy)
    path = os.path.join(copy, "config.json")
    with open(path) as file:
        config = json.load(file)
    owner = config if "rope_theta" in config else config["rope_parameters"]
    owner["rope_theta"] *= 1.01
    with open(path, "w") as file:
        json.dump(config, file)
    return copy


def test(arguments, scratch):
    folder = arguments.folder
    case = programs.golden(folder)
    path = lambda name: os.path.join(scratch, name)

    def emit(*flags):
        return programs.run([arguments.batonc, folder, *flags]).stdout

    def judge(name, model):
        """Compiles `model` and requires the comparison to fail tenfold."""
        program = Program(arguments.batonc, model, path("planted"))
        program.weights = folder
        program.logits(case["tokens"], path("planted.npy"))
        here = os.path.dirname(os.path.abspath(__file__))
        result = programs.run(["python3", os.path.join(here, "..", "golden", "check.py"),
                               path("planted.npy"), folder, "--tolerance", "2e-3"], check=False)
        said = (result.stdout + result.stderr).strip()
        expect(result.returncode == 1 and "ratio" in said, f"{name}: not seen: {said}")
        print(f"{name}: {said}")

    def judge_text(name, text):
        with open(path("planted.mlir"), "w") as file:
            file.write(text)
        judge(name, path("planted.mlir"))

    # What is printed and taken back unchanged is right.
    model = emit("--emit=model", PRIMITIVE)
    with open(path("same.mlir"), "w") as file:
        file.write(model)
    same = Program(arguments.batonc, path("same.mlir"), path("same"))
    same.weights = folder
    same.logits(case["tokens"], path("same.npy"))
    print("unchanged:", programs.check(path("same.npy"), folder))

    # A position too many is no matter of tolerance: the body would read it.
    with open(path("planted.mlir"), "w") as file:
        file.write(late_mask(emit("--emit=event")))
    result = programs.run([arguments.batonc, path("planted.mlir"), "-o", path("planted")], check=False)
    expect(result.returncode == 1 and "'attention' reads @k as 'keys'" in result.stderr, result.stderr)
    print("mask off by one:", result.stderr.strip())
    if "rope_table" in model:
        judge("rotary base", rope_base(scratch, folder))
    if " bias %" in model:
        judge_text("dropped bias", dropped_bias(model))
        judge_text("another dropped bias", dropped_bias(model, 2))
    if "model.broadcast" in model and not re.search(r"rows x 1 x \d+ x f32>\) -> !model.tensor<kv", model):
        judge_text("wrong key/value head", wrong_head(model))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
