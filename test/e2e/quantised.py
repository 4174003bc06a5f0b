"""A model of a GGUF file has the bits of the same numbers in F32.

One program is compiled for the file's own types, one with --dtype=f32, for which the loader
makes numbers of the blocks: logits of every position and generated tokens are the same, on
CPUs and, by portable bodies, on the emulation of CUDA, for each format and for layers that differ in it. With
--activations=int8 results are others, near those, and the same on every CPU and target.
CUDA's tuned bodies have bits of their own, near those as for other weights (cuda.py), the same for any
number of workers; of many rows of bytes they have the CPU's, but for layers that are not quantised.

Two stages of a pipeline have the bits of one rank. On two ranks, with parts of the inputs that end with
blocks of 256, the bits are those of the numbers in F32, and logits are near one rank's; a part that ends within
a block is refused.

Without --more: layers that differ, on CPUs and in two stages; --activations=int8, also in a batch; tuned bodies; refusals.
"""

import argparse
import json
import os
import re

import gguf_writer
from cuda import largest_difference
from programs import Program, expect, main, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOKENS = [1, 17, 5, 80, 33, 2, 90, 41, 7]
FORMATS = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL"]


def mixed(layer, name):
    """As llama.cpp's Q4_K_M has them: some layers' values and projections are wider."""
    if name in ("token_embd", "output"):
        return "Q6_K"
    if name == "attn_v":
        return "Q8_0" if layer == 1 else "Q5_0"
    if name == "ffn_down":
        return "Q6_K" if layer == 0 else "Q4_K"
    # Some tensors are not quantised, as in files that people tune by hand.
    plain = {("attn_output", 0): "F16", ("ffn_up", 2): "BF16", ("attn_k", 1): "F32"}
    if (name, layer) in plain:
        return plain[name, layer]
    return "Q8_0" if name == "attn_output" else "Q4_K"


def experts(layer, name):
    """Gates of another format than ups, which are mixed, too."""
    if name == "ffn_gate_inp":
        return "F32"
    if name == "ffn_up_exps":
        return "Q6_K" if layer == 0 else "Q4_K"
    if name == "ffn_down_exps":
        return ("Q4_0", "F16", "Q8_0")[layer]
    return "BF16" if (name, layer) == ("ffn_gate_exps", 1) else "Q4_K"


def same(kind):
    return lambda layer, name: None if name == "output" else kind


def logits(arguments, model, name, *flags, tuned=False):
    program = Program(arguments.batonc, model, os.path.join(arguments.folder, name), *flags)
    data = program.logits(TOKENS, os.path.join(arguments.folder, name + ".npy"))
    # The emulation takes half a second for a step.
    if "--target=cuda:emulated" in flags:
        return (data, program) if tuned else data
    return data, program.generate(TOKENS, 8)["tokens"]


INT8 = {"batch": ["--max-batch=3"]}
MORE_INT8 = {"baseline": ["--target-cpu=x86-64"], "cuda": ["--target=cuda:emulated", "--batch-invariant"],
             "checked": ["--sanitize=address"]}


def rounded(arguments, model, name, expected):
    """Inputs of 8 bits: what CPUs of other instructions, batches and CUDA compute is one."""
    found = logits(arguments, model, f"{name}-int8", "--activations=int8")
    for what, flags in (INT8 | MORE_INT8 if arguments.more else INT8).items():
        other = logits(arguments, model, f"{name}-int8-{what}", "--activations=int8", *flags)
        expect(other == (found[0] if what == "cuda" else found), f"{name}: int8 has other bits: {what}")
    off = largest_difference(found[0], expected[0])
    expect(0 < off < 0.05, f"{name}: inputs of 8 bits put logits off by {off}")
    if arguments.more:
        check_tuned(arguments, model, f"{name}-int8", found[0], "--activations=int8")


