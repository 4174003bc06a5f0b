#!/usr/bin/env python3
"""Compares a training step of Baton's with PyTorch's and llm.c's, on the same random
weights and the same tokens.

    test/bench/training.py build/bin/batonc --work DIR [--shape gpt2-124m]
                           [--batch 4] [--seq 64 256] [--workers 2] [--rounds 3]
                           [--llm-c PROGRAM ...]

Makes a checkpoint of GPT-2's shapes in DIR (kept there), compiles it with
--mode=train, and runs the engines in turn, each in a process of its own: Baton,
PyTorch as it is, and PyTorch with torch.compile where that works. All train in
F32 with AdamW (decay 0.1 of matrices, gradients clipped to norm 1) on the same
sequences in every step. PyTorch is left out where torch or transformers is missing.

--llm-c adds a build of one's own of llm.c's plain C program train_gpt2: make builds
it, or clang -O3 -march=native -ffast-math -fopenmp train_gpt2.c -lm. B = 4 and T = 64
are compiled into it: for others they are edited in its main, and --llm-c has a
program for each length of --seq, in the same order. It runs --workers threads of
OpenMP. Its AdamW has neither decay nor clipping, which costs less than the others' do.

The verdict comes first: losses of all steps have to agree to 1e-4 of their size
(of llm.c's that of the first step, to 1e-5), or no time is printed. Then the median of the
steps' times over all rounds, but for each process's first two steps, the ratio to
Baton's, tokens/s, the most memory that the process had resident, and the fraction
of the machine's peak of fused multiply-adds, which bench measures in every round
(the best counts). A step's operations, counted once, whatever an engine computes
again:

    6 P B T + 6 L d B T (T + 1)

P weights of linears with the output projection, without embeddings and biases;
L layers of d columns, whose attention is causal: forward 2 d (T + 1) a token
for scores and as many for values on average, half of it by masks; twice that
backward.
"""

import argparse
import array
import json
import math
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

import llm_c

SHAPES = {
    "gpt2-124m": dict(n_embd=768, n_head=12, n_layer=12, n_positions=1024, vocab_size=50257),
    "tiny": dict(n_embd=16, n_head=2, n_layer=2, n_positions=32, vocab_size=40),
    "small": dict(n_embd=128, n_head=4, n_layer=3, n_positions=256, vocab_size=1024),
}
RATE, TOLERANCE, WARM = 1e-4, 1e-4, 2
# Where only the first losses have to agree, since the optimizers differ: how many, and
# how well. One forward is closer than steps are, and the same tokens cut to another T
# came within 6e-5.
COMPARED = {"llm.c": (1, 1e-5)}


def config_of(shape):
    return dict(architectures=["GPT2LMHeadModel"], model_type="gpt2", activation_function="gelu_new",
                attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, layer_norm_epsilon=1e-5,
                tie_word_embeddings=True, bos_token_id=0, eos_token_id=0, torch_dtype="float32", **SHAPES[shape])


def tensors(config):
    """(name, shape, deviation) of every weight; None means ones."""
    width = config["n_embd"]
    yield "wte.weight", (config["vocab_size"], width), 0.02
    yield "wpe.weight", (config["n_positions"], width), 0.01
    for layer in range(config["n_layer"]):
        prefix = f"h.{layer}."
        for name in ("ln_1", "ln_2"):
            yield f"{prefix}{name}.weight", (width,), None
            yield f"{prefix}{name}.bias", (width,), 0.01
        for name, rows, columns in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                    ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)):
            yield f"{prefix}{name}.weight", (rows, columns), 0.02
            yield f"{prefix}{name}.bias", (columns,), 0.01
    yield "ln_f.weight", (width,), None
    yield "ln_f.bias", (width,), 0.01


def write_checkpoint(folder, config):
    """model.safetensors and config.json, unless they are there."""
    if os.path.exists(os.path.join(folder, "config.json")):
        return
    os.makedirs(folder, exist_ok=True)
    header, offset = {}, 0
    for name, shape, _ in tensors(config):
        end = offset + math.prod(shape) * 4
        header["transformer." + name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    header["__metadata__"] = {"format": "pt"}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    generator = random.Random(1)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, shape, deviation in tensors(config):
            rest = math.prod(shape)
            while rest:
                count = min(rest, 1 << 20)
                values = array.array("f", [1.0]) * count
                if deviation is not None:
                    # Uniform, of that standard deviation.
                    integers = array.array("h", generator.randbytes(2 * count))
                    scale = deviation * 3**0.5 / 2**15
                    values = array.array("f", [scale * integer for integer in integers])
                values.tofile(file)
                rest -= count
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)


