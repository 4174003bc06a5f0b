#!/usr/bin/env python3
"""Holds steps that `batonc plan decode` predicts against programs that run.

    test/bench/predictions.py build/bin/batonc DEVICE.json [--rounds 3] [--dtype f32,bf16]

DEVICE.json is of this machine (batonc calibrate). Three Llamas of other sizes than those that were
calibrated, and larger than caches, are compiled with random weights: one token is decoded
behind 100 and behind 700 positions, prompts of 12 and 100 tokens are one step each, and several
sequences decode together. What was measured is the median over rounds of the best window of
eight tokens, or of the best of six prompts (bench). A ratio is predicted to measured.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

MODELS = {  # hidden, MLP, heads, key and value heads, layers, vocabulary
    "wide": (1152, 2880, 18, 6, 5, 2000),
    "deep": (640, 1792, 10, 5, 16, 4096),
    "tall": (768, 3072, 12, 12, 8, 8000),
}
WINDOW = 8


def config(hidden, mlp, heads, pairs, layers, vocabulary):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "intermediate_size": mlp,
            "num_attention_heads": heads, "num_key_value_heads": pairs, "head_dim": 64, "num_hidden_layers": layers,
            "vocab_size": vocabulary, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "tie_word_embeddings": False,
            "max_position_embeddings": 1024, "hidden_act": "silu"}


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc")
    parser.add_argument("device")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dtype", default="f32,bf16")
    arguments = parser.parse_args()

    def predicted(model, dtype, rows, positions, *flags):
        (step,) = json.loads(output(arguments.batonc, "plan", "decode", "--model", model, "--device", arguments.device, "--json",
                                    "--dtype", dtype, "--rows", rows, "--positions", positions, *flags))["steps"]
        return step["seconds"]

    # (what, predicted seconds, a function that measures them)
    steps = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, shape in MODELS.items():
            folder = os.path.join(scratch, name)
            os.makedirs(folder)
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                json.dump(config(*shape), file)
            for dtype in arguments.dtype.split(","):
                one, many = (os.path.join(scratch, f"{name}-{dtype}-{kind}") for kind in ("one", "many"))
                for program, flags in ((one, []), (many, ["--max-batch=8"])):
                    output(arguments.batonc, folder, "-o", program, "--quiet", f"--dtype={dtype}", *flags)

                def bench(program, *flags):
                    return json.loads(output(program, "bench", "--brief", "--json", "--quiet", *flags))

                def decoding(positions, program=one):
                    return 1 / bench(program, "--prefill", positions - WINDOW // 2, "--decode", WINDOW, "--repeat", 6)["decode_tokens_per_s"]

                def prompt(rows, program=one):
                    return rows / bench(program, "--prefill", rows, "--decode", 1, "--repeat", 6)["prefill_tokens_per_s"]

                def together(rows, program=many):
                    return bench(program, "--batch", rows, "--prefill", 96, "--decode", 16, "--repeat", 2)["batches"][0]["step_s"]

                for positions in (100, 700):
                    steps.append((f"{name} {dtype}, 1 token, {positions} positions", predicted(folder, dtype, 1, positions),
                                  lambda positions=positions, decoding=decoding: decoding(positions)))
                for rows in (12, 100):
                    steps.append((f"{name} {dtype}, prompt of {rows}", predicted(folder, dtype, rows, rows),
                                  lambda rows=rows, prompt=prompt: prompt(rows)))
                for rows in (3, 6):
                    steps.append((f"{name} {dtype}, {rows} sequences", predicted(folder, dtype, rows, 104, "--batched"),
                                  lambda rows=rows, together=together: together(rows)))
        rounds = [[measure() for _, _, measure in steps] for _ in range(arguments.rounds)]

    print("| step | predicted | measured | ratio | rounds |\n|---|---:|---:|---:|---|")
    errors = {}
    for at, (what, seconds, _) in enumerate(steps):
        times = [each[at] for each in rounds]
        measured = statistics.median(times)
        kind = "prompts" if "prompt" in what else "batches" if "sequences" in what else "decoding"
        errors.setdefault(kind, []).append(abs(seconds / measured - 1))
        print(f"| {what} | {seconds * 1e3:.2f} ms | {measured * 1e3:.2f} ms | {seconds / measured:.2f} | "
              f"{min(times) * 1e3:.2f} to {max(times) * 1e3:.2f} ms |")
    print()
    for kind, values in errors.items():
        print(f"{kind}: mean error {statistics.mean(values):.1%}, largest {max(values):.1%}, of {len(values)}")


if __name__ == "__main__":
    sys.exit(main())
