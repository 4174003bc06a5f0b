"""Norms that are divided behind what reads them (defer-norms) are the same norms.

A decoder of low-rank pairs of linears, as it is and with its norms in two halves
(test/passes/fusion/deferred.test holds the latter): logits
and gradients are near each other, and each has the same bits for any number of workers and
as CUDA kernels that are emulated. In F64 the gradient of every tensor is what differences of
the losses say, as of train_f64. With --few: of one layer's tensors; and on CUDA one step of few rows.
"""

import argparse
import array
import json
import math
import os
import random
import re
import shutil
import struct

import programs
from programs import QUICK, expect, run
from train_f64 import norm, write
from training import lines_of, read_bytes, read_tensors, write_tokens

VOCABULARY = 131
LAYERS = 3


def write_weights(text, folder):
    """A checkpoint of every parameter that the program names."""
    shapes = {}
    types = dict(re.findall(r"^(!\w+) = !model\.tensor<(.*) x f32>$", text, re.MULTILINE))
    for name, kind in re.findall(r'model\.parameter \["([^"]*)"\] : (!\w+)', text):
        shape = [int(size) for size in types[kind].split(" x ")]
        for layer in range(LAYERS) if "{layer}" in name else [0]:
            shapes[name.replace("{layer}", str(layer))] = shape
    numbers = random.Random(5)
    header, data = {}, array.array("f")
    for name, shape in shapes.items():
        begin = 4 * len(data)
        middle = 1 if len(shape) == 1 else 0
        scale = 1 if name == "embed" else 1 / math.sqrt(shape[-1])
        data.extend(middle + scale * numbers.gauss(0, 1) for _ in range(math.prod(shape)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, 4 * len(data)]}
    encoded = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded + data.tobytes())
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"model_type": "llama", "vocab_size": VOCABULARY}, file)
    return list(shapes)