def sequences_of(batch, length, vocabulary):
    """Tokens of `length` + 1 each, of which a model can learn something. The last one
    is the first of the next sequence, since llm.c cuts sequences so."""
    rows = [[(7919 * (i % 31 + 1) + 101 * row) % vocabulary for i in range(length)] for row in range(batch)]
    return [row + following[:1] for row, following in zip(rows, rows[1:] + rows[:1])]


# The peer, in a process of its own: prints one JSON line ---------------------

def engine(arguments):
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(arguments.workers[0])
    length = arguments.seq[0]
    model = transformers.AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32).train()
    tokens = torch.tensor(sequences_of(arguments.batch, length, model.config.vocab_size))
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=1e-8, fused=True)
    forward = torch.compile(model) if arguments.engine == "compiled" else model
    losses, times = [], []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        logits = forward(tokens[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - start)
    print(json.dumps({"losses": losses, "times": times}))


def apart(function, *arguments):
    """In a process of its own: the most memory that a program is said to have had
    resident is never less than that of the process that started it."""
    process = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(process.exitcode)


def measured(command):
    """Standard output, and the most bytes that were resident; None if it failed."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        print(f"{' '.join(map(str, command[:3]))} failed ({process.returncode})", file=sys.stderr)
        return None
    return output, usage.ru_maxrss * 1024


def run_engine(command):
    """What a peer's process prints, and its memory; None if it failed."""
    result = measured(command)
    if result is None:
        return None
    output, peak = result
    return json.loads(output.splitlines()[-1]) | {"peak": peak}


def run_peer(arguments, name, folder, length):
    return run_engine([sys.executable, __file__, "--engine", name, "--model", folder, "--batch", arguments.batch,
                       "--seq", length, "--workers", arguments.workers[0], "--steps", arguments.steps])


def run_trainer(command, out, tokens):
    """A run of Baton's of so many tokens a step, whose folder is removed."""
    shutil.rmtree(out, ignore_errors=True)
    result = measured([*command, "--lr", RATE, "--lr-schedule", "constant", "--weight-decay", 0.1, "--clip", 1,
                       "--validation-fraction", 0, "--out", out, "--quiet"])
    shutil.rmtree(out, ignore_errors=True)
    if result is None:
        sys.exit("Baton's run failed")
    lines = [json.loads(line) for line in result[0].splitlines()]
    return {"losses": [line["loss"] for line in lines], "peak": result[1],
            "times": [tokens / line["tokens_per_s"] for line in lines]}


def run_baton(arguments, program, folder, length):
    data = os.path.join(arguments.work, "tokens.u16")
    with open(data, "wb") as file:
        for sequence in sequences_of(arguments.batch, length, SHAPES[arguments.shape]["vocab_size"]):
            file.write(b"".join(token.to_bytes(2, "little") for token in sequence))
    return run_trainer([program, "train", "--weights", folder, "--data", data, "--batch", arguments.batch, "--seq",
                        length, "--steps", arguments.steps, "--workers", arguments.workers[0]],
                       os.path.join(arguments.work, "run"), arguments.batch * length)


def run_llm_c(arguments, program, folder, length, steps):
    files = folder + "-llm.c"
    apart(llm_c.write_files, files, folder,
          sequences_of(arguments.batch, length, SHAPES[arguments.shape]["vocab_size"]))
    return llm_c.run(program, files, arguments.batch, length, arguments.workers[0], steps)


# -----------------------------------------------------------------------------

def operations(config, batch, length):
    width, layers = config["n_embd"], config["n_layer"]
    linears = 12 * layers * width * width + width * config["vocab_size"]
    tokens = batch * length
    return 6 * linears * tokens + 6 * layers * width * tokens * (length + 1)


def run_rounds(engines, decoder, rounds, workers):
    """What each engine's runs have found, in turn, and the machine's peak of multiply-adds. One
    that fails is left out."""
    runs, broken, peak = {}, set(), 0
    for _ in range(rounds):
        bench = subprocess.run([decoder, "bench", "--prefill", "16", "--decode", "4", "--repeat", "1", "--json",
                                "--quiet", "--workers", str(workers)],
                               check=True, capture_output=True, text=True)
        peak = max(peak, json.loads(bench.stdout)["fma_peak"])
        for name, run in engines.items():
            if name in broken:
                continue
            found = run()
            if found is None:
                broken.add(name)
                runs.pop(name, None)
            else:
                runs.setdefault(name, []).append(found)
    return runs, peak


def print_times(runs, tokens, work, peak):
    """Of steps of so many tokens and operations."""
    print(f"  {work / 1e9:.1f} GFLOP a step, {peak / 1e9:.0f} GFLOP/s at most")
    longest, reference = max(9, *map(len, runs)), None
    for name, found in runs.items():
        median = statistics.median(seconds for run in found for seconds in run["times"][WARM:])
        reference = reference or median
        print(f"  {name:{longest}} {median * 1e3:9.1f} ms a step ({median / reference:.2f} of Baton's)  "
              f"{tokens / median:8.0f} tokens/s  {work / median / peak:4.0%} of multiply-add peak  "
              f"{max(run['peak'] for run in found) / 2**20:7.0f} MiB", flush=True)


def compare(arguments, config, folder, trainer, decoder, length, llm_c_program):
    engines = {"Baton": lambda: run_baton(arguments, trainer, folder, length),
               "eager": lambda: run_peer(arguments, "eager", folder, length),
               "compiled": lambda: run_peer(arguments, "compiled", folder, length)}
    if llm_c_program:
        engines["llm.c"] = lambda: run_llm_c(arguments, llm_c_program, folder, length, arguments.steps)
    runs, peak = run_rounds(engines, decoder, arguments.rounds, arguments.workers[0])
    print(f"\n{arguments.shape} F32, B = {arguments.batch}, T = {length}, {arguments.workers[0]} threads, "
          f"{arguments.rounds} rounds of {arguments.steps} steps")
    own = runs["Baton"][0]["losses"]
    wrong = []
    for name, found in runs.items():
        compared, tolerance = COMPARED.get(name, (len(own), TOLERANCE))
        distances = [abs(loss / reference - 1) for run in found
                     for loss, reference in zip(run["losses"], own[:compared])]
        agrees = (all(distance <= tolerance for distance in distances) and
                  all(len(run["losses"]) == len(own) for run in found))
        if not agrees:
            wrong.append(name)
        print(f"  verdict  {name:9} losses {found[0]['losses'][0]:.5f} to {found[0]['losses'][-1]:.5f}, "
              f"{'the first ' if compared < len(own) else ''}{max(distances):.1e} from Baton's: "
              f"{'agree' if agrees else 'DO NOT AGREE'}")
    if wrong:
        sys.exit("losses differ: no times" + (f" (is {llm_c_program} built for B = {arguments.batch}, T = {length}?)"
                                              if wrong == ["llm.c"] else ""))
    print_times(runs, arguments.batch * length, operations(config, arguments.batch, length), peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc", nargs="?")
    parser.add_argument("--work", default="training")
    parser.add_argument("--shape", default="gpt2-124m", choices=list(SHAPES))
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", nargs="+", type=int, default=[64, 256])
    parser.add_argument("--workers", nargs=1, type=int, default=[2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8, help="steps of each run, of which two warm up")
    parser.add_argument("--llm-c", nargs="+", metavar="PROGRAM",
                        help="llm.c's train_gpt2, a file for each length of --seq that has B and T compiled in")
    for hidden in ("--engine", "--model"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.steps <= WARM:
        parser.error(f"--steps has to be more than {WARM}")
    if arguments.engine:
        return engine(arguments)
    if not arguments.batonc:
        parser.error("which batonc?")
    programs = arguments.llm_c or [None] * len(arguments.seq)
    if len(programs) != len(arguments.seq):
        parser.error(f"--llm-c has {len(programs)} programs for {len(arguments.seq)} lengths of --seq: "
                     "T is compiled into each, so that every length needs its own")
    if arguments.llm_c and arguments.steps > llm_c.STEPS:
        parser.error(f"--steps {arguments.steps}: llm.c's program makes {llm_c.STEPS}")
    config = config_of(arguments.shape)
    folder = os.path.join(arguments.work, arguments.shape)
    apart(write_checkpoint, folder, config)
    if arguments.llm_c:
        for length, program in zip(arguments.seq, programs):
            run_llm_c(arguments, program, folder, length, steps=0)
    trainer, decoder = (os.path.join(arguments.work, name) for name in ("trainer", "decoder"))
    for program, mode in ((trainer, "train"), (decoder, "decode")):
        subprocess.run([arguments.batonc, folder, f"--mode={mode}", "-o", program, "--quiet"], check=True)
    for length, program in zip(arguments.seq, programs):
        compare(arguments, config, folder, trainer, decoder, length, program)


if __name__ == "__main__":
    main()
