"""Decoders of Transformers that have no importer, as baton.from_torch exports them, with what
PyTorch computes of them. By hand:

    venv/bin/python test/golden/exported.py [CASE ...]

writes test/e2e/inputs/exported/CASE: the IR, logits.npy and golden.json as other golden
folders have them, and gradients.json as gradients.py writes it, of some with losses of 50 steps. Weights are not stored;
exported_weights.py makes them again.
"""

import json
import sys
from pathlib import Path

import numpy
import torch
import transformers

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "e2e/inputs/exported"
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools/python")]

import baton  # noqa: E402
import exported_weights  # noqa: E402
from gradients import losses_of_steps  # noqa: E402
from projections import project  # noqa: E402

TOKENS, PROMPT, NEW_TOKENS, SEQUENCES = 40, 7, 24, 3
SHARED = {"vocab_size": 97, "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2,
          "intermediate_size": 77, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
          "eos_token_id": 2}


def config(**more):
    return {key: value for key, value in {**SHARED, **more}.items() if value is not None}


# Sizes that no tile divides, and of each family what others do not have.
CASES = {
    "olmo2": ("olmo2", config(hidden_size=60)),
    # Of every four layers the last one does not turn.
    "smollm3": ("smollm3", config(hidden_size=60, num_hidden_layers=9, tie_word_embeddings=False)),
    "granite": ("granite", config(hidden_size=60, embedding_multiplier=6.0, attention_multiplier=0.2,
                                  residual_multiplier=0.7, logits_scaling=3.0, attention_bias=True)),
    "gpt_neox": ("gpt_neox", config(hidden_size=72, rotary_pct=0.5, num_key_value_heads=None)),
    "gpt_neox-sequential": ("gpt_neox", config(hidden_size=72, use_parallel_residual=False,
                                               num_key_value_heads=None, rotary_pct=0.5)),
    # Its head has a bias.
    "phi": ("phi", config(hidden_size=60, partial_rotary_factor=0.4)),
}
# With losses of 50 steps.
STEPS = {"phi"}


def module_of(case, attention="sdpa"):
    """The module of a case, with its weights."""
    family, fields = CASES[case]
    module = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model(family, **fields), attn_implementation=attention).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            numbers = exported_weights.values(name, list(parameter.shape))
            parameter.copy_(torch.tensor(numbers).reshape(parameter.shape))
    return module


def export(module):
    return baton.from_torch(module, torch.arange(1, 12)[None])


def logits_of(module, tokens):
    with torch.no_grad():
        return module(torch.tensor([tokens])).logits[0]


def gradients(module, sequences, dtype):
    module = module.to(dtype)
    module.zero_grad()
    logits = module(sequences[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), sequences[:, 1:].reshape(-1))
    loss.backward()
    return loss.item(), {name: parameter.grad.double() for name, parameter in module.named_parameters()}


def write_json(path, contents):
    with open(path, "w") as file:
        json.dump(contents, file)
        file.write("\n")


def write(case):
    folder = FOLDER / case
    folder.mkdir(parents=True, exist_ok=True)
    module = module_of(case)
    model = export(module)
    (folder / "model.mlir").write_text(str(model))

    draw = torch.Generator().manual_seed(5)
    # Past the padding token, whose row PyTorch leaves out of gradients.
    tokens = torch.randint(3, SHARED["vocab_size"], (TOKENS,), generator=draw).tolist()
    numpy.save(folder / "logits.npy", logits_of(module, tokens).numpy())
    text, margins, largest = tokens[:PROMPT], [], 0.0
    for _ in range(NEW_TOKENS):
        row = logits_of(module, text)[-1]
        best = row.topk(2)
        margins.append((best.values[0] - best.values[1]).item())
        largest = max(largest, row.abs().max().item())
        text.append(best.indices[0].item())
    write_json(folder / "golden.json", {
        "tokens": tokens, "shapes": {name: list(tensor.shape) for name, tensor in model.tensors.items()},
        "greedy": {"prompt": tokens[:PROMPT], "new_tokens": text[PROMPT:], "top2_margin": margins,
                   "max_abs_logit": largest}})
    sequences = torch.randint(3, SHARED["vocab_size"], (SEQUENCES, 31), generator=draw)
    single = gradients(module_of(case, "eager"), sequences, torch.float32)[1]
    loss, exact = gradients(module_of(case, "eager"), sequences, torch.float64)
    steps = {"losses": losses_of_steps(module_of(case, "eager").double(), sequences)} if case in STEPS else {}
    write_json(folder / "gradients.json", {"sequences": sequences.tolist(), "loss": loss, **steps, "tensors": {
        name: {"norm": gradient.norm().item(),
               "float32_error": ((single[name] - gradient).norm() / gradient.norm()).item(),
               "projections": project(name, gradient.reshape(-1).tolist())}
        for name, gradient in exact.items()}})


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or CASES:
        write(name)
        print(name)
