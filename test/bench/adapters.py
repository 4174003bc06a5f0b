#!/usr/bin/env python3
"""Compares a LoRA step of Baton's with PEFT's on PyTorch, on the same random weights,
the same pairs and the same tokens.

    test/bench/adapters.py build/bin/batonc --work DIR [--shape qwen3-0.6b] [--dtype f32]
                           [--batch 4] [--seq 512] [--rank 16] [--workers 2] [--rounds 3]
                           [--base FILE.gguf ...]

Makes a checkpoint of the shape in DIR (kept there), compiles it with --adapter=lora, pairs
beside all linears, and runs the engines in turn, each in a process of its own: Baton,
PEFT as it is, and PEFT with torch.compile where that works. All train the pairs with
AdamW (decay 0.1, gradients clipped to norm 1) on the same sequences in every step. With
--dtype=bf16 the frozen weights are BF16: Baton multiplies F32 activations by them, PEFT
computes in BF16 where it multiplies. --base adds Baton beside a quantised file.

The verdict comes first: losses of all steps have to agree to 1e-3 of their size (to 2e-2 of
BF16), or no time is printed. Then the median of the steps' times over all rounds, but for
each process's first two steps, the ratio to Baton's, tokens/s, the most memory that the process had
resident, and the fraction of the machine's peak of fused multiply-adds, which bench
measures in every round (the best counts). A step's operations, counted once, whatever an
engine computes again:

    4 P B T + 6 A B T + 6 L d B T (T + 1)

P frozen weights of linears with the output projection, without embeddings (forward, and
the gradient of inputs; there is none of weights); A weights of pairs; L layers whose heads
are d wide together, and whose attention is causal.
"""

import argparse
import json
import os
import subprocess
import sys
import time

from training import RATE, WARM, apart, print_times, run_engine, run_rounds, run_trainer, sequences_of

SHAPES = {
    "qwen3-0.6b": dict(model_type="qwen3", hidden_size=1024, intermediate_size=3072, num_hidden_layers=28,
                       num_attention_heads=16, num_key_value_heads=8, head_dim=128, vocab_size=151936,
                       tie_word_embeddings=True, max_position_embeddings=4096, rms_norm_eps=1e-6),
    "llama-3.2-1b": dict(model_type="llama", hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                         num_attention_heads=32, num_key_value_heads=8, head_dim=64, vocab_size=128256,
                         tie_word_embeddings=True, max_position_embeddings=4096, rms_norm_eps=1e-5),
    "tiny": dict(model_type="llama", hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                 num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=512,
                 tie_word_embeddings=True, max_position_embeddings=128, rms_norm_eps=1e-5),
}
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
TYPES = {"f32": "float32", "bf16": "bfloat16"}
TOLERANCE = {"f32": 1e-3, "bf16": 2e-2}


def write_model(folder, adapter, arguments):
    """The checkpoint and the pairs to begin with, by Transformers and PEFT."""
    if os.path.exists(os.path.join(adapter, "adapter_config.json")):
        return
    import peft
    import torch
    import transformers
    torch.manual_seed(1)
    settings = dict(SHAPES[arguments.shape])
    kind = settings.pop("model_type")
    config = transformers.AutoConfig.for_model(kind, **settings)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, TYPES[arguments.dtype]))
    model.save_pretrained(folder)
    pairs = peft.LoraConfig(task_type="CAUSAL_LM", r=arguments.rank, lora_alpha=2 * arguments.rank,
                            target_modules=TARGETS)
    peft.get_peft_model(model, pairs).save_pretrained(adapter)


