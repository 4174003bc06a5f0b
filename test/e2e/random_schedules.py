"""Random schedules: each is refused in one line, or changes no bit.

Scripts of random ops, patterns and parameters are tried on a checkpoint. One
that compiles has been proved; its program must then give the default schedule's
bits for several numbers of workers and chunks of the prompt (or, where it leaves
attention in primitive ops, which sum in another order, pass the golden check),
and some of them run under the thread sanitizer. A seed and a number name a case:
`--seed S --first N --count 1 --keep FILE` writes it down.
"""

import argparse
import os
import random

import programs
from programs import QUICK, Program, expect, run

# Patterns that fit some names in any family, from narrow to all.
PATTERNS = ["*", "layers.*", "layers.self_attn.*", "layers.mlp.*", "*_rope", "*_state",
            "*.{q,k}_rope", "*.{k,v}_state", "*_proj*", "*.q_proj*", "*.residual", "*attention*",
            "*norm*", "lm_head", "embed*", "{embed_tokens,rotary_emb}", "*.{k_rope,k_state}",
            "*_rope{,.2}", "*.{q,k}_norm", "h.*", "h.attn.*", "h.mlp.*", "*.{gate,gate_up,down_proj*}"]
# What most often has two coordinates, and what may stand together in one grid.
WIDE = ["*_proj*", "*.q_proj*", "*.gate_up*", "*.mlp.down_proj*", "lm_head", "*.c_attn*", "*_state"]
ALIKE = ["*.{q,k}_rope", "*.{k,v}_state", "*.{q,k}_norm", "{embed_tokens,rotary_emb}", "*rope*", "*.{gate,up}_proj"]
FUSED = ["softmax", "gate", "mul", "activate", "add"]
NORMS = '["model.rms_norm", "model.layer_norm"]'
ROWS = ["rms_norm", "layer_norm", "add", "mul", "activate", "rope", "rope_table", "kv_append",
        "embedding", "attention", "softmax", "gate", "matmul", "scale"]


