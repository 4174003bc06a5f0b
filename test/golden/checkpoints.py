"""Writes small random-weight checkpoints with the logits of the reference model.

Run by regenerate.py. Every case becomes a Hugging Face folder (config.json,
safetensors, sometimes tokenizer.json) beside golden.json and logits.npy.

Trained weights are not needed to test a compiler, but weights that are drawn
carelessly hide its errors: near-uniform attention forgives a wrong mask, a
small bias forgives being dropped. So the draw keeps every branch of the model
loud, and each case is accepted only if every planted error moves the logits by
at least DETECTION times the tolerance that the tests allow.
"""

import contextlib
import copy
import json
import shutil
import sys
from functools import partial
from pathlib import Path

import numpy
import safetensors.torch
import torch
import transformers

import experts
import gated_qwen3
import gradients
import hyper_connections

HERE = Path(__file__).resolve().parent

# Allowed max |difference| / max |golden logit|; check.py has the same default.
TOLERANCE = 2e-4
# A planted error must be at least this many tolerances large.
DETECTION = 10
# Of a gradient, where a case asks for it: what F32 itself may be off by.
GRADIENT_ROUNDING = 5e-6
GREEDY_PROMPT = 12
GREEDY_STEPS = 64
# A model that repeats itself would forgive a wrong key/value cache.
GREEDY_DISTINCT = 16

# What stores norms less one and scales embeddings.
GEMMAS = ("gemma2", "gemma3_text")
# What a half of a block adds is a norm's.
POST_NORMS = (*GEMMAS, "olmo2")

DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


def llama(**options):
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 1,
        "initializer_range": 0.02,
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "use_cache": True,
    }
    return {**config, **options}


def gpt2(**options):
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "attn_pdrop": 0.1,
        "bos_token_id": 0,
        "embd_pdrop": 0.1,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-5,
        "resid_pdrop": 0.1,
    }
    return {**config, **options}


def decoder(family, model_type, **options):
    """What the configurations of Llama's relatives have in common."""
    config = {
        "architectures": [f"{family}ForCausalLM"],
        "model_type": model_type,
        "attention_dropout": 0.0,
        "bos_token_id": 1,
        "initializer_range": 0.02,
        "max_position_embeddings": 256,
        "tie_word_embeddings": False,
        "use_cache": True,
    }
    return {**config, **options}


def gpt_oss(**sizes):
    return decoder(
        "GptOss", "gpt_oss", dtype="bfloat16", hidden_size=64, num_hidden_layers=4, head_dim=20, hidden_act="silu",
        rms_norm_eps=1e-5, num_local_experts=5, num_experts_per_tok=2, sliding_window=21, attention_bias=True,
        attention_dropout=0.0, swiglu_limit=7.0, max_position_embeddings=512, rope_theta=150000,
        layer_types=["sliding_attention", "full_attention"] * 2,
        rope_scaling={"rope_type": "yarn", "factor": 4.0, "beta_fast": 8.0, "beta_slow": 1.0, "truncate": False,
                      "original_max_position_embeddings": 128},
        **sizes,
    )


def deepseek(family, model_type, **options):
    return decoder(
        family, model_type, hidden_act="silu", rms_norm_eps=1e-6, num_hidden_layers=3, first_k_dense_replace=1,
        intermediate_size=56, moe_intermediate_size=16, attention_bias=True, **options)


