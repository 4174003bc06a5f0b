#!/usr/bin/env python3
"""What it costs that sequences of a batch have adapters of their own.

    test/bench/adapter_batches.py build/bin/batonc --work DIR [--shape llama-3.2-1b] [--dtype bf16]
                                  [--sequences 32] [--adapters 32] [--rank 16] [--adapter-type f32]
                                  [--workers 2] [--rounds 3]

Compiles the shape twice, without adapters and with room for as many as there are, and decodes
with random weights: the program without, sequences of the other with none, all with one adapter, and
with as many as --adapters says in turn. Each is a run of `bench --batch`, which says that the
first sequences have the tokens that they have alone, or no time is printed. They run in turn,
round by round; then come the median step of each, and its ratio to that with one adapter.

An adapter is beside all linears: r (K + N) numbers of each. The prediction that is printed is the
larger of two: one adapter's step, and what reading the others' numbers takes beside it, at the
read bandwidth that bench measures.
"""

import argparse
import json
import math
import os
import random
import statistics
import struct
import subprocess

from adapters import SHAPES, TARGETS

SIZES = {"f32": 4, "bf16": 2}


def shapes_of(config):
    """(inputs, outputs) of the linears that a layer has, by name."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"] * config["head_dim"]
    groups = config["num_key_value_heads"] * config["head_dim"]
    sizes = {"q_proj": (hidden, heads), "k_proj": (hidden, groups), "v_proj": (hidden, groups),
             "o_proj": (heads, hidden), "gate_proj": (hidden, inner), "up_proj": (hidden, inner),
             "down_proj": (inner, hidden)}
    module = lambda name: ("mlp." if name in ("gate_proj", "up_proj", "down_proj") else "self_attn.") + name
    return {module(name): sizes[name] for name in TARGETS}


def write_adapter(folder, config, rank, seed):
    """A PEFT folder of random pairs."""
    if os.path.exists(os.path.join(folder, "adapter_config.json")):
        return
    os.makedirs(folder, exist_ok=True)
    # One stretch of numbers, from another place for each matrix.
    generator = random.Random(seed)
    numbers = struct.pack("<65536f", *(generator.gauss(0, 0.02) for _ in range(65536)))
    header, end, sizes = {}, 0, []
    for layer in range(config["num_hidden_layers"]):
        for module, (inputs, outputs) in shapes_of(config).items():
            for kind, shape in (("A", [rank, inputs]), ("B", [outputs, rank])):
                size = 4 * math.prod(shape)
                header[f"base_model.model.model.layers.{layer}.{module}.lora_{kind}.weight"] = {
                    "dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
                end += size
                sizes.append(size)
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "adapter_model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for size in sizes:
            begin = 4 * generator.randrange(65536)
            file.write((numbers[begin:] + numbers * (size // len(numbers) + 1))[:size])
    with open(os.path.join(folder, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": TARGETS}, file)


def bench(program, arguments, adapters):
    command = [program, "bench", "--batch", arguments.sequences, "--prefill", arguments.prefill, "--decode",
               arguments.decode, "--workers", arguments.workers, "--json", "--quiet"]
    command += [f"--adapter={name}={folder}" for name, folder in adapters.items()]
    result = json.loads(subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE).stdout)
    if result["verdict"] != "sequences have the tokens that they have alone":
        raise SystemExit(f"FAILED: {result['verdict']}")
    return result["batches"][0]["step_s"], result["read_bandwidth"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("--work", required=True, help="folder to keep programs and adapters in")
    parser.add_argument("--shape", default="llama-3.2-1b", choices=SHAPES)
    parser.add_argument("--dtype", default="bf16", choices=SIZES)
    parser.add_argument("--adapter-type", default="f32", choices=SIZES)
    for name, value in (("sequences", 32), ("adapters", 32), ("rank", 16), ("workers", 2), ("rounds", 3),
                        ("prefill", 64), ("decode", 12)):
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()
    config = SHAPES[arguments.shape]
    path = lambda name: os.path.join(arguments.work, name)
    model = path(f"{arguments.shape}-config")
    os.makedirs(model, exist_ok=True)
    with open(os.path.join(model, "config.json"), "w") as file:
        json.dump(config | {"architectures": ["LlamaForCausalLM"]}, file)
    compile_ = [arguments.batonc, model, "--quiet", f"--dtype={arguments.dtype}", f"--max-batch={arguments.sequences}",
                f"--max-rows={max(64, arguments.sequences)}", "--max-seq=512", "-o"]
    subprocess.run([*compile_, path("plain")], check=True)
    subprocess.run([*compile_, path("adapted"), f"--max-adapters={arguments.adapters}",
                    f"--max-adapter-rank={arguments.rank}", f"--adapter-type={arguments.adapter_type}"], check=True)
    folders = {f"a{number}": path(f"{arguments.shape}-r{arguments.rank}-{number}")
               for number in range(arguments.adapters)}
    for number, folder in enumerate(folders.values()):
        write_adapter(folder, config, arguments.rank, number)
    runs = {"no adapters": ("plain", {}), "room, none used": ("adapted", {}),
            "one": ("adapted", dict(list(folders.items())[:1])), str(arguments.adapters): ("adapted", folders)}
    times, bandwidths = {name: [] for name in runs}, []
    for _ in range(arguments.rounds):
        for name, (program, adapters) in runs.items():
            seconds, bandwidth = bench(path(program), arguments, adapters)
            times[name].append(seconds)
            bandwidths.append(bandwidth)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, seconds in medians.items():
        print(f"{name:16} {1e3 * seconds:8.1f} ms a step, {seconds / medians['one']:.3f} of one adapter's")
    numbers = arguments.rank * config["num_hidden_layers"] * sum(
        inputs + outputs for inputs, outputs in shapes_of(config).values())
    more = (arguments.adapters - 1) * numbers * SIZES[arguments.adapter_type] / max(bandwidths)
    print(f"an adapter is {numbers / 1e6:.1f} million numbers; reading {arguments.adapters - 1} more takes "
          f"{1e3 * more:.1f} ms at {max(bandwidths) / 1e9:.1f} GB/s: {1 + more / medians['one']:.3f} predicted")


if __name__ == "__main__":
    main()
