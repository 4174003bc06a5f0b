"""What is computed again has the bits that it had: losses, gradients and weights.

Programs that keep everything, the least without a second product of matrices
(but small ones), and the input of each layer only are run side by side; each plans less memory
than the one before. With --layers the model has that many, and random weights.
"""

import argparse
import json
import os

import programs
from programs import QUICK, expect, run
from training import Golden, lines_of, read_bytes


def with_layers(folder, layers, out):
    """A folder with the same model's config, but deeper."""
    os.mkdir(out)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    expect("num_hidden_layers" in config, f"{folder}: other names for its layers")
    config["num_hidden_layers"] = layers
    with open(os.path.join(out, "config.json"), "w") as file:
        json.dump(config, file)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    golden = Golden(arguments.folder)
    with open(os.path.join(arguments.folder, "config.json")) as file:
        streams = any("hyper" in key for key in json.load(file))
    golden.write_tokens(path("tokens.u16"))
    model, weights = arguments.folder, ["--weights", arguments.folder]
    if arguments.layers:
        model = path("deep")
        with_layers(arguments.folder, arguments.layers, model)
        weights = ["--init-seed", 3, "--model", model]

    def results(mode, workers):
        program = path(mode)
        run([arguments.batonc, model, "--mode=train", QUICK, f"--recompute={mode}", "--quiet",
             *arguments.flags, "-o", program])
        info = json.loads(run([program, "info", "--json"]).stdout)
        recompute = info["recompute"]
        expect(recompute["mode"] == mode, f"{mode}: info says {recompute}")
        expect((recompute["recomputed"] > 0) == (mode != "none"), f"{mode}: info says {recompute}")
        # Maps of several streams are small products, which cost less than they take.
        repeats = mode == "full" or mode == "selective" and streams
        expect((recompute["row_flops"] > 0) == repeats, f"{mode}: info says {recompute}")

        def train(*flags):
            result = run([program, "train", *weights, "--data", path("tokens.u16"),
                          *golden.sequence, "--validation-fraction", 0, *golden.batch, "--workers", workers, "--quiet", *flags])
            return lines_of(result.stdout, "tokens_per_s")

        one = train("--steps", 1, "--out", path(f"{mode}-one"), "--gradients", path("gradients"))
        some = train("--steps", 5, "--lr", 1e-3, "--out", path(f"{mode}-some"))
        step = path(f"{mode}-some/step-5")
        print(f"{mode}: {recompute}, {info['memory']['activations']} bytes of activations")
        return {"loss": one, "gradients": read_bytes(path("gradients")), "losses": some,
                "weights": read_bytes(os.path.join(step, "model.safetensors")),
                "moments": read_bytes(os.path.join(step, "optimizer.safetensors"))}, info

    kept, info = results("none", 2)
    for mode, workers in [("full", 3)] if arguments.full else [("selective", 1), ("full", 3)]:
        others, less = results(mode, workers)
        for what, value in kept.items():
            expect(others[what] == value, f"{mode}: other {what}")
        if mode == "full":
            expect(info["recompute"]["row_flops"] < less["recompute"]["row_flops"] / 4,
                   f"selective repeats large products: {info['recompute']}, full {less['recompute']}")
        for one, other in ((info["memory"]["activations"], less["memory"]["activations"]),
                           (info["recompute"]["row_bytes"], less["recompute"]["row_bytes"])):
            expect(other < one, f"{mode}: {other} bytes, {info['recompute']['mode']} has {one}")
        info = less

    plan = path("plan.mlir")
    run([arguments.batonc, model, "--mode=train", "--emit=event", "-o", plan])
    result = run([arguments.batonc, plan, "--mode=train", "--recompute=full", "-o", path("none")],
                 check=False)
    expect(result.returncode == 1 and "--recompute: " in result.stderr and
           "holds a plan, of which all is decided" in result.stderr, f"a plan: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--full", action="store_true", help="no other mode than this and none")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
