"""Small checkpoints with random weights, as Hugging Face folders, of the families that GGUF files have
(standard library only).

All matrices have rows of whole blocks of 256, so that every type of GGUF files fits.
"""

import array
import itertools
import json
import math
import os
import random
import struct

WIDTH, INNER, HEADS, GROUPS, HEAD, EXPERTS, POSITIONS = 256, 512, 4, 2, 64, 4, 512
TEMPLATE = ("{%- for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '\\u2026\\n' }}{%- endfor %}"
            "{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{%- endif %}\n")


def decoder(family, model_type, **options):
    return {"architectures": [f"{family}ForCausalLM"], "model_type": model_type, "hidden_size": WIDTH,
            "intermediate_size": INNER, "num_hidden_layers": 2, "num_attention_heads": HEADS,
            "num_key_value_heads": GROUPS, "head_dim": HEAD, "hidden_act": "silu", "max_position_embeddings": POSITIONS,
            "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False, **options}


def mixture(family, model_type, **options):
    return decoder(family, model_type, num_experts=EXPERTS, num_experts_per_tok=2, moe_intermediate_size=256, **options)


GEMMA = {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True,
         "query_pre_attn_scalar": HEAD, "sliding_window": 32, "rms_norm_eps": 1e-6}
# Longer than the window of Phi-3's first models, which llama.cpp does not have.
PHI = {"original_max_position_embeddings": POSITIONS, "pad_token_id": 0, "sliding_window": POSITIONS}
CONFIGS = {
    "llama": decoder("Llama", "llama", rope_theta=500000.0, rope_scaling={
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64}),
    "llama2": decoder("Llama", "llama"),
    "qwen2": decoder("Qwen2", "qwen2", tie_word_embeddings=True, use_sliding_window=False),
    "qwen3": decoder("Qwen3", "qwen3", use_sliding_window=False),
    "gemma2": decoder("Gemma2", "gemma2", num_hidden_layers=3, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
                      **GEMMA),
    # Every sixth layer sees all positions, which are scaled as in the larger ones of Gemma 3; and one more follows.
    "gemma3": decoder("Gemma3", "gemma3_text", num_hidden_layers=7, rope_local_base_freq=10000.0,
                      sliding_window_pattern=6, **(GEMMA | {"rope_theta": 1000000.0, "rope_scaling": {
                          "rope_type": "linear", "factor": 8.0}})),
    "phi3": decoder("Phi3", "phi3", **PHI),
    "phi3-long": decoder("Phi3", "phi3", **(PHI | {
        "sliding_window": None, "max_position_embeddings": 4 * POSITIONS,
        "rope_scaling": {"type": "longrope", "short_factor": [1 + i / 40 for i in range(HEAD // 2)],
                         "long_factor": [1 + i / 4 for i in range(HEAD // 2)]}})),
    "gpt2": {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": WIDTH, "n_head": HEADS, "n_layer": 2,
             "n_positions": POSITIONS, "n_ctx": POSITIONS, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
             "tie_word_embeddings": True},
    "olmo2": decoder("Olmo2", "olmo2"),
    # llama.cpp reads none whose queries share keys.
    "olmoe": mixture("Olmoe", "olmoe", intermediate_size=256, num_key_value_heads=HEADS, norm_topk_prob=False),
    "mixtral": decoder("Mixtral", "mixtral", num_local_experts=EXPERTS, num_experts_per_tok=2, sliding_window=None),
    "qwen2moe": mixture("Qwen2Moe", "qwen2_moe", shared_expert_intermediate_size=256, norm_topk_prob=False,
                        decoder_sparse_step=1, mlp_only_layers=[], use_sliding_window=False),
    "qwen3moe": mixture("Qwen3Moe", "qwen3_moe", norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[],
                        use_sliding_window=False),
}


def feed_forward(inner):
    return {"gate_proj": (inner, WIDTH), "up_proj": (inner, WIDTH), "down_proj": (WIDTH, inner)}


def layer_shapes(config):
    """Of one layer's weights, by the names of modules; a list is a matrix's or a vector's with a bias."""
    kind, groups = config["model_type"], config["num_key_value_heads"]
    rows = HEADS * HEAD, groups * HEAD
    matrix = list if kind in ("qwen2", "qwen2_moe") else tuple
    shapes = {"self_attn.o_proj": (WIDTH, rows[0]), "post_attention_layernorm": (WIDTH,)}
    if kind == "phi3":
        shapes["self_attn.qkv_proj"] = rows[0] + 2 * rows[1], WIDTH
    else:
        shapes |= {f"self_attn.{name}_proj": matrix((count, WIDTH)) for name, count in zip("qkv", (*rows, rows[1]))}
    if kind in ("qwen3", "qwen3_moe", "gemma3_text"):
        shapes |= {"self_attn.q_norm": (HEAD,), "self_attn.k_norm": (HEAD,)}
    if kind in ("olmo2", "olmoe"):
        shapes |= {"self_attn.q_norm": (rows[0],), "self_attn.k_norm": (rows[1],)}
    if kind != "olmo2":
        shapes["input_layernorm"] = WIDTH,
    if kind.startswith("gemma"):
        shapes["pre_feedforward_layernorm"] = WIDTH,
    if kind.startswith("gemma") or kind == "olmo2":
        shapes["post_feedforward_layernorm"] = WIDTH,
    if kind == "phi3":
        shapes |= {"mlp.gate_up_proj": (2 * INNER, WIDTH), "mlp.down_proj": (WIDTH, INNER)}
    elif kind == "mixtral":
        shapes["block_sparse_moe.gate"] = EXPERTS, WIDTH
        for expert, (new, old) in itertools.product(range(EXPERTS), zip(("w1", "w3", "w2"), feed_forward(INNER).values())):
            shapes[f"block_sparse_moe.experts.{expert}.{new}"] = old
    elif "num_experts" in config:
        shapes["mlp.gate"] = EXPERTS, WIDTH
        for expert, (name, shape) in itertools.product(range(EXPERTS), feed_forward(256).items()):
            shapes[f"mlp.experts.{expert}.{name}"] = shape
        if kind == "qwen2_moe":
            shapes["mlp.shared_expert_gate"] = 1, WIDTH
            shapes |= {f"mlp.shared_expert.{name}": shape for name, shape in feed_forward(256).items()}
    else:
        shapes |= {f"mlp.{name}": shape for name, shape in feed_forward(INNER).items()}
    return shapes


def gpt2_shapes(config, vocabulary):
    shapes = {"transformer.wte": (vocabulary, WIDTH), "transformer.wpe": (POSITIONS, WIDTH), "transformer.ln_f": [WIDTH]}
    for layer in range(config["n_layer"]):
        # Linears have inputs before outputs.
        shapes |= {f"transformer.h.{layer}.{name}": shape for name, shape in {
            "ln_1": [WIDTH], "attn.c_attn": [WIDTH, 3 * WIDTH], "attn.c_proj": [WIDTH, WIDTH], "ln_2": [WIDTH],
            "mlp.c_fc": [WIDTH, 4 * WIDTH], "mlp.c_proj": [4 * WIDTH, WIDTH]}.items()}
    return shapes


def model_shapes(config, vocabulary):
    if config["model_type"] == "gpt2":
        return gpt2_shapes(config, vocabulary)
    shapes = {"model.embed_tokens": (vocabulary, WIDTH), "model.norm": (WIDTH,)}
    if not config["tie_word_embeddings"]:
        shapes["lm_head"] = vocabulary, WIDTH
    for layer in range(config["num_hidden_layers"]):
        shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in layer_shapes(config).items()}
    return shapes


def tensors_of(config, vocabulary):
    """Names, shapes and numbers."""
    generator = random.Random(f"{config['model_type']} {vocabulary}")
    # Gemma's norms have weights less one, and its embeddings are multiplied by the root of the width.
    gemma = config["model_type"].startswith("gemma")
    for name, shape in model_shapes(config, vocabulary).items():
        count = math.prod(shape)
        if len(shape) == 1:
            mean, spread = (0.0 if gemma else 1.0), 0.2
        elif "embed_tokens" in name or "wte" in name or "wpe" in name:
            mean, spread = 0.0, 1 / math.sqrt(WIDTH) if config["tie_word_embeddings"] else 1.0
        else:
            mean, spread = 0.0, 1 / math.sqrt(shape[0] if ".c_" in name else shape[-1])
        yield f"{name}.weight", shape, [generator.gauss(mean, spread) for _ in range(count)]
        if isinstance(shape, list):
            rows = shape[-1] if ".c_" in name else shape[0]
            yield f"{name}.bias", [rows], [generator.gauss(0, 0.2) for _ in range(rows)]


def stored(kind, numbers):
    if kind == "F16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    data = array.array("f", numbers).tobytes()
    # BF16 is the upper half of an F32.
    return data if kind == "F32" else bytes(itertools.chain.from_iterable(zip(data[2::4], data[3::4])))


NAMES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}


def write(folder, name, kind, vocabulary, **ends):
    """The checkpoint `name` of CONFIGS, with weights in F32, F16 or BF16; `ends` are fields of its config."""
    config = CONFIGS[name] | {"vocab_size": vocabulary, "torch_dtype": NAMES[kind], **ends}
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    header, data = {}, bytearray()
    for tensor, shape, numbers in tensors_of(config, vocabulary):
        begin = len(data)
        data += stored(kind, numbers)
        header[tensor] = {"dtype": kind, "shape": list(shape), "data_offsets": [begin, len(data)]}
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return config