def check_tuned(arguments, model, name, exact, *flags):
    """On tensor cores, and row by row through the ring. Of `mixed` and `experts` some layers are not quantised."""
    of_bytes = "--activations=int8" in flags
    cuda = ("--target=cuda:emulated", *flags)
    many, program = logits(arguments, model, f"{name}-tuned", *cuda, tuned=True)
    off = largest_difference(many, exact)
    is_partly = name.startswith(("mixed", "experts"))
    expect(off == 0 if of_bytes and not is_partly else 0 < off < (5e-2 if of_bytes else 3e-2),
           f"{name}: tensor cores put logits off by {off}")
    by_rows = lambda program, workers: program.logits(TOKENS, os.path.join(arguments.folder, "row.npy"),
                                                      "--prefill-chunk", 1, "--workers", workers)
    one = by_rows(program, 1)
    expect(one == by_rows(program, 3), f"{name}: the ring's bits depend on the number of workers")
    if arguments.more:
        # One kernel for steps of one row and of many.
        with open(os.path.join(ROOT, "compiler/targets/cuda.json")) as file:
            target = json.load(file)
        del target["few_rows"]
        path = os.path.join(arguments.folder, "target.json")
        with open(path, "w") as file:
            json.dump(target, file)
        found, program = logits(arguments, model, f"{name}-kernel", *cuda, f"--target-file={path}", tuned=True)
        expect(found == many, f"{name}: one kernel for all steps has other bits")
        # Experts flow through the ring of a kernel for few rows only.
        if not name.startswith("experts"):
            expect(by_rows(program, 2) == one, f"{name}: one kernel for all steps has another ring's bits")
    off = largest_difference(one, exact)
    # A last bit may round an input of 8 bits to the next number.
    expect(0 < off < (5e-2 if of_bytes else 1e-5), f"{name}: the ring puts logits off by {off}")


def test(folder):
    arguments.folder = folder
    cases = {"mixed": mixed}
    if arguments.more:
        cases["experts"] = experts
        cases |= {kind: same(kind) for kind in (FORMATS if arguments.all else ["Q4_1", "Q6_K"])}
    for name, kinds in cases.items():
        model = os.path.join(folder, f"{name}.gguf")
        gguf_writer.llama(model, kinds, experts=5 if name == "experts" else 0)
        expected = logits(arguments, model, f"{name}-f32", "--dtype=f32")
        found = logits(arguments, model, name)
        expect(found == expected, f"{name}: has other bits than its numbers in F32")
        if name == "mixed":
            # A stage has its own layers' formats.
            stages = logits(arguments, model, "stages", "--mesh=pp=2")
            expect(stages == found, "two stages have other bits than one rank")
        # Of single formats the library's tests judge CUDA's bodies.
        if arguments.all or name in ("mixed", "experts"):
            rounded(arguments, model, name, expected)
            check_tuned(arguments, model, name, expected[0])
        if not arguments.more:
            continue
        batch = logits(arguments, model, f"{name}-batch", "--max-batch=3")
        expect(batch == expected, f"{name}: a batch has other bits")
        if arguments.all or name in ("mixed", "experts"):
            portable = ("--target=cuda:emulated", "--batch-invariant")
            cuda = logits(arguments, model, f"{name}-cuda", *portable)
            again = logits(arguments, model, f"{name}-cuda-f32", *portable, "--dtype=f32")
            expect(cuda == again, f"{name}: CUDA has other bits than with its numbers in F32")
    if arguments.more:
        check_ranks(folder)
    else:
        check_words(folder)


# Bytes of 256 numbers in memory, in the formats of mixed().
ROOM = {"Q4_K": 148, "Q5_0": 176, "Q6_K": 210, "Q8_0": 272, "F16": 512, "BF16": 512, "F32": 1024}


