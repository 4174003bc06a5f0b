"""report.py on made-up results: figures follow from samples, and none is shown that
its verdicts do not allow."""

import copy
import sys

import parts
import report

ABOUT = {"commit": "0" * 40, "changed": False, "target": "cuda:sm_90a",
         "cases": {"llama-gqa": {"model_type": "llama", "variants": ["baton", "invariant"], "trained": True},
                   "gpt2-bf16": {"model_type": "gpt2", "variants": ["baton", "invariant"]}},
         "shapes": {"llama": {"model_type": "llama", "variants": ["baton"]}},
         "trained": {"gpt2": {"batch": 2, "seq": 50, "operations": 40.2e9}}}
COSTS = {"weight_bytes_per_token": 900.0, "kv_bytes_per_position": 0.625, "flops_per_token": 3.0,
         "flops_per_output": 1.0, "attention": [{"window": 0, "flops_per_position": 2.0}]}
RIGHT = {"verdict": "right"}
RESULTS = {
    "about": ABOUT,
    "calls": [{"date": "2000-01-01T00:00:00", "command": ["run.py"], "gpu": None, "dry_run": False}],
    "parts": {
        "bodies/oracle": RIGHT, "bodies/twins": RIGHT, "correct/llama-gqa/baton": RIGHT,
        "correct/gpt2-bf16/baton": RIGHT,
        "correct/torch/llama-gqa/float32": RIGHT, "correct/torch/llama-gqa/bfloat16": RIGHT,
        "floors/read/1": RIGHT | {"best": 2e6}, "floors/matmul/1": RIGHT | {"median": 1e6},
        "decode/llama/128/1/baton": RIGHT | {"milliseconds": [2.0] * 8 + [1.0] * 8, "costs": COSTS},
        "decode/llama/128/2/baton": RIGHT | {"milliseconds": [1.0] * 8, "costs": COSTS},
        "operators/llama/512/1": RIGHT | {"seconds": {"linear": 0.002, "attention": 0.5}, "costs": COSTS},
        "operators/llama/512/2": RIGHT | {"seconds": {"linear": 0.003, "attention": 0.6}, "costs": COSTS},
        "operators/llama/512/3": RIGHT | {"seconds": {"linear": 0.004, "attention": 0.7}, "costs": COSTS},
        "decode/llama/128/1/torch-graph": RIGHT | {"milliseconds": [4.0] * 9},
        "decode/llama/128/1/torch-compile": RIGHT | {"milliseconds": [3.0] * 9},
        "correct/train/llama-gqa": RIGHT,
        "train/gpt2/2x50/1/baton": RIGHT | {"milliseconds": [200.0] * 5},
        "train/gpt2/2x50/2/baton": RIGHT | {"milliseconds": [400.0] * 3},
        "train/gpt2/2x50/1/torch-bf16": RIGHT | {"milliseconds": [100.0]},
    }}


def page(**changes):
    results = copy.deepcopy(RESULTS)
    for name, part in changes.items():
        results["parts"][name.replace("__", "/").replace("_", "-")] = part
    return "\n".join(report.page(results))


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


# A median of 1 ms, 1000 bytes each: half of 2 MB/s.
fast = "| llama | 128 | baton | 1.000 | 1.000 | 1000.0 | 50.0% |"
expect(fast in page(), page())
expect("| llama | 128 | torch-compile | 3.000 | 3.000 | 333.3 | 16.7% |" in page(), page())
expect("torch-graph" not in page(), "the slower of PyTorch's forms is shown")
# (100 - 1 + ...) of a prompt: tokens * 2 + 1 + 2 * n (n + 1) / 2.
expect(report.prompt_operations(COSTS, 10) == {"linear": 10 * 2 + 1, "attention": 2 * 55}, "operations of a prompt")
# 1025 operations of linears in 3 ms, 262656 of attention in 600 ms, of 1e6 a second.
linears, attention = "| llama | 512 | linear | 3.000 | 34.2% |", "| llama | 512 | attention | 600.000 | 43.8% |"
expect(linears in page() and attention in page(), page())
expect(linears not in page(correct__llama_gqa__baton={"verdict": "WRONG"}), "wrong logits, and a figure")
expect("| 512 | WRONG: no time" in page(operators__llama__512__2={"verdict": "WRONG: no time for linear"}), page())
for judge in ("bodies__oracle", "correct__llama_gqa__baton"):
    for judged in ({"verdict": "WRONG: greedy_tokens"}, {"verdict": "failed", "error": "x", "tries": 2},
                   {"verdict": "skipped: x"}):
        expect(fast not in page(**{judge: judged}), f"{judge} {judged} shows a figure")
expect(fast in page(correct__gpt2_bf16__baton={"verdict": "WRONG"}), "another family's verdict counts")
unjudged = copy.deepcopy(RESULTS)
del unjudged["parts"]["correct/llama-gqa/baton"]
expect(fast not in "\n".join(report.page(unjudged)), "no verdict, and a figure")
# 100 tokens of 40.2 GFLOP each in 0.2 s: 20.1 TFLOP/s, of F32's 67.
trained = "| gpt2 | 2x50 | baton | 200.00 | 500 | 20.1 | 30.0% |"
expect(trained in page(), page())
expect("| gpt2 | 2x50 | torch-bf16 | 100.00 | 1000 | 40.2 | 4.1% |" in page(), page())
expect(trained not in page(correct__train__llama_gqa={"verdict": "WRONG: losses"}), "wrong losses, and a figure")
expect("| 2x50 | baton | WRONG |" in page(train__gpt2__2x50__2__baton={"verdict": "WRONG"}), "one wrong round")
wrong = page(decode__llama__128__2__baton={"verdict": "WRONG"})
expect("| 128 | baton | WRONG |" in wrong, f"one wrong round: {wrong}")
expect("of read bandwidth" in page(floors__read__1={"verdict": "WRONG"}) and
       "50.0%" not in page(floors__read__1={"verdict": "WRONG"}), "a fraction of a wrong floor")
names = [name for name, _ in parts.parts(ABOUT, 2)]
expect(len(names) == len(set(names)), "two parts have one name")
