"""Families of models in less memory than they take: the same tokens.

Golden checkpoints whose layers are repeated, and made so many times as wide by repeating their
neurons, have layers that are worth moving. With as little memory as a program says that it takes,
and all pages of keys and values in a file, it comes to the tokens of a run without a limit.
"""

import argparse
import json
import os
import random
import re
import shutil
import struct
import sys

import programs
from programs import QUICK, expect, in_memory, run

FACTOR, DEPTH = 16, 3
MIB = 2**20


def enlarge(golden, folder):
    """A copy whose layers repeat DEPTH times, and feed-forward layers' neurons FACTOR times."""
    shutil.copytree(golden, folder)
    with open(os.path.join(golden, "config.json")) as file:
        config = json.load(file)
    key = next((key for key in ("moe_intermediate_size", "intermediate_size") if key in config), "n_inner")
    inner = config.get(key) or 4 * config["n_embd"]
    depth = "n_layer" if config["model_type"] == "gpt2" else "num_hidden_layers"
    # The first ones may be of another kind.
    first = config.get("first_k_dense_replace", 0)
    layers = config[depth] - first
    for name in ("layer_types", "mlp_layer_types"):
        if config.get(name):
            config[name] *= DEPTH
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config | {key: inner * FACTOR, depth: first + layers * DEPTH}, file)
    with open(os.path.join(golden, "model.safetensors"), "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    repeated = {}
    for name, tensor in header.items():
        layer = re.fullmatch(r"(.*\.(?:h|layers)\.)(\d+)(\..*)", name)
        for copy in range(DEPTH if layer and int(layer[2]) >= first else 1):
            number = f"{layer[1]}{int(layer[2]) + copy * layers}{layer[3]}" if layer else name
            repeated[number] = tensor | {"shape": list(tensor["shape"])}
    parts, end = [], 0
    for name, tensor in repeated.items():
        content = data[slice(*tensor["data_offsets"])]
        rows = 1
        for axis, size in enumerate(tensor["shape"]):
            # Some have two of them in one tensor.
            if size in (inner, 2 * inner) and re.search(r"\.(mlp|experts)\.", name):
                bytes_of_row = len(content) // rows
                content = b"".join(content[i * bytes_of_row:(i + 1) * bytes_of_row] * FACTOR for i in range(rows))
                tensor["shape"][axis] *= FACTOR
            rows *= tensor["shape"][axis]
        parts.append(content)
        tensor["data_offsets"] = [end, end + len(content)]
        end += len(content)
    text = json.dumps(repeated).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def test(arguments, scratch):
    if in_memory(scratch):
        print(f"skipped: {scratch} is in memory, where files save none")
        sys.exit(77)
    path = lambda *names: os.path.join(scratch, *names)
    generator = random.Random(5)
    with open(path("in.jsonl"), "w") as file:
        for number in range(5):
            tokens = [generator.randrange(100) for _ in range(generator.choice([3, 20, 70]))]
            file.write(json.dumps({"id": str(number), "tokens": tokens, "max_new_tokens": 8}) + "\n")
    for golden in arguments.models:
        name = os.path.basename(os.path.normpath(golden))
        enlarge(golden, path(name))
        program = path(f"{name}.program")
        run([arguments.batonc, path(name), QUICK, "--quiet", "--max-batch=4", "--max-rows=32", "--max-seq=96", "--offload",
             "-o", program])

        def batch(out, *flags, check=True):
            return run([program, "batch", "--weights", path(name), "--requests", path("in.jsonl"), "--out",
                        path(f"{name}.{out}"), "--workers", 2, "--json", "--quiet", *flags], check=check)

        batch("whole")
        refusal = batch("none", "--memory", "1MiB", "--kv-in-memory", "0", check=False).stderr
        least = re.search(r"less than the ([\d.]+) MiB", refusal)
        expect(least, refusal)
        # What the process itself has differs from run to run.
        limit = int((float(least[1]) + 0.5) * 1024)
        memory = json.loads(batch("limited", "--memory", f"{limit}KiB", "--kv-in-memory", "0").stdout)["memory"]
        with open(path(f"{name}.whole")) as whole, open(path(f"{name}.limited")) as limited:
            expected, found = whole.read(), limited.read()
        expect(expected.count('"tokens"') == 5 and found == expected, f"{name}: {found}, expected {expected}")
        expect(memory["moved_weights"] > MIB // 4 and memory["pages_read"] > 0 and memory["pages_written"] > 0,
               f"{name}: too little moves: {memory}")
        expect(memory["steps"] <= memory["least_loads"] <= memory["most_loads"] <= memory["steps"] + 1, f"{name}: {memory}")
        print(f"{name}: {memory['moved_weights'] / MIB:.1f} MiB of weights and {memory['pages_read'] / MIB:.1f} MiB of "
              f"pages in {memory['steps']} steps")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batonc", required=True)
    parser.add_argument("models", nargs="+", metavar="GOLDEN")
    programs.main(lambda scratch: test(parser.parse_args(), scratch))