# Together the configurations cover the spellings found in published
# checkpoints: torch_dtype and dtype, rope_theta and rope_parameters,
# rope_scaling with type and with rope_type, defaults left out, one stop token,
# several, or none ("eos" below is how many).
CASES = {
    "llama-gqa": {
        "config": llama(
            dtype="float32", hidden_size=60, num_hidden_layers=3,
            num_attention_heads=6, num_key_value_heads=2, head_dim=16,
            intermediate_size=100, vocab_size=131, rms_norm_eps=0.01,
            rope_parameters={"rope_theta": 10000.0, "rope_type": "default"},
        ),
        "stored": "F32", "tokens": 150, "eos": 1,
    },
    "llama-mha-tied": {
        # As the first Llama checkpoints: neither num_key_value_heads nor head_dim.
        "config": llama(
            torch_dtype="bfloat16", hidden_size=48, num_hidden_layers=2,
            num_attention_heads=4, intermediate_size=88, vocab_size=257,
            rms_norm_eps=1e-6, rope_scaling=None, rope_theta=10000.0,
            tie_word_embeddings=True,
        ),
        "stored": "BF16", "tokens": 40, "eos": 1,
    },
    "llama-bias-f16": {
        "config": llama(
            torch_dtype="float16", hidden_size=45, num_hidden_layers=2,
            num_attention_heads=5, num_key_value_heads=1, head_dim=10,
            intermediate_size=67, vocab_size=97, rope_theta=10000.0,
            attention_bias=True, mlp_bias=True,
        ),
        "stored": "F16", "tokens": 150, "eos": 0, "shards": 3,
    },
    "llama3-rope": {
        "config": llama(
            torch_dtype="bfloat16", hidden_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, head_dim=16,
            intermediate_size=96, vocab_size=300, max_position_embeddings=512,
            rope_theta=500000.0,
            rope_scaling={
                "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64, "rope_type": "llama3",
            },
        ),
        "stored": "BF16", "tokens": 120, "eos": 3, "tokenizer": "llama3",
    },
    "llama-linear-rope": {
        "config": llama(
            dtype="float32", hidden_size=39, num_hidden_layers=2,
            num_attention_heads=3, num_key_value_heads=3, head_dim=14,
            intermediate_size=53, vocab_size=101, rope_theta=10000.0,
            rope_scaling={"type": "linear", "factor": 2.5},
        ),
        "stored": "F32", "tokens": 150, "eos": 0, "shards": 2,
    },
    "gpt2-small": {
        # The prompt fills the learned positions to the last one.
        "config": gpt2(
            dtype="float32", n_embd=36, n_head=3, n_layer=3, n_positions=128,
            vocab_size=259,
        ),
        "stored": "F32", "tokens": 128, "eos": 1, "tokenizer": "gpt2",
    },
    "gpt2-bf16": {
        # Names as in the published gpt2: no "transformer." prefix, and the
        # causal masks stored as tensors that a reader must ignore.
        "config": gpt2(
            torch_dtype="bfloat16", n_embd=40, n_head=5, n_layer=2, n_inner=51,
            n_positions=96, vocab_size=211,
        ),
        "stored": "BF16", "tokens": 40, "eos": 1, "published_names": True,
    },
    "mistral-window": {
        "config": decoder(
            "Mistral", "mistral", torch_dtype="bfloat16", hidden_size=52,
            num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
            head_dim=18, intermediate_size=90, vocab_size=141, hidden_act="silu",
            rms_norm_eps=1e-5, rope_theta=10000.0, sliding_window=23,
        ),
        "stored": "BF16", "tokens": 150, "eos": 1,
    },
    "qwen2-windows": {
        # Two layers see everything, three a window.
        "config": decoder(
            "Qwen2", "qwen2", torch_dtype="float16", hidden_size=48,
            num_hidden_layers=5, num_attention_heads=6, num_key_value_heads=2,
            intermediate_size=71, vocab_size=211, hidden_act="silu",
            rms_norm_eps=1e-6, rope_theta=1000000.0, tie_word_embeddings=True,
            use_sliding_window=True, sliding_window=16, max_window_layers=2,
        ),
        "stored": "F16", "tokens": 120, "eos": 1,
    },
    "qwen2-full": {
        # As published: a window that nothing uses.
        "config": decoder(
            "Qwen2", "qwen2", torch_dtype="bfloat16", hidden_size=42,
            num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1,
            intermediate_size=64, vocab_size=150, hidden_act="silu",
            rms_norm_eps=1e-6, rope_theta=1000000.0,
            use_sliding_window=False, sliding_window=16, max_window_layers=1,
        ),
        "stored": "BF16", "tokens": 100, "eos": 2, "shards": 2,
    },
    "qwen3-norms": {
        "config": decoder(
            "Qwen3", "qwen3", dtype="float32", hidden_size=44, num_hidden_layers=3,
            num_attention_heads=6, num_key_value_heads=3, head_dim=12,
            intermediate_size=77, vocab_size=163, hidden_act="silu",
            rms_norm_eps=0.005, attention_bias=True,
            rope_parameters={"rope_theta": 1000000.0, "rope_type": "default"},
            use_sliding_window=False, sliding_window=None, max_window_layers=3,
        ),
        "stored": "F32", "tokens": 150, "eos": 1,
    },
    "qwen3-headwise": {
        "config": decoder(
            "Qwen3", "qwen3", torch_dtype="bfloat16", hidden_size=40,
            num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2,
            head_dim=14, intermediate_size=60, vocab_size=127, hidden_act="silu",
            rms_norm_eps=1e-6, rope_theta=10000.0, headwise_attn_output_gate=True,
        ),
        "stored": "BF16", "tokens": 120, "eos": 1,
    },
    "qwen3-elementwise": {
        "config": decoder(
            "Qwen3", "qwen3", dtype="float32", hidden_size=38,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            head_dim=18, intermediate_size=58, vocab_size=119, hidden_act="silu",
            rms_norm_eps=1e-6, rope_theta=10000.0, attention_bias=True,
            elementwise_attn_output_gate=True,
        ),
        "stored": "F32", "tokens": 120, "eos": 1,
    },
    "qwen3next-dense": {
        "config": decoder(
            "Qwen3Next", "qwen3_next", dtype="float32", hidden_size=36,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            head_dim=24, intermediate_size=62, vocab_size=133, hidden_act="silu",
            rms_norm_eps=1e-6, rope_theta=10000.0, partial_rotary_factor=0.25,
            num_experts=0, layer_types=["full_attention", "full_attention"],
        ),
        "stored": "F32", "tokens": 120, "eos": 1,
    },
    "gemma2-caps": {
        # Window, all, window, all, window.
        "config": decoder(
            "Gemma2", "gemma2", dtype="float32", hidden_size=52,
            num_hidden_layers=5, num_attention_heads=4, num_key_value_heads=2,
            head_dim=20, intermediate_size=75, vocab_size=157,
            hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6,
            rope_theta=10000.0, tie_word_embeddings=True, query_pre_attn_scalar=17,
            sliding_window=21, attn_logit_softcapping=6.0,
            final_logit_softcapping=4.0,
        ),
        "stored": "F32", "tokens": 130, "eos": 1,
    },
    "gemma3-windows": {
        # As published: every sixth layer sees all, and one more follows.
        "config": decoder(
            "Gemma3", "gemma3_text", dtype="float32", hidden_size=48,
            num_hidden_layers=7, num_attention_heads=4, num_key_value_heads=2,
            head_dim=14, intermediate_size=66, vocab_size=151,
            hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6,
            rope_theta=50000.0, rope_local_base_freq=10000.0, rope_scaling=None,
            tie_word_embeddings=False, query_pre_attn_scalar=22,
            sliding_window=19, sliding_window_pattern=6,
            attn_logit_softcapping=None, final_logit_softcapping=None,
        ),
        "stored": "F32", "tokens": 130, "eos": 1,
    },
    "gemma3-rope": {
        # As transformers 5 writes it; both kinds of layers have bases of their own.
        "config": decoder(
            "Gemma3", "gemma3_text", dtype="bfloat16", hidden_size=54,
            num_hidden_layers=5, num_attention_heads=3, num_key_value_heads=1,
            head_dim=16, intermediate_size=70, vocab_size=143,
            hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6,
            rope_parameters={
                "full_attention": {"rope_type": "linear", "factor": 8.0,
                                   "rope_theta": 20000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 5000.0},
            },
            tie_word_embeddings=True, query_pre_attn_scalar=13, attention_bias=True,
            sliding_window=24, layer_types=["sliding_attention", "full_attention"] * 2
            + ["sliding_attention"],
            final_logit_softcapping=5.0, attn_logit_softcapping=None,
            use_bidirectional_attention=False,
        ),
        "stored": "BF16", "tokens": 130, "eos": 2,
    },
    "llama-hyper-sinkhorn": {
        "config": llama(
            dtype="float32", hidden_size=44, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, head_dim=14,
            intermediate_size=70, vocab_size=137, rope_theta=10000.0,
            hyper_connections={"streams": 4, "mode": "sinkhorn"},
        ),
        "stored": "F32", "tokens": 120, "eos": 1,
    },
    "llama-hyper-identity": {
        # Linears in BF16; what is small stays F32 in the program.
        "config": llama(
            torch_dtype="bfloat16", hidden_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=4, head_dim=12,
            intermediate_size=61, vocab_size=113, rope_theta=10000.0,
            hyper_connections={"streams": 3, "mode": "identity", "norm_epsilon": 1e-3},
        ),
        "stored": "BF16", "tokens": 90, "eos": 1,
    },
    "llama-hyper-free": {
        "config": llama(
            dtype="float32", hidden_size=35, num_hidden_layers=3,
            num_attention_heads=5, num_key_value_heads=1, head_dim=10,
            intermediate_size=52, vocab_size=109, rope_theta=10000.0,
            hyper_connections={"streams": 2, "mode": "free"},
        ),
        "stored": "F32", "tokens": 90, "eos": 1,
    },
    "gpt2-hyper-sinkhorn": {
        "config": gpt2(
            dtype="float32", n_embd=36, n_head=3, n_layer=2, n_positions=96,
            vocab_size=151,
            hyper_connections={"streams": 4, "mode": "sinkhorn", "iterations": 20,
                               "epsilon": 1e-5},
        ),
        "stored": "F32", "tokens": 80, "eos": 1,
    },
    "phi3-partial": {
        "config": decoder(
            "Phi3", "phi3", torch_dtype="bfloat16", hidden_size=64,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            intermediate_size=70, vocab_size=139, hidden_act="silu",
            rms_norm_eps=1e-5, rope_theta=10000.0, rope_scaling=None,
            partial_rotary_factor=0.75, original_max_position_embeddings=256,
            pad_token_id=0, sliding_window=37,
        ),
        "stored": "BF16", "tokens": 130, "eos": 1,
    },
    "phi3-long": {
        "config": decoder(
            "Phi3", "phi3", torch_dtype="float16", hidden_size=60,
            num_hidden_layers=2, num_attention_heads=5, intermediate_size=50,
            vocab_size=149, hidden_act="silu", rms_norm_eps=1e-5,
            rope_theta=10000.0, original_max_position_embeddings=256,
            pad_token_id=0, sliding_window=None,
            rope_scaling={
                "type": "longrope", "factor": 4.0,
                "short_factor": [1.0, 1.05, 1.2, 1.5, 2.0, 2.5],
                "long_factor": [1.0, 1.5, 2.0, 3.0, 5.0, 8.0],
            },
        ),
        "stored": "F16", "tokens": 130, "eos": 1,
    },
    "mixtral-top2": {
        "config": decoder(
            "Mixtral", "mixtral", dtype="float32", hidden_size=48,
            num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
            intermediate_size=32, vocab_size=131, hidden_act="silu",
            rms_norm_eps=1e-5, num_local_experts=5, num_experts_per_tok=2,
            rope_theta=1000000.0, sliding_window=None,
        ),
        "stored": "F32", "tokens": 130, "eos": 1,
    },
    "olmo2-norms": {
        # Norms behind the halves, and of all heads together; odd sizes.
        "config": decoder(
            "Olmo2", "olmo2", dtype="float32", hidden_size=45,
            num_hidden_layers=3, num_attention_heads=5, num_key_value_heads=5,
            head_dim=14, intermediate_size=67, vocab_size=139, hidden_act="silu",
            rms_norm_eps=0.005, attention_bias=True,
            rope_parameters={"rope_theta": 10000.0, "rope_type": "default"},
        ),
        "stored": "F32", "tokens": 150, "eos": 1,
    },
    "olmo2-shared": {
        # As published, but for key/value heads that query heads share.
        "config": decoder(
            "Olmo2", "olmo2", torch_dtype="bfloat16", hidden_size=54,
            num_hidden_layers=2, num_attention_heads=9, num_key_value_heads=3,
            intermediate_size=84, vocab_size=151, hidden_act="silu",
            rms_norm_eps=1e-6, attention_bias=False, rope_scaling=None,
            rope_theta=500000.0, tie_word_embeddings=True,
        ),
        "stored": "BF16", "tokens": 110, "eos": 2,
    },
    "olmoe-top3": {
        "config": decoder(
            "Olmoe", "olmoe", torch_dtype="bfloat16", hidden_size=64,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
            intermediate_size=48, vocab_size=149, hidden_act="silu",
            rms_norm_eps=1e-5, num_experts=9, num_experts_per_tok=3,
            rope_theta=10000.0, norm_topk_prob=False, clip_qkv=None,
        ),
        "stored": "BF16", "tokens": 90, "eos": 1,
    },
    "gptoss-sinks": {
        "config": gpt_oss(num_attention_heads=6, num_key_value_heads=2, intermediate_size=48, vocab_size=139),
        "stored": "BF16", "tokens": 110, "eos": 1,
    },
    "gptoss-mxfp4": {
        "config": gpt_oss(num_attention_heads=4, num_key_value_heads=4, intermediate_size=32, vocab_size=127),
        "stored": "BF16", "tokens": 110, "eos": 1, "mxfp4": True,
    },
    "deepseekv2-groups": {
        # Queries are not compressed; pairs of rotary dimensions lie side by side.
        "config": deepseek(
            "DeepseekV2", "deepseek_v2", dtype="float32", hidden_size=48, num_attention_heads=3,
            num_key_value_heads=3, q_lora_rank=None, kv_lora_rank=32, qk_nope_head_dim=10, qk_rope_head_dim=6,
            v_head_dim=16, n_routed_experts=9, num_experts_per_tok=3, n_shared_experts=2, topk_method="group_limited_greedy",
            n_group=3, topk_group=2, routed_scaling_factor=2.5, norm_topk_prob=False, vocab_size=139,
            rope_theta=10000.0,
        ),
        "stored": "F32", "tokens": 130, "eos": 1,
    },
    "deepseekv3-yarn": {
        "config": deepseek(
            "DeepseekV3", "deepseek_v3", torch_dtype="bfloat16", hidden_size=64, num_attention_heads=4,
            num_key_value_heads=4, q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=14, qk_rope_head_dim=8,
            v_head_dim=32, n_routed_experts=12, num_experts_per_tok=3, n_shared_experts=1, n_group=4, topk_group=2,
            routed_scaling_factor=1.5, norm_topk_prob=True, vocab_size=149, rope_interleave=True,
            max_position_embeddings=512, rope_theta=10000.0,
            rope_scaling={"type": "yarn", "factor": 4.0, "beta_fast": 8.0, "beta_slow": 1.0, "mscale": 1.0,
                          "mscale_all_dim": 0.7, "original_max_position_embeddings": 128},
        ),
        "stored": "BF16", "tokens": 130, "eos": 1,
    },
    "deepseekv3-halves": {
        # Rotary dimensions in halves, no dense layer, no group.
        "config": {**deepseek(
            "DeepseekV3", "deepseek_v3", dtype="float32", hidden_size=32, num_attention_heads=2, num_key_value_heads=2,
            q_lora_rank=20, kv_lora_rank=48, qk_nope_head_dim=8, qk_rope_head_dim=12,
            v_head_dim=16, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, n_group=1, topk_group=1,
            routed_scaling_factor=1.0, norm_topk_prob=False, vocab_size=127, rope_interleave=False,
            rope_parameters={"rope_theta": 10000.0, "rope_type": "default"},
        ), "attention_bias": False, "first_k_dense_replace": 0, "num_hidden_layers": 2, "moe_intermediate_size": 32},
        "stored": "F32", "tokens": 90, "eos": 1,
    },
    "qwen2moe-shared": {
        "config": decoder(
            "Qwen2Moe", "qwen2_moe", torch_dtype="float32", hidden_size=48,
            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            intermediate_size=80, moe_intermediate_size=16,
            shared_expert_intermediate_size=40, vocab_size=137,
            hidden_act="silu", rms_norm_eps=1e-6, num_experts=6,
            num_experts_per_tok=2, norm_topk_prob=False, decoder_sparse_step=1,
            mlp_only_layers=[], rope_theta=10000.0, use_sliding_window=False,
        ),
        "stored": "F32", "tokens": 90, "eos": 1,
    },
    "qwen3moe-dense": {
        "config": decoder(
            "Qwen3Moe", "qwen3_moe", dtype="float32", hidden_size=32,
            num_hidden_layers=6, num_attention_heads=2, num_key_value_heads=2,
            head_dim=16, intermediate_size=56, moe_intermediate_size=16,
            vocab_size=133, hidden_act="silu", rms_norm_eps=1e-6,
            num_experts=4, num_experts_per_tok=2, norm_topk_prob=True,
            decoder_sparse_step=2, mlp_only_layers=[5], rope_theta=10000.0,
            use_sliding_window=False,
        ),
        "stored": "F32", "tokens": 90, "eos": 1,
    },
    "qwen3moe-norm": {
        "config": decoder(
            "Qwen3Moe", "qwen3_moe", torch_dtype="bfloat16", hidden_size=64,
            num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1,
            head_dim=24, intermediate_size=80, moe_intermediate_size=32,
            vocab_size=151, hidden_act="silu", rms_norm_eps=1e-6,
            num_experts=7, num_experts_per_tok=3, norm_topk_prob=True,
            decoder_sparse_step=1, mlp_only_layers=[], rope_theta=10000.0,
            attention_bias=False,
        ),
        "stored": "BF16", "tokens": 130, "eos": 1,
    },
}


