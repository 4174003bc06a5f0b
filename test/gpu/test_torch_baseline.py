"""torch_baseline.py against the goldens, on the CPU, and its steps traced; and that
torch_training.py learns.

Skipped (77) where torch cannot be imported.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")
CASES = {"llama-gqa": ["float64", "bfloat16"], "llama3-rope": ["float32"],
         "llama-mha-tied": ["float32"], "llama-bias-f16": ["float32"], "qwen3-norms": ["float32"]}


def baseline(*words):
    result = subprocess.run([sys.executable, os.path.join(HERE, "torch_baseline.py"), *words],
                            capture_output=True, text=True)
    return result.returncode, result.stdout.strip() or result.stderr.strip()


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


if not importlib.util.find_spec("torch"):
    print("torch cannot be imported")
    sys.exit(77)
for case, dtypes in CASES.items():
    for dtype in dtypes:
        status, text = baseline("check", os.path.join(GOLDEN, case), "--dtype", dtype)
        print(case, dtype, text)
        expect(status == 0 and json.loads(text)["verdict"] == "right", text)
for case in ("llama-gqa", "gpt2-small"):
    for numbers in ("f32", "bf16"):
        result = subprocess.run([sys.executable, os.path.join(HERE, "torch_training.py"),
                                 os.path.join(GOLDEN, case, "config.json"), "--batch", "2", "--seq", "16",
                                 "--numbers", numbers, "--dry-run"], capture_output=True, text=True)
        expect(result.returncode == 0 and json.loads(result.stdout)
               == {"dry_run": True, "verdict": "nothing was measured"}, f"{case} in {numbers}: {result}")
status, text = baseline("check", os.path.join(GOLDEN, "gpt2-small"))
expect(status == 1 and text.startswith("error: ") and "\n" not in text, text)

with open(os.path.join(GOLDEN, "llama-gqa", "config.json")) as file:
    config = json.load(file)
with tempfile.TemporaryDirectory() as scratch:
    # Positions a hundredth apart: checks see what they should.
    wrong = os.path.join(scratch, "wrong")
    os.makedirs(wrong)
    for name in os.listdir(os.path.join(GOLDEN, "llama-gqa")):
        os.symlink(os.path.abspath(os.path.join(GOLDEN, "llama-gqa", name)), os.path.join(wrong, name))
    os.remove(os.path.join(wrong, "config.json"))
    changed = config | {"rope_parameters": {"rope_type": "default", "rope_theta": 10100.0}}
    with open(os.path.join(wrong, "config.json"), "w") as file:
        json.dump(changed, file)
    status, text = baseline("check", wrong, "--dtype", "float32")
    expect(status == 1 and json.loads(text)["verdict"] == "WRONG", f"another rope: {text}")

    path = os.path.join(scratch, "config.json")
    with open(path, "w") as file:
        json.dump(config | {"head_dim": 16}, file)
    for size in (["--context", "9"], ["--prefill", "9"]):
        status, text = baseline("bench", path, *size, "--dry-run")
        expect(status == 0 and json.loads(text) == {"dry_run": True, "verdict": "nothing was measured"},
               f"a dry run: {text}")
