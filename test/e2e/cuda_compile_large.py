"""Kernels for GPUs of a model of usual size, Llama-3.2-1B's: a configuration is enough.

For sm_80 and sm_90a no register is spilled, and multiplications by warpgroups overlap.
The second compilation takes the kernels from the cache and gives the same bytes. The
processor time of each is printed, and no verdict.

Skipped (77) where NVRTC is neither installed nor fetched by tools/install-cuda.
"""

import argparse
import json
import os
import resource
import sys

import programs
from cuda_compile import expect_fast
from programs import expect, run

CONFIG = dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=2048, intermediate_size=8192,
              num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, head_dim=64, vocab_size=128256,
              max_position_embeddings=131072, rms_norm_eps=1e-5, rope_theta=500000.0, hidden_act="silu",
              rope_scaling=dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                original_max_position_embeddings=8192),
              tie_word_embeddings=True, attention_bias=False, mlp_bias=False, torch_dtype="bfloat16")


def processor_seconds():
    """Of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    os.makedirs(path("model"))
    with open(path("model/config.json"), "w") as file:
        json.dump(CONFIG, file)
    for architecture in ("sm_80", "sm_90a"):
        made = []
        for from_cache in (False, True):
            before = processor_seconds()
            result = run([arguments.batonc, path("model"), "-o", path("program"), f"--target=cuda:{architecture}",
                          "--max-seq=33024"], check=False)
            if "NVRTC" in result.stderr and "was not found" in result.stderr:
                print(result.stderr.strip())
                sys.exit(77)
            expect(result.returncode == 0, result.stderr)
            expect(("kernels from the cache" in result.stderr) == from_cache,
                   f"{architecture}, compiled {len(made) + 1} times: {result.stderr}")
            seconds = processor_seconds() - before
            with open(path("program"), "rb") as file:
                made.append(file.read())
            print(f"{architecture}, {'kernels from the cache' if from_cache else 'compiled'}: "
                  f"{seconds:.1f} s of processor time", flush=True)
        expect(made[0] == made[1], f"{architecture}: kernels from the cache make another program")
        device = json.loads(run([path("program"), "info", "--json"]).stdout)["device"]
        expect(len(device["kernels"]) == 2, "not one kernel for few rows and one for many")
        expect_fast(device, architecture)
        print([(kernel["name"], kernel["registers"]) for kernel in device["kernels"]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch), own_cache=True)