def draw_weights(config, seed):
    """Weights by name, as F32 tensors, for a configuration and a seed."""
    random = numpy.random.RandomState(seed)
    with torch.device("meta"):
        model = reference_class(config)(config)
    # Tied embeddings echo the last token; what the layers add has to drown it.
    residual_gain = 3.0 if config.tie_word_embeddings else 1.0
    # GPT-2's last norm has a bias, which would prefer one token everywhere.
    bias_deviation = 0.15 if config.model_type == "gpt2" else 0.5
    weights = {}
    for name, parameter in model.named_parameters():
        shape = tuple(parameter.shape)
        normal = random.standard_normal(shape)
        is_norm = "norm" in name or ".ln_" in name
        # These store how much a norm's weight differs from one.
        norm_offset = 1.0 if config.model_type in (*GEMMAS, "qwen3_next") else 0.0
        if "_hc." in name or "hc_head." in name:
            value = hyper_connections.draw(name, parameter, config.hyper_connections, random)
        elif name.endswith((".bias", "_bias")):
            value = bias_deviation * normal
        elif name.endswith(".sinks"):
            value = 2.0 * normal
        elif name.endswith(".gate_up_proj") and config.model_type == "gpt_oss":
            # Stored as [inputs, outputs]; some have to be clamped.
            value = 4.0 * normal / numpy.sqrt(shape[-2])
        elif name.endswith(("q_norm.weight", "k_norm.weight")):
            value = random.uniform(0.9, 1.9, shape) - norm_offset
        elif (config.model_type in POST_NORMS and config.tie_word_embeddings
              and "norm.weight" in name and ".post_" in name):
            # What a half of a block adds has to stand out beside the embedding.
            value = random.uniform(1.5, 3.5, shape) - norm_offset
        elif is_norm:
            value = random.uniform(0.5, 1.5, shape) - norm_offset
        elif name.endswith(("embed_tokens.weight", "wte.weight")):
            # They multiply it by the root of the width.
            value = 0.15 * normal if config.model_type in GEMMAS else normal
        elif name.endswith("wpe.weight"):
            value = 2.0 * normal
        elif ".c_" in name:  # GPT-2 stores linear weights as [inputs, outputs].
            value = normal / numpy.sqrt(shape[0])
            if ".c_attn." in name:
                value[:, : 2 * shape[0]] *= 1.8
            elif ".c_proj." in name:
                value *= residual_gain
        else:
            value = normal / numpy.sqrt(shape[-1])
            if ".q_proj." in name or ".k_proj." in name or ".q_b_proj." in name:
                value *= 1.3
            elif ".kv_a_proj_with_mqa." in name:
                value *= 1.5
            elif ".qkv_proj." in name:
                heads = config.num_attention_heads + config.num_key_value_heads
                value[: heads * config.hidden_size // config.num_attention_heads] *= 1.3
            elif ".o_proj." in name or ".down_proj" in name:
                value *= residual_gain
        weights[name] = torch.from_numpy(numpy.asarray(value, dtype=numpy.float32))
    for name, buffer in model.named_buffers():
        if name.endswith(".e_score_correction_bias"):
            value = 0.2 * random.standard_normal(tuple(buffer.shape))
            weights[name] = torch.from_numpy(numpy.asarray(value, dtype=numpy.float32))
    return weights


def reference_class(config):
    if gated_qwen3.has_gates(config):
        return gated_qwen3.GatedQwen3ForCausalLM
    base = getattr(transformers, config.architectures[0])
    return hyper_connections.class_of(base) if hyper_connections.form_of(config) else base


def write_checkpoint(folder, case, weights, in_mxfp4=False):
    """safetensors in the stored type, sharded when the case asks for it."""
    stored = {name: value.to(DTYPES[case["stored"]]) for name, value in weights.items()}
    if case.get("published_names"):
        positions = case["config"]["n_positions"]
        mask = torch.tril(torch.ones(positions, positions)).view(1, 1, positions, positions)
        for layer in range(case["config"]["n_layer"]):
            stored[f"transformer.h.{layer}.attn.bias"] = mask.to(torch.uint8)
        stored = {name.removeprefix("transformer."): value for name, value in stored.items()}
    stored = experts.by_expert(stored, case["config"]["model_type"])
    if in_mxfp4:
        stored = experts.in_mxfp4(stored)
    metadata = {"format": "pt"}
    shards = case.get("shards", 1)
    if shards == 1:
        safetensors.torch.save_file(stored, folder / "model.safetensors", metadata)
        return
    weight_map = {}
    names = sorted(stored)
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        members = names[shard * len(names) // shards : (shard + 1) * len(names) // shards]
        safetensors.torch.save_file({name: stored[name] for name in members}, folder / file, metadata)
        weight_map.update({name: file for name in members})
    total = sum(value.numel() * value.element_size() for value in stored.values())
    write_json(
        folder / "model.safetensors.index.json",
        {"metadata": {"total_size": total}, "weight_map": weight_map},
    )


def load_reference(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    # The usual products of grouped rows know no F64.
    eager = {"experts_implementation": "eager"} if experts.has_experts(config) else {}
    model, report = reference_class(config).from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True, **eager
    )
    if report["missing_keys"] or report["mismatched_keys"]:
        raise SystemExit(f"{folder}: the reference did not find its weights: {report}")
    return model.eval()


@torch.no_grad()
def logits_of(model, tokens, **options):
    return model(torch.tensor([tokens]), use_cache=False, **options).logits[0]


def greedy(model, prompt, steps):
    """Greedy continuation by whole recomputation: no cache that could be wrong."""
    tokens, margins, largest = list(prompt), [], 0.0
    for _ in range(steps):
        last = logits_of(model, tokens)[-1]
        best = torch.topk(last, 2)
        tokens.append(int(best.indices[0]))
        margins.append(float(best.values[0] - best.values[1]))
        largest = max(largest, float(last.abs().max()))
    return {
        "prompt": list(prompt),
        "new_tokens": tokens[len(prompt) :],
        "top2_margin": margins,
        "max_abs_logit": largest,
    }


@contextlib.contextmanager
def wrong_key_value_head(model):
    """Query heads read a neighbour's keys and values."""
    if model.config.model_type == "gpt2":
        width, head = model.config.n_embd, model.config.n_embd // model.config.n_head
        for block in model.transformer.h:
            for parameter in (block.attn.c_attn.weight, block.attn.c_attn.bias):
                for part in (1, 2):
                    columns = parameter.data[..., part * width : (part + 1) * width]
                    columns.copy_(torch.roll(columns, head, dims=-1))
        yield
        return
    modeling = gated_qwen3.modeling_of(model)
    right = modeling.repeat_kv

    def wrong(states, repeats):
        if repeats == 1:
            return torch.roll(states, 1, dims=1)
        return states.repeat(1, repeats, 1, 1)  # head h reads h % n, not h // repeats

    modeling.repeat_kv = wrong
    try:
        yield
    finally:
        modeling.repeat_kv = right


def norms_moved_before(model):
    """OLMo 2's norms where Llama has them: before both halves of a block."""
    for layer in model.model.layers:
        for half, name in (("self_attn", "post_attention_layernorm"), ("mlp", "post_feedforward_layernorm")):
            norm = getattr(layer, name)

            def normed(module, positional, named, norm=norm):
                if "hidden_states" in named:
                    return positional, {**named, "hidden_states": norm(named["hidden_states"])}
                return (norm(positional[0]), *positional[1:]), named

            getattr(layer, half).register_forward_pre_hook(normed, with_kwargs=True)
            setattr(layer, name, torch.nn.Identity())


def norms_of_each_head(model):
    """OLMo 2's norms of queries and keys as Qwen3 has them, of every head by itself."""
    width = config_head_dim(model.config)
    for layer in model.model.layers:
        for name in ("q_norm", "k_norm"):
            norm = getattr(layer.self_attn, name)

            def by_head(x, norm=norm):
                heads = x.unflatten(-1, (-1, width))
                heads = heads * torch.rsqrt(heads.square().mean(-1, keepdim=True) + norm.variance_epsilon)
                return norm.weight * heads.flatten(-2)

            norm.forward = by_head


def config_head_dim(config):
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def planted_errors(folder, model, tokens, right):
    """How far each planted error moves the logits, relative to the largest."""

    def distance(wrong):
        return float((wrong - right).abs().max() / right.abs().max())

    def changed_config(change):
        config = copy.deepcopy(model.config)
        change(config)
        other = reference_class(config)._from_config(config, attn_implementation="eager")
        other.load_state_dict(model.state_dict())
        return distance(logits_of(other.float().eval(), tokens))

    def change_rope(kind, **changes):
        """Of layers of a kind, or where it is None of all."""

        def change(config):
            rope = config.rope_parameters
            changed = {**(rope[kind] if kind else rope), **changes}
            config.rope_parameters = {**rope, kind: changed} if kind else changed

        return change

    planted = {}
    config, length = model.config, len(tokens)

    def masked(first, window_change=0):
        """With masks that hide from the `first`-th position past a row's own on."""
        ahead = torch.arange(length)[None] - torch.arange(length)[:, None]

        def mask(window):
            hidden = ahead >= first
            if window:
                hidden |= ahead <= -window - window_change
            hidden[0, 0] = False
            return torch.where(hidden, torch.finfo(torch.float32).min, 0.0)[None, None]

        window = getattr(config, "sliding_window", None)
        if getattr(config, "layer_types", None) and config.model_type != "qwen3_next":
            masks = {"full_attention": mask(None), "sliding_attention": mask(window)}
            return distance(logits_of(model, tokens, attention_mask=masks))
        return distance(logits_of(model, tokens, attention_mask=mask(window)))

    planted["mask_sees_next_token"] = masked(2)
    planted["mask_hides_own_token"] = masked(0)
    types = getattr(config, "layer_types", None) or []
    if "sliding_attention" in types or config.model_type in ("mistral", "phi3"):
        if config.sliding_window:
            planted["window_one_longer"] = masked(1, 1)
            planted["window_one_shorter"] = masked(1, -1)
    if len(set(types)) > 1:
        planted["layer_types_shifted"] = changed_config(
            lambda config: setattr(config, "layer_types", types[1:] + types[:1])
        )
    for cap in ("attn_logit_softcapping", "final_logit_softcapping"):
        if getattr(config, cap, None):
            planted[f"without {cap}"] = changed_config(
                lambda config, cap=cap: setattr(config, cap, None)
            )
    if hasattr(config, "query_pre_attn_scalar"):
        planted["scaled_by_head_dim"] = changed_config(
            lambda config: setattr(config, "query_pre_attn_scalar", config.head_dim)
        )
    if gated_qwen3.gate_modules(model):
        planted["gates_ignored"] = distance(gated_qwen3.without_gates(model, tokens, logits_of))
    for name, wrong in experts.planted(model, tokens, logits_of):
        planted[name] = distance(wrong)
    if hyper_connections.form_of(config):
        for name, wrong in hyper_connections.planted(model, tokens, logits_of):
            planted[name] = distance(wrong)
    for name in ("q_norm", "k_norm"):
        if hasattr(getattr(model, "model", model), "layers") and hasattr(
            model.model.layers[0].self_attn, name
        ):
            other = copy.deepcopy(model)
            for layer in other.model.layers:
                setattr(layer.self_attn, name, torch.nn.Identity())
            planted[f"without {name}"] = distance(logits_of(other, tokens))
    if config.model_type == "olmo2":
        for change in (norms_moved_before, norms_of_each_head):
            other = copy.deepcopy(model)
            change(other)
            planted[change.__name__] = distance(logits_of(other, tokens))
    if config.model_type == "gpt2":
        # The prompt may use every position there is, so the shift is downwards.
        positions = torch.clamp(torch.arange(length) - 1, min=0)[None]
        planted["position_off_by_one"] = distance(
            logits_of(model, tokens, position_ids=positions)
        )
    else:
        # Of layers of each kind, where they have angles of their own.
        kinds = sorted(k for k, v in config.rope_parameters.items() if isinstance(v, dict))
        for kind in kinds or [None]:
            rope = config.rope_parameters[kind] if kind else config.rope_parameters
            change, of = partial(change_rope, kind), f" of {kind}" if kind else ""
            planted[f"rope_base_one_percent{of}"] = changed_config(
                change(rope_theta=rope["rope_theta"] * 1.01)
            )
            if rope.get("partial_rotary_factor", 1.0) != 1.0:
                wider = (rope["partial_rotary_factor"] * config_head_dim(config) + 2) / config_head_dim(config)
                planted["two_more_dimensions_turn"] = changed_config(
                    change(partial_rotary_factor=wider)
                )
            if rope["rope_type"] == "longrope":
                planted["rope_factors_reversed"] = changed_config(
                    change(short_factor=rope["short_factor"][::-1])
                )
                planted["rope_scale_ignored"] = changed_config(change(attention_factor=1.0))
            elif rope["rope_type"] != "default":
                planted[f"rope_scaling_ignored{of}"] = changed_config(change(rope_type="default"))
        if kinds:
            planted["one_rope_for_all_layers"] = changed_config(
                change_rope("sliding_attention", **config.rope_parameters["full_attention"])
            )
        if config.rms_norm_eps > 1e-3:
            planted["norm_epsilon_ignored"] = changed_config(
                lambda config: setattr(config, "rms_norm_eps", 1e-6)
            )
    if getattr(config, "num_key_value_heads", 2) > 1:
        other = copy.deepcopy(model)
        with wrong_key_value_head(other):
            planted["wrong_key_value_head"] = distance(logits_of(other, tokens))
    layers = model.transformer.h if config.model_type == "gpt2" else model.model.layers
    other = copy.deepcopy(model)
    others = other.transformer.h if config.model_type == "gpt2" else other.model.layers
    # Of one kind: some layers may have experts, and others none.
    keys = [sorted(layer.state_dict()) for layer in layers]
    first, second = next((i, j) for j in range(len(keys)) for i in range(j) if keys[i] == keys[j])
    others[first].load_state_dict(layers[second].state_dict())
    others[second].load_state_dict(layers[first].state_dict())
    planted["layers_swapped"] = distance(logits_of(other, tokens))
    for name, parameter in model.named_parameters():
        if name.endswith(".bias"):
            kept = parameter.data.clone()
            parameter.data.zero_()
            planted[f"dropped {name}"] = distance(logits_of(model, tokens))
            parameter.data.copy_(kept)
    return planted


def attention_logit_deviation(model, tokens):
    """Standard deviation of attention logits along rows, the least of all layers."""
    with torch.no_grad():
        layers = model(torch.tensor([tokens]), output_attentions=True).attentions
    deviations = []
    for attention in layers:
        rows = [attention[0, :, row, : row + 1].clamp_min(1e-30).log() for row in range(8, len(tokens))]
        deviations.append(min(float(row.std(dim=-1).mean()) for row in rows))
    return min(deviations)


def attempt(folder, case, seed):
    """Writes one draw of a case. Returns why it was refused, or None."""
    config_json = {**case["config"], "eos_token_id": None}
    write_json(folder / "config.json", config_json)
    config = transformers.AutoConfig.from_pretrained(folder)
    weights = draw_weights(config, seed)
    if case.get("mxfp4"):
        weights = experts.rounded_to_mxfp4(weights)
    write_checkpoint(folder, case, weights)
    model = load_reference(folder)

    random = numpy.random.RandomState(seed + 1)
    tokens = [int(token) for token in random.randint(0, config.vocab_size, case["tokens"])]
    continuation = greedy(model, tokens[:GREEDY_PROMPT], GREEDY_STEPS)
    distinct = len(set(continuation["new_tokens"]))
    if distinct < GREEDY_DISTINCT:
        return f"only {distinct} distinct greedy tokens"
    ambiguous = 2 * TOLERANCE * continuation["max_abs_logit"]
    if min(continuation["top2_margin"]) < ambiguous:
        return f"greedy margin {min(continuation['top2_margin']):.2e} below {ambiguous:.2e}"

    logits = logits_of(model, tokens)
    planted = planted_errors(folder, model, tokens, logits)
    for name, size in planted.items():
        if size < DETECTION * TOLERANCE:
            return f"{name} moves the logits by {size:.2e} only"
    deviation = attention_logit_deviation(model, tokens)
    if deviation < 1:
        return f"attention logits deviate by {deviation:.2f} only"
    exact = logits_of(copy.deepcopy(model).double(), tokens)
    rounding = float((exact - logits).abs().max() / logits.abs().max())
    if rounding > TOLERANCE / 10:
        return f"F32 rounding alone moves the logits by {rounding:.2e}"

    # A few numbers scale what all rows read and write, or all heads of a layer: of
    # their gradients nothing but rounding may be left.
    if hyper_connections.form_of(config) or config.model_type == "gemma3_text":
        worst = gradients.worst_rounding(folder)
        if worst > GRADIENT_ROUNDING:
            return f"F32 rounding alone moves a gradient by {worst:.2e}"

    # Stop tokens are real, but never end the golden continuation.
    unused = [t for t in range(2, config.vocab_size) if t not in continuation["new_tokens"]]
    stops = unused[: case["eos"]]
    config_json["eos_token_id"] = None if not stops else stops[0] if len(stops) == 1 else stops
    if case.get("mxfp4"):
        config_json["quantization_config"] = {
            "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
                                       "lm_head"],
            "quant_method": "mxfp4",
        }
        write_checkpoint(folder, case, weights, in_mxfp4=True)
    write_json(folder / "config.json", config_json)
    numpy.save(folder / "logits.npy", logits.numpy().astype("<f4"))
    write_json(
        folder / "golden.json",
        {
            "model": folder.name,
            "seed": seed,
            "reference": "F32 arithmetic on upcast weights, "
            f"transformers {transformers.__version__}, eager attention",
            "tolerance": TOLERANCE,
            "float64_difference": rounding,
            "attention_logit_deviation": deviation,
            "eos_token_id": config_json["eos_token_id"],
            "tokens": tokens,
            "greedy": continuation,
            "planted": planted,
        },
    )
    return None


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def main(names):
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for name in names or CASES:
        case, folder = CASES[name], HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for seed in range(1000):
            refusal = attempt(folder, case, seed)
            print(f"{name}: seed {seed}: {refusal or 'accepted'}", flush=True)
            if refusal is None:
                break
        else:
            raise SystemExit(f"{name}: no draw was accepted")
        if "tokenizer" in case:
            source = HERE / "tokenizer" / f"{case['tokenizer']}-{case['config']['vocab_size']}"
            shutil.copy(source / "tokenizer.json", folder / "tokenizer.json")


if __name__ == "__main__":
    main(sys.argv[1:])