def check_memory(found):
    """A layer takes the room of its own formats, whatever other layers have."""
    shapes = {"attn_q": (256, 256), "attn_k": (128, 256), "attn_v": (128, 256), "attn_output": (256, 256),
              "ffn_gate": (512, 256), "ffn_up": (512, 256), "ffn_down": (256, 512)}
    # Vectors of norms, frequencies, the table, and the head, which has panels of its own.
    expected = 7 * 256 * 4 + 32 * 4 + 2 * 96 * ROOM["Q6_K"]
    for name, (outputs, inputs) in shapes.items():
        kinds = [mixed(layer, name) for layer in range(3)]
        head = 4 * outputs if len(set(kinds)) > 1 else 0
        expected += sum(head + outputs * inputs // 256 * ROOM[kind] for kind in kinds)
    expect(found == expected, f"info says that weights take {found} bytes, not {expected}")


def check_ranks(folder):
    """Linears that tp cuts along their inputs, of K formats: o_proj and down_proj."""
    model = os.path.join(folder, "ranks.gguf")
    gguf_writer.llama(model, lambda layer, name: "Q6_K" if name in ("ffn_down", "output", "token_embd") else "Q4_K",
                      width=512, layers=2)
    one = logits(arguments, model, "one")
    found = logits(arguments, model, "ranks", "--mesh=tp=2")
    expected = logits(arguments, model, "ranks-f32", "--mesh=tp=2", "--dtype=f32")
    expect(found == expected, "two ranks have other bits than with numbers in F32")
    # Two sums of halves, instead of one.
    expect(0 < largest_difference(found[0], one[0]) < 1e-5 and found[1] == one[1], f"two ranks are off by {largest_difference(found[0], one[0])}")


def check_words(folder):
    """What plans and `info` say, and what is refused."""
    model = os.path.join(folder, "mixed.gguf")
    # What the file's types are is part of the plan.
    text = run([arguments.batonc, model, "--emit=model"]).stdout
    for kind in ('"q4_k"', '"q8_0|q5_0"', '"q4_k|q6_k"', '"q6_k"', '"q8_0|f16"', '"q4_k|bf16"', '"q4_k|f32"'):
        expect(f"!model.quantized<{kind}>" in text, f"no parameter is {kind}")
    for layers in ('["q5_0", "q8_0", "q5_0"]', '["f16", "q8_0", "q8_0"]', '["q4_k", "f32", "q4_k"]'):
        expect(f"model.layer_formats = {layers}" in text, f"no parameter's layers are {layers}")
    info = json.loads(run([os.path.join(folder, "mixed"), "info", "--json"]).stdout)
    stored = "q4_k, q8_0|q5_0, q8_0|f16, q4_k|bf16, q4_k|f32, q4_k|q6_k, q6_k"
    expect(sorted(info["model"]["dtype"].split(", ")) == sorted(stored.split(", ")),
           f"info says of weights {info['model']['dtype']}")
    check_memory(info["memory"]["weights"])
    info = json.loads(run([os.path.join(folder, "mixed-int8"), "info", "--json"]).stdout)
    expect(info["model"]["activations"] == "int8", f"info says of inputs {info['model']}")
    result = run([arguments.batonc, os.path.join(ROOT, "test/golden/llama-gqa"), "--activations=int8",
                  "-o", os.path.join(folder, "t")], check=False)
    expect(result.returncode != 0 and "no weight of" in result.stderr, f"int8 of a model in F32: {result.stderr}")
    # Inputs of 256 in two parts.
    cut = os.path.join(folder, "cut.gguf")
    gguf_writer.llama(cut, lambda layer, name: "Q4_K", layers=1)
    result = run([arguments.batonc, cut, "--mesh=tp=2", "-o", os.path.join(folder, "t")], check=False)
    expect(result.returncode != 0 and result.stderr.count("\n") == 1 and
           re.search(r"o_proj.weight: .* has 128 inputs, no whole blocks of q4_k, of 256 each", result.stderr),
           f"a cut within blocks: {result.stderr}")
    # Another file's types are refused by name.
    other = os.path.join(folder, "other.gguf")
    gguf_writer.llama(other, lambda layer, name: "Q5_1")
    result = run([os.path.join(folder, "mixed"), "logits", "--weights", other, "--tokens", "1", "--out",
                  os.path.join(folder, "x.npy"), "--no-cache", "--quiet"], check=False)
    expect(result.returncode != 0 and re.search(r"stored as Q5_1, but the program was compiled for", result.stderr),
           f"a file of other types: {result.stderr}")
    result = run([arguments.batonc, model, "--mode=train", "-o", os.path.join(folder, "t")], check=False)
    expect(result.returncode != 0 and "is quantised" in result.stderr, f"training: {result.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--more", action="store_true", help="experts, single formats, other CPUs, CUDA")
    parser.add_argument("--all", action="store_true", help="every format, with --more")
    arguments = parser.parse_args()
    main(test)
