"""What routers of a mixture of experts add to its loss: by config and by flag, and on
ranks.

The loss is the model's own, and its parts by their factors. A config that sets
output_router_logits trains with the bits of --router-aux-loss, whose 0 takes it away.
Losses, gradients and weights have the same bits for other numbers of workers, with
--recompute, and with each stage of ZeRO. Each rank along dp has the loss of its own
sequences, and each microbatch its own: a mesh does as one rank with microbatches of so
many sequences, within 1e-5. Validation is of the model's own loss. With --brief: on one mesh, in F32
and nothing computed again.
"""

import argparse
import json
import os
import random
import shutil

import programs
from data_parallel import LENGTH, Trainer, compare, same
from programs import expect, run
from training import lines_of, write_tokens

BATCH, MICROBATCHES, STEPS = 4, 4, 4
FACTORS = {"balance_loss": 0.25, "z_loss": 0.05}
FLAGS = (f"--router-aux-loss={FACTORS['balance_loss']}", f"--router-z-loss={FACTORS['z_loss']}")


def check_parts(what, lines):
    for line in lines:
        sum_of_parts = line["cross_entropy"] + sum(factor * line[name] for name, factor in FACTORS.items())
        expect(abs(line["loss"] / sum_of_parts - 1) < 1e-6, f"{what}: {line}, parts are {sum_of_parts}")


def near_parts(what, one, other):
    for mine, wanted in zip(other[0], one[0], strict=True):
        for name in ("cross_entropy", *FACTORS):
            expect(abs(mine[name] / wanted[name] - 1) < 1e-5, f"{what}: {name} is {mine}, of one rank {wanted}")


def check_config(arguments, scratch, flags, batch):
    """A config that asks for the loss, and a flag that says otherwise."""
    folder = os.path.join(scratch, "asked")
    shutil.copytree(arguments.folder, folder)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    config |= {"output_router_logits": True, "router_aux_loss_coef": 0.25}
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    asked = argparse.Namespace(batonc=arguments.batonc, folder=folder)
    if arguments.brief:
        same("a config that asks for it", Trainer(arguments, scratch, "both", *flags).train(2, *batch),
             Trainer(asked, scratch, "config", flags[1]).train(2, *batch))
        return
    by_config = Trainer(asked, scratch, "config").train(2, *batch)
    by_flag = Trainer(arguments, scratch, "flag", "--router-aux-loss=0.25").train(2, *batch)
    same("a config that asks for it", by_flag, by_config)
    without = Trainer(asked, scratch, "none", "--router-aux-loss=0").train(2, *batch)
    plain = Trainer(arguments, scratch, "plain").train(2, *batch)
    same("a flag of 0", plain, without)
    expect("cross_entropy" not in plain[0][0], f"parts of one loss: {plain[0]}")
    expect(by_flag[0][0]["cross_entropy"] == plain[0][0]["loss"], f"{by_flag[0]}, without {plain[0]}")


def check_validation(arguments, scratch, trainers):
    """Weights stay as they are."""
    found = []
    for trainer in trainers:
        result = run([trainer.program, "train", "--weights", arguments.folder, "--data",
                      os.path.join(scratch, "tokens.u16"), "--out", trainer.program + "-validated", "--seq", LENGTH,
                      "--batch", 3, "--steps", 1, "--lr", 1e-30, "--validate-every", 1, "--quiet"])
        found.append(lines_of(result.stdout)[0]["validation_loss"])
    expect(found[0] == found[1], f"validation: {found}")


def check_refusals(arguments, scratch):
    def refused(error, *flags, folder=arguments.folder, mode="--mode=train"):
        result = run([arguments.batonc, folder, mode, "-o", os.path.join(scratch, "refused"), *flags], check=False)
        expect(result.returncode == 1 and error in result.stderr and result.stderr.count("\n") == 1,
               f"{flags}: {result}")

    for flag in ("--router-aux-loss", "--router-z-loss"):
        refused(f"{flag} is for --mode=train", f"{flag}=0.1", mode="--mode=decode")
        refused(f"{flag} is out of range, expected 0 to 1000", f"{flag}=-0.1")
        refused("gets no losses of routers: it has no model.route", f"{flag}=0.1",
                folder=os.path.join(os.path.dirname(arguments.folder), "llama-gqa"))


