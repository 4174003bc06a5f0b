"""An adapter beside quantised weights trains as beside the same numbers in F32.

Two programs train the same pairs: one has the file's own types, from which products decode
their tiles, one was compiled with --dtype=f32, for which the loader makes numbers. Losses and
what is saved have the same bits, on CPUs and on the emulation of CUDA, and on ranks that have
parts of each weight. What the first one keeps in memory is blocks.

Without --more: DoRA beside a format, and one layer of another, on CPUs.
"""

import argparse
import json
import os
import random

import gguf_writer
import quantised_writer
from programs import expect, main, quickly, run
from quantised import mixed
from training import lines_of, read_bytes, write_tokens


def test(folder):
    path = lambda name: os.path.join(folder, name)
    generator = random.Random(1)
    write_tokens(path("tokens.u16"), (generator.randrange(96) for _ in range(600)))

    def train(model, name, *flags, adapter="lora:r=4"):
        run([arguments.batonc, model, "--mode=train", f"--adapter={adapter}", "--quiet", *quickly([]), *flags, "-o",
             path(name)])
        result = run([path(name), "train", "--weights", model, "--data", path("tokens.u16"), "--seq", 24, "--batch", 3,
                      "--steps", 3, "--lr", 1e-2, "--out", path(f"{name}-run"), "--quiet"])
        saved = (read_bytes(path(f"{name}-run/step-3/{file}")) for file in
                 ("adapter_model.safetensors", "optimizer.safetensors"))
        return lines_of(result.stdout, "tokens_per_s"), *saved

    def frozen(name):
        return json.loads(run([path(name), "info", "--json"]).stdout)["training_memory"]["frozen"]

    def check(name, model, adapter="lora:r=4"):
        """Beside the file's types and beside numbers in F32: what both train."""
        expected = train(model, f"{name}-f32", "--dtype=f32", adapter=adapter)
        expect(train(model, name, adapter=adapter) == expected, f"{name}: has other bits than its numbers in F32")
        share = frozen(name) / frozen(f"{name}-f32")
        expect(share < 0.45, f"{name}: {share:.0%} of the memory of its numbers in F32")
        print(f"{name}: {expected[0][0]['loss']:.4f} to {expected[0][-1]['loss']:.4f}, {share:.0%} of F32's memory")
        return expected

    # Lengths of rows begin as those of the numbers, and are computed from the blocks.
    dora = "lora:r=4,dora"
    if not arguments.more:
        gguf_writer.llama(path("few.gguf"), lambda layer, name: "Q8_0" if (layer, name) == (1, "attn_v") else "Q4_0")
        check("few", path("few.gguf"), adapter=dora)
        return

    # Blocks of 256 in the file, and layers of different formats.
    models = {"Q4_0": path("q4_0.gguf"), "mixed": path("mixed.gguf"), "nf4": path("nf4-model"), "gptq": path("gptq-model")}
    gguf_writer.llama(models["Q4_0"], lambda layer, name: "Q4_0")
    # Of layers that are quantised in part numbers in F32 are made, which are no blocks.
    gguf_writer.llama(models["mixed"],
                      lambda layer, name: "Q8_0" if name == "attn_output" else mixed(layer, name))
    for case in ("nf4", "gptq"):
        quantised_writer.llama(models[case], path(f"{case}-plain"), case)
    for name, model in models.items():
        expected = check(name, model)
        if name in ("mixed", "nf4"):
            cuda = train(model, f"{name}-cuda", "--target=cuda:emulated", "--batch-invariant")
            expect(cuda == expected, f"{name}: emulated CUDA has other bits")
        if name == "Q4_0":
            ranks = train(model, f"{name}-tp", "--mesh=tp=2")
            plain = train(model, f"{name}-tp-f32", "--mesh=tp=2", "--dtype=f32")
            expect(ranks == plain, f"{name}: ranks have other bits than with its numbers in F32")
        if name in ("mixed", "nf4"):
            expected = check(f"{name}-dora", model, adapter=dora)
        if name == "mixed":
            cuda = train(model, f"{name}-dora-cuda", "--target=cuda:emulated", "--batch-invariant", adapter=dora)
            expect(cuda == expected, f"{name}, DoRA: emulated CUDA has other bits")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--more", action="store_true", help="other formats, CUDA, ranks")
    arguments = parser.parse_args()
    main(test)
