"""Models written in Python: without NumPy, which their text does not need.

models/examples/decoders.py writes Llama and Qwen3 with baton.Model; their plans are the
importers', byte for byte, and a changed epsilon makes another one. What does not fit is
refused in one line.
"""

import argparse
import json
import os
import sys

import programs
from programs import expect, run

INPUTS = ["tools/python/baton/*", "models/examples/decoders.py", "test/golden/*/config.json", "test/e2e/programs.py",
          "build/bin/batonc"]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path[:0] = [os.path.join(ROOT, "tools/python"), os.path.join(ROOT, "models/examples")]

import baton  # noqa: E402
import decoders  # noqa: E402


def refuses(words, call):
    try:
        call()
    except baton.Error as error:
        expect(words in str(error) and "\n" not in str(error), f"'{error}', expected '{words}' in one line")
        return
    expect(False, f"nothing is refused, expected '{words}'")


def check_plans(batonc, scratch):
    def plan(model):
        return run([batonc, model, "--emit=event"]).stdout

    for case in ("llama-gqa", "qwen3-norms"):
        folder = os.path.join(ROOT, "test/golden", case)
        with open(os.path.join(folder, "config.json")) as file:
            config = json.load(file)

        def written(config):
            path = os.path.join(scratch, "model.mlir")
            with open(path, "w") as file:
                file.write(str(getattr(decoders, config["model_type"])(config)))
            return plan(path)

        expected = plan(folder)
        expect(written(config) == expected, f"{case}: the plan is not the importer's")
        other = written({**config, "rms_norm_eps": config["rms_norm_eps"] * 2})
        expect(other != expected, f"{case}: another epsilon makes the same plan")
    print("plans of Llama and Qwen3 are the importers'")


def check_refusals():
    model = baton.Model("small", max_seq=16)
    x = model.embedding(model.tokens, model.weight("embed", [20, 8]))
    other = baton.Model("other")
    refuses("of another model", lambda: model.add(x, other.tokens))
    refuses("is not finished", lambda: str(model))
    refuses("expected one type", lambda: x + model.linear("up", x, 9))
    refuses("neither outputs nor a weight", lambda: model.linear("up", x))
    refuses("expected [outputs, vocabulary]", lambda: model.finish(x))
    refuses("expected one of identity, silu", lambda: model.activate(x, "swish"))
    refuses("no number of F32", lambda: model.scale(x, 1e39))
    refuses("expected a finite one", lambda: model.scale(x, float("nan")))
    refuses("returns other types", lambda: model.stack(x, 2, lambda x: model.linear("up", x, 9)))
    refuses("not divisible into 3 heads", lambda: model.split_heads(x, 3))
    refuses("expected a number of tokens", lambda: baton.Model("small", max_seq=0))
    refuses("no such checkpoint", lambda: baton.compile("nowhere"))
    refuses("expected a checkpoint's folder", lambda: baton.compile(3))
    model.finish(model.linear("head", model.last_rows(x), 20))
    refuses("is finished", lambda: model.scale(x, 2))

    @baton.body
    def double(x):
        return x + x

    refuses("takes 1 operands, not 2", lambda: model.custom(double, x, x))

    @baton.body(scores=True)
    def halved(x):
        return x / 2

    refuses("expected (H, rows, kv)", lambda: model.custom(halved, x))

    def body(function, **form):
        function.__name__ = "function"
        return lambda: baton.body(function, **form)

    refuses("to the power of 0.5", body(lambda x: x ** 0.5))
    refuses("expected an element or a number", body(lambda x: x + "y"))
    refuses("is not known before the task runs", body(lambda x: x if x else 0))
    refuses("at least one operand of rows", body(lambda x: x, vectors=["x"]))
    refuses("do not go together", body(lambda x, y: x, vectors=["y"], scores=True))
    refuses("is no name", lambda: baton.body(lambda x: x))
    print("what does not fit is refused")


def test(arguments, scratch):
    check_plans(arguments.batonc, scratch)
    check_refusals()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
