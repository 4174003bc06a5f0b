"""The scripts of test/bench run, on shapes that are small; nothing is said of how
fast anything is.

A program stands in for llm.c's train_gpt2: it reads the files that training.py
writes for it, in llm.c's own order, computes GPT-2's loss from them in Python and
prints what train_gpt2 prints. One that finds another loss is reported, as is one
that was built for another batch; without --brief.

What tools/random-checkpoint writes as a folder and as a GGUF file is the same model,
with the same tokens, which serving.py asks for.
"""

import argparse
import json
import os
import stat
import sys

import programs
from programs import expect, run
from training import write_tokens

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BENCH = os.path.join(ROOT, "test/bench")
INPUTS = ["tools/random-checkpoint", "test/bench/*.py"]
BATCH, LENGTH = 2, 8

STAND_IN = '''#!%(python)s
import array, math, struct, time
B, T, OFFSET = %(batch)d, %(length)d, %(offset)r

def numbers(file, letter, count):
    values = array.array(letter)
    values.fromfile(file, count)
    return values

with open("gpt2_124M.bin", "rb") as file:
    magic, version, positions, V, L, H, C, padded = struct.unpack("<256i", file.read(1024))[:8]
    assert (magic, version) == (20240326, 3)
    sizes = dict(wte=padded * C, wpe=positions * C, ln1w=L * C, ln1b=L * C, qkvw=L * 3 * C * C, qkvb=L * 3 * C,
                 attprojw=L * C * C, attprojb=L * C, ln2w=L * C, ln2b=L * C, fcw=L * 4 * C * C, fcb=L * 4 * C,
                 fcprojw=L * 4 * C * C, fcprojb=L * C, lnfw=C, lnfb=C)
    p = {name: numbers(file, "f", size) for name, size in sizes.items()}
    assert not file.read(1)
with open("dev/data/tinyshakespeare/tiny_shakespeare_train.bin", "rb") as file:
    magic, version, count = struct.unpack("<256i", file.read(1024))[:3]
    assert (magic, version) == (20240520, 1)
    tokens = numbers(file, "H", count)
    assert not file.read(1)
print("train dataset num_batches: %%d" %% ((count - 1) // (B * T)))

def layer(name, number, size):
    return p[name][number * size:(number + 1) * size]

def linear(x, weight, bias):
    n = len(x)
    return [sum(map(float.__mul__, x, map(float, weight[o * n:(o + 1) * n]))) + bias[o] for o in range(len(bias))]

def norm(x, weight, bias):
    mean = sum(x) / len(x)
    scale = (sum((v - mean) ** 2 for v in x) / len(x) + 1e-5) ** -0.5
    return [(v - mean) * scale * w + b for v, w, b in zip(x, weight, bias)]

def add(x, y):
    return [a + b for a, b in zip(x, y)]

def softmax(values):
    most = max(values)
    weights = [math.exp(v - most) for v in values]
    total = sum(weights)
    return [w / total for w in weights]

def losses(tokens, targets):
    x = [add(p["wte"][t * C:(t + 1) * C], p["wpe"][i * C:(i + 1) * C]) for i, t in enumerate(tokens)]
    size = C // H
    for l in range(L):
        qkv = [linear(norm(row, layer("ln1w", l, C), layer("ln1b", l, C)),
                      layer("qkvw", l, 3 * C * C), layer("qkvb", l, 3 * C)) for row in x]
        for i in range(len(x)):
            mixed = []
            for h in range(H):
                part = lambda row, which: row[which * C + h * size:which * C + (h + 1) * size]
                weights = softmax([sum(a * b for a, b in zip(part(qkv[i], 0), part(qkv[j], 1))) / size ** 0.5
                                   for j in range(i + 1)])
                mixed += [sum(w * part(qkv[j], 2)[d] for j, w in enumerate(weights)) for d in range(size)]
            x[i] = add(x[i], linear(mixed, layer("attprojw", l, C * C), layer("attprojb", l, C)))
            hidden = linear(norm(x[i], layer("ln2w", l, C), layer("ln2b", l, C)),
                            layer("fcw", l, 4 * C * C), layer("fcb", l, 4 * C))
            hidden = [0.5 * v * (1 + math.tanh((2 / math.pi) ** 0.5 * (v + 0.044715 * v ** 3))) for v in hidden]
            x[i] = add(x[i], linear(hidden, layer("fcprojw", l, 4 * C * C), layer("fcprojb", l, C)))
    for row, target in zip(x, targets):
        yield -math.log(softmax(linear(norm(row, p["lnfw"], p["lnfb"]), p["wte"][:V * C], [0.0] * V))[target])

found = [loss for b in range(B) for loss in losses(tokens[b * T:b * T + T], tokens[b * T + 1:b * T + T + 1])]
for step in range(41):
    print("step %%d: train loss %%f (took %%f ms)" %% (step, sum(found) / len(found) + OFFSET, 1.5), flush=True)
time.sleep(600)
'''


