"""The Python package, installed by pip from the tree and used as a notebook uses it.

Logits, values, tokens and training of a golden checkpoint, of a model as code and of a
body as code, whose logits NumPy computes again. Training, and a model as code with a folder's
weights, with --train instead. Skipped (77) where pip cannot have NumPy
and setuptools; they are fetched once, to --cache.
"""

import argparse
import json
import os
import subprocess
import sys
import venv

import programs
from programs import expect

INPUTS = ["tools/python/*", "tools/python/baton/*", "models/examples/decoders.py", "test/golden/llama-gqa/*",
          "test/e2e/programs.py", "build/bin/batonc"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SKIPPED = 77


def installed(cache):
    """The interpreter of an environment with the package, as it is now, and NumPy."""
    python = os.path.join(cache, "bin/python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    if not os.path.exists(os.path.join(cache, "complete")):
        venv.create(cache, with_pip=True, clear=True)
        result = subprocess.run([*pip, "numpy", "setuptools", "wheel"], capture_output=True, text=True)
        if result.returncode:
            print(f"skipped: NumPy and setuptools cannot be had: {result.stderr.strip().splitlines()[-1:]}")
            sys.exit(SKIPPED)
        open(os.path.join(cache, "complete"), "w").close()
    # A copy, since setuptools builds beside the sources.
    source = os.path.join(cache, "source")
    subprocess.run(["rm", "-rf", source], check=True)
    subprocess.run(["cp", "-r", os.path.join(ROOT, "tools/python"), source], check=True)
    programs.run([*pip, "--no-build-isolation", "--no-deps", "--force-reinstall", source])
    return python


def test(arguments, scratch):
    """Inside the environment."""
    import baton
    import numpy

    expect(not os.path.abspath(baton.__file__).startswith(os.path.join(ROOT, "tools")), "the tree's own package runs")
    sys.path.insert(0, os.path.join(ROOT, "models/examples"))
    folder = os.path.join(ROOT, "test/golden/llama-gqa")
    with open(os.path.join(folder, "golden.json")) as file:
        case = json.load(file)
    golden = numpy.load(os.path.join(folder, "logits.npy"))
    largest = abs(golden).max()

    if arguments.train:
        check_training(baton, folder, case["tokens"])
        return

    # A checkpoint.
    program = baton.compile(folder, optimize=1)
    logits = program.logits(case["tokens"], workers=2)
    expect(logits.dtype == numpy.float32 and logits.shape == golden.shape, f"logits are {logits.dtype} {logits.shape}")
    expect(abs(logits - golden).max() < 2e-4 * largest, "logits differ from PyTorch's")
    prompt, new = case["greedy"]["prompt"], case["greedy"]["new_tokens"]
    expect(program.generate(prompt, 8) == new[:8], "greedy tokens differ from PyTorch's")
    expect(program.generate(numpy.array(prompt), 8, temperature=9.0, seed=3) != new[:8], "sampled tokens are greedy")
    values = program.values(case["tokens"][:3])
    expect(values["layers.mlp.gate_up", 2].shape == (3, 100), "a value has another shape")
    expect(program.info()["max_seq"] == 256, f"info says {program.info()}")
    short = baton.compile(folder, optimize=1, max_seq=8, output=os.path.join(scratch, "short"))
    for call, words in ((lambda: program.logits([1, 131]), "outside the model's vocabulary of 131"),
                        (lambda: short.logits(range(9)), "8"), (lambda: program.logits([]), "no tokens"),
                        (lambda: baton.compile("model.program @x {"), "expected 'max_seq'"),
                        (lambda: baton.compile(folder, optimize=9), "--optimize"),
                        (lambda: baton.compile(baton.emit(folder)).logits([1]), "no weights")):
        try:
            call()
            expect(False, f"nothing is refused, expected '{words}'")
        except baton.Error as error:
            expect(words in str(error), f"'{error}', expected '{words}'")
    expect(os.access(os.path.join(scratch, "short"), os.X_OK), "the output is not there")

    bits = baton.compile(as_code(folder), weights=tensors_of(baton, folder), optimize=1).logits(case["tokens"])
    expect((bits == logits).all(), "the model as code has other bits")
    check_body(baton, numpy)
    print(f"logits within {abs(logits - golden).max() / largest:.1e} of PyTorch's")


def as_code(folder):
    import decoders
    with open(os.path.join(folder, "config.json")) as file:
        return decoders.llama(json.load(file))


def tensors_of(baton, folder):
    return baton.tensors.load(os.path.join(folder, "model.safetensors"))


def check_training(baton, folder, tokens):
    """A model as code, with the checkpoint's folder or its tensors: the same bits; trained."""
    model, tensors = as_code(folder), tensors_of(baton, folder)
    before, logits = (baton.compile(model, weights=weights, optimize=1).logits(tokens) for weights in (folder, tensors))
    expect((before == logits).all(), "the model as code has other bits")
    trainer = baton.compile(model, weights=tensors, mode="train", optimize=1)
    run = trainer.train(tokens, 6, seq=24, batch=2, lr=3e-3, gradients=True, validation_fraction=0)
    expect(len(run.losses) == 6 and run.losses[-1] < run.losses[0], f"losses are {run.losses}")
    expect(run.gradients["lm_head.weight"].shape == (131, 60), "a gradient has another shape")
    after = baton.compile(model, weights=run.checkpoint(), optimize=1).logits(tokens)
    expect((after != logits).any(), "training changes nothing")
    print(f"losses {run.losses[0]:.3f} to {run.losses[-1]:.3f}")


def check_body(baton, numpy):
    @baton.body(vectors=["scale"])
    def gated(gate, up, scale):
        return baton.maximum(gate, 0) ** 2 * up * scale + baton.exp(-gate) / (1 + up * up)

    model = baton.Model("own", max_seq=32)
    table = model.weight("embed", [40, 24])

    def layer(x):
        gate, up = (model.linear("layers.{layer}." + part, x, 36) for part in ("gate", "up"))
        product = model.custom(gated, gate, up, model.parameter("layers.{layer}.scale", [36]), name="layers.gated")
        return x + 0.5 * model.linear("layers.{layer}.down", product, 24)

    x = model.stack(model.embedding(model.tokens, table), 2, layer)
    model.finish(model.linear("head", model.last_rows(x), weight=table))
    draw = numpy.random.default_rng(1)
    shapes = {"gate.weight": (36, 24), "up.weight": (36, 24), "down.weight": (24, 36), "scale": (36,)}
    weights = {"embed.weight": draw.normal(size=(40, 24)).astype("f4")}
    for number in range(2):
        for part, shape in shapes.items():
            weights[f"layers.{number}.{part}"] = draw.normal(size=shape).astype("f4") / 5
    # More rows than a task has.
    tokens = draw.integers(0, 40, 23)
    found = baton.compile(model, weights=weights, optimize=1).logits(tokens)
    x = weights["embed.weight"][tokens].astype("f8")
    for number in range(2):
        part = lambda name: weights[f"layers.{number}.{name}"].astype("f8")
        gate, up = x @ part("gate.weight").T, x @ part("up.weight").T
        product = numpy.maximum(gate, 0) ** 2 * up * part("scale") + numpy.exp(-gate) / (1 + up * up)
        x = x + 0.5 * product @ part("down.weight").T
    expected = x @ weights["embed.weight"].T
    error = abs(found - expected).max() / abs(expected).max()
    expect(error < 2e-6, f"logits of a body as code are off by {error:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--cache", help="folder for the environment; without it, this one has the package")
    parser.add_argument("--train", action="store_true", help="training in place of the rest")
    arguments = parser.parse_args()
    os.environ["BATON_BATONC"] = os.path.abspath(arguments.batonc)
    if arguments.cache:
        python = installed(os.path.abspath(arguments.cache))
        more = ["--train"] if arguments.train else []
        sys.exit(subprocess.run([python, __file__, "--batonc", arguments.batonc, *more]).returncode)
    programs.main(lambda scratch: test(arguments, scratch))
