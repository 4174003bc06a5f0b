"""Biases that correct routers' choices, moved by --router-bias-update and no loss.

Of each step --gradients has, in the place of a bias's gradient, how many rows each
expert had: in the first step as many as PyTorch's routers send there. Each step moves a
bias by the rate, up where its expert had fewer rows than the mean and down where it had
more, whatever clips and scales gradients. Rows are counted over all microbatches and
all ranks, so that a mesh moves biases as one rank does; the norm of gradients leaves
counts out. The bits are those of any number of workers, of a run that validates, and of one
that was resumed. Without the flag biases stay as they are. With --brief: on two meshes, in F32 and
nothing computed again.
"""

import argparse
import json
import os
import random
import struct

import programs
from data_parallel import LENGTH, Trainer, same
from programs import expect, run
from training import Golden, lines_of, read_bytes, read_tensors, write_tokens

RATE = 0.05
FLAG = f"--router-bias-update={RATE}"
SUFFIX = ".e_score_correction_bias"
MESHES = (("dp=2", 0), ("dp=2", 1), ("dp=2", 3), ("ep=2", 0), ("tp=2", 0),
          ("ep=2", 0, "--expert-parallel=all-to-all"), ("dp=2,ep=2", 1, "--expert-parallel=all-to-all"),
          ("pp=2", 0, "--pipeline=1f1b", "--microbatches=4"),
          ("dp=2,pp=2", 2, "--pipeline=zb-h1", "--microbatches=4"))


def single(value):
    """In F32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def biases(path):
    return {name: values for name, (_, _, values) in read_tensors(path).items() if name.endswith(SUFFIX)}


def moved(values, loads):
    mean = sum(loads) / len(loads)
    return tuple(single(bias + single(RATE) * ((load < mean) - (load > mean)))
                 for bias, load in zip(values, loads, strict=True))


def check_step(what, before, loads, after, rows):
    expect(before.keys() == loads.keys() == after.keys() and before, f"{what}: {before.keys()}, {loads.keys()}")
    for name, values in before.items():
        counts = loads[name]
        expect(all(count == int(count) and count >= 0 for count in counts) and sum(counts) == rows,
               f"{what}: {name} counts {counts}, of {rows} choices")
        wanted = moved(values, counts)
        expect(after[name] == wanted, f"{what}: {name} is {after[name]}, expected {wanted}: it was {values}, of {counts}")


def check_golden(arguments, scratch, program):
    """One step of the golden file's sequences, whole and in microbatches."""
    golden = Golden(arguments.folder)
    tokens = os.path.join(scratch, "golden.u16")
    golden.write_tokens(tokens)
    stored = biases(os.path.join(arguments.folder, "model.safetensors"))
    # Stored in the checkpoint's type, kept in F32.
    norms = []
    for name, flags in {"whole": golden.batch, "parts": ["--batch", 1, "--accumulate", len(golden["sequences"])]}.items():
        out = os.path.join(scratch, "golden-" + name)
        found = out + ".gradients"
        lines = lines_of(run([program, "train", "--weights", arguments.folder, "--data", tokens, "--out", out,
                              *golden.sequence, *flags, "--validation-fraction", 0, "--steps", 1, "--quiet",
                              "--gradients", found]).stdout)
        loads = biases(found)
        expect({name: list(map(int, counts)) for name, counts in loads.items()} == golden["loads"],
               f"{name}: {loads}, PyTorch has {golden['loads']}")
        check_step(name, stored, loads, biases(os.path.join(out, "step-1", "model.safetensors")),
                   sum(next(iter(golden["loads"].values()))))
        norms.append(lines[0]["grad_norm"])
    total = sum(tensor["norm"] ** 2 for tensor in golden["tensors"].values()) ** 0.5
    for norm in norms:
        expect(abs(norm / total - 1) < 1e-5, f"the norm is {norm}, PyTorch's {total}")
    print("loads of a step are PyTorch's")


def check_runs(arguments, scratch, one, batch, rows):
    """Steps one by one, each from what the one before left; and the same at once."""
    start = biases(os.path.join(arguments.folder, "model.safetensors"))
    base = [one.program, "train", "--data", os.path.join(scratch, "tokens.u16"), "--seq", LENGTH,
            "--validation-fraction", 0.2, "--lr", 1e-3, "--lr-schedule", "constant", "--quiet", *batch]

    def steps(out, count, *flags):
        found = os.path.join(scratch, out + ".gradients")
        run([*base, *flags, "--steps", count, "--out", os.path.join(scratch, out), "--save-every", 1,
             "--gradients", found])
        return biases(found), biases(os.path.join(scratch, out, f"step-{count}", "model.safetensors"))

    weights = ["--weights", arguments.folder]
    before = start
    for count in (1, 2, 3, 4):
        loads, after = steps("resumed", count, *(["--resume"] if count > 1 else weights))
        check_step(f"step {count}", before, loads, after, rows)
        before = after
    steps("whole", 4, *weights)
    steps("validated", 4, *weights, "--validate-every", 1, "--workers", 3)
    folders = [os.path.join(scratch, name, "step-4") for name in ("resumed", "whole", "validated")]
    for name in ("model.safetensors", "optimizer.safetensors"):
        files = [read_bytes(os.path.join(folder, name)) for folder in folders]
        expect(files[0] == files[1], f"{name}: another one where the run is resumed")
        expect(files[0] == files[2], f"{name}: another one where the run validates")
    # The rate is a number of the rule's.
    steps("set", 1, *weights, "--set", "router_bias.rate=0")
    expect(biases(os.path.join(scratch, "set", "step-1", "model.safetensors")) == start, "a rate of 0 moves biases")
    print("resumed, validated, other workers: the same bits")