def is_narrow(folder):
    """Whether two ranks cannot have a half of each expert."""
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    return config.get("moe_intermediate_size", config["intermediate_size"]) % 32 != 0


def test(arguments, scratch):
    with open(os.path.join(arguments.folder, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    draw = random.Random(5)
    write_tokens(os.path.join(scratch, "tokens.u16"),
                 (draw.randrange(vocabulary) for _ in range(16 * BATCH * (LENGTH + 1))))

    batch = ["--batch", BATCH, "--accumulate", MICROBATCHES]
    one = Trainer(arguments, scratch, "one", *FLAGS)
    wanted = one.train(STEPS, *batch)
    check_parts("one rank", wanted[0])
    for workers in (1, 2, 3):
        same(f"{workers} workers", wanted, one.train(STEPS, *batch, "--workers", workers))
    for mode in () if arguments.brief else ("selective", "full"):
        same(f"--recompute={mode}", wanted,
             Trainer(arguments, scratch, mode, *FLAGS, f"--recompute={mode}").train(STEPS, *batch))
    scaled = wanted if arguments.brief else Trainer(arguments, scratch, "scaled", "--dtype=f16", *FLAGS).train(1, *batch)
    for name in ("loss", "cross_entropy", *FACTORS):
        error = abs(scaled[0][0][name] / wanted[0][0][name] - 1)
        expect(error < 5e-3, f"f16: {name} is {scaled[0][0]}, of f32 {wanted[0][0]}")
    print("one rank: the same bits, whoever computes them")

    check_config(arguments, scratch, FLAGS, batch)
    plain = Trainer(arguments, scratch, "unbalanced")
    expect("cross_entropy" not in plain.train(1, *batch)[0][0], "parts of one loss")
    check_validation(arguments, scratch, (one, plain))
    check_refusals(arguments, scratch)

    # As many sequences together as a rank has.
    of_parts = ["--batch", BATCH // 2, "--accumulate", 2 * MICROBATCHES]
    halves = one.train(1, *of_parts), one.train(STEPS, *of_parts)
    whole = one.train(1, *batch), wanted
    bits = {}
    meshes = [("dp=2", 0, [], halves), ("dp=2", 1, [], halves), ("dp=2", 2, [], halves), ("dp=2", 3, [], halves),
              ("tp=2", 0, [], whole), ("pp=2", 0, ["--pipeline=1f1b"], whole), ("pp=2", 0, ["--pipeline=zb-h1"], whole),
              ("dp=2,tp=2,pp=2", 2, ["--pipeline=zb-h1"], halves)]
    for mesh, zero, more, reference in meshes[7:] if arguments.brief else meshes:
        what = " ".join([mesh, f"zero={zero}", *more])
        stages = [f"--microbatches={MICROBATCHES}"] if "pp" in mesh else []
        if "tp" in mesh and is_narrow(arguments.folder):
            more = [*more, "--tensor-parallel=experts"]
        many = Trainer(arguments, scratch, what.replace(" ", "_"), f"--mesh={mesh}", f"--zero={zero}",
                       *more, *stages, *FLAGS)
        own = ["--batch", BATCH] if stages else batch
        first, found = many.train(1, *own), many.train(STEPS, *own, "--workers", 3)
        compare(f"{what}, a step", reference[0], first)
        compare(f"{what}, steps", reference[1], found, 1e-4)
        near_parts(what, reference[1], found)
        check_parts(what, found[0])
        # Parts of gradients are added up once for each microbatch.
        key = mesh, zero > 1
        if key in bits and mesh == "dp=2":
            same(what, bits[key], found)
        bits[key] = found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
