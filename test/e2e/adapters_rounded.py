"""Adapters beside frozen linears that round their inputs and the gradients of their results to BF16
(--activations=bf16-amx).

A first step's loss and gradients are near those of inputs in F32, losses of some steps stay near, and bits
are the same for other workers, CPUs, and where values are computed again; losses of ranks along dp are those of
one, and stages round, too. Plans call the bodies by AMX's sums for all frozen linears, the output projection among them. What
trains none, and other sums, is refused.
"""

import argparse
import os
import random

import programs
from programs import expect, quickly, run
from training import lines_of, read_bytes, read_tensors, write_tokens

FLAG = "--activations=bf16-amx"
MIXTURE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden/olmoe-top3")
WEIGHTS = "adapter_model.safetensors"


def norm(values):
    return sum(value * value for value in values) ** 0.5


def check_plan(batonc, folder):
    plan = run([batonc, folder, "--mode=train", "--adapter=lora:r=4", FLAG, "--emit=event"]).stdout
    for body in ("amx_linear_bf16", "amx_linear_transposed_bf16", "round_rows"):
        expect(f'event.call "{body}"' in plan, f"no task calls {body}")
    for body in ("linear_bf16", "linear_transposed_bf16"):
        expect(f'event.call "{body}"' not in plan, f"a task calls {body}: a frozen linear does not round")


def check_refusals(batonc, folder, path):
    lora = ["--mode=train", "--adapter=lora:r=4"]
    for flags, words in (
            (["--mode=train", FLAG], "for --adapter=lora"),
            ([*lora, FLAG, MIXTURE], "adapters of mixtures train with inputs in F32"),
            ([*lora, "--activations=bf16-avx512"], "bf16-amx trains"),
            ([*lora, "--activations=bf16", "--target-cpu=x86-64-v3"], "has them on any CPU, slowly"),
            ([*lora, FLAG, "--target=cuda:emulated"], "is not built yet"),
            ([*lora, FLAG, "--dtype=f32"], "no weight that linears of")):
        own = [] if MIXTURE in flags else [folder]
        result = run([batonc, *own, *flags, "-o", path("none")], check=False)
        expect(result.returncode == 1 and words in result.stderr, f"{flags}: {result}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder = arguments.folder
    generator = random.Random(1)
    write_tokens(path("tokens.u16"), (generator.randrange(97) for _ in range(1000)))

    def train(name, *flags, workers=2, steps=5, more=()):
        adapter = [] if "dora" in name else ["--adapter=lora:r=4"]
        run([arguments.batonc, folder, "--mode=train", *adapter, "--quiet", *quickly([]), *flags, "-o", path(name)])
        result = run([path(name), "train", "--weights", folder, "--data", path("tokens.u16"), "--seq", 16, "--batch", 3,
                      "--lr", 1e-2, "--init-seed", 7, "--steps", steps, "--out", path(f"{name}-{workers}"), "--quiet",
                      "--workers", workers, *more])
        return lines_of(result.stdout, "tokens_per_s"), path(f"{name}-{workers}/step-{steps}/{WEIGHTS}")

    def gradients(name, *flags):
        train(name, *flags, steps=1, more=("--gradients", path(f"{name}.safetensors")))
        return {tensor: values for tensor, (_, _, values) in read_tensors(path(f"{name}.safetensors")).items()}

    found, wanted = gradients("rounded-once", FLAG), gradients("exact-once")
    expect(set(found) == set(wanted), f"gradients of {sorted(found)}, of inputs in F32 of {sorted(wanted)}")
    # Those of A begin as zeros, as B does.
    off = max(norm([a - b for a, b in zip(found[name], wanted[name], strict=True)]) / norm(wanted[name])
              for name in wanted if norm(wanted[name]))
    print(f"a first step's gradients are off by {off:.1e} of a tensor's norm at most")
    expect(0 < off < 0.03, f"gradients are off by {off}")

    exact, exact_pairs = train("exact")
    lines, pairs = train("rounded", FLAG)
    for line, other in zip(lines, exact, strict=True):
        off = abs(line["loss"] / other["loss"] - 1)
        expect(off < 0.01, f"step {line['step']}: the loss is {line['loss']}, of inputs in F32 {other['loss']}")
    expect(read_bytes(pairs) != read_bytes(exact_pairs), "inputs in BF16 train the same pairs as inputs in F32")
    print(f"losses {lines[0]['loss']:.5f} to {lines[-1]['loss']:.5f}, of inputs in F32 {exact[-1]['loss']:.5f}")

    for workers in (1, 3):
        again, bytes_of = train("rounded", FLAG, workers=workers)
        expect(again == lines and read_bytes(bytes_of) == read_bytes(pairs), f"{workers} workers: other bits")
    for name, flags in (("v3", ["--target-cpu=x86-64-v3"]), ("selective", ["--recompute=selective"]),
                        ("full", ["--recompute=full"])):
        again, bytes_of = train(name, FLAG, *flags)
        expect(again == lines and read_bytes(bytes_of) == read_bytes(pairs), f"{flags}: other bits")
    again, _ = train("mesh", FLAG, "--mesh=dp=3", workers=3)
    for line, other in zip(again, lines, strict=True):
        # Sums in another order are now and then rounded to other inputs.
        near = 1e-5 if line["step"] == 1 else 2e-3
        expect(abs(line["loss"] / other["loss"] - 1) < near, f"dp=3: {line}, one rank has {other}")
    # Stages' steps are of other sequences.
    (again, _), (other, _) = (train(name, *flags, "--mesh=pp=2", steps=1)
                              for name, flags in (("stages", [FLAG]), ("exact-stages", [])))
    expect(0 < abs(again[0]["loss"] / other[0]["loss"] - 1) < 0.01, f"pp=2: {again}, of inputs in F32 {other}")
    print("bits are the same for other workers, CPUs, and with --recompute; losses of ranks are one's")
    for name, flags in (("dora", ["--adapter=lora:r=4,dora"]), ("tp", ["--mesh=tp=2"])):
        (again, _), (other, _) = (train(f"{name}-{i}", *flags, *more, steps=2) for i, more in enumerate(([FLAG], [])))
        for line, near in zip(again, other, strict=True):
            expect(0 < abs(line["loss"] / near["loss"] - 1) < 0.01, f"{flags}: {line}, of inputs in F32 {near}")
    check_plan(arguments.batonc, folder)
    check_refusals(arguments.batonc, folder, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
