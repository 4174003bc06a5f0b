"""What PyTorch computes of the checkpoints' losses: gradients and AdamW.

Writes gradients.json beside every checkpoint, in F64: tokens, the loss, of each
parameter's gradient the norm, projections (projections.py) and the relative
error of PyTorch's own F32; for some, how many rows each expert has (loads), or
the losses of 50 steps, and in
rounded.json loss and gradients where products round their operands to BF16 or
F16. Of mixtures of experts routers.json has the same with what their routers add to
the loss: of one batch, and, for the routers, of microbatches.
"""

import contextlib
import json
import sys
from pathlib import Path

import torch
import transformers

import experts
import hyper_connections
from gated_qwen3 import GatedQwen3ForCausalLM, has_gates
from projections import project

HERE = Path(__file__).resolve().parent
SEQUENCES = 3
STEPS = {"llama-gqa", "gpt2-small", "llama-hyper-sinkhorn", "mixtral-top2", "gptoss-sinks", "deepseekv2-groups",
         "deepseekv3-yarn"}
# Other rates than AdamW's below: a row between two experts goes in F32 where it goes in F64.
RATES = {"gptoss-sinks": 5e-4}
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.1}
CLIP = 1.0
ROUNDED = {"llama-gqa", "gpt2-small", "gemma2-caps"}
# By which the losses of routers are added: so much that each moves all gradients.
ROUTERS = {"balance": 0.25, "z": 0.05}
# A mixture that has layers without experts, too.
ONLY_ROUTERS = {"qwen3moe-dense"}
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
# What F16 programs multiply losses by.
SCALE = {"bf16": 1.0, "f16": 65536.0}


def model_of(folder, dtype):
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = GatedQwen3ForCausalLM if has_gates(config) else transformers.AutoModelForCausalLM
    if hyper_connections.form_of(config):
        kind = hyper_connections.class_of(getattr(transformers, config.architectures[0]))
    # Products of experts by torch._grouped_mm are not in F64.
    eager = {"experts_implementation": "eager"} if experts.has_experts(config) else {}
    model = kind.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager", **eager)
    return model.to(dtype).eval()


def loss_of(model, sequences):
    logits = model(sequences[:, :-1]).logits
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), sequences[:, 1:].reshape(-1)
    )


def losses_of_routers(model, sequences):
    """The loss with what routers add, and its parts, in F64."""
    config = model.config
    found = model(sequences[:, :-1], output_router_logits=True)
    own = torch.nn.functional.cross_entropy(
        found.logits.reshape(-1, found.logits.shape[-1]), sequences[:, 1:].reshape(-1)
    )
    logits = torch.cat([layer.double() for layer in found.router_logits])
    probabilities = logits.softmax(-1)
    chosen = torch.zeros_like(logits).scatter(-1, logits.topk(config.num_experts_per_tok).indices, 1.0)
    balance = logits.shape[-1] * (chosen.mean(0) * probabilities.mean(0)).sum()
    # Transformers adds up in F32.
    if abs(balance.item() / found.aux_loss.item() - 1) > 1e-6:
        sys.exit(f"{config.model_type}: the balance loss is {balance}, Transformers' {found.aux_loss}")
    size = logits.logsumexp(-1).square().mean()
    loss = own + ROUTERS["balance"] * balance + ROUTERS["z"] * size
    return {"loss": loss, "cross_entropy": own, "balance_loss": balance, "z_loss": size}


class RoundedProduct(torch.autograd.Function):
    """x W^T of operands rounded to a 16-bit type, and its adjoints likewise."""

    @staticmethod
    def forward(context, x, weight, dtype):
        context.save_for_backward(x, weight)
        context.dtype = dtype
        return rounded(x, dtype) @ rounded(weight, dtype).T

    @staticmethod
    def backward(context, dy):
        x, weight = (rounded(value, context.dtype) for value in context.saved_tensors)
        dy = rounded(dy, context.dtype)
        rows = dy.reshape(-1, dy.shape[-1]).T @ x.reshape(-1, x.shape[-1])
        return dy @ weight, rows, None


def rounded(values, dtype):
    # By way of F32, in which programs have them.
    return values.float().to(dtype).to(values.dtype)


@contextlib.contextmanager
def rounded_products(dtype):
    """Of all layers that multiply by a weight."""
    linear, conv = torch.nn.Linear, transformers.pytorch_utils.Conv1D
    kept = linear.forward, conv.forward

    def product(x, weight, bias):
        y = RoundedProduct.apply(x, weight, dtype)
        return y if bias is None else y + bias

    linear.forward = lambda self, x: product(x, self.weight, self.bias)
    conv.forward = lambda self, x: product(x, self.weight.T, self.bias)
    try:
        yield
    finally:
        linear.forward, conv.forward = kept


def gradients(folder, dtype, sequences, scale=1.0):
    model = model_of(folder, dtype)
    loss = loss_of(model, sequences)
    (scale * loss).backward()
    return loss.item(), gradients_of(model, scale)


def gradients_of(model, scale=1.0):
    found = {name: parameter.grad.double() / scale for name, parameter in model.named_parameters()}
    if experts.has_experts(model.config):
        found = experts.by_expert(found, model.config.model_type)
    return found


