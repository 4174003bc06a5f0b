"""Schedules: what they change is how a program runs, never what it computes.

- the default schedule, taken back, gives the same executable, byte for byte;
- merged and split phases, other tiles, worker maps, events and prefetches give
  the bits of the default schedule, for several numbers of workers;
- a body of the user's computes what the ops did that it replaces, clean under
  the sanitizers; one that leaves its tile is reported there;
- schedules and bodies that do not fit are refused in one line, and so is what the page
  about schedules says cannot be replaced.
"""

import argparse
import os

import programs
from programs import Program, expect, run

HEADER = "module attributes {transform.with_named_sequence} {\n"
PLAN = "  transform.named_sequence @plan(%plan: !transform.any_op {transform.readonly}) {\n"
MODEL = "  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {\n"
END = "    transform.yield\n  }\n}\n"

PLANS = {
    "merged": """
    %ropes = transform.baton.match named "layers.self_attn.{q,k}_rope" in %plan
    transform.baton.merge %ropes
    %states = transform.baton.match named "layers.self_attn.{k,v}_state" in %plan
    transform.baton.merge %states
""",
    # All of a row's projections in three parts: what attention waits for differs.
    "split": """
    %qkv = transform.baton.match named "layers.self_attn.q_proj*" in %plan
    %front, %rest = transform.baton.split %qkv dimension 1 at 1
    transform.baton.split %rest dimension 1 at 1
""",
    "cyclic": """
    %phases = transform.baton.match in %plan
    transform.baton.distribute %phases "cyclic"
    transform.baton.prefetch %phases 0 optional
""",
    "coarse": """
    %phases = transform.baton.match in %plan
    transform.baton.events %phases "per_phase"
""",
    "rows": """
    %linears = transform.baton.match named "layers.*_proj*" in %plan
    transform.baton.events %linears coordinates [0]
    transform.baton.prefetch %linears 65536
""",
}

MODELS = {
    "unfused": "    %all = transform.baton.match in %program\n",
    "tiles": """
    %linears = transform.baton.match ["model.linear"] in %program
    transform.baton.group %linears optional
    %wide = transform.baton.match ["model.linear"] in %program
    transform.baton.tile %wide [5, 16]
    %sums = transform.baton.match ["model.add"] in %program
    transform.baton.tile %sums [3]
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    %attentions = transform.baton.fuse %softmaxes
    transform.baton.tile %attentions [7]
""",
}


def body(name="silu_times", columns=100, low="t * 16", row="%i", element="f32"):
    """silu(x) * y, rows of 16, written with loops."""
    box = lambda low: f"(t)[rows, past, outputs] -> ({low}, 0) to (t)[rows, past, outputs] -> (t * 16 + 16, {columns})"
    memref = f"memref<?x?x{element}, strided<[?, ?]>>"
    return f"""  event.body @{name} grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @x, {box(low)}>, #event.access<read @y, {box(low)}>,
                #event.access<write @z, {box("t * 16")}>] {{
  ^bb0(%x: {memref}, %y: {memref}, %z: {memref}):
    %zero = arith.constant 0 : index
    %step = arith.constant 1 : index
    %one = arith.constant 1.0 : f32
    %rows = memref.dim %z, %zero : {memref}
    %columns = memref.dim %z, %step : {memref}
    scf.for %i = %zero to %rows step %step {{
      %next = arith.addi %i, %step : index
      scf.for %j = %zero to %columns step %step {{
        %a = memref.load %x[%i, %j] : {memref}
        %b = memref.load %y[%i, %j] : {memref}
        %n = arith.negf %a : f32
        %e = math.exp %n : f32
        %d = arith.addf %e, %one : f32
        %s = arith.divf %a, %d : f32
        %r = arith.mulf %s, %b : f32
        memref.store %r, %z[{row}, %j] : {memref}
      }}
    }}
  }}
"""


