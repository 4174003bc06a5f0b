"""A quantised folder of Hugging Face has the bits of the same numbers in F32.

Each case of quantised_writer.py is a checkpoint and, by the method's definition, its numbers.
A program for F32 reads both, and a program for the checkpoint's own formats reads the first:
logits of every position are the same, on CPUs and on the emulation of CUDA, in batches and on
ranks that have parts of each weight.

Without --more: what the loader makes of each method; programs of two on CPUs; refusals.
"""

import argparse
import json
import os

import quantised_writer
from programs import Program, expect, main, run

TOKENS = [1, 17, 5, 80, 33, 2, 90, 41, 7]
# Of each method: cases with programs of their own. All are read.
COMPILED = ["gptq", "awq-64", "packed", "mixed", "partial", "fp8", "nvfp4", "mxfp4", "nf4", "bnb-int8"]
TARGETS = {"cpu": [], "cuda": ["--target=cuda:emulated", "--batch-invariant"], "batch": ["--max-batch=3"], "ranks": ["--mesh=tp=2"]}
# What cases are compiled for besides CPUs; with --all each is compiled for CUDA. Of single
# formats the library's tests judge its bodies.
MORE_TARGETS = {"gptq": ["cuda", "batch"], "packed": ["ranks"], "mxfp4": ["ranks"], "mixed": ["cuda"],
                "partial": ["cuda", "batch", "ranks"], "nf4": ["cuda"]}

# Without --more, cases with programs of their own.
FEW = ("mixed", "partial", "nf4")


def logits(arguments, program, model, name):
    program.weights = model
    return program.logits(TOKENS, os.path.join(arguments.folder, f"{name}.npy"))


def refuse(arguments, model, config, words):
    """A config that is not supported is refused in one line, with its name."""
    path = os.path.join(model, "config.json")
    with open(path, encoding="utf-8") as file:
        usual = file.read()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(json.loads(usual) | {"quantization_config": config}, file)
    result = run([arguments.batonc, model, "-o", os.path.join(arguments.folder, "refused")], check=False)
    expect(result.returncode != 0 and words in result.stderr and path in result.stderr, f"{config}: {result.stderr}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(usual)


def test(folder):
    arguments.folder = folder
    programs = {}
    for case in quantised_writer.CASES:
        config, kind, _ = quantised_writer.CASES[case]
        model, plain = os.path.join(folder, case), os.path.join(folder, f"{case}-plain")
        quantised_writer.llama(model, plain, case)
        targets = ["cpu", *MORE_TARGETS.get(case, [])]
        if arguments.all and "cuda" not in targets:
            targets.append("cuda")
        for target in targets if arguments.more else ["cpu"]:
            if target not in programs:
                programs[target] = Program(arguments.batonc, plain, os.path.join(folder, f"plain-{target}"),
                                           *TARGETS[target])
            expected = logits(arguments, programs[target], plain, f"{case}-{target}-plain")
            if target == "cpu":
                found = logits(arguments, programs[target], model, f"{case}-f32")
                expect(found == expected, f"{case}: the loader makes other numbers than its definition")
            if case not in (COMPILED if arguments.more else FEW) and not arguments.all:
                continue
            program = Program(arguments.batonc, model, os.path.join(folder, f"{case}-{target}"), *TARGETS[target])
            found = logits(arguments, program, model, f"{case}-{target}")
            expect(found == expected, f"{case}: {target} has other bits than its numbers in F32")
            info = json.loads(run([program.path, "info", "--json"]).stdout)
            expect(kind in info["model"]["dtype"].split(", "), f"{case}: info says {info['model']['dtype']}")
    if arguments.more:
        return
    model = os.path.join(folder, "gptq")
    refuse(arguments, model, {"quant_method": "hqq"},
           "'quantization_config.quant_method' is \"hqq\", expected one of awq, bitsandbytes, compressed-tensors")
    refuse(arguments, model, {"quant_method": "gptq", "bits": 8}, "'quantization_config.bits' is 8, expected 4")
    result = run([arguments.batonc, model, "--mode=train", "-o", os.path.join(folder, "t")], check=False)
    expect(result.returncode != 0 and "is quantised" in result.stderr, f"training: {result.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--more", action="store_true", help="programs of each case, on more targets")
    parser.add_argument("--all", action="store_true", help="every case, with --more")
    arguments = parser.parse_args()
    main(test)
