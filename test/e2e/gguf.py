"""One golden checkpoint as a GGUF file, as llama.cpp's convert_hf_to_gguf.py writes it.

- the checkpoint's program has the same bits with the file's weights, and so has the
  program that is compiled from the file; where norms are stored plus one, and where
  frequencies have divisors instead of a rule, within 2e-4 of the largest logit;
- in two parts it is the same, and a folder with the file alone is the file;
- latent attention's matrix of keys and values in two tensors, as files have it today, and in one, as
  older files do, has the same bits; of YaRN's two scales, of which files have one, the checkpoint is
  taken with both alike;
- stop tokens are the file's; what is no model, and training, are refused by name.
"""

import argparse
import glob
import json
import math
import os
import random
import shutil
import struct

import programs
from programs import QUICK, Program, expect

F32, F16, BF16 = 0, 1, 30
TYPES = {"F32": (F32, 4), "F16": (F16, 2), "BF16": (BF16, 2), "Q8_0": (8, None), "MXFP4": (39, None)}
U32, FLOAT, BOOL, STRING = 4, 6, 7, 8
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
         "post_attention_layernorm": "ffn_norm"}
LATENT = {"self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm",
          "self_attn.q_b_proj": "attn_q_b", "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
          "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.kv_b_proj": "attn_kv_b",
          "mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp",
          "mlp.shared_experts.down_proj": "ffn_down_shexp"}
BEHIND = {"post_attention_layernorm": "post_attention_norm", "post_feedforward_layernorm": "post_ffw_norm"}
GEMMA = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
         "post_feedforward_layernorm": "post_ffw_norm"}
# Names of architectures where they are not the family's.
ARCHITECTURES = {"deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2", "qwen2_moe": "qwen2moe", "qwen3_moe": "qwen3moe", "mixtral": "llama",
                 "gpt_oss": "gpt-oss"}
EXPERTS = {"gate_proj": "ffn_gate_exps", "up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps",
           "w1": "ffn_gate_exps", "w3": "ffn_up_exps", "w2": "ffn_down_exps"}
MIXTURES = {"mlp.gate": "ffn_gate_inp", "block_sparse_moe.gate": "ffn_gate_inp", "mlp.router": "ffn_gate_inp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
            "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
            "mlp.shared_expert.down_proj": "ffn_down_shexp"}
GPT2 = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
        "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
OUTER = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output", "wte": "token_embd",
         "wpe": "position_embd", "ln_f": "output_norm"}


class Stored:
    """A tensor of rows, as raw bytes."""

    def __init__(self, kind, shape, data):
        self.kind, self.shape, self.data = kind, shape, data

    def rows(self):
        count = len(self.data) // self.shape[0]
        return [self.data[i:i + count] for i in range(0, len(self.data), count)]

    def reordered(self, order):
        rows = self.rows()
        return Stored(self.kind, self.shape, b"".join(rows[i] for i in order))

    def transposed(self):
        width = TYPES[self.kind][1]
        rows, columns = self.shape
        at = lambda row, column: self.data[(row * columns + column) * width:][:width]
        data = b"".join(at(row, column) for column in range(columns) for row in range(rows))
        return Stored(self.kind, [columns, rows], data)

    def in_f32(self):
        if self.kind == "BF16":
            data = b"".join(b"\0\0" + self.data[i:i + 2] for i in range(0, len(self.data), 2))
        elif self.kind == "F16":
            values = struct.unpack(f"<{len(self.data) // 2}e", self.data)
            data = struct.pack(f"<{len(values)}f", *values)
        else:
            data = self.data
        return Stored("F32", self.shape, data)

    def in_q8_0(self):
        """Blocks of 32 numbers with a scale in F16."""
        data = self.in_f32().data
        values, blocks = struct.unpack(f"<{len(data) // 4}f", data), []
        for i in range(0, len(values), 32):
            own = values[i:i + 32]
            scale = struct.pack("<e", max(map(abs, own)) / 127)
            (size,) = struct.unpack("<e", scale)
            blocks.append(scale + bytes(round(value / size) & 255 if size else 0 for value in own))
        return Stored("Q8_0", self.shape, b"".join(blocks))

    def plus_one(self):
        values = struct.unpack(f"<{len(self.data) // 4}f", self.data)
        return Stored("F32", self.shape, struct.pack(f"<{len(values)}f", *(value + 1 for value in values)))


