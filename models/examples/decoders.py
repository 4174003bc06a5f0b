"""Llama and Qwen3 as code, with what their importers make of a checkpoint's config.json.

    import json, baton, decoders
    model = decoders.llama(json.load(open("DIR/config.json")))
    print(baton.compile(model, weights="DIR").logits([1, 2, 3]))

The examples of docs/examples.md replace a part of them: `attend` or `block`.

Their plans are the importers', byte for byte (test/e2e/python_models.py).
"""

import json
import math
import sys

import baton
from baton.ir import single


def frequencies(config, head_dim):
    """Radians per position of each pair, in F32 as Transformers computes them."""
    base = config.get("rope_parameters", config)["rope_theta"]
    powers = [single(base ** single(2 * i / head_dim)) for i in range(head_dim // 2)]
    return [single(1 / power) for power in powers]


def feed_forward(model, config, x):
    """down(act(gate(x)) * up(x))"""
    at = "layers.{layer}.mlp"
    gate = model.linear(at + ".gate_proj", x, config["intermediate_size"])
    up = model.linear(at + ".up_proj", x, config["intermediate_size"])
    product = model.mul(model.activate(gate, config["hidden_act"], name=at + ".act_fn"), up, name=at + ".gate_up")
    return model.linear(at + ".down_proj", product, config["hidden_size"])


def sequential(model, config, x, attention):
    """A layer: attention, then the feed-forward layer, each behind a norm of its own."""
    normed = model.rms_norm("layers.{layer}.input_layernorm", x, config["rms_norm_eps"])
    x = model.add(x, attention(normed), name="layers.self_attn.o_proj.residual")
    normed = model.rms_norm("layers.{layer}.post_attention_layernorm", x, config["rms_norm_eps"])
    return model.add(x, feed_forward(model, config, normed), name="layers.mlp.down_proj.residual")


def decoder(config, attention, block=sequential):
    """Embedding, layers that `block` makes of `attention` and the feed-forward layer, and
    the head."""
    width, epsilon = config["hidden_size"], config["rms_norm_eps"]
    model = baton.Model(config["model_type"], config["max_position_embeddings"],
                        family=config["model_type"], prefix="model.")

    def layer(x):
        def attended(normed):
            at = "layers.{layer}.self_attn"
            heads = attention(model, at, normed, angles)
            return model.linear(at + ".o_proj", heads, width, config["attention_bias"])

        return block(model, config, x, attended)

    table = model.weight("embed_tokens", [config["vocab_size"], width])
    x = model.embedding(model.tokens, table, name="embed_tokens")
    angles = model.rope_table(frequencies(config, config["head_dim"]), name="rotary_emb")
    x = model.stack(x, config["num_hidden_layers"], layer)
    x = model.rms_norm("norm", model.last_rows(x, name="last_rows"), epsilon)
    if config["tie_word_embeddings"]:
        return model.finish(model.linear("lm_head", x, weight=table))
    return model.finish(model.linear("lm_head", x, config["vocab_size"]))


def rotary_attention(config, norm=lambda model, module, x: x, attend=baton.Model.causal_attention):
    """Grouped-query attention, by `attend`, whose heads turn, behind `norm`."""
    heads, groups, dim = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]

    def project(model, at, part, x, count):
        flat = model.linear(f"{at}.{part}_proj", x, count * dim, config["attention_bias"])
        return model.split_heads(flat, count, name=f"{at}.{part}")

    def attention(model, at, x, angles):
        q = project(model, at, "q", x, heads)
        k = project(model, at, "k", x, groups)
        v = project(model, at, "v", x, groups)
        q = norm(model, at + ".q_norm", q)
        k = norm(model, at + ".k_norm", k)
        q = model.rope(q, angles, name=at + ".q_rope")
        k = model.rope(k, angles, name=at + ".k_rope")
        return attend(model, at, q, k, v, scale=1 / math.sqrt(dim))

    return attention


def llama(config):
    """transformers' LlamaForCausalLM."""
    return decoder(config, rotary_attention(config))


def qwen3(config):
    """transformers' Qwen3ForCausalLM: every head of queries and keys is normalised."""
    norm = lambda model, module, x: model.rms_norm(module, x, config["rms_norm_eps"])
    return decoder(config, rotary_attention(config, norm))


def main(model):
    """Prints what `model` makes of the configuration in the folder that the command line names."""
    with open(sys.argv[1] + "/config.json") as file:
        print(model(json.load(file)), end="")