class Script:
    """A random schedule; `exact` when attention stays one task."""

    def __init__(self, pick):
        self.pick, self.lines, self.values, self.exact = pick, [], 0, True
        text = "module attributes {transform.with_named_sequence} {\n"
        for name, write in (("model", self.model), ("plan", self.plan)):
            if pick.random() < 0.8:
                self.lines = []
                write()
                text += (f"  transform.named_sequence @{name}(%root: !transform.any_op {{transform.readonly}}) {{\n"
                         + "".join(f"    {line}\n" for line in self.lines) + "    transform.yield\n  }\n")
        self.text = text + "}\n"

    def value(self):
        self.values += 1
        return f"%v{self.values}"

    def match(self, kinds="", everything=0.6, patterns=PATTERNS):
        name = self.value()
        if self.pick.random() < 0.1:
            patterns = PATTERNS
        named = "" if self.pick.random() < everything else f' named "{self.pick.choice(patterns)}"'
        self.lines.append(f"{name} = transform.baton.match {kinds}{named} in %root optional")
        return name

    def model(self):
        pick = self.pick
        self.exact = pick.random() < 0.85
        decisions = []
        for kind in FUSED:
            if kind == "softmax":
                if self.exact:
                    decisions.append(lambda: self.fuse("softmax", everything=1))
            elif pick.random() < 0.7:
                decisions.append(lambda kind=kind: self.fuse(kind))
        if pick.random() < 0.7:
            decisions.append(lambda: self.lines.append(
                f'transform.baton.group {self.match(chr(91) + chr(34) + "model.linear" + chr(34) + chr(93))} optional'))
        if pick.random() < 0.7:
            decisions.append(lambda: self.lines.append(f"transform.baton.recompute {self.match(NORMS)} optional"))
        pick.shuffle(decisions)
        for decide in decisions:
            decide()
        for _ in range(pick.randrange(6)):
            if pick.random() < 0.4:
                kind = pick.choice(["linear", "gated_linear"])
                sizes = [pick.choice([1, 2, 5, 12, 48, 49, 4096]), 16 * pick.choice([1, 2, 3, 4, 7, 4096])]
            else:
                kind, sizes = pick.choice(ROWS), [pick.choice([1, 2, 3, 7, 16, 33, 4096])]
            tiled = self.match(f'["model.{kind}"]')
            self.lines.append(f"transform.baton.tile {tiled} {sizes} optional")

    def fuse(self, kind, everything=0.6):
        ops = self.match(f'["model.{kind}"]', everything)
        self.lines.append(f"transform.baton.fuse {ops} optional")

    def plan(self):
        pick = self.pick
        for _ in range(pick.randrange(1, 5)):
            kind = pick.choice(["merge", "split", "distribute", "events", "events", "prefetch"])
            granularity = pick.choice(['"per_tile"', '"per_phase"', "coordinates [0]",
                                       "coordinates [1]", "coordinates [0, 1]"])
            patterns = (ALIKE if kind == "merge" else
                        WIDE if kind == "split" or (kind == "events" and "1" in granularity) else None)
            phases = self.match(everything=0, patterns=patterns) if patterns else self.match(everything=0.2)
            if kind == "merge":
                self.lines.append(f"transform.baton.merge {phases}")
            elif kind == "split":
                front, back = self.value(), self.value()
                self.lines.append(f"{front}, {back} = transform.baton.split {phases} dimension "
                                  f"{pick.choice([1] * 9 + [0])} at {pick.choice([1] * 6 + [2, 3])}")
                if pick.random() < 0.3:
                    self.lines.append(f'transform.baton.distribute {pick.choice([front, back])} "cyclic"')
            elif kind == "distribute":
                self.lines.append(f'transform.baton.distribute {phases} "{pick.choice(["blocked", "cyclic", "by_work"])}"')
            elif kind == "prefetch":
                self.lines.append(f"transform.baton.prefetch {phases} {pick.choice([0, 64, 100, 4096, 1 << 20])} optional")
            else:
                self.lines.append(f"transform.baton.events {phases} {granularity}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder, case = arguments.folder, programs.golden(arguments.folder)

    def bits(program, *flags):
        return program.logits(case["tokens"], path("logits.npy"), *flags)

    expected = bits(Program(arguments.batonc, folder, path("usual")))
    ran = refused = sanitized = 0
    for number in range(arguments.first, arguments.first + arguments.count):
        script = Script(random.Random(f"{arguments.seed}/{number}"))
        name = f"--seed {arguments.seed} --first {number}"
        for target in [path("schedule.mlir")] + ([arguments.keep] if arguments.keep else []):
            with open(target, "w") as file:
                file.write(script.text)
        # Every eighth is watched by the thread sanitizer, which needs longer.
        watched = number % 8 == 0
        command = [arguments.batonc, folder, f"--schedule={path('schedule.mlir')}", "-o",
                   path("program"), "--quiet", QUICK] + (["--sanitize=thread"] if watched else [])
        result = run(command, check=False)
        if result.returncode:
            expect(result.returncode == 1 and result.stderr.count("\n") == 1
                   and result.stderr.startswith("error: "),
                   f"{name}: {result.returncode}, {result.stderr!r}")
            if arguments.verbose:
                print(number, result.stderr, end="")
            refused += 1
            continue
        program = Program.__new__(Program)
        program.path, program.weights = path("program"), folder
        for workers, chunk in ((3, 7),) if watched else ((1, 256), (3, 7)):
            found = bits(program, "--workers", workers, "--prefill-chunk", chunk)
            if script.exact:
                expect(found == expected, f"{name}: other bits, {workers} workers, chunks of {chunk}")
            else:
                programs.check(path("logits.npy"), folder)
        ran += 1
        sanitized += watched
    expect(ran * 4 >= arguments.count, f"only {ran} of {arguments.count} schedules compile: this tests little")
    print(f"{ran} schedules ran ({sanitized} sanitized), {refused} refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--keep", help="write each schedule here before it is tried")
    parser.add_argument("--verbose", action="store_true", help="say why schedules are refused")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))


if __name__ == "__main__":
    main()
