"""Attention of one sequence over several tasks: other phases, the same bits.

Programs for steps of one row, and of as many as an attention tile has, compute
64 or 128 positions a task. Their logits are those of the default program, for
several numbers of workers; so are the values of a dump, attention's among them,
and what the CUDA kernel computes in emulation. The schedule that such a program
prints gives the same plan.
"""

import argparse
import json
import os

import programs
from programs import Program, expect, run

SIZES = {"linear_rows": 48, "linear_columns": 64, "attention_rows": 4, "plain_rows": 16}


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    case = programs.golden(arguments.folder)
    tokens = case["tokens"]

    def target(rows, split):
        name = path(f"target-{rows}-{split}.json")
        with open(name, "w") as file:
            json.dump(SIZES | {"max_rows": rows, "max_outputs": rows, "attention_split": split}, file)
        return f"--target-file={name}"

    def plan_of(*flags):
        plan = run([arguments.batonc, arguments.folder, "--emit=event", *flags]).stdout
        expect("proof {" in plan, f"{flags}: the plan has no proof")
        return plan

    def phases(*flags):
        plan = plan_of(*flags)
        return plan.count('event.call "attention_partial"'), plan.count('event.call "attention_merge"')

    usual = Program(arguments.batonc, arguments.folder, path("usual"))
    expected = usual.logits(tokens, path("usual.npy"))
    expect(phases() == phases(target(1, 0)) == phases(target(5, 64)) == (0, 0),
           "attention is split where no target says so, or where rows have several tiles")
    programs_of = {}  # by rows and positions
    for rows, split in ((1, 64), (1, 128), (4, 64)):
        parts, merges = phases(target(rows, split))
        if split >= len(tokens):
            continue
        expect(parts == merges > 0, f"{parts} phases compute parts, {merges} merge")
        program = programs_of[rows, split] = Program(arguments.batonc, arguments.folder,
                                                     path(f"split-{rows}-{split}"), target(rows, split))
        for workers in (1, 2, 5):
            expect(program.logits(tokens, path("split.npy"), "--workers", workers) == expected,
                   f"{rows} rows, {split} positions a task, {workers} workers: other bits")
    print("logits are those of unsplit attention")

    split = target(1, 64)
    program = programs_of[1, 64]
    values = {}
    for each, folder in ((usual, "usual-values"), (program, "split-values")):
        each.logits(tokens[:70], path("dumped.npy"), "--dump", path(folder))
        with open(path(f"{folder}/index.json")) as file:
            values[folder] = {(value["phase"], value["iteration"], value["buffer"]): value["file"]
                              for value in json.load(file)["values"]}
    expect(values["usual-values"].keys() == values["split-values"].keys(), "the dumps hold different values")
    expect(any("attention" in phase or "attn" in phase for phase, _, _ in values["usual-values"]),
           "no value is attention's")
    for key, name in values["usual-values"].items():
        with open(path(f"usual-values/{name}"), "rb") as one, \
                open(path(f"split-values/{values['split-values'][key]}"), "rb") as other:
            expect(one.read() == other.read(), f"{key} differs")
    print(f"{len(values['usual-values'])} values of a dump are, too")

    schedule = path("schedule.mlir")
    run([arguments.batonc, arguments.folder, "--emit=schedule", split, "-o", schedule])
    expect(plan_of(split) == plan_of(split, f"--schedule={schedule}"),
           "the schedule, taken back, gives another plan")
    with open(schedule) as file:
        text = file.read()
    with open(schedule, "w") as file:
        file.write(text.replace("tile %attentions [4, 64]", "tile %attentions [4, 0]"))
    expect(phases(split, f"--schedule={schedule}") == (0, 0), "a schedule cannot put the parts together")
    with open(schedule, "w") as file:
        file.write(text.replace("tile %attentions [4, 64]", "tile %attentions [4, 80]"))
    result = run([arguments.batonc, arguments.folder, split, f"--schedule={schedule}", "--emit=event"], check=False)
    expect(result.returncode == 1 and "has 80 positions, expected 0 for all or a multiple of 64" in result.stderr,
           f"80 positions: {result}")

    # Emulation is slow: steps of four rows, of which the last ones cross one task's border.
    device = Program(arguments.batonc, arguments.folder, path("device"), target(4, 64), "--target=cuda:emulated",
                     "--batch-invariant")
    reference = usual.logits(tokens[:67], path("usual.npy"))
    bits = device.logits(tokens[:67], path("device.npy"), "--workers", 3,
                         environment=dict(os.environ, BATON_EMULATION_SEED="7"))
    expect(bits == reference, "the emulated kernel computes other bits")
    print("so is what the emulated kernel computes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
