"""Adapters that train on several ranks, in stages, and with values computed again.

Losses of four steps and the pairs are those of one rank, to 1e-5, on every mesh, and the
same bits where values are computed again. A run goes on with any number of ranks.
"""

import argparse
import os
import random

import programs
from programs import expect, quickly, run
from training import lines_of, read_bytes, read_tensors, write_tokens

# Flags, and how many microbatches a step has.
MESHES = [(["--mesh=dp=2"], 1), (["--mesh=tp=2"], 1), (["--mesh=dp=2", "--zero=1"], 1),
          (["--mesh=dp=2", "--zero=3"], 1), (["--mesh=dp=2,tp=2", "--sequence-parallel"], 1),
          (["--mesh=pp=2", "--microbatches=2"], 2), (["--mesh=pp=3", "--pipeline=zb-h1", "--microbatches=2"], 2)]
BITS = [["--recompute=selective"], ["--recompute=full"]]
WEIGHTS = "adapter_model.safetensors"


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    generator = random.Random(1)
    write_tokens(path("tokens.u16"), (generator.randrange(131) for _ in range(1000)))

    def compile_program(name, flags):
        run([arguments.batonc, arguments.folder, "--mode=train", f"--adapter={arguments.adapter}", "--dtype=f32",
             "--quiet", *quickly([]), *flags, "-o", path(name)])

    def train(program, out, *flags):
        result = run([path(program), "train", "--data", path("tokens.u16"), "--seq", 16, "--batch", 4, "--lr", 1e-2,
                      "--out", path(out), "--quiet", "--workers", 4, *flags])
        return lines_of(result.stdout, "tokens_per_s")

    def begin(program, out, *flags, steps=4):
        return train(program, out, "--weights", arguments.folder, "--adapter", arguments.adapter, "--steps", steps,
                     *flags)

    compile_program("one", [])
    expected, pairs = {}, {}
    for count in (1, 2):
        expected[count] = begin("one", f"one-{count}", "--accumulate", count)
        pairs[count] = read_tensors(path(f"one-{count}/step-4/{WEIGHTS}"))

    def compare(name, lines, folder, count):
        for line, other in zip(lines, expected[count], strict=True):
            for key in ("loss", "grad_norm"):
                expect(abs(line[key] / other[key] - 1) < 1e-5, f"{name}: {line}, one rank has {other}")
        worst = max(abs(a - b) for tensor, (_, _, values) in read_tensors(path(f"{folder}/step-4/{WEIGHTS}")).items()
                    for a, b in zip(values, pairs[count][tensor][2], strict=True))
        # AdamW makes steps of about the learning rate, whatever the size of a gradient.
        expect(worst < 2e-4, f"{name}: pairs differ by {worst:.1e}")
        print(f"{name}: losses {lines[0]['loss']:.5f} to {lines[-1]['loss']:.5f}, pairs differ by {worst:.1e}")

    for i, (flags, count) in enumerate(MESHES):
        compile_program("mesh", flags)
        compare(" ".join(flags), begin("mesh", f"mesh-{i}"), f"mesh-{i}", count)
    for i, flags in enumerate(BITS):
        compile_program("again", flags)
        expect(begin("again", f"again-{i}") == expected[1], f"{flags}: other losses")
        expect(read_bytes(path(f"again-{i}/step-4/{WEIGHTS}")) == read_bytes(path(f"one-1/step-4/{WEIGHTS}")),
               f"{flags}: other pairs")

    compile_program("two", MESHES[0][0])
    begin("two", "moved", steps=2)
    lines = train("one", "moved", "--resume", "--steps", 4)
    # The learning rate's schedule is that of more steps.
    expect([line["step"] for line in lines] == [3, 4] and set(read_tensors(path(f"moved/step-4/{WEIGHTS}"))) ==
           set(pairs[1]), f"a run that moves to one rank: {lines}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    parser.add_argument("adapter")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