def gradients_with_routers(folder, dtype, microbatches):
    """Means of the losses of all microbatches, each by itself, and the gradients."""
    model = model_of(folder, dtype)
    parts = {}
    for sequences in microbatches:
        found = losses_of_routers(model, sequences)
        (found["loss"] / len(microbatches)).backward()
        for name, value in found.items():
            parts[name] = parts.get(name, 0.0) + value.item() / len(microbatches)
    return parts, gradients_of(model)


def in_16_bits(folder, sequences):
    result = {}
    for name, dtype in TYPES.items():
        with rounded_products(dtype):
            loss, found = gradients(folder, torch.float64, sequences, SCALE[name])
        result[name] = {"loss": loss, "tensors": {
            tensor: {"norm": gradient.norm().item(),
                     "projections": project(tensor, gradient.reshape(-1).tolist())}
            for tensor, gradient in found.items()}}
    return result


def rate_of(folder):
    return {"lr": RATES[folder.name]} if folder.name in RATES else {}


def is_vector(name, parameter):
    """Whether weight decay leaves it out: biases of experts are a tensor of all, and each one's a vector."""
    return parameter.dim() < 2 or name.endswith("_proj_bias")


def losses(folder, sequences, loss_of=loss_of):
    return losses_of_steps(model_of(folder, torch.float64), sequences, loss_of, **rate_of(folder))


def losses_of_steps(model, sequences, loss_of=loss_of, **rate):
    """Of 50 steps of AdamW."""
    vectors = [p for name, p in model.named_parameters() if is_vector(name, p)]
    matrices = [p for name, p in model.named_parameters() if not is_vector(name, p)]
    optimizer = torch.optim.AdamW(
        [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}], **(ADAMW | rate)
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


def relative_error(found, exact):
    norm, error = exact.norm().item(), (found - exact).norm().item()
    # Of an expert that no row goes to all gradients are zeros, in any type.
    return error / norm if norm or error else 0.0


def worst_rounding(folder):
    """The largest relative error of a parameter's gradient in F32."""
    sequences = sequences_of(folder)
    _, exact = gradients(folder, torch.float64, sequences)
    _, single = gradients(folder, torch.float32, sequences)
    return max(relative_error(single[name], exact[name]) for name in exact)


def describe(exact, single):
    tensors = {}
    for name, gradient in exact.items():
        norm = gradient.norm().item()
        tensors[name] = {
            "norm": norm,
            "float32_error": relative_error(single[name], gradient),
            "projections": project(name, gradient.reshape(-1).tolist()),
        }
    return tensors


def loads_of(folder, sequences):
    """How many rows go to each expert, of routers whose choice biases correct."""
    model = model_of(folder, torch.float64)
    found = {}

    def count(name):
        def hook(_, __, result):
            found[name] = torch.bincount(result[2].flatten(), minlength=model.config.n_routed_experts).tolist()
        return hook

    for name, module in model.named_modules():
        if hasattr(module, "e_score_correction_bias"):
            module.register_forward_hook(count(f"{name}.e_score_correction_bias"))
    with torch.no_grad():
        model(sequences[:, :-1])
    return found


def dump(path, result):
    with open(path, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def write_routers(folder):
    sequences = sequences_of(folder)
    result = {"sequences": sequences.tolist(), "factors": ROUTERS}

    def of(microbatches, wanted=lambda name: True):
        parts, exact = gradients_with_routers(folder, torch.float64, microbatches)
        _, single = gradients_with_routers(folder, torch.float32, microbatches)
        norm = sum(gradient.square().sum().item() for gradient in exact.values()) ** 0.5
        exact = {name: gradient for name, gradient in exact.items() if wanted(name)}
        return {**parts, "norm": norm, "tensors": describe(exact, single)}

    result |= of([sequences])
    routers = (".mlp.gate.weight", ".block_sparse_moe.gate.weight", ".mlp.router.weight", ".mlp.router.bias")
    result["microbatches"] = of(sequences.split(1), lambda name: name.endswith(routers))
    if folder.name in STEPS:
        result |= rate_of(folder)
        result["losses"] = losses(folder, sequences,
                                  lambda model, sequences: losses_of_routers(model, sequences)["loss"])
    dump(folder / "routers.json", result)
    print(folder.name, "with routers", result["loss"])


def write(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    if getattr(config, "quantization_config", None):
        # Weights that train are floating-point numbers.
        return
    # DeepSeek's routers add no loss.
    if experts.has_experts(config) and not config.model_type.startswith("deepseek"):
        write_routers(folder)
    if folder.name in ONLY_ROUTERS:
        return
    sequences = sequences_of(folder)
    loss, exact = gradients(folder, torch.float64, sequences)
    _, single = gradients(folder, torch.float32, sequences)
    result = {"sequences": sequences.tolist(), "loss": loss, "tensors": describe(exact, single)}
    if config.model_type == "deepseek_v3":
        result["loads"] = loads_of(folder, sequences)
    if folder.name in STEPS:
        result |= rate_of(folder)
        result["losses"] = losses(folder, sequences)
    dump(folder / "gradients.json", result)
    if folder.name in ROUNDED:
        with open(folder / "rounded.json", "w") as file:
            json.dump(in_16_bits(folder, sequences), file)
            file.write("\n")
    print(folder.name, loss)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for file in sorted(HERE.glob("*/logits.npy")):
        if len(sys.argv) < 2 or file.parent.name in sys.argv[1:]:
            write(file.parent)