def expect_near(one, other, bound, what):
    norm = math.sqrt(sum(value * value for value in one))
    error = math.sqrt(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
    expect(error <= bound * norm, f"{what} is off by {error / norm}")
    return error / norm


def check_slopes(arguments, scratch):
    """The step in F64 against central differences of its own losses."""
    path = lambda name: os.path.join(scratch, name)
    with open(path("deferred.mlir")) as file:
        text = file.read()
    # Matrices that the model multiplies by say which type it computes in.
    text, count = re.subn(r"(!model\.tensor<|: <)(\d+ x \d+ x )f32>", r"\1\2f64>", text)
    expect(count and "norm_begin" in text, "no norm in two halves, or no matrix")
    with open(path("f64.mlir"), "w") as file:
        file.write(text)
    run([arguments.batonc, path("f64.mlir"), "--mode=train", QUICK, "--quiet", "-o", path("f64")])
    os.mkdir(path("moved"))
    with open(path("moved/config.json"), "w") as file:
        json.dump({"model_type": "llama", "vocab_size": VOCABULARY}, file)
    stored = read_tensors(path("weights/model.safetensors"))

    def loss(tensors, *flags):
        write(path("moved/model.safetensors"), tensors)
        shutil.rmtree(path("run"), ignore_errors=True)
        result = run([path("f64"), "train", "--weights", path("moved"), "--data", path("tokens.u16"), "--batch", 2,
                      "--seq", 16, "--steps", 1, "--out", path("run"), "--validation-fraction", 0, "--quiet", *flags])
        return lines_of(result.stdout)[0]["loss"]

    loss(stored, "--gradients", path("gradients"))
    draw, worst = random.Random(7), 0.0
    gradients = read_tensors(path("gradients"))
    few = {name: found for name, found in gradients.items() if not re.search(r"[.][02]$", name)}
    expect(len(few) > len(gradients) / LAYERS, f"few of {sorted(gradients)}")
    for name, (kind, _, gradient) in (few if arguments.few else gradients).items():
        expect(kind == "F64", f"the gradient of {name} is in {kind}")
        stored_kind, shape, values = stored[name]
        direction = [draw.choice((-1.0, 1.0)) for _ in values]
        length = 1e-5 * norm(values) / math.sqrt(len(values))
        losses = [loss(stored | {name: (stored_kind, shape, [value + side * length * along for value, along
                                                             in zip(values, direction)])}) for side in (1, -1)]
        found = (losses[0] - losses[1]) / (2 * length)
        expected = math.fsum(slope * along for slope, along in zip(gradient, direction))
        error = abs(found - expected) / norm(gradient)
        expect(error < 1e-6, f"{name}: differences say {found}, the gradient {expected}")
        worst = max(worst, error)
    print(f"against differences: {len(few if arguments.few else gradients)} tensors, worst error {worst:.1e}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(arguments.model) as file:
        text = "".join(line for line in file if not line.startswith("dist.mesh"))
    with open(path("plain.mlir"), "w") as file:
        file.write(text)
    shutil.copy(arguments.deferred, path("deferred.mlir"))
    os.mkdir(path("weights"))
    names = write_weights(text, path("weights"))
    write_tokens(path("tokens.u16"), [(7 * i + i // 13) % VOCABULARY for i in range(2048)])

    def compile(name, *flags):
        program = path(f"{name}-program")
        run([arguments.batonc, path(f"{name}.mlir"), "--quiet", QUICK, "-o", program, *flags])
        return program

    def logits(name, *flags, workers=(1, 3)):
        program = compile(name, *flags)
        results = []
        for count in workers:
            run([program, "logits", "--weights", path("weights"), "--no-cache", "--quiet", "--workers", str(count),
                 "--tokens", ",".join(str(11 * i % VOCABULARY) for i in range(40)), "--out", path("logits.npy")])
            results.append(read_bytes(path("logits.npy")))
        expect(results[0] == results[-1], f"{name}: other bits with three workers")
        return results[0], array.array("f", results[0][-4 * 40 * VOCABULARY:])

    def train(name, *flags, workers=(1, 3), batch=(2, 32, 2)):
        program = compile(name, "--mode=train", *flags)
        results = []
        for count in workers:
            out = path(f"run-{count}")
            command = [program, "train", "--weights", path("weights"), "--data", path("tokens.u16"), "--batch", batch[0],
                       "--seq", batch[1], "--steps", batch[2], "--out", out, "--gradients", path("gradients"), "--quiet",
                       "--workers", str(count)]
            lines = [json.loads(line) for line in run(command).stdout.splitlines()]
            results.append(([line["loss"] for line in lines], read_bytes(path("gradients"))))
            run(["rm", "-r", out])
        expect(results[0] == results[-1], f"{name}: other bits with three workers")
        return results[0], read_tensors(path("gradients"))

    plain, deferred = logits("plain"), logits("deferred")
    error = expect_near(plain[1], deferred[1], 1e-5, "logits")
    expect(error > 0, "the norms are not deferred")
    print(f"logits within {error:.1e}")
    (one, _), gradients = train("plain")
    other, found = train("deferred")
    expect(all(abs(a - b) <= 1e-5 * a for a, b in zip(one, other[0], strict=True)), f"losses {one} and {other[0]}")
    expect(sorted(found) == sorted(gradients) == sorted(names), f"gradients of {sorted(found)}")
    worst = max(expect_near(values, found[name][2], 1e-4, name) for name, (_, _, values) in gradients.items())
    print(f"gradients within {worst:.1e}")
    cuda = "--target=cuda:emulated"
    if arguments.few:
        small = {"workers": [3], "batch": (1, 20, 1)}
        expect(train("deferred", cuda, **small)[0] == train("deferred", **small)[0], "training on CUDA has other bits")
    else:
        expect(logits("deferred", cuda, workers=[3])[0] == deferred[0], "logits on CUDA have other bits")
        expect(train("deferred", cuda, workers=[3])[0] == other, "training on CUDA has other bits")
    print("the same bits on CUDA, emulated")
    check_slopes(arguments, scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("model")
    parser.add_argument("deferred", help="the same, after defer-norms")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
