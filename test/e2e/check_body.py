"""Task bodies against what they state: `batonc check-body`.

Bodies that are right pass; of each kind of fault one is planted in them, and the check
names the body, the argument, the task and the element.

With --more: no other body of the file is at fault; other seeds; all right
bodies as CUDA.
"""

import argparse
import json
import os
import re

import programs
from programs import expect, run

LOOP = "      scf.for %c = %c0 to %columns step %c1 {\n"
STORE = "        memref.store %out, %y[%r, %c] : !matrix\n"
LOAD = "        %v = memref.load %x[%r, %c] : !matrix\n        %weight = memref.load %w[%c] : !vector\n        %normal"

# What is changed in inputs/bodies_that_train.mlir, once; the body that is at fault, and what is said of it.
REGIONS = {
    "writes outside": (STORE, "        %next_row = arith.addi %r, %c1 : index\n"
                       "        memref.store %out, %y[%r, %c] : !matrix\n"
                       "        memref.store %out, %y[%next_row, %c] : !matrix\n",
                       "rms", r"argument 2, @y: writes @y\(\d+, \d+\), and states to write \[\d+\.\.\d+, 0\.\.\d+\]; "
                       r"task \(\d+\) with rows \d+, past \d+, outputs \d+, @x \d+ x (\d+), @w \1, @y \d+ x \1"),
    "unwritten": (LOOP + LOAD, LOOP.replace("= %c0", "= %c1") + LOAD,
                  "rms", r"argument 2, @y: does not write @y\(\d+, 0\), and states to write all of \["),
    "shifted reads": (LOAD, LOAD.replace("%x[%r, %c]", "%x[%shifted_row, %c]").replace(
        "        %v", "        %three = arith.constant 3 : index\n"
        "        %shifted_row = arith.addi %r, %three : index\n        %v", 1),
                      "rms", r"argument 0, @x: reads @x\(\d+, \d+\), on which @y\(\d+, \d+\) depends, "
                      r"and states to read \["),
    "old contents": ("    linalg.fill ins(%zero : f32) outs(%dw : !vector)\n", "",
                     "rms_weights", r"argument 3, @dw: @dw\(\d+\) depends on what lay in \[0\.\.\d+\] before"),
    "overlap": ("(t)[rows, past, outputs] -> (t * 4, 0)\n                                     to "
                "(t)[rows, past, outputs] -> (t * 4 + 4, 65536)>]\n      attributes",
                "(t)[rows, past, outputs] -> (t * 4, 0)\n                                     to "
                "(t)[rows, past, outputs] -> (t * 4 + 5, 65536)>]\n      attributes",
                "rms", r"argument 2, @y: tasks \(0\) and \(1\) both write @y\(4, 0\)"),
    "crash": (LOAD, LOAD.replace("%x[%r, %c]", "%x[%far, %c]").replace(
        "        %v", "        %far = arith.constant 1000000 : index\n        %v", 1),
              "rms", r"ends with signal 11 \(Segmentation fault\) at @x\(\d+, \d+\); states to touch @x\[0\.\."),
}


TWO = "      %twice = arith.mulf %positive, %two : f32\n"
RESULTS = """write @{}, (t)[rows, past, outputs] -> (t * 16, 0)
                                         to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<write @{}, (t)"""
NORMAL = "        %normal = arith.mulf %v, %scale : f32\n        %product = arith.mulf %normal, %d : f32\n"