def stand_in(path, batch=BATCH, length=LENGTH, offset=0.0):
    with open(path, "w") as file:
        file.write(STAND_IN % dict(python=sys.executable, batch=batch, length=length, offset=offset))
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def training(arguments, path):
    def bench(program):
        return run([sys.executable, os.path.join(BENCH, "training.py"), arguments.batonc, "--work", path("work"),
                    "--shape", "tiny", "--batch", BATCH, "--seq", LENGTH, "--steps", 3, "--rounds", 1,
                    "--workers", 1, "--llm-c", program], check=False)

    result = bench(stand_in(path("train_gpt2")))
    expect(result.returncode == 0, f"training.py: {result}")
    for what in ("verdict  Baton ", "verdict  llm.c ", "GFLOP a step", "1.00 of Baton's", "llm.c           1.5 ms a step"):
        expect(what in result.stdout, f"training.py does not say '{what}': {result.stdout}")
    print(result.stdout.strip())
    if arguments.brief:
        return
    result = bench(stand_in(path("other_loss"), offset=1e-3))
    expect(result.returncode == 1 and "DO NOT AGREE" in result.stdout and "ms a step" not in result.stdout
           and "is " in result.stderr and "built for B = 2, T = 8?" in result.stderr, f"another loss: {result}")
    result = bench(stand_in(path("other_batch"), length=LENGTH // 2))
    expect(result.returncode == 1 and f"was built for batches of {BATCH * LENGTH // 2} tokens" in result.stderr,
           f"another batch: {result}")


def serving(arguments, path):
    shape = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 96,
             "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300,
             "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
             "max_position_embeddings": 1280, "torch_dtype": "bfloat16"}
    with open(path("config.json"), "w") as file:
        json.dump(shape, file)
    texts = []
    for model in path("random"), path("random.gguf"):
        run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--like", path("config.json")])
        program = programs.Program(arguments.batonc, model, path("program")).path
        texts.append(run([program, "generate", "--weights", model, "--prompt", "Fünf words, two of which are ß: é",
                          "--max-new-tokens", 40, "--temperature", 1, "--seed", 7, "--quiet"]).stdout)
    expect(texts[0] == texts[1] and len(set(texts[0])) > 8, f"of the folder, and of GGUF: {texts}")
    output = run([sys.executable, os.path.join(BENCH, "serving.py"), arguments.batonc, path("random.gguf"),
                  "--clients", 2, "--requests", 3, "--rounds", 1, "--workers", 1]).stdout
    expect("first token, ms" in output and "100%" in output, f"serving.py: {output}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    training(arguments, path)
    serving(arguments, path)
    small = ["--hidden", 64, "--layers", 2, "--rounds", 1]
    for script, flags, said in (
            ("ranks.py", ["--work", path("ranks"), "--meshes", "dp=2", *small, "--batch", 2, "--seq", 16, "--steps", 3], "dp=2, threads: "),
            ("events.py", [*small, "--workers", 1], "us a phase"),
            ("bodies.py", ["--hidden", 64, "--inner", 96, "--layers", 1, "--rows", 16, "--columns", 32, "--rounds", 1,
                           "--prefill", 8, "--decode", 2], "library_call ")):
        output = run([sys.executable, os.path.join(BENCH, script), arguments.batonc, *flags]).stdout
        expect(said in output, f"{script} does not say '{said}': {output}")
    run([arguments.batonc, arguments.folder, "--quiet", "--emit=schedule", "-o", path("same.mlir")])
    output = run([sys.executable, os.path.join(BENCH, "schedules.py"), arguments.batonc, arguments.folder,
                  path("same.mlir"), "--rounds", 1, "--prefill", 8, "--decode", 4, "--workers", 1]).stdout
    expect("default" in output and "ratio" in output, f"schedules.py: {output}")
    script = os.path.join(BENCH, "programs.py")
    program = programs.Program(arguments.batonc, arguments.folder, path("program")).path
    output = run([sys.executable, script, program, program, "--rounds", 1, "--prefill", 8, "--decode", 4,
                  "--workers", 1]).stdout
    expect("prefill/s" in output and " 1.000" in output, f"programs.py: {output}")
    trainer = programs.Program(arguments.batonc, arguments.folder, path("trainer"), "--mode=train").path
    tokens = path("tokens.u16")
    write_tokens(tokens, [token % 131 for token in range(200)])
    output = run([sys.executable, script, trainer, "--rounds", 1, "--model", arguments.folder, "--data",
                  tokens, "--batch", 2, "--seq", 8, "--workers", 1]).stdout
    expect("train/s" in output, f"programs.py: {output}")
    print("ranks.py, events.py, bodies.py, schedules.py, programs.py and serving.py run")


def main(scratch):
    # What the scripts say of speed is not looked at.
    arguments.batonc = programs.quick_batonc(arguments.batonc, os.path.join(scratch, "batonc"))
    test(arguments, scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    arguments.batonc = os.path.abspath(arguments.batonc)
    programs.main(main)
