"""Qwen3 with gates on the output of attention, which transformers does not have.

After "Gated Attention for Large Language Models" (Qiu et al., 2025): the query
projection has further outputs, for every key/value head its query heads' gate
logits behind their queries; one a head (headwise) or one an element.
"""

import copy
import sys

import torch
import transformers
from transformers.models.qwen3 import modeling_qwen3


def has_gates(config):
    return bool(
        getattr(config, "headwise_attn_output_gate", False)
        or getattr(config, "elementwise_attn_output_gate", False)
    )


class GatedQwen3Attention(modeling_qwen3.Qwen3Attention):
    def __init__(self, config, layer_idx):
        super().__init__(config, layer_idx)
        self.gates = 1 if getattr(config, "headwise_attn_output_gate", False) else self.head_dim
        self.heads = config.num_attention_heads
        self.key_value_heads = config.num_key_value_heads
        self.q_proj = torch.nn.Linear(
            config.hidden_size, self.heads * (self.head_dim + self.gates),
            bias=config.attention_bias,
        )

    def forward(self, hidden_states, position_embeddings, attention_mask, **kwargs):
        shape = hidden_states.shape[:-1]
        group = self.heads // self.key_value_heads
        both = self.q_proj(hidden_states).view(*shape, self.key_value_heads, -1)
        queries, gates = both.split([group * self.head_dim, group * self.gates], dim=-1)
        queries = queries.reshape(*shape, self.heads, self.head_dim)
        gates = gates.reshape(*shape, self.heads, self.gates)
        keys = self.k_proj(hidden_states).view(*shape, -1, self.head_dim)
        values = self.v_proj(hidden_states).view(*shape, -1, self.head_dim).transpose(1, 2)
        queries = self.q_norm(queries).transpose(1, 2)
        keys = self.k_norm(keys).transpose(1, 2)
        queries, keys = modeling_qwen3.apply_rotary_pos_emb(queries, keys, *position_embeddings)
        output, weights = modeling_qwen3.eager_attention_forward(
            self, queries, keys, values, attention_mask, scaling=self.scaling
        )
        output = output.reshape(*shape, self.heads, self.head_dim) * self.open(gates)
        return self.o_proj(output.reshape(*shape, -1)), weights

    def open(self, gates):
        return torch.sigmoid(gates)


class GatedQwen3ForCausalLM(transformers.Qwen3ForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        for index, layer in enumerate(self.model.layers):
            layer.self_attn = GatedQwen3Attention(config, index)


def modeling_of(model):
    """The module whose functions the model's attention calls."""
    if isinstance(model, GatedQwen3ForCausalLM):
        return modeling_qwen3
    return sys.modules[type(model.model.layers[0].self_attn).__module__]


def gate_modules(model):
    """The attention modules with gates."""
    return [
        module
        for module in model.modules()
        if isinstance(module, GatedQwen3Attention)
        or type(module).__name__ == "Qwen3NextAttention"
    ]


def without_gates(model, tokens, logits_of):
    """Logits when every gate is half open, as zero logits would have it."""
    other = copy.deepcopy(model)
    for module in gate_modules(other):
        weights = module.q_proj.weight.data
        dim = module.head_dim
        if isinstance(module, GatedQwen3Attention):
            group = module.heads // module.key_value_heads
            blocks = weights.view(module.key_value_heads, -1, weights.shape[1])
            blocks[:, group * dim :] = 0
            if module.q_proj.bias is not None:
                module.q_proj.bias.data.view(module.key_value_heads, -1)[:, group * dim :] = 0
        else:
            weights.view(-1, 2 * dim, weights.shape[1])[:, dim:] = 0
    return logits_of(other, tokens)