# The same of adjoints: the file, the change, the body, the check, what is said.
ADJOINTS = {
    "factor 2 missing": ("own-body.mlir", TWO, TWO.replace("%two :", "%one :").replace(
        "      %twice", "      %one = arith.constant 1.0 : f32\n      %twice"), "relu_squared_times",
                         "adjoint_inputs", r"@relu_squared_times_adjoint: argument 3, @dgate: the gradient of "
                         r"@gate\(\d+, \d+\) is \S+, by differences \S+; rows .* @gate 0\.5, @up \S+e-"),
    "weights": ("bodies_that_train.mlir", NORMAL, NORMAL.replace("%normal, %d", "%v, %d"), "rms", "adjoint_weights",
                r"@rms_weights: argument 3, @dw: the gradient of @w\(\d+\) is"),
    "order of results": ("own-body.mlir", RESULTS.format("dgate", "dup"), RESULTS.format("dup", "dgate"), "relu_squared_times", "adjoint_inputs",
                         r"makes gradients in another order than its body reads the operands"),
    "operands": ("bodies_that_train.mlir", "adjoint_inputs = @rms_adjoint", "adjoint_inputs = @silu_times", "rms",
                 "adjoint_inputs", r"@silu_times: reads 2 values, expected 3: what @rms reads, then the gradient"),
    "missing": ("bodies_that_train.mlir", "adjoint_weights = @rms_weights", "adjoint_weights = @rms_weight", "rms",
                "adjoint_weights", r"there is no event.body @rms_weight$"),
}

# A triangle wave: kinks next to many elements.
ELEMENTWISE = """    linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
        ins({ins} : {types}) outs({out} : !matrix) {{
    ^bb0({arguments}, %old: f32):
      %steep = arith.constant 200.0 : f32
      %half = arith.constant 0.5 : f32
      %zero = arith.constant 0.0 : f32
      %u = arith.mulf %x, %steep : f32
      %low = math.floor %u : f32
      %part = arith.subf %u, %low : f32
      %middle = arith.subf %part, %half : f32
{code}
    }}
"""
WAVE = """!matrix = memref<?x?xf32, strided<[?, ?]>>
#each = affine_map<(i, j) -> (i, j)>
event.body @wave grid ()[rows, past, outputs] -> (rows)
    accesses [BOX<read @a>, BOX<write @y>] attributes {adjoint_inputs = @back} {
  ^bb0(%a: !matrix, %y: !matrix):
""" + ELEMENTWISE.format(
    maps="#each, #each", ins="%a", types="!matrix", out="%y", arguments="%x: f32",
    code="      %r = math.absf %middle : f32\n      linalg.yield %r : f32") + """}
event.body @back grid ()[rows, past, outputs] -> (rows)
    accesses [BOX<read @a>, BOX<read @dy>, BOX<write @g>] {
  ^bb0(%a: !matrix, %dy: !matrix, %g: !matrix):
""" + ELEMENTWISE.format(
    maps="#each, #each, #each", ins="%a, %dy", types="!matrix, !matrix", out="%g", arguments="%x: f32, %d: f32",
    code="""      %up = arith.cmpf ogt, %middle, %zero : f32
      %down = arith.negf %steep : f32
      %slope = arith.select %up, %steep, %down : f32
      %r = arith.mulf %slope, %d : f32
      linalg.yield %r : f32""") + "}\n"


# A loop that says to be parallel, and stores to one element of a row from all of its columns:
# the CPU's last one stays, on a device any.
RACE = """!matrix = memref<?x?xf32, strided<[?, ?]>>
event.body @race grid ()[rows, past, outputs] -> (rows) accesses [BOX<read @a>, BOX<write @y>] {
  ^bb0(%a: !matrix, %y: !matrix):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %columns = memref.dim %y, %c1 : !matrix
    linalg.copy ins(%a : !matrix) outs(%y : !matrix)
    scf.parallel (%c) = (%c0) to (%columns) step (%c1) {
      %value = memref.load %a[%c0, %c] : !matrix
      memref.store %value, %y[%c0, %c0] : !matrix
    }
}
"""


def boxes(text):
    """BOX<read @a> as an access to a row."""
    return re.sub(r"BOX<(\w+ @\w+)>", r"#event.access<\1, (t)[rows, past, outputs] -> (t, 0) to "
                  "(t)[rows, past, outputs] -> (t + 1, 65536)>", text)


