#!/usr/bin/env python3
"""How long updates take, for each element: processor time of one worker's steps with an
optimizer, less that of steps with SGD, which is little beside it.

A small Llama of one layer, whose steps have few tokens.
"""

import argparse
import json
import os
import resource
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from programs import run  # noqa: E402
from training import write_optimizer_weights, write_tokens  # noqa: E402

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 128, "vocab_size": 64,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "torch_dtype": "float32",
}
FEW, MANY = 2, 22


def seconds(command):
    """User time of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run(command)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("optimizers", nargs="*", default=["adamw", "adamw_8bit", "adafactor", "small_fc_lopt"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = lambda name: os.path.join(scratch, name)
        with open(path("config.json"), "w") as file:
            json.dump(CONFIG, file)
        write_tokens(path("tokens.u16"), ((i * i + 3 * i) % 61 for i in range(300)))
        write_optimizer_weights(path("network.safetensors"))
        steps = {}
        for optimizer in ("sgd", *arguments.optimizers):
            run([arguments.batonc, scratch, "--mode=train", f"--optimizer={optimizer}", "--quiet", "-o", path(optimizer)])
            own = ["--optimizer-weights", path("network.safetensors")] if optimizer == "small_fc_lopt" else []
            times = [min(seconds([path(optimizer), "train", "--init-seed", 1, "--model", scratch, "--data",
                                  path("tokens.u16"), "--batch", 1, "--seq", 8, "--steps", count, "--workers", 1,
                                  "--quiet", "--validation-fraction", 0, "--out", path(f"{optimizer}-{count}-{i}"), *own])
                         for i in range(3)) for count in (FEW, MANY)]
            steps[optimizer] = (times[1] - times[0]) / (MANY - FEW)
        memory = json.loads(run([path("sgd"), "info", "--json"]).stdout)["training_memory"]
        elements = memory["parameter"] // 4
        for optimizer in arguments.optimizers:
            print(f"{optimizer}: {(steps[optimizer] - steps['sgd']) / elements * 1e9:.1f} ns more an element than sgd")


if __name__ == "__main__":
    main()
