"""Folders that `batonc quantize` writes load in Transformers, with compressed-tensors or bitsandbytes.

Of each format of folders: all weights are found, linears are the library's quantised ones, and logits
are those of the program of the folder, within a bound. Transformers computes in F32. compressed-tensors
0.20 makes numbers in BF16 of NVFP4's and MXFP4's weights, whatever it is told: a model of these is loaded in BF16,
in which it is stored, and then made F32; MXFP4's weights are exact there, NVFP4's are rounded.
NF4 is computed as bitsandbytes does it, in BF16, and once more with the numbers in F32 that it makes of the codes.

$BATON_TRANSFORMERS names a python3 that has torch, transformers, accelerate, compressed-tensors and
bitsandbytes (0.46 or newer, which has kernels for CPUs); without them the test is skipped.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
import programs  # noqa: E402
from programs import Program, expect, rows_of, run  # noqa: E402

INPUTS = ["test/every/folders_elsewhere.py", "tools/random-checkpoint", "test/e2e/programs.py", "build/bin/batonc",
          "build/lib/baton/quantize"]
PACKAGES = "torch", "transformers", "accelerate", "compressed_tensors", "bitsandbytes"
TOKENS = [1, 17, 5, 80, 33, 2, 90, 41, 7, 200, 111, 3]
# Of the largest logit. Sums in another order; NVFP4's weights in BF16; products in BF16, as the
# config.json of NF4 asks for.
SUMS, NARROW, ROUNDED = 3e-6, 5e-3, 2e-2
BOUNDS = {"int4-g32": SUMS, "int4-g64": SUMS, "int4-g128": SUMS, "int8": SUMS, "fp8": SUMS, "nvfp4": NARROW, "mxfp4": SUMS,
          "nf4": ROUNDED, "nf4, dequantised": SUMS}
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "intermediate_size": 512,
          "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 32, "vocab_size": 256,
          "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
          "tie_word_embeddings": False, "torch_dtype": "bfloat16"}


def dequantise(model):
    """Puts linears of bitsandbytes' numbers in its modules' place."""
    import torch
    from bitsandbytes.functional import dequantize_4bit
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child).__name__ == "Linear4bit":
                linear = torch.nn.Linear(child.in_features, child.out_features, bias=False)
                state = child.weight.quant_state
                # Else numbers are rounded to the type of the weights that were quantised.
                state.dtype = torch.float32
                linear.weight.data = dequantize_4bit(child.weight.data, state)
                setattr(parent, name, linear)


def load(folder, out, narrow, numbers):
    """Of Transformers: writes the logits, the kinds of modules, and what loading says of weights."""
    import torch
    import transformers
    model, loading = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.bfloat16 if narrow else torch.float32, output_loading_info=True)
    tokens = torch.tensor([TOKENS])
    kinds = sorted({type(module).__module__ + "." + type(module).__name__ for module in model.modules()})
    with torch.no_grad():
        if narrow:
            # The first time, weights become numbers.
            model(tokens)
            torch.nn.Module.float(model)
        if numbers:
            dequantise(model)
            torch.nn.Module.float(model)
        logits = model.eval()(tokens).logits[0].to(torch.float32).tolist()
    with open(out, "w") as file:
        json.dump({"logits": logits, "kinds": kinds, "quantised": bool(getattr(model, "hf_quantizer", None)),
                   "loading": {key: sorted(map(str, value)) for key, value in loading.items() if value}}, file)


def python_with_packages():
    python = os.environ.get("BATON_TRANSFORMERS", sys.executable)
    found = subprocess.run([python, "-c", "import " + ", ".join(PACKAGES)], capture_output=True, text=True)
    if found.returncode != 0:
        print(f"skipped: BATON_TRANSFORMERS names no python3 with {', '.join(PACKAGES)}")
        sys.exit(77)
    return python


def test(batonc, scratch):
    python = python_with_packages()
    model = os.path.join(scratch, "model")
    with open(os.path.join(scratch, "config.json"), "w") as file:
        json.dump(CONFIG, file)
    run([os.path.join(ROOT, "tools/random-checkpoint"), model, "--like", os.path.join(scratch, "config.json")])
    exact = Program(batonc, model, os.path.join(scratch, "whole"), "--dtype=f32")
    whole = rows_of(exact.logits(TOKENS, os.path.join(scratch, "whole.npy")))
    for kind, bound in BOUNDS.items():
        kind, _, numbers = kind.partition(", ")
        folder, out = os.path.join(scratch, kind), os.path.join(scratch, f"{kind}.json")
        if not numbers:
            run([batonc, "quantize", model, "--format", kind, "-o", folder, "--quiet"])
        own = rows_of(Program(batonc, folder, os.path.join(scratch, f"{kind}-own")).logits(TOKENS, os.path.join(scratch, "own.npy")))
        flags = ["--narrow"] if kind in ("nvfp4", "mxfp4") else ["--numbers"] if numbers else []
        run([python, os.path.abspath(__file__), "--load", folder, out, *flags])
        with open(out) as file:
            found = json.load(file)
        expect(found["quantised"] and not found["loading"], f"{kind}: loads with {found['loading']}")
        expect(kind != "nf4" or any("Linear4bit" in name for name in found["kinds"]), f"{kind}: has {found['kinds']}")
        largest = max(abs(logit) for row in own for logit in row)
        far = lambda rows: max(abs(a - b) for x, y in zip(rows, own) for a, b in zip(x, y)) / largest
        print(f"{kind}{', ' + numbers if numbers else ''}: {far(found['logits']):.2e} of the largest logit, {far(whole):.2e} from the model that was quantised")
        expect(far(found["logits"]) <= bound, f"{kind}: logits are off by {far(found['logits'])} of the largest")
        # Else a model that was not quantised would do.
        expect(far(whole) > 5 * bound, f"{kind}: the bound {bound} tells nothing")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc")
    parser.add_argument("--load", nargs=2)
    parser.add_argument("--narrow", action="store_true")
    parser.add_argument("--numbers", action="store_true")
    arguments = parser.parse_args()
    if arguments.load:
        load(*arguments.load, arguments.narrow, arguments.numbers)
    else:
        programs.main(lambda scratch: test(arguments.batonc, scratch))
