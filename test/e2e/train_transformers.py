"""Checkpoints of training runs, as Transformers loads them.

No tensor is missing and none is left over, and the loss over the tokens that were
set aside is the one that the run measured. Skipped (77) where torch or transformers
cannot be imported; by hand:

    venv/bin/python test/e2e/train_transformers.py --batonc build/bin/batonc test/golden/llama-gqa ...
"""

import argparse
import importlib
import os
import sys

import programs
from programs import expect, run
from training import lines_of, write_tokens

LENGTH, BATCH = 24, 4


def compare(batonc, folder, scratch):
    import torch
    import transformers

    path = lambda name: os.path.join(scratch, os.path.basename(folder) + name)
    tokens = [(7 * i + i // 13) % 97 for i in range(40 * (LENGTH + 1))]
    write_tokens(path(".u16"), tokens)
    run([batonc, folder, "--mode=train", "--dtype=f32", "--quiet", "-o", path("")])
    lines = lines_of(run([path(""), "train", "--weights", folder, "--data", path(".u16"), "--seq", LENGTH,
                          "--batch", BATCH, "--steps", 3, "--lr", 1e-3, "--warmup", 0, "--validate-every", 3,
                          "--validation-fraction", 0.1, "--out", path(".run"), "--quiet"]).stdout)
    step = os.path.join(path(".run"), "step-3")
    model, loading = transformers.AutoModelForCausalLM.from_pretrained(
        step, dtype=torch.float32, output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        expect(not loading[what], f"{folder}: {what}: {loading[what]}")
    # The last tenth of the data.
    rows = torch.tensor(tokens[36 * (LENGTH + 1):]).reshape(BATCH, LENGTH + 1)
    with torch.no_grad():
        logits = model(rows[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).item()
    found = lines[-1]["validation_loss"]
    expect(abs(found / loss - 1) < 1e-4, f"{folder}: the run measured {found}, Transformers {loss}")
    print(f"{folder}: {found:.5f}, in Transformers {loss:.5f}")


def test(arguments, scratch):
    for folder in arguments.folders:
        compare(arguments.batonc, folder, scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    try:
        for package in ("torch", "transformers"):
            importlib.import_module(package)
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)
    programs.main(lambda scratch: test(arguments, scratch))
