"""The memory that a program of quantised weights has resident is the forecast's within 2 %.

Of a model of 60 to 110 MB of quantised weights. What is resident is the kernel's account
(/proc/PID/status) while a text is decoded behind a prompt, all positions of which are used. The
forecast is that of `bench --dry-run`: weights, keys and values, activations and scratch, as `info`
states them, in the pages of the system. Beside are only pages of files: the program's own code, of
which there is no more than the executable has, and the C library's. Those are not the process's
alone.

Without --more: layers that differ, as llama.cpp's Q4_K_M has them. With it also Q8_0, Q4_0, Q4_K
and a folder of NF4.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import time

import gguf_writer
import programs
from programs import Program, expect, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = ["tools/random-checkpoint", "build/lib/baton/quantize"]
LAYERS, WIDTH, INNER, VOCABULARY, POSITIONS, NEW = 6, 1024, 4096, 2048, 256, 24
MARGIN = 0.02


def mixed(layer, name):
    if name in ("token_embd", "output"):
        return "Q6_K"
    return "Q6_K" if name in ("attn_v", "ffn_down") and layer in (0, 5) else "Q4_K"


class Writer(gguf_writer.Writer):
    """A tensor has few blocks, again and again."""

    def tensor(self, name, kind, *shape):
        if len(shape) == 1:
            super().tensor(name, kind, *shape)
            return
        few = 16, 256
        super().tensor(name, kind, *few)
        _, number, _, data = self.tensors.pop()
        self.tensors.append((name, number, shape, data * (math.prod(shape) // math.prod(few))))


def gguf(path, kinds):
    gguf_writer.llama(path, kinds, layers=LAYERS, width=WIDTH, inner=INNER, vocabulary=VOCABULARY, positions=POSITIONS,
                      writer=Writer)


def folder(batonc, path):
    config = {"model_type": "llama", "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": 9,
              "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": VOCABULARY, "rms_norm_eps": 1e-5,
              "max_position_embeddings": POSITIONS, "rope_theta": 10000.0, "hidden_act": "silu",
              "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
    with open(path + "-config.json", "w") as file:
        json.dump(config, file)
    run([os.path.join(ROOT, "tools/random-checkpoint"), path + "-whole", "--like", path + "-config.json"])
    run([batonc, "quantize", path + "-whole", "--format", "nf4", "--scale", "max", "-o", path, "--quiet"])


def resident(command):
    """The bytes that a command has resident while it writes tokens; those of them that are no file's."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.read(1)
    found = []
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        if "VmRSS" not in lines:
            break
        found.append([int(lines[name].split()[0]) << 10 for name in ("VmRSS", "RssAnon")])
        time.sleep(0.002)
    process.stdout.read()
    expect(process.wait() == 0 and len(found) > 10, f"{command}: status {process.returncode}, {len(found)} times read")
    return [statistics.median(values) for values in zip(*found)]


def check(arguments, scratch, name, model):
    program = Program(arguments.batonc, model, os.path.join(scratch, name), f"--max-seq={POSITIONS}")
    info = json.loads(run([program.path, "info", "--json"]).stdout)["memory"]
    said = json.loads(run([program.path, "bench", "--dry-run", "--json", "--prefill", POSITIONS - NEW, "--decode", NEW,
                           "--workers", 1]).stdout)
    stated = info["weights"] + info["kv"] + info["activations"] + info["scratch"]
    # Tables that are as the program wants them stay in their file, mapped.
    tables = said["memory"].pop("tables", 0)
    forecast = sum(said["memory"].values())
    # A huge page more for each region, at most.
    expect(-info["activations"] / 8 <= forecast + tables - stated < 8 << 21, f"{name}: info says {info}, the forecast {said['memory']}")
    tokens = ",".join(str(7 * i % VOCABULARY) for i in range(POSITIONS - NEW))
    whole, own = resident([program.path, "generate", "--weights", model, "--tokens", tokens, "--max-new-tokens", NEW,
                           "--no-cache", "--quiet", "--workers", 1, "--temperature", 1, "--seed", 1])
    code, libraries = os.path.getsize(program.path), 4 << 20
    print(f"{name}: {own / 1e6:.2f} MB are resident that are no file's, {forecast / 1e6:.2f} are said "
          f"({own / forecast - 1:+.2%}); of files {(whole - own) / 1e6:.2f}; info says {stated / 1e6:.2f}")
    expect(abs(own / forecast - 1) < MARGIN, f"{name}: {own} bytes are resident, {forecast} are said: {said['memory']}")
    # Of a checkpoint whose weights are packed, none.
    expect(whole - own < code + libraries + tables,
           f"{name}: {whole - own} bytes of files are resident, the executable has {code}, tables {tables}")
    expect(said["bytes"] == forecast + tables + said["process_bytes"], f"{name}: {said}")


def test(arguments, scratch):
    kinds = {"mixed": mixed}
    if arguments.more:
        kinds |= {kind: lambda layer, name, kind=kind: kind for kind in ("Q8_0", "Q4_0", "Q4_K")}
    for name, of_tensor in kinds.items():
        model = os.path.join(scratch, f"{name}.gguf")
        gguf(model, of_tensor)
        check(arguments, scratch, name, model)
        os.remove(model)
    if arguments.more:
        model = os.path.join(scratch, "nf4-folder")
        folder(arguments.batonc, model)
        check(arguments, scratch, "NF4", model)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--more", action="store_true", help="single formats, and a folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