def replacing(text, name="silu_times", ops='["model.activate", "model.mul"] named "layers.mlp.*"', fuses=True):
    return (HEADER + text + MODEL + f"""
    %mine = transform.baton.match {ops} in %program
    transform.baton.replace %mine with @{name}
""" + ("""    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.fuse %softmaxes
""" if fuses else "") + END)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder, case = arguments.folder, programs.golden(arguments.folder)

    def write(name, text):
        with open(path(name), "w") as file:
            file.write(text)
        return path(name)

    def bits(program, *flags):
        return program.logits(case["tokens"], path("logits.npy"), *flags)

    usual = Program(arguments.batonc, folder, path("usual"))
    expected = bits(usual)
    run([arguments.batonc, folder, "--emit=schedule", "-o", path("default.mlir")])
    Program(arguments.batonc, folder, path("again"), f"--schedule={path('default.mlir')}")
    with open(path("usual"), "rb") as one, open(path("again"), "rb") as other:
        expect(one.read() == other.read(), "the default schedule, taken back, gives another executable")

    schedules = {name: HEADER + PLAN + text + END for name, text in PLANS.items()}
    schedules |= {name: HEADER + MODEL + text + END for name, text in MODELS.items()}
    for name, text in schedules.items():
        program = Program(arguments.batonc, folder, path("program"),
                          f"--schedule={write(name + '.mlir', text)}")
        if name == "unfused":
            # Primitive attention sums in another order.
            bits(program)
            programs.check(path("logits.npy"), folder)
            continue
        for workers in (1, 2, 5):
            expect(bits(program, "--workers", workers, "--prefill-chunk", 11) == expected,
                   f"{name}, {workers} workers: other bits than the default schedule's")

    schedule = write("body.mlir", replacing(body()))
    for flags in ([], ["--sanitize=address"], ["--sanitize=thread"]):
        program = Program(arguments.batonc, folder, path("program"), f"--schedule={schedule}", *flags)
        bits(program, "--workers", 3)
        programs.check(path("logits.npy"), folder)
    leaving = write("leaving.mlir", replacing(body(row="%next")))
    Program(arguments.batonc, folder, path("leaving"), f"--schedule={leaving}", "--sanitize=address")
    result = run([path("leaving"), "logits", "--weights", folder, "--tokens", "1,2", "--out",
                  path("x.npy"), "--no-cache"], check=False)
    expect(result.returncode and "out-of-bounds" in result.stdout + result.stderr,
           f"a body that leaves its tile goes on: {result}")

    def whole(name, rank):
        """All of an operand."""
        return name, rank, f"({', '.join('0' * rank)})", f"({', '.join(['65536'] * rank)})"

    def one(number, ops, others=(), before="", rank=2):
        """Puts a body in the place of ops: of the rows of x it makes those of y, and reads others."""
        low = ", ".join("t * 16" if d == rank - 2 else "0" for d in range(rank))
        high = ", ".join("t * 16 + 16" if d == rank - 2 else "65536" for d in range(rank))
        boxes = [("x", rank, f"({low})", f"({high})"), *others, ("y", rank, f"({low})", f"({high})")]
        accesses = ", ".join(f"#event.access<{'write' if name == 'y' else 'read'} @{name}, "
                             f"(t)[rows, past, outputs] -> {low} to (t)[rows, past, outputs] -> {high}>"
                             for name, _, low, high in boxes)
        memrefs = ", ".join(f"%{name}: memref<{'?x' * rank}f32, strided<[{', '.join('?' * rank)}]>>"
                            for name, rank, *_ in boxes)
        text = (f"  event.body @mine grid ()[rows, past, outputs] -> (rows ceildiv 16) accesses [{accesses}] {{\n"
                f"  ^bb0({memrefs}):\n  }}\n")
        return write(f"one-{number}.mlir", HEADER + text + MODEL + before +
                     f"    %ops = transform.baton.match {ops} in %program\n"
                     "    transform.baton.replace %ops with @mine\n" + END)

    # What docs/schedules.md says cannot be replaced.
    with open(arguments.page) as file:
        page = file.read()
    grouped = ('    %all = transform.baton.match ["model.linear"] in %program\n'
               "    transform.baton.group %all optional\n")
    unreplaced = [
        (folder, one(1, '["model.kv_append", "model.transpose", "model.broadcast", "model.reshape"] named "layers.self_attn.*"'),
         "tasks would read what others have not written"),
        (folder, one(2, '["model.parameter"]'), "cannot be part of a body"),
        (folder, one(3, '["model.stack"]'), "cannot be part of a body"),
        (folder, one(4, '["model.return"]'), "cannot be part of a body"),
        (folder, one(5, 'named "layers.mlp.{gate,up}_proj"'), "takes 2 arguments"),
        (folder, one(6, '["model.rope_table"]'), "read 0 values that others make"),
        (arguments.transposed, one(7, 'named "h.mlp.c_fc"', [whole("w", 2), whole("b", 1)]),
         "cannot be passed: the checkpoint stores it transposed"),
        (folder, one(8, '["model.linear"] named "layers.*q_proj*"', [whole("w", 2)], grouped),
         "cannot be passed: parameters side by side are no one matrix"),
        (folder, one(9, 'named "layers.self_attn.scores"', [whole("k", 3)], rank=3), "has no fixed stride"),
    ]
    for _, _, message in unreplaced:
        expect(f"`{message}`" in page, f"{arguments.page} does not say '{message}'")
    # With the views of its operands, attention can: the cache is an operand.
    heads = lambda name: (name, 3, "(0, 0, 0)", "(past + t * 16 + 16, 65536, 65536)")
    attention = one(10, '["model.matmul", "model.scale", "model.mask", "model.softmax", "model.transpose", '
                    '"model.broadcast"] named "layers.self_attn.*"', [heads("k"), heads("v")], rank=3)
    with open(attention) as file:
        text = file.read().replace("-> (0, t * 16, 0)", "-> (t * 16, 0, 0)").replace(
            "-> (65536, t * 16 + 16, 65536)", "-> (t * 16 + 16, 65536, 65536)")
    plans = run([arguments.batonc, folder, "--schedule", write("attention.mlir", text), "--emit=event"]).stdout
    expect('event.call "mine"' in plans, "attention is not replaced")

    plan = path("plan.mlir")
    run([arguments.batonc, folder, "--emit=event", "-o", plan])
    one_plan = PLANS["merged"]
    refusals = [
        (folder, path("missing.mlir"), "cannot read"),
        (folder, write("empty.mlir", ""), "is empty"),
        (folder, write("text.mlir", "schedule everything\n"), "text.mlir:1:1"),
        (folder, write("other.mlir", "module {}\n"), "has neither a transform.named_sequence @model nor @plan"),
        (folder, write("takes.mlir", HEADER + "  transform.named_sequence @plan() {\n" + END), "takes one !transform.any_op"),
        (folder, write("unknown.mlir", HEADER + PLAN + "    transform.baton.faster %plan\n" + END), "baton.faster"),
        (folder, write("annotate.mlir", HEADER + PLAN + """    %phases = transform.baton.match in %plan
    transform.annotate %phases "distribution" : !transform.any_op
""" + END), "may not stand in a schedule"),
        (folder, write("deep.mlir", "module {" * 3000), "deep.mlir:1: nests more than 200 levels deep"),
        (folder, write("grids.mlir", HEADER + PLAN + one_plan.replace("{q,k}_rope", "{q_proj*,q_rope}") + END),
         "grids.mlir:5:5: phase 'layers.self_attn.q_rope' cannot be merged with 'layers.self_attn.q_proj+k_proj+v_proj': their grids differ"),
        # A task of the copy reads what all of its rows' tasks make.
        (folder, write("stale.mlir", HEADER + PLAN + one_plan.replace(
            "transform.baton.merge %ropes", 'transform.baton.merge %ropes\n    transform.baton.distribute %ropes "cyclic"') + END),
         "uses a handle invalidated"),
        (folder, write("cut.mlir", HEADER + PLAN + PLANS["split"].replace("%qkv dimension 1 at 1", "%qkv dimension 1 at 3") + END),
         "there are 3 tiles along coordinate 1, a cut before tile 3 leaves nothing"),
        (folder, write("symbol.mlir", HEADER + PLAN + PLANS["split"].replace("%qkv dimension 1", "%qkv dimension 0") + END),
         "differs from step to step"),
        (folder, write("name.mlir", replacing(body("silu"), "silu")), "the task library has a baton_task_silu"),
        (folder, write("width.mlir", replacing(body(columns=10))), "which no task before it writes"),
        (folder, write("before.mlir", replacing(body(low="t * 16 - 1"))), "reads @layers.mlp.gate_proj from -1 in dimension 0"),
        (folder, write("element.mlir", replacing(body(element="f16").replace(" : f32", " : f16"))), "holds 'f16', the value 'f32'"),
        (folder, write("arity.mlir", replacing(body(), ops='["model.mul"] named "layers.mlp.*"').replace(
            "#event.access<read @y", "#event.access<read @w, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (1, 1)>, #event.access<read @y").replace(
            "%y: memref", "%w: memref<?x?xf32, strided<[?, ?]>>, %y: memref")), "takes 4 arguments"),
        (plan, path("default.mlir"), "holds a plan, of which all is decided"),
    ]
    for model, schedule, message in refusals + unreplaced:
        result = run([arguments.batonc, model, f"--schedule={schedule}", "-o", path("none")], check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1
               and result.stderr.startswith("error: "),
               f"{os.path.basename(schedule)}: {result.returncode}, {result.stderr!r}, expected '{message}'")
        expect(not os.path.exists(path("none")), f"{schedule}: an executable is left")
    result = run([arguments.batonc, folder, f"--schedule={path('default.mlir')}",
                  "--disable-pass=norm-rewrites", "-o", path("none")], check=False)
    expect(result.returncode == 1 and "change it there" in result.stderr, result.stderr)
    print(f"{len(schedules)} schedules, 1 body, {len(refusals + unreplaced) + 1} refusals")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--page", required=True, help="docs/schedules.md")
    parser.add_argument("--transposed", required=True, help="a checkpoint of GPT-2")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))


if __name__ == "__main__":
    main()
