"""The parts of run.py that train: `correct/train/CASE`, a run's losses against those
of the CPU's program, and `train/SHAPE/BATCHxSEQ/ROUND/ENGINE`, the time of steps with
random weights. A program is stopped once its steps are counted: it writes no
checkpoint."""

import json
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import time

STEPS, WARM_UP = 12, 3
NUMBERS = ("f32", "tf32", "bf16")
# The programs of a shape: the engine's name, and batonc's flags. The last one has the
# same tiles as kernels of a CUDA graph.
PROGRAMS = {"baton": ["--dtype=f32"], "baton-bf16": ["--dtype=bf16"],
            "baton-bf16-graph": ["--dtype=bf16", "--launch=graph"]}
# Steps of AdamW in F32: sums in other orders, other sines and powers. In 16 bits these
# move results across ties of the next product's rounding, as e2e.cuda_train_tuned says.
TOLERANCE, TOLERANCE_OF_16_BITS = 1e-4, 2e-2
FLAGS = ["--batch", 2, "--seq", 24, "--accumulate", 2, "--steps", 6, "--lr", 1e-3, "--warmup", 2,
         "--quiet"]


def write_tokens(path, count, vocabulary):
    generator = random.Random(1)
    with open(path, "wb") as file:
        file.write(struct.pack(f"<{count}H", *(generator.randrange(min(vocabulary, 1 << 16))
                                               for _ in range(count))))


def lines_of(text):
    """What the steps say, but for their speed."""
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        del line["tokens_per_s"]
    return lines


def correct(kit, name):
    folder, checkpoint = kit.path("cases", name), kit.path("cases", name, "checkpoint")
    with open(os.path.join(folder, "host.lines")) as file:
        host = lines_of(file.read())
    info = json.loads(kit.run(os.path.join(folder, "trainer"), "info", "--json").stdout)
    tolerance = TOLERANCE if info["model"]["dtype"] == "f32" else TOLERANCE_OF_16_BITS

    def run(*flags, program="trainer"):
        out = kit.path("run")
        shutil.rmtree(out, ignore_errors=True)
        result = kit.run(os.path.join(folder, program), "train", "--weights", checkpoint, "--data",
                         os.path.join(folder, "tokens.u16"), "--out", out, *FLAGS, *flags)
        return lines_of(result.stdout)

    found = run("--workers", 3)
    off = max((abs(mine[key] / theirs[key] - 1) for mine, theirs in zip(found, host)
               for key in ("loss", "grad_norm")), default=math.inf)
    true = {"steps": len(found) == len(host), "repeats": run("--workers", 5) == found,
            "graph": run(program="trainer-graph") == found, "losses": off <= tolerance}
    wrong = [key for key, value in true.items() if not value]
    return {"difference_from_host": off, "is_host_bit_for_bit": found == host,
            "verdict": "WRONG: " + ", ".join(wrong) if wrong else "right"}


def timed(kit, shape, batch, length, engine):
    """The milliseconds of steps of a program, and their losses."""
    folder = kit.path("shapes", shape)
    out, data = kit.path("run"), kit.path("tokens.u16")
    shutil.rmtree(out, ignore_errors=True)
    with open(os.path.join(folder, "config.json")) as file:
        vocabulary = json.load(file)["vocab_size"]
    # Every step another place of the data.
    write_tokens(data, 64 * batch * (length + 1), vocabulary)
    command = [os.path.join(folder, engine), "train", "--init-seed", "1", "--model", folder,
               "--data", data, "--batch", str(batch), "--seq", str(length), "--steps", "100000", "--warmup", "0",
               "--lr", "1e-4", "--out", out, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    timer = time.monotonic()
    steps = []
    try:
        for line in process.stdout:
            steps.append(json.loads(line))
            if len(steps) == WARM_UP + STEPS or time.monotonic() > kit.deadline:
                break
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if len(steps) < WARM_UP + STEPS:
        raise ValueError(f"{len(steps)} steps in {time.monotonic() - timer:.0f} s: {errors.strip()[-300:]}")
    losses = [step["loss"] for step in steps]
    right = abs(losses[0] / math.log(vocabulary) - 1) < 0.1 and all(map(math.isfinite, losses))
    return {"milliseconds": [1e3 * batch * length / step["tokens_per_s"] for step in steps[WARM_UP:]],
            "first_loss": losses[0], "last_loss": losses[-1], "verdict": "right" if right else "WRONG"}


def speed(kit, shape, size, engine, has_torch, nothing):
    if engine in PROGRAMS:
        result = timed(kit, shape, *(size if not kit.dry else (1, 16)), engine)
    elif not has_torch():
        return {"verdict": "skipped: torch cannot be imported"}
    else:
        result = kit.script("torch_training.py", kit.path("shapes", shape, "config.json"), "--batch", size[0],
                            "--seq", size[1], "--numbers", engine.removeprefix("torch-"),
                            *(["--dry-run"] if kit.dry else []))
    if kit.dry and result["verdict"] != "WRONG":
        return {"verdict": nothing}
    return result


def token_operations(config, length):
    """Of a token's forward and backward steps: products with weights, and attention to
    half of the sequence."""
    if config["model_type"] == "gpt2":
        width, layers = config["n_embd"], config["n_layer"]
        weights, attended = 12 * width * width * layers, width * layers
    else:
        width, layers, head = config["hidden_size"], config["num_hidden_layers"], config["head_dim"]
        heads, pairs = config["num_attention_heads"], config["num_key_value_heads"]
        attended = heads * head * layers
        weights = layers * (width * head * (2 * heads + 2 * pairs) + 3 * width * config["intermediate_size"])
    return 6 * (weights + width * config["vocab_size"]) + 6 * attended * length
