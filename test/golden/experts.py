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
    if family == "gpt_oss":
        return weights
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
    if config.model_type == "gpt_oss":
        yield from planted_in_gpt_oss(changed, rewritten)
        return
    yield "gates_and_ups_swapped", rewritten(
        "experts.gate_up_proj", lambda value: torch.roll(value, value.shape[1] // 2, 1))
    if config.model_type.startswith("deepseek"):
        yield from planted_in_deepseek(model, tokens, logits_of, changed, rewritten)
    if hasattr(config, "norm_topk_prob") and config.model_type != "deepseek_v2":
        yield "other_normalization", changed(lambda config: setattr(config, "norm_topk_prob",
                                                                    not config.norm_topk_prob))
    if hasattr(config, "shared_expert_intermediate_size"):
        yield "shared_expert_without_gate", rewritten("shared_expert_gate.weight", torch.zeros_like)


def planted_in_deepseek(model, tokens, logits_of, changed, rewritten):
    config = model.config
    groups = config.n_group or 1
    if groups > 1:
        yield "one_group_more", changed(lambda config: setattr(config, "topk_group", config.topk_group + 1))
        yield "one_group_fewer", changed(lambda config: setattr(config, "topk_group", config.topk_group - 1))
    yield "without_routed_factor" if config.routed_scaling_factor != 1 else "another_routed_factor", changed(
        lambda config: setattr(config, "routed_scaling_factor", 1.0 if config.routed_scaling_factor != 1 else 1.1))
    yield "without_shared_experts", rewritten("shared_experts.down_proj.weight", torch.zeros_like)
    heads = config.num_attention_heads

    def rolled(value):
        return torch.roll(value, value.shape[0] // heads, 0)

    yield "expansions_of_other_heads", rewritten("kv_b_proj.weight", rolled)
    key = config.qk_nope_head_dim + config.v_head_dim
    yield "keys_as_values", rewritten("kv_b_proj.weight", lambda value: torch.cat(
        [torch.roll(head, 1, 0) for head in value.split(key)]))
    yield "without_norm_of_compressed_rows", rewritten("kv_a_layernorm.weight", torch.ones_like)
    if config.q_lora_rank:
        yield "without_norm_of_compressed_queries", rewritten("q_a_layernorm.weight", torch.ones_like)
    if config.model_type == "deepseek_v2":
        return
    yield "other_rotary_pairs", changed(
        lambda config: setattr(config, "rope_interleave", not config.rope_interleave))
    if config.rope_parameters.get("mscale_all_dim"):
        yield "without_temperature", changed(lambda config: setattr(
            config, "rope_parameters", {**config.rope_parameters, "mscale": 0, "mscale_all_dim": 0}))

    def changed_bias(change):
        other = copy.deepcopy(model)
        for name, buffer in other.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.copy_(change(buffer))
        return logits_of(other, tokens)

    yield "choice_without_biases", changed_bias(torch.zeros_like)
    yield "biases_of_other_experts", changed_bias(lambda value: torch.roll(value, 1))


def planted_in_gpt_oss(changed, rewritten):
    yield "gates_and_ups_swapped", rewritten("experts.gate_up_proj", lambda value: torch.roll(value, 1, 2))
    for name in ("gate_up", "down"):
        yield f"without_biases_of_{name}", rewritten(f"experts.{name}_proj_bias", torch.zeros_like)
        yield f"biases_of_other_experts_{name}", rewritten(
            f"experts.{name}_proj_bias", lambda value: torch.roll(value, 1, 0))
    yield "without_sinks", rewritten(".sinks", lambda value: torch.full_like(value, -1e30))
    yield "sinks_of_other_heads", rewritten(".sinks", lambda value: torch.roll(value, 1))
    yield "without_limit", changed(lambda config: setattr(config, "swiglu_limit", 1e9))
    yield "sigmoid_of_the_gate_itself", changed(lambda config: setattr(config, "swiglu_alpha", 1.0))


# The magnitudes of E2M1, of which a code's lower three bits are the number, and the fourth is the sign.
MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def mxfp4_codes(matrices):
    """Codes and scales of [experts, outputs, inputs], in blocks of 32 inputs (OCP Microscaling Formats 1.0)."""
    blocks = matrices.float().reshape(*matrices.shape[:-1], -1, 32)
    largest = blocks.abs().amax(-1)
    scales = torch.clamp(torch.floor(torch.log2(largest.clamp_min(1e-30))) - 2, -127, 127)
    scaled = blocks / torch.exp2(scales)[..., None]
    magnitudes = torch.tensor(MAGNITUDES)
    codes = (scaled.abs()[..., None] - magnitudes).abs().argmin(-1)
    codes = (codes + 8 * (scaled < 0)).to(torch.uint8)
    return codes[..., 0::2] | codes[..., 1::2] << 4, (scales + 127).to(torch.uint8)


def mxfp4_numbers(codes, scales):
    """What codes and scales mean, [experts, outputs, inputs]."""
    numbers = torch.tensor(MAGNITUDES + tuple(-value for value in MAGNITUDES))
    pairs = torch.stack((numbers[(codes & 15).long()], numbers[(codes >> 4).long()]), -1)
    values = pairs.flatten(-2) * torch.exp2(scales.float() - 127)[..., None]
    return values.flatten(-2)


def is_in_mxfp4(name):
    return name.endswith((".experts.gate_up_proj", ".experts.down_proj"))


def rounded_to_mxfp4(weights):
    """Experts' weights, [experts, inputs, outputs], as MXFP4 has them."""
    return {name: mxfp4_numbers(*mxfp4_codes(value.mT)).mT.contiguous() if is_in_mxfp4(name) else value
            for name, value in weights.items()}


def in_mxfp4(weights):
    """The same as gpt-oss's files store them."""
    result = {}
    for name, value in weights.items():
        if is_in_mxfp4(name):
            result[name + "_blocks"], result[name + "_scales"] = mxfp4_codes(value.mT)
        else:
            result[name] = value
    return result
