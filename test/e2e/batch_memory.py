"""The memory of FILE batch: its weights, its pool of pages and at most 200 MB.

A model whose weights and whose pool are larger than that each, so that nothing of either may be there
twice: not while weights are packed and kept for the next start, not when they are read again, not
while requests fill every page. What weights and a page take is as `info` states it, and how many pages
there are as `batch` does.

The peak is the kernel's, of all resident memory (VmHWM; a process that has ended tells it as its
ru_maxrss). That counts pages of the mapped checkpoint, too, for as long as they are mapped. Nothing is
deducted for them: the runtime gives those of a tensor back once it is packed, and those that the
program goes on reading, of the table of tokens, are among the weights that `info` states. The files'
pages in the system's cache are nobody's resident memory.
"""

import argparse
import json
import math
import os
import random
import struct
import subprocess

import programs
from programs import Program, expect, run

ALLOWANCE = 200_000_000
# Wide heads beside narrow layers: a position has large keys and values, and takes little time.
HIDDEN, INNER, LAYERS, VOCABULARY, HEADS, WIDTH = 512, 1024, 4, 32768, 32, 128
SEQUENCES, POSITIONS = 16, 128


def shapes():
    yield "model.embed_tokens.weight", (VOCABULARY, HIDDEN)
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"{prefix}{name}.weight", (HIDDEN,)
        for name in ("q", "k", "v"):
            yield f"{prefix}self_attn.{name}_proj.weight", (HEADS * WIDTH, HIDDEN)
        yield f"{prefix}self_attn.o_proj.weight", (HIDDEN, HEADS * WIDTH)
        for name in ("gate", "up"):
            yield f"{prefix}mlp.{name}_proj.weight", (INNER, HIDDEN)
        yield f"{prefix}mlp.down_proj.weight", (HIDDEN, INNER)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (VOCABULARY, HIDDEN)


def write_checkpoint(folder):
    """Small random numbers, in F32; the same ones again and again."""
    generator = random.Random(3)
    numbers = struct.pack("<65537f", *(generator.gauss(0, 0.03) for _ in range(65537)))
    header, end = {}, 0
    for name, shape in shapes():
        begin, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.mkdir(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for begin in range(0, end, len(numbers)):
            file.write(numbers[:end - begin])
    config = {"model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
              "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": WIDTH, "vocab_size": VOCABULARY,
              "max_position_embeddings": 1024, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
              "tie_word_embeddings": False, "torch_dtype": "float32"}
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)


def write_requests(path):
    """As many texts as run at once, which together fill all pages."""
    generator = random.Random(4)
    with open(path, "w") as file:
        for number in range(SEQUENCES):
            tokens = [generator.randrange(VOCABULARY) for _ in range(POSITIONS - 4)]
            print(json.dumps({"id": str(number), "tokens": tokens, "max_new_tokens": 5}), file=file)


def run_and_measure(command, out):
    """The summary that it prints, and the most memory that was resident."""
    with open(out, "w+") as file:
        process = subprocess.Popen([str(word) for word in command], stdout=file, stderr=file)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        file.seek(0)
        text = file.read()
    expect(process.returncode == 0, f"status {process.returncode}: {text}")
    return json.loads(text), usage.ru_maxrss * 1024


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    write_checkpoint(path("model"))
    write_requests(path("requests.jsonl"))
    program = Program(arguments.batonc, path("model"), path("program"), f"--max-batch={SEQUENCES}", "--max-rows=64",
                      "--kv-type=f32")
    info = json.loads(run([program.path, "info", "--json"]).stdout)
    weights, page = info["memory"]["weights"], info["batch"]["page_bytes"]
    pages = SEQUENCES * POSITIONS // 64
    for what in ("packed and kept", "read again"):
        command = [program.path, "batch", "--weights", path("model"), "--requests", path("requests.jsonl"), "--out",
                   path(f"{what}.jsonl"), "--kv-memory", pages * page, "--workers", 2, "--json", "--quiet"]
        summary, peak = run_and_measure(command, path("summary"))
        expect(summary["errors"] == 0 and summary["pages"] == pages, f"{summary}")
        pool = summary["pages"] * page
        expect(min(weights, pool) > ALLOWANCE, f"{weights} and {pool} bytes are too few to judge by")
        print(f"weights {what}: {peak / 1e6:.0f} MB at most, of which {weights / 1e6:.0f} MB weights and "
              f"{pool / 1e6:.0f} MB pages")
        expect(peak <= weights + pool + ALLOWANCE, f"weights {what}: more than these and {ALLOWANCE / 1e6:.0f} MB")
        # Else the pool was not used. Of the table of tokens only what is looked up is resident.
        expect(peak >= weights - 4 * VOCABULARY * HIDDEN + pool, f"weights {what}: less than what there is")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