def check_refusals(arguments, scratch):
    def refused(error, *flags, folder=arguments.folder, mode="--mode=train"):
        result = run([arguments.batonc, folder, mode, "-o", os.path.join(scratch, "refused"), *flags], check=False)
        expect(result.returncode == 1 and error in result.stderr and result.stderr.count("\n") == 1,
               f"{flags}: {result}")

    refused("--router-bias-update is for --mode=train", FLAG, mode="--mode=decode")
    refused("--router-bias-update is out of range, expected 0 to 1000", "--router-bias-update=-1")
    refused("--router-bias-update: no router of", FLAG,
            folder=os.path.join(os.path.dirname(arguments.folder), "mixtral-top2"))


def test(arguments, scratch):
    with open(os.path.join(arguments.folder, "config.json")) as file:
        config = json.load(file)
    draw = random.Random(5)
    write_tokens(os.path.join(scratch, "tokens.u16"),
                 (draw.randrange(config["vocab_size"]) for _ in range(160 * (LENGTH + 1))))
    one = Trainer(arguments, scratch, "one", FLAG)
    check_golden(arguments, scratch, one.program)
    batch = ["--batch", 4, "--accumulate", 4]
    rows = 16 * LENGTH * config["num_experts_per_tok"]
    check_runs(arguments, scratch, one, batch, rows)
    check_refusals(arguments, scratch)

    wanted = one.train(1, *batch)
    start = biases(os.path.join(arguments.folder, "model.safetensors"))
    for workers in (1, 2, 5):
        same(f"{workers} workers", wanted, one.train(1, *batch, "--workers", workers))
    for mode in () if arguments.brief else ("selective", "full"):
        same(f"--recompute={mode}", wanted,
             Trainer(arguments, scratch, mode, FLAG, f"--recompute={mode}").train(1, *batch))

    after = biases(os.path.join(scratch, f"one-{one.runs}", "step-1", "model.safetensors"))
    # Neither clipped nor scaled; nor are there counts without the flag.
    scaled = one if arguments.brief else Trainer(arguments, scratch, "scaled", FLAG, "--dtype=f16")
    found = scaled.train(1, *batch, "--clip", 1e-3)
    # The file has all that stands where gradients do divided by the scale of losses.
    scale = found[0][0].get("loss_scale", 1)
    check_step("clipped", start, {name: [count * scale for count in counts] for name, counts in biases(found[1]).items()},
               biases(os.path.join(scratch, f"{scaled.name}-{scaled.runs}", "step-1", "model.safetensors")), rows)
    if not arguments.brief:
        plain = Trainer(arguments, scratch, "plain")
        found = plain.train(1, *batch)
        expect(not biases(found[1]), f"counts without the flag: {biases(found[1])}")
        expect(biases(os.path.join(scratch, "plain-1", "step-1", "model.safetensors")) == start, "biases move without the flag")
        expect(found[0][0]["grad_norm"] == wanted[0][0]["grad_norm"], f"{found[0]}, with counts {wanted[0]}")
        print("the same norm with and without")

    # Over ranks: rows of all of them.
    for mesh, zero, *more in (MESHES[index] for index in (6, 8)) if arguments.brief else MESHES:
        what = " ".join([f"--mesh={mesh}", f"--zero={zero}", *more])
        many = Trainer(arguments, scratch, what.replace(" ", "_"), f"--mesh={mesh}", f"--zero={zero}", FLAG, *more)
        found = many.train(1, *(["--batch", 4] if "pp" in mesh else batch), "--workers", 3)
        expect(biases(found[1]) == biases(wanted[1]), f"{what}: loads {biases(found[1])}, of one rank {biases(wanted[1])}")
        own = biases(os.path.join(scratch, f"{many.name}-{many.runs}", "step-1", "model.safetensors"))
        expect(own == after, f"{what}: biases {own}, of one rank {after}")
        expect(abs(found[0][0]["grad_norm"] / wanted[0][0]["grad_norm"] - 1) < 1e-5, f"{what}: {found[0]}")
        print(f"{what}: the loads of one rank")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