def read(folder):
    result = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        with open(path, "rb") as file:
            data = file.read()
        (size,) = struct.unpack("<Q", data[:8])
        header, data = json.loads(data[8:8 + size]), data[8 + size:]
        result |= {name: Stored(entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
                   for name, entry in header.items() if name != "__metadata__"}
    return result


def stored_name(architecture, name):
    name, kind = name.removeprefix("model.").removeprefix("transformer.").rsplit(".", 1)
    if name in OUTER:
        return f"{OUTER[name]}.{kind}"
    _, layer, module = name.split(".", 2)
    if module == "mlp.gate" and kind == "e_score_correction_bias":
        return f"blk.{layer}.exp_probs_b.bias"
    if ".experts." in module:
        return f"blk.{layer}.{EXPERTS[module.rsplit('.', 1)[1]]}.{kind}"
    own = {"gpt2": GPT2, "olmo2": BEHIND, "gemma2": GEMMA, "gemma3_text": GEMMA}.get(architecture, {})
    names = {**LAYER, **MIXTURES, **LATENT, **own}
    return f"blk.{layer}.{names[module]}.{kind}"


def gpt_oss(tensors):
    """Experts in MXFP4 as llama.cpp has them: gates and ups apart, codes 16 apart in a byte, scales with them."""
    result = {}

    def rows(name, stored, order):
        own = list(range(*order.indices(stored.shape[1])))
        width = len(stored.data) // (stored.shape[0] * stored.shape[1])
        data = b"".join(stored.data[(expert * stored.shape[1] + row) * width:][:width]
                        for expert in range(stored.shape[0]) for row in own)
        result[name] = Stored(stored.kind, [stored.shape[0], len(own), *stored.shape[2:]], data)

    def blocks(codes, scales):
        data = b""
        for i, scale in enumerate(scales.data):
            numbers = [half for byte in codes.data[16 * i:16 * i + 16] for half in (byte & 15, byte >> 4)]
            data += bytes([scale]) + bytes(numbers[j] | numbers[j + 16] << 4 for j in range(16))
        experts, outputs, groups = scales.shape
        return Stored("MXFP4", [experts, outputs, 32 * groups], data)

    for name, tensor in tensors.items():
        prefix, _, leaf = name.rpartition(".")
        blk = "blk." + name.split(".")[2] if ".layers." in name else ""
        if leaf == "sinks":
            result[f"{blk}.attn_sinks.weight"] = tensor.in_f32()
        elif leaf in ("gate_up_proj_bias", "gate_up_proj_blocks"):
            is_bias = leaf.endswith("bias")
            whole = tensor.in_f32() if is_bias else blocks(tensor, tensors[f"{prefix}.gate_up_proj_scales"])
            for first, part in enumerate(("gate", "up")):
                rows(f"{blk}.ffn_{part}_exps.{'bias' if is_bias else 'weight'}", whole, slice(first, None, 2))
        elif leaf == "down_proj_bias":
            result[f"{blk}.ffn_down_exps.bias"] = tensor.in_f32()
        elif leaf == "down_proj_blocks":
            result[f"{blk}.ffn_down_exps.weight"] = blocks(tensor, tensors[f"{prefix}.down_proj_scales"])
        elif not leaf.endswith("_scales"):
            stored = stored_name("gpt_oss", name).replace("ffn_norm", "post_attention_norm")
            result[stored] = tensor.in_f32() if len(tensor.shape) == 1 else tensor
    return result


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def in_pairs(rows, head):
    """The order in which rows of heads lie: both halves of each in turn."""
    return [start + half * (head // 2) + i for start in range(0, rows, head) for i in range(head // 2) for half in (0, 1)]


def expansions(config, stored, tensor):
    """A layer's matrix of keys and values: of each head the keys', transposed, and the values'."""
    heads, key, value = (config[name] for name in ("num_attention_heads", "qk_nope_head_dim", "v_head_dim"))
    rows, rank = tensor.rows(), config["kv_lora_rank"]
    parts = [rows[head * (key + value):][:key + value] for head in range(heads)]
    keys = [Stored(tensor.kind, [key, rank], b"".join(part[:key])).transposed() for part in parts]
    yield stored.replace("kv_b", "k_b"), Stored(tensor.kind, [heads, rank, key], b"".join(part.data for part in keys))
    yield stored.replace("kv_b", "v_b"), Stored(tensor.kind, [heads, value, rank],
                                                b"".join(b"".join(part[key:]) for part in parts))


def convert(config, tensors, is_old=False):
    """By the names of the file."""
    architecture = config["model_type"]
    if architecture == "gpt_oss":
        return gpt_oss(tensors)
    result = {}
    for name, tensor in tensors.items():
        if name.endswith((".attn.bias", ".attn.masked_bias")):
            continue
        if architecture in ("llama", "mixtral") and ("q_proj" in name or "k_proj" in name):
            tensor = tensor.reordered(in_pairs(tensor.shape[0], head_dim(config)))
        if architecture == "gpt2" and len(tensor.shape) == 2 and ".c_" in name:
            tensor = tensor.transposed()
        if len(tensor.shape) == 1:
            tensor = tensor.in_f32()
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            tensor = tensor.plus_one()
        stored = stored_name(architecture, name)
        if ".experts." in name:
            # All experts of a layer are one tensor.
            experts = result.setdefault(stored, {})
            experts[int(name.split(".experts.")[1].split(".")[0])] = tensor
            continue
        if ".attn_kv_b." in stored and not is_old:
            result.update(expansions(config, stored, tensor))
            continue
        result[stored] = tensor
    for stored, experts in result.items():
        if isinstance(experts, dict):
            matrices = [experts[i] for i in range(len(experts))]
            result[stored] = Stored(matrices[0].kind, [len(matrices), *matrices[0].shape],
                                    b"".join(matrix.data for matrix in matrices))
    floats = lambda values: Stored("F32", [len(values)], struct.pack(f"<{len(values)}f", *values))
    rope = rope_of(config)
    if rope.get("rope_type") == "llama3":
        result["rope_freqs.weight"] = floats(divisors(config, rope))
    if "short_factor" in rope:
        result["rope_factors_short.weight"] = floats(rope["short_factor"])
        result["rope_factors_long.weight"] = floats(rope["long_factor"])
    return result


def rope_of(config):
    return {"rope_theta": config.get("rope_theta", 10000.0), **(config.get("rope_parameters") or {}),
            **(config.get("rope_scaling") or {})}


def divisors(config, rope):
    result = []
    for i in range(0, head_dim(config), 2):
        frequency = rope["rope_theta"] ** (-i / head_dim(config))
        turns = rope["original_max_position_embeddings"] * frequency / (2 * math.pi)
        low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
        smooth = min(max((turns - low) / (high - low), 0), 1)
        result.append(1 / ((1 - smooth) / factor + smooth))
    return result


def latent(config, rope, is_old):
    """Keys of attention to compressed rows, and of a mixture beside it."""
    key = config["qk_nope_head_dim"] + config["qk_rope_head_dim"]
    own = [("attention.key_length", U32, key), ("attention.value_length", U32, config["v_head_dim"]),
           ("attention.head_count_kv", U32, config["num_attention_heads"])]
    if not is_old:
        own = [("attention.key_length", U32, config["kv_lora_rank"] + config["qk_rope_head_dim"]),
               ("attention.value_length", U32, config["kv_lora_rank"]), ("attention.key_length_mla", U32, key),
               ("attention.value_length_mla", U32, config["v_head_dim"]), ("attention.head_count_kv", U32, 1)]
    if config.get("q_lora_rank"):
        own.append(("attention.q_lora_rank", U32, config["q_lora_rank"]))
    own += [("attention.kv_lora_rank", U32, config["kv_lora_rank"]),
            ("rope.dimension_count", U32, config["qk_rope_head_dim"]),
            ("leading_dense_block_count", U32, config["first_k_dense_replace"]),
            ("expert_shared_count", U32, config["n_shared_experts"]),
            ("expert_weights_scale", FLOAT, config["routed_scaling_factor"]),
            ("expert_weights_norm", BOOL, config["norm_topk_prob"]),
            ("expert_group_count", U32, config["n_group"]), ("expert_group_used_count", U32, config["topk_group"]),
            ("expert_gating_func", U32, 2 if config["model_type"] == "deepseek_v3" else 1)]
    if "mscale_all_dim" in rope:
        own += [("rope.scaling.yarn_log_multiplier", FLOAT, 0.1 * rope["mscale_all_dim"]),
                ("rope.scaling.yarn_beta_slow", FLOAT, rope["beta_slow"])]
    return own


def metadata(config, is_old=False):
    """Keys, without general.architecture, as (key, type, value)."""
    architecture = config["model_type"]
    if architecture == "gpt2":
        width, heads, layers = config["n_embd"], config["n_head"], config["n_layer"]
        wide, context = config.get("n_inner") or 4 * width, config["n_positions"]
        own = [("attention.layer_norm_epsilon", FLOAT, config["layer_norm_epsilon"])]
    else:
        width, heads, layers = (config[name] for name in ("hidden_size", "num_attention_heads", "num_hidden_layers"))
        wide, context = config["intermediate_size"], config["max_position_embeddings"]
        rope = rope_of(config)
        own = [("attention.layer_norm_rms_epsilon", FLOAT, config["rms_norm_eps"]),
               ("rope.freq_base", FLOAT, rope["rope_theta"])]
        if "kv_lora_rank" in config:
            own += latent(config, rope, is_old)
        else:
            own.append(("attention.head_count_kv", U32, config.get("num_key_value_heads", heads)))
        if architecture == "phi3":
            factor = rope.get("factor", 1)
            original = config["original_max_position_embeddings"]
            own += [("rope.dimension_count", U32, int(head_dim(config) * config.get("partial_rotary_factor", 1))),
                    ("rope.scaling.original_context_length", U32, original),
                    ("rope.scaling.attn_factor", FLOAT, math.sqrt(1 + math.log(factor) / math.log(original))),
                    ("attention.sliding_window", U32, config["sliding_window"] or 0)]
        elif "kv_lora_rank" not in config:
            own += [("attention.key_length", U32, head_dim(config)), ("attention.value_length", U32, head_dim(config)),
                    ("rope.dimension_count", U32, head_dim(config))]
        if architecture == "gemma2":
            own += [("attention.sliding_window", U32, config["sliding_window"]),
                    ("attn_logit_softcapping", FLOAT, config["attn_logit_softcapping"]),
                    ("final_logit_softcapping", FLOAT, config["final_logit_softcapping"])]
    if "num_experts_per_tok" in config:
        count = config.get("num_experts") or config.get("num_local_experts") or config["n_routed_experts"]
        own += [("expert_count", U32, count), ("expert_used_count", U32, config["num_experts_per_tok"])]
        if "moe_intermediate_size" in config:
            own.append(("expert_feed_forward_length", U32, config["moe_intermediate_size"]))
        if "shared_expert_intermediate_size" in config:
            own.append(("expert_shared_feed_forward_length", U32, config["shared_expert_intermediate_size"]))
    rope = rope_of(config)
    if rope.get("rope_type", rope.get("type")) == "yarn":
        own += [("rope.scaling.type", STRING, "yarn"), ("rope.scaling.factor", FLOAT, rope["factor"]),
                ("rope.scaling.original_context_length", U32, rope["original_max_position_embeddings"]),
                ("rope.scaling.yarn_beta_fast", FLOAT, rope["beta_fast"])]
    if architecture == "gpt_oss":
        own += [("attention.sliding_window", U32, config["sliding_window"]),
                ("expert_feed_forward_length", U32, config["intermediate_size"])]
    own += [("embedding_length", U32, width), ("attention.head_count", U32, heads), ("block_count", U32, layers),
            ("feed_forward_length", U32, wide), ("context_length", U32, context)]
    architecture = ARCHITECTURES.get(architecture, architecture)
    return [(f"{architecture}.{key}", kind, value) for key, kind, value in own]


def spell(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def write(path, keys, tensors):
    """A file of version 3."""
    forms = {U32: "<I", FLOAT: "<f", BOOL: "<?"}
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))
    for key, kind, value in keys:
        header += spell(key) + struct.pack("<I", kind)
        header += spell(value) if kind == STRING else struct.pack(forms[kind], value)
    data = b""
    for name, tensor in tensors.items():
        header += spell(name) + struct.pack("<I", len(tensor.shape))
        header += struct.pack(f"<{len(tensor.shape)}Q", *reversed(tensor.shape))
        header += struct.pack("<IQ", TYPES[tensor.kind][0], len(data))
        data += tensor.data + b"\0" * (-len(tensor.data) % 32)
    with open(path, "wb") as file:
        file.write(header + b"\0" * (-len(header) % 32) + data)


def test_quantised_experts(arguments, case, keys, tensors, path):
    """They have the bits of the program whose weights are their numbers in F32."""
    file = path("quantised.gguf")
    write(file, keys, {name: tensor.in_q8_0() if "_exps.weight" in name else tensor for name, tensor in tensors.items()})
    bits = [Program(arguments.batonc, file, path("quantised"), *flags).logits(case["tokens"], path("quantised.npy"))
            for flags in ((), ("--dtype=f32",))]
    expect(bits[0] == bits[1], "quantised experts: other bits than of their numbers in F32")
    print("quantised experts have the bits of their numbers in F32")


LATENT_CONFIG = {
    "model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 96, "moe_intermediate_size": 32,
    "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 3, "q_lora_rank": 32, "kv_lora_rank": 32,
    "qk_nope_head_dim": 32, "qk_rope_head_dim": 8, "v_head_dim": 32, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 1.5, "norm_topk_prob": True,
    "first_k_dense_replace": 1, "vocab_size": 71, "max_position_embeddings": 128, "rms_norm_eps": 1e-6}


def latent_tensors(config):
    """Random ones of a DeepSeek whose matrices all have rows of whole blocks."""
    width, heads, rank = (config[name] for name in ("hidden_size", "num_attention_heads", "kv_lora_rank"))
    plain, rotary, value = (config[name] for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    generator, result = random.Random(3), {}

    def add(name, *shape):
        count, mean = math.prod(shape), float(len(shape) == 1)
        numbers = (generator.gauss(mean, shape[-1] ** -0.5) for _ in range(count))
        result[name] = Stored("F32", list(shape), struct.pack(f"<{count}f", *numbers))

    def add_linears(module, inside):
        add(f"{module}.gate_proj.weight", inside, width)
        add(f"{module}.up_proj.weight", inside, width)
        add(f"{module}.down_proj.weight", width, inside)

    add("model.embed_tokens.weight", config["vocab_size"], width)
    for layer in range(config["num_hidden_layers"]):
        module = f"model.layers.{layer}"
        for name, shape in {
                "input_layernorm": [width], "post_attention_layernorm": [width],
                "self_attn.q_a_proj": [config["q_lora_rank"], width], "self_attn.q_a_layernorm": [config["q_lora_rank"]],
                "self_attn.q_b_proj": [heads * (plain + rotary), config["q_lora_rank"]],
                "self_attn.kv_a_proj_with_mqa": [rank + rotary, width], "self_attn.kv_a_layernorm": [rank],
                "self_attn.kv_b_proj": [heads * (plain + value), rank],
                "self_attn.o_proj": [width, heads * value]}.items():
            add(f"{module}.{name}.weight", *shape)
        if layer < config["first_k_dense_replace"]:
            add_linears(module + ".mlp", config["intermediate_size"])
            continue
        add(module + ".mlp.gate.weight", config["n_routed_experts"], width)
        add(module + ".mlp.gate.e_score_correction_bias", config["n_routed_experts"])
        add_linears(module + ".mlp.shared_experts", config["moe_intermediate_size"])
        for expert in range(config["n_routed_experts"]):
            add_linears(f"{module}.mlp.experts.{expert}", config["moe_intermediate_size"])
    add("model.norm.weight", width)
    add("lm_head.weight", config["vocab_size"], width)
    return result


def test_latent_blocks(arguments, scratch):
    """All matrices in blocks of 32: programs of newer and of older files have the bits of the blocks' numbers."""
    path = lambda name: os.path.join(scratch, name)
    tensors, generator = latent_tensors(LATENT_CONFIG), random.Random(4)
    tokens = [generator.randrange(LATENT_CONFIG["vocab_size"]) for _ in range(70)]
    for is_old in (False, True):
        age, file = "older" if is_old else "newer", path("model.gguf")
        keys = [("general.architecture", STRING, "deepseek2"), *metadata(LATENT_CONFIG, is_old)]
        write(file, keys, {name: tensor.in_q8_0() if len(tensor.shape) > 1 else tensor
                           for name, tensor in convert(LATENT_CONFIG, tensors, is_old).items()})
        bits = [Program(arguments.batonc, file, path("program"), *flags).logits(tokens, path("logits.npy"))
                for flags in ((), ("--dtype=f32",))]
        expect(bits[0] == bits[1], f"{age} file: other bits than of its numbers in F32")
        # Transposed parts of the older files' matrix have no blocks along their inputs.
        text = programs.run([arguments.batonc, file, "--emit=primitive"]).stdout
        found = len([line for line in text.splitlines() if "model.head_linear" in line and "quantized" in line])
        expect(found == (2 if is_old else 4), f"{age} file: {found} parts of heads are in blocks")
        print(f"{age} file in blocks: the bits of its numbers in F32")


def with_equal_scales(config, folder, copy):
    """A copy of the checkpoint whose mscale is its mscale_all_dim, and so is the config's."""
    shutil.copytree(folder, copy)
    rope = config["rope_scaling" if config.get("rope_scaling") else "rope_parameters"]
    rope["mscale"] = rope["mscale_all_dim"]
    with open(os.path.join(copy, "config.json"), "w") as file:
        json.dump(config, file)
    return copy


def test(arguments, scratch):
    folder, case = arguments.folder, programs.golden(arguments.folder)
    path = lambda *names: os.path.join(scratch, *names)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    if "mscale" in rope_of(config):
        folder = with_equal_scales(config, folder, path("equal"))
    stored = read(folder)
    tensors = convert(config, stored)
    architecture = ARCHITECTURES.get(config["model_type"], config["model_type"])
    keys = [("general.architecture", STRING, architecture), *metadata(config)]
    os.mkdir(path("alone"))
    file = path("alone", "model.gguf")
    write(file, keys, tensors)

    exact = config["model_type"] != "gemma2"
    own = Program(arguments.batonc, folder, path("own"))
    reference = own.logits(case["tokens"], path("own.npy"))

    def same(program, what, exact):
        bits = program.logits(case["tokens"], path("file.npy"), "--workers", 2)
        if folder == arguments.folder:
            print(f"{what}:", programs.check(path("file.npy"), folder))
        expect(not exact or bits == reference, f"{what}: the logits' bits differ")
        if exact:
            print(f"{what}: the checkpoint's bits")

    # Gates and ups of gpt-oss are other tensors there, and so are keys and values of latent attention.
    if "kv_lora_rank" in config:
        old = path("old.gguf")
        write(old, [keys[0], *metadata(config, is_old=True)], convert(config, stored, is_old=True))
        own.weights = old
        same(own, "the checkpoint's program, the weights of an older file", exact)
        same(Program(arguments.batonc, old, path("old")), "the older file's program", exact)
    elif config["model_type"] != "gpt_oss":
        own.weights = file
        same(own, "the checkpoint's program, the file's weights", exact)
    # llama.cpp says the divisor of scores by the heads.
    scalar = config.get("query_pre_attn_scalar")
    if scalar and scalar != head_dim(config):
        return
    compiled = Program(arguments.batonc, file, path("compiled"), "--dtype=" + arguments.dtype)
    exact &= rope_of(config).get("rope_type") != "llama3"
    same(compiled, "the file's program", exact)
    compiled.weights = path("alone")
    same(compiled, "in a folder", exact)

    parts = list(tensors.items())
    first, second = dict(parts[:len(parts) // 2]), dict(parts[len(parts) // 2:])
    split = lambda number: [("split.no", U32, number), ("split.count", U32, 2),
                            ("split.tensors.count", U32, len(parts))]
    compiled.weights = path("part-00001-of-00002.gguf")
    write(compiled.weights, keys + split(0), first)
    write(path("part-00002-of-00002.gguf"), split(1), second)
    same(compiled, "in two parts", exact)

    greedy = case["greedy"]
    compiled.weights = file
    answer = compiled.generate(greedy["prompt"], 8)["tokens"]
    own.weights = folder
    wanted = greedy["new_tokens"] if folder == arguments.folder else own.generate(greedy["prompt"], 8)["tokens"]
    expect(answer == wanted[:8], "the generated tokens differ")

    widths = [tensor.shape[2] for name, tensor in tensors.items() if "_exps.weight" in name]
    if widths and config["model_type"] != "gpt_oss" and all(width % 32 == 0 for width in widths):
        test_quantised_experts(arguments, case, keys, tensors, path)

    refused = programs.run([arguments.batonc, file, "--mode=train", QUICK, "-o", path("trainer")], check=False)
    if refused.returncode == 0:
        refused = programs.run([path("trainer"), "train", "--weights", file, "--data", file, "--steps", 1,
                                "--out", path("run")], check=False)
        expect(refused.returncode == 1 and "is a GGUF file; training begins with" in refused.stderr,
               f"training begins with the file: {refused.stderr}")
    os.truncate(file, 1000)
    refused = programs.run([arguments.batonc, file, "--emit=model"], check=False)
    expect(refused.returncode == 1 and f"{file}: " in refused.stderr, f"half a file: {refused.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("folder", nargs="?", help="without it, latent attention with random weights in blocks")
    arguments = parser.parse_args()
    programs.main(lambda scratch: (test if arguments.folder else test_latent_blocks)(arguments, scratch))
