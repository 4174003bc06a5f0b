"""Mixtures of experts in golden checkpoints: how they are stored, and errors to plant."""

import copy

import torch

# Names of an expert's linears in published checkpoints, and what a layer's module is there.
NAMES = {"mixtral": ("w1", "w3", "w2")}
MODULES = {"mixtral": ("mlp", "block_sparse_moe")}
USUAL = ("gate_proj", "up_proj", "down_proj")


def has_experts(config):
    return bool(getattr(config, "num_experts_per_tok", None))


def by_expert(weights, family):
    """Weights of a layer's experts, which transformers has as one tensor, as it stores them."""
    gate, up, down = NAMES.get(family, USUAL)
    own, stored = MODULES.get(family, ("mlp", "mlp"))
    result = {}
    for name, value in weights.items():
        name = name.replace(f".{own}.", f".{stored}.")
        if name.endswith(".experts.gate_up_proj"):
            for expert, matrix in enumerate(value):
                width = matrix.shape[0] // 2
                module = name.removesuffix("gate_up_proj") + str(expert)
                result[f"{module}.{gate}.weight"] = matrix[:width].contiguous()
                result[f"{module}.{up}.weight"] = matrix[width:].contiguous()
        elif name.endswith(".experts.down_proj"):
            for expert, matrix in enumerate(value):
                result[f"{name.removesuffix('down_proj')}{expert}.{down}.weight"] = matrix.contiguous()
        else:
            result[name] = value
    return result


def planted(model, tokens, logits_of):
    """Names of errors, and the logits that each leads to."""
    config = model.config
    if not has_experts(config):
        return

    def changed(change):
        other_config = copy.deepcopy(config)
        change(other_config)
        other = type(model)._from_config(other_config, attn_implementation="eager")
        other.load_state_dict(model.state_dict())
        return logits_of(other.float().eval(), tokens)

    def rewritten(suffix, change):
        other = copy.deepcopy(model)
        for name, parameter in other.named_parameters():
            if name.endswith(suffix):
                parameter.data.copy_(change(parameter.data))
        return logits_of(other, tokens)

    yield "one_expert_fewer", changed(lambda config: setattr(config, "num_experts_per_tok",
                                                             config.num_experts_per_tok - 1))
    yield "one_expert_more", changed(lambda config: setattr(config, "num_experts_per_tok",
                                                            config.num_experts_per_tok + 1))
    yield "downs_of_other_experts", rewritten("experts.down_proj", lambda value: torch.roll(value, 1, 0))
    yield "gates_and_ups_swapped", rewritten(
        "experts.gate_up_proj", lambda value: torch.roll(value, value.shape[1] // 2, 1))
    if hasattr(config, "norm_topk_prob"):
        yield "other_normalization", changed(lambda config: setattr(config, "norm_topk_prob",
                                                                    not config.norm_topk_prob))
    if hasattr(config, "shared_expert_intermediate_size"):
        yield "shared_expert_without_gate", rewritten("shared_expert_gate.weight", torch.zeros_like)