def engine(arguments):
    """The peer, in a process of its own: prints one JSON line."""
    import peft
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(arguments.workers)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        arguments.model, dtype=getattr(torch, TYPES[arguments.dtype]))
    model = peft.PeftModel.from_pretrained(model, arguments.adapter, is_trainable=True).train()
    tokens = torch.tensor(sequences_of(arguments.batch, arguments.seq, model.config.vocab_size))
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
    forward = torch.compile(model) if arguments.engine == "compiled" else model
    losses, times = [], []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        logits = forward(tokens[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - start)
    print(json.dumps({"losses": losses, "times": times}))


def run_peer(arguments, name, folder, adapter):
    return run_engine([sys.executable, __file__, "--engine", name, "--model", folder, "--adapter", adapter,
                       "--dtype", arguments.dtype, "--batch", arguments.batch, "--seq", arguments.seq,
                       "--workers", arguments.workers, "--steps", arguments.steps])


def run_baton(arguments, program, base, adapter):
    data = os.path.join(arguments.work, "tokens.u32")
    with open(data, "wb") as file:
        for sequence in sequences_of(arguments.batch, arguments.seq, SHAPES[arguments.shape]["vocab_size"]):
            file.write(b"".join(token.to_bytes(4, "little") for token in sequence))
    return run_trainer([program, "train", "--weights", base, "--adapter", adapter, "--data", data, "--batch",
                        arguments.batch, "--seq", arguments.seq, "--steps", arguments.steps, "--workers",
                        arguments.workers],
                       os.path.join(arguments.work, "run"), arguments.batch * arguments.seq)


def operations(arguments):
    shape = SHAPES[arguments.shape]
    width, inside, layers = shape["hidden_size"], shape["intermediate_size"], shape["num_hidden_layers"]
    heads, keys = (shape[name] * shape["head_dim"] for name in ("num_attention_heads", "num_key_value_heads"))
    sides = [(width, heads), (width, keys), (width, keys), (heads, width), *[(width, inside)] * 3]
    frozen = layers * sum(a * b for a, b in sides) + width * shape["vocab_size"]
    pairs = layers * arguments.rank * sum(a + b for a, b in sides)
    tokens = arguments.batch * arguments.seq
    return (4 * frozen + 6 * pairs) * tokens + 6 * layers * heads * tokens * (arguments.seq + 1)


def compare(arguments, folder, adapter, programs, decoder):
    engines = {name: lambda program=program, base=base: run_baton(arguments, program, base, adapter)
               for name, (program, base) in programs.items()}
    for name in [] if arguments.alone else ["eager", "compiled"]:
        engines[name] = lambda name=name: run_peer(arguments, name, folder, adapter)
    runs, peak = run_rounds(engines, decoder, arguments.rounds, arguments.workers)
    print(f"\nLoRA of rank {arguments.rank}, {arguments.shape} {arguments.dtype}, B = {arguments.batch}, "
          f"T = {arguments.seq}, {arguments.workers} threads, {arguments.rounds} rounds of {arguments.steps} steps")
    own, wrong = runs["Baton"][0]["losses"], []
    for name, found in runs.items():
        distance = max(abs(loss / reference - 1) for run in found for loss, reference in zip(run["losses"], own))
        # Quantised weights are others.
        agrees = name.startswith("Baton ") or distance <= TOLERANCE[arguments.dtype]
        if not agrees:
            wrong.append(name)
        print(f"  verdict  {name:14} losses {found[0]['losses'][0]:.5f} to {found[0]['losses'][-1]:.5f}, "
              f"{distance:.1e} from Baton's: {'agree' if agrees else 'DO NOT AGREE'}")
    if wrong:
        sys.exit("losses differ: no times")
    print_times(runs, arguments.batch * arguments.seq, operations(arguments), peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc", nargs="?")
    parser.add_argument("--work", default="adapters")
    parser.add_argument("--shape", default="qwen3-0.6b", choices=list(SHAPES))
    parser.add_argument("--dtype", default="f32", choices=list(TYPES))
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=512)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5, help="steps of each run, of which two warm up")
    parser.add_argument("--base", nargs="+", default=[], metavar="FILE.gguf", help="Baton beside these, too")
    parser.add_argument("--alone", action="store_true", help="without PEFT")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    for hidden in ("--engine", "--model", "--adapter"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.steps <= WARM:
        parser.error(f"--steps has to be more than {WARM}")
    if arguments.engine:
        return engine(arguments)
    if not arguments.batonc:
        parser.error("which batonc?")
    place = os.path.join(arguments.work, f"{arguments.shape}-{arguments.dtype}")
    folder, adapter = place, f"{place}-r{arguments.rank}"
    apart(write_model, folder, adapter, arguments)
    decoder = os.path.join(arguments.work, "decoder")
    programs = {"Baton": (os.path.join(arguments.work, "trainer"), folder)}
    for i, base in enumerate(arguments.base):
        programs[f"Baton {os.path.basename(base)}"] = (os.path.join(arguments.work, f"trainer-{i}"), base)
    for program, base in programs.values():
        subprocess.run([arguments.batonc, base, "--mode=train", f"--adapter={adapter}", *arguments.flags, "-o",
                        program, "--quiet"], check=True)
    subprocess.run([arguments.batonc, folder, "-o", decoder, "--quiet"], check=True)
    compare(arguments, folder, adapter, programs, decoder)


if __name__ == "__main__":
    main()
