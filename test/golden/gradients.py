"""What PyTorch computes of the checkpoints' losses: gradients and AdamW.

Writes gradients.json beside every checkpoint, in F64: tokens, the loss, of each
parameter's gradient the norm, projections (projections.py) and the relative
error of PyTorch's own F32; for some, the losses of 50 steps.
"""

import json
import sys
from pathlib import Path

import torch
import transformers

import hyper_connections
from gated_qwen3 import GatedQwen3ForCausalLM, has_gates
from projections import project

HERE = Path(__file__).resolve().parent
SEQUENCES = 3
STEPS = {"llama-gqa", "gpt2-small", "llama-hyper-sinkhorn"}
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.1}
CLIP = 1.0


def model_of(folder, dtype):
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = GatedQwen3ForCausalLM if has_gates(config) else transformers.AutoModelForCausalLM
    if hyper_connections.form_of(config):
        kind = hyper_connections.class_of(getattr(transformers, config.architectures[0]))
    model = kind.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    return model.to(dtype).eval()


def loss_of(model, sequences):
    logits = model(sequences[:, :-1]).logits
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), sequences[:, 1:].reshape(-1)
    )


def gradients(folder, dtype, sequences):
    model = model_of(folder, dtype)
    loss = loss_of(model, sequences)
    loss.backward()
    return loss.item(), {name: parameter.grad.double()
                         for name, parameter in model.named_parameters()}


def losses(folder, sequences):
    model = model_of(folder, torch.float64)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}], **ADAMW
    )
    result = []
    for _ in range(50):
        optimizer.zero_grad()
        loss = loss_of(model, sequences)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        result.append(loss.item())
    return result


def sequences_of(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    length = min(40, config.max_position_embeddings)
    generator = torch.Generator().manual_seed(1)
    sequences = torch.randint(0, config.vocab_size, (SEQUENCES, length + 1),
                              generator=generator)
    # PyTorch leaves out the padding token's row of the embedding.
    padding = getattr(config, "pad_token_id", None)
    if padding is not None:
        sequences[sequences == padding] = (padding + 1) % config.vocab_size
    return sequences


def relative_error(rounded, exact):
    return (rounded - exact).norm().item() / exact.norm().item()


def worst_rounding(folder):
    """The largest relative error of a parameter's gradient in F32."""
    sequences = sequences_of(folder)
    _, exact = gradients(folder, torch.float64, sequences)
    _, rounded = gradients(folder, torch.float32, sequences)
    return max(relative_error(rounded[name], exact[name]) for name in exact)


def write(folder):
    sequences = sequences_of(folder)
    loss, exact = gradients(folder, torch.float64, sequences)
    _, rounded = gradients(folder, torch.float32, sequences)
    tensors = {}
    for name, gradient in exact.items():
        norm = gradient.norm().item()
        tensors[name] = {
            "norm": norm,
            "float32_error": relative_error(rounded[name], gradient),
            "projections": project(name, gradient.reshape(-1).tolist()),
        }
    result = {"sequences": sequences.tolist(), "loss": loss, "tensors": tensors}
    if folder.name in STEPS:
        result["losses"] = losses(folder, sequences)
    with open(folder / "gradients.json", "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(folder.name, loss)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for file in sorted(HERE.glob("*/logits.npy")):
        if len(sys.argv) < 2 or file.parent.name in sys.argv[1:]:
            write(file.parent)
