"""Training in 16 bits with bodies on tensor cores, emulated.

Against the CPU's, of which products round the same operands and attention none:
gradients of every tensor lie within two units in the type's last place, the loss within
a sixteenth of that, and losses fall alike. (A last place of F32 moves some results
across a tie of the next product's rounding, a whole unit of the type, and these move
others: a change of 2^-22 in one norm's weight moves the CPU's own gradients by a quarter
of a unit in BF16 and a whole one in F16.) Any number of workers and order of threads
makes the same bits. In F16 a scale that is too large is found and halved. With
--sanitize ThreadSanitizer has nothing to report.
"""

import argparse
import math
import os
import shutil

import programs
from programs import QUICK, expect, run
from sanitize import ENVIRONMENT
from train_16bit import BOUND
from training import lines_of, read_bytes, read_tensors, write_tokens


class Case:
    def __init__(self, arguments, scratch):
        self.arguments, self.scratch = arguments, scratch
        write_tokens(self.path("tokens.u16"), ((7 * i + i // 13) % 97 for i in range(1024)))

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, name, *flags):
        run([self.arguments.batonc, self.arguments.folder, "--mode=train", QUICK, "--quiet",
             f"--dtype={self.arguments.dtype}", "-o", self.path(name), *flags])

    def train(self, program, *flags, steps=1, seed=0, gradients=None):
        shutil.rmtree(self.path("run"), ignore_errors=True)
        out = ["--gradients", self.path(gradients)] if gradients else []
        result = run([self.path(program), "train", "--weights", self.arguments.folder,
                      "--data", self.path("tokens.u16"), "--batch", 3, "--seq", 20, "--steps", steps,
                      "--lr", 1e-3, "--lr-schedule", "constant", "--validation-fraction", 0, "--quiet",
                      "--out", self.path("run"), *out, *flags],
                     env=dict(ENVIRONMENT, BATON_EMULATION_SEED=str(seed)))
        return lines_of(result.stdout)

    def compare(self, name, line, expected, bound):
        expect(abs(line["loss"] / expected["loss"] - 1) < bound / 16,
               f"{name}: the loss is {line['loss']}, the CPU's {expected['loss']}")
        worst = 0.0
        found = read_tensors(self.path(f"{name}.gradients"))
        for tensor, (_, _, values) in read_tensors(self.path("host.gradients")).items():
            size = math.sqrt(sum(value * value for value in values))
            error = math.sqrt(sum((one - other) ** 2 for one, other
                                  in zip(values, found[tensor][2], strict=True)))
            expect(error < bound * size, f"{name}: {tensor} is off by {error / size:.2e}")
            worst = max(worst, error / size)
        print(f"{name}: worst error {worst:.2e}")
        return worst


def test(arguments, scratch):
    case = Case(arguments, scratch)
    bound = BOUND[arguments.dtype]
    target = f"--target={arguments.target}"
    case.compile("host")
    case.compile("tuned", target)
    host = case.train("host", gradients="host.gradients")[0]
    line = case.train("tuned", "--workers", 1, gradients="tuned.gradients")[0]
    worst = case.compare("tuned", line, host, bound)
    expect(worst > bound / 64, "nothing is rounded")
    again = case.train("tuned", "--workers", 3, seed=7, gradients="again.gradients")[0]
    expect(line["loss"] == again["loss"]
           and read_bytes(case.path("tuned.gradients")) == read_bytes(case.path("again.gradients")),
           "3 workers: another loss or gradients")

    first = host["loss"]
    for one, other in zip(case.train("host", steps=6), case.train("tuned", steps=6), strict=True):
        expect(abs(one["loss"] - other["loss"]) < 0.02 * first,
               f"step {one['step']}: the loss is {other['loss']}, the CPU's {one['loss']}")
    expect(other["loss"] < first, f"losses do not fall: {first} to {other['loss']}")
    print(f"6 steps: {first:.3f} to {other['loss']:.3f}, the CPU's to {one['loss']:.3f}")

    if arguments.dtype == "f16":
        lines = case.train("tuned", "--loss-scale", 2.0**32, steps=2)
        expect([line.get("skipped", False) for line in lines] == [True, True]
               and [line["loss_scale"] for line in lines] == [2.0**32, 2.0**31],
               f"a scale that is too large: {lines}")
    if not arguments.sanitize:
        return
    case.compile("thread", target, "--sanitize=thread")
    case.compare("thread", case.train("thread", "--workers", 3, seed=5, gradients="thread.gradients")[0],
                 host, bound)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
