#!/usr/bin/env python3
"""Packs what run.py needs to try Baton on a machine with a GPU and nothing else.

    test/gpu/pack.py build/bin/batonc FOLDER [--target cuda:sm_90a]

Needs no GPU. FOLDER gets run.py; for some golden checkpoints the program, the
checkpoint, and the logits of the CPU's program; and for some known shapes a program
that makes its own weights. With --target=cuda:emulated, the same for a dry run.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")
CASES = ["llama-gqa", "llama3-rope", "gpt2-bf16", "gemma2-caps", "qwen3-headwise", "phi3-partial"]
LLAMA = dict(architectures=["LlamaForCausalLM"], model_type="llama", num_key_value_heads=8,
             vocab_size=128256, max_position_embeddings=131072, rms_norm_eps=1e-5,
             rope_theta=500000.0, hidden_act="silu", torch_dtype="bfloat16",
             attention_bias=False, mlp_bias=False)
SHAPES = {
    "llama-3.2-1b": LLAMA | dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                                 num_attention_heads=32, head_dim=64, tie_word_embeddings=True),
    "qwen3-0.6b": dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3", hidden_size=1024,
                       intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16,
                       num_key_value_heads=8, head_dim=128, vocab_size=151936,
                       max_position_embeddings=40960, rms_norm_eps=1e-6, rope_theta=1000000.0,
                       hidden_act="silu", tie_word_embeddings=True, attention_bias=False,
                       use_sliding_window=False, torch_dtype="bfloat16"),
    "llama-3.1-8b": LLAMA | dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
                                 num_attention_heads=32, head_dim=128, tie_word_embeddings=False),
}


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def pack_case(batonc, name, target, folder):
    """A golden checkpoint, its program, and what the CPU's program computes."""
    os.makedirs(folder)
    checkpoint = os.path.join(folder, "checkpoint")
    shutil.copytree(os.path.join(GOLDEN, name), checkpoint)
    with open(os.path.join(checkpoint, "golden.json")) as file:
        tokens = json.load(file)["tokens"]
    host = os.path.join(folder, "host")
    run(batonc, checkpoint, "-o", host, "--quiet")
    run(host, "logits", "--weights", checkpoint, "--tokens", ",".join(map(str, tokens)),
        "--out", os.path.join(folder, "host.npy"), "--no-cache", "--quiet")
    os.remove(host)
    for suffix, flags in (("", ()), (".invariant", ("--batch-invariant",))):
        run(batonc, checkpoint, "-o", os.path.join(folder, "program" + suffix), "--quiet",
            f"--target={target}", *flags)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("folder")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--cases", nargs="*", default=CASES)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--max-seq", type=int, default=33024)
    arguments = parser.parse_args()
    if os.path.exists(arguments.folder):
        sys.exit(f"{arguments.folder} is there already")
    os.makedirs(arguments.folder)
    shutil.copy(os.path.join(HERE, "run.py"), arguments.folder)
    for name in arguments.cases:
        pack_case(arguments.batonc, name, arguments.target,
                  os.path.join(arguments.folder, "cases", name))
    for name in arguments.shapes:
        folder = os.path.join(arguments.folder, "shapes", name)
        os.makedirs(folder)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(SHAPES[name], file)
        run(arguments.batonc, folder, "-o", os.path.join(folder, "program"), "--quiet",
            f"--target={arguments.target}", f"--max-seq={arguments.max_seq}")
    commit = subprocess.run(["git", "-C", HERE, "rev-parse", "HEAD"], capture_output=True, text=True)
    with open(os.path.join(arguments.folder, "about.json"), "w") as file:
        json.dump({"commit": commit.stdout.strip(), "target": arguments.target}, file)
    size = sum(os.path.getsize(os.path.join(place, name))
               for place, _, names in os.walk(arguments.folder) for name in names)
    print(f"{arguments.folder}: {size / 2**20:.1f} MiB")


main()