class Bench:
    def __init__(self, arguments, scratch):
        self.batonc, self.scratch, self.more = arguments.batonc, scratch, arguments.more
        here = os.path.dirname(os.path.abspath(__file__))
        self.right = {os.path.basename(path): path for path in (
            os.path.join(here, "inputs", "bodies_that_train.mlir"), os.path.join(arguments.examples, "schedules", "own-body.mlir"),
            os.path.join(arguments.examples, "schedules", "rope-append.mlir"))}

    def check(self, path, *flags, environment=None):
        """The exit status, and what is said of each body by each check."""
        result = run([self.batonc, "check-body", path, "--json", *flags], check=False, env=environment)
        expect(result.returncode in (0, 1) and result.stdout and not result.stderr, f"{path}: {result}")
        return result.returncode, json.loads(result.stdout)

    def passes(self, path, *flags):
        status, verdicts = self.check(path, *flags)
        expect(status == 0 and all(verdict["verdict"] == "ok" for verdict in verdicts), f"{path}: {verdicts}")
        return verdicts

    def write(self, text):
        path = os.path.join(self.scratch, "planted.mlir")
        with open(path, "w") as file:
            file.write(text)
        return path

    def finds(self, name, file, old, new, body, check, pattern, *flags):
        with open(self.right[file]) as right:
            text = right.read()
        expect(text.count(old) == 1, f"{name}: found {text.count(old)} times")
        path = self.write(text.replace(old, new))
        status, verdicts = self.check(path, *flags, *([] if self.more else [f"--body={body}"]))
        faults = [verdict for verdict in verdicts if verdict["verdict"] == "fault"]
        expect(status == 1 and any(fault["body"] == body and fault["check"] == check
                                   and re.search(pattern, fault["text"]) for fault in faults),
               f"{name}: {faults}, expected {pattern}")
        expect(all(fault["body"] == body for fault in faults), f"{name}: others at fault: {faults}")


def test(arguments, scratch):
    bench = Bench(arguments, scratch)
    for path in bench.right.values():
        bench.passes(path, "--seed", 2 if arguments.more else 1)
    for name, (old, new, body, pattern) in REGIONS.items():
        bench.finds(name, "bodies_that_train.mlir", old, new, body, "regions", pattern)
    for name, planted in ADJOINTS.items():
        bench.finds(name, *planted)

    # Kinks are no faults. A gradient of another name is the one that there may be.
    wave = bench.write(boxes(WAVE))
    for seed in range(2, 9) if arguments.more else (1,):
        said = [verdict["text"] for verdict in bench.passes(wave, "--seed", seed) if "adjoint" in verdict["check"]]
        expect(re.search(r"[1-9]\d* of \d+ elements left out, next to which the results have a kink", said[0]),
               f"kinks: {said}")

    for path in bench.right.values() if arguments.more else [bench.right["rope-append.mlir"]]:
        checks = [verdict["check"] for verdict in bench.passes(path, "--target=cuda:emulated")]
        expect(checks.count("cuda") == checks.count("regions"), f"{path}: {checks}")
    status, verdicts = bench.check(bench.write(boxes(RACE)), "--target=cuda:emulated")
    expect(status == 1 and [verdict["verdict"] for verdict in verdicts] == ["ok", "fault"] and re.search(
        r"argument 1, @y: @y\(\d+, 0\) is \S+ on the CPU, \S+ as CUDA C\+\+; task \(\d+\) with rows",
        verdicts[1]["text"]), f"a race: {verdicts}")
    status, verdicts = bench.check(bench.right["rope-append.mlir"], "--target=cuda:emulated",
                                   environment=dict(os.environ, BATON_CLANGXX="/nowhere/clang++"))
    expect(status == 0 and verdicts[1]["verdict"] == "skipped" and "/nowhere/clang++" in verdicts[1]["text"],
           f"without a compiler: {verdicts}")
    print(f"{1 + len(REGIONS) + len(ADJOINTS)} faults are found")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--more", action="store_true", help="all bodies of a file, other seeds, CUDA")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
