"""Task bodies against what they state: `batonc check-body`.

Bodies that are right pass; of each kind of fault one is planted in them, and the check
names the body, the argument, the task and the element.
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
              "rms", r"ends with signal 11 \(Segmentation fault\) at @x\(\d+, \d+\); task \(0\) with rows"),
}


class Bench:
    def __init__(self, arguments, scratch):
        self.batonc, self.scratch = arguments.batonc, scratch
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs", "bodies_that_train.mlir")) as file:
            self.text = file.read()

    def check(self, path, *flags):
        """The exit status, and what is said of each body by each check."""
        result = run([self.batonc, "check-body", path, "--json", *flags], check=False)
        expect(result.returncode in (0, 1) and result.stdout and not result.stderr, f"{path}: {result}")
        return result.returncode, json.loads(result.stdout)

    def passes(self, path, *flags):
        status, verdicts = self.check(path, *flags)
        expect(status == 0 and all(verdict["verdict"] == "ok" for verdict in verdicts), f"{path}: {verdicts}")
        return verdicts

    def finds(self, name, old, new, body, check, pattern, *flags):
        expect(self.text.count(old) == 1, f"{name}: found {self.text.count(old)} times")
        path = os.path.join(self.scratch, "planted.mlir")
        with open(path, "w") as file:
            file.write(self.text.replace(old, new))
        status, verdicts = self.check(path, *flags)
        faults = [verdict for verdict in verdicts if verdict["verdict"] == "fault"]
        expect(status == 1 and any(fault["body"] == body and fault["check"] == check
                                   and re.search(pattern, fault["text"]) for fault in faults),
               f"{name}: {faults}, expected {pattern}")
        expect(all(fault["body"] == body for fault in faults), f"{name}: others at fault: {faults}")


def test(arguments, scratch):
    bench = Bench(arguments, scratch)
    here = os.path.dirname(os.path.abspath(__file__))
    right = [os.path.join(here, "inputs", "bodies_that_train.mlir"),
             *(os.path.join(arguments.examples, "schedules", name) for name in ("own-body.mlir", "rope-append.mlir"))]
    for path in right:
        for seed in (1, 2):
            bench.passes(path, "--seed", seed)
    for name, (old, new, body, pattern) in REGIONS.items():
        bench.finds(name, old, new, body, "regions", pattern)
    print(f"{len(REGIONS)} faults are found")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--examples", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
