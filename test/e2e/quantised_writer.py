"""Folders of small models as Hugging Face's quantisers write them, with random weights, and the
same weights in F32 (standard library only).

Each method's layout and numbers are written here by its published definition: GPTQ's and
AWQ's packing in words, compressed-tensors' formats, DeepSeek's scales of blocks, the OCP
microscaling formats, bitsandbytes' states.
"""

import array
import itertools
import json
import os
import random
import struct

NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
       0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
FP4 = [number / 12 * sign for sign in (1, -1) for number in (0, 0.0625, 8, 12, 4, 6, 2, 3)]
E2M1 = [number * sign for sign in (1, -1) for number in (0, 0.5, 1, 1.5, 2, 3, 4, 6)]


def f32(values):
    """Rounds each number to F32, once."""
    return array.array("f", values).tolist()


def e4m3(byte):
    exponent, mantissa = byte >> 3 & 15, byte & 7
    magnitude = (1 + mantissa / 8) * 2.0 ** (exponent - 7) if exponent else mantissa * 2.0 ** -9
    return -magnitude if byte & 128 else magnitude


def floats(dtype, values):
    """Bytes of numbers in a safetensors dtype, and the numbers that they are."""
    if dtype == "F16":
        data = struct.pack(f"<{len(values)}e", *values)
        return data, list(struct.unpack(f"<{len(values)}e", data))
    data = struct.pack(f"<{len(values)}f", *values)
    if dtype == "BF16":
        data = b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))
        wide = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        return data, list(struct.unpack(f"<{len(values)}f", wide))
    return data, list(struct.unpack(f"<{len(values)}f", data))


def words(rows, columns, code):
    """I32 [rows, columns] of eight codes each: code(row, column, i) in four bits from 4 i on."""
    return struct.pack(f"<{rows * columns}I", *(
        sum(code(row, column, i) << 4 * i for i in range(8)) for row in range(rows) for column in range(columns)))


class Layer:
    """One linear's tensors {suffix: (dtype, shape, bytes)}, and its weights, row by row."""

    def __init__(self):
        self.tensors, self.weights = {}, []

    def add(self, suffix, dtype, shape, data):
        self.tensors[suffix] = (dtype, shape, bytes(data))


def integers(layer, rng, outputs, inputs, group, bits=4, zeros=None, dtype="F16", size=0.05):
    """Codes, scales and zeros [outputs][groups] of whole numbers, and the weights."""
    groups = -(-inputs // group)
    codes = [[rng.randrange(1 << bits) for _ in range(inputs)] for _ in range(outputs)]
    middle = 1 << (bits - 1)
    chosen = [size / middle * rng.uniform(0.5, 1.5) for _ in range(outputs * groups)]
    data, numbers = floats(dtype, chosen)
    scales = [numbers[i * groups:(i + 1) * groups] for i in range(outputs)]
    zero = [[rng.randrange(*zeros) if zeros else middle for _ in range(groups)] for _ in range(outputs)]
    layer.weights = f32((codes[o][i] - zero[o][i // group]) * scales[o][i // group]
                        for o in range(outputs) for i in range(inputs))
    return codes, zero, scales, data


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def gptq(rng, outputs, inputs, group, zeros=None, v2=False, index=True):
    layer = Layer()
    group = group if group > 0 else inputs
    codes, zero, scales, _ = integers(layer, rng, outputs, inputs, group, zeros=zeros)
    groups = -(-inputs // group)
    layer.add("qweight", "I32", [inputs // 8, outputs],
              words(inputs // 8, outputs, lambda row, column, i: codes[column][8 * row + i]))
    layer.add("qzeros", "I32", [groups, outputs // 8],
              words(groups, outputs // 8, lambda row, column, i: zero[8 * column + i][row] - (not v2)))
    layer.add("scales", "F16", [groups, outputs], floats("F16", sum(transposed(scales), []))[0])
    if index:
        layer.add("g_idx", "I32", [inputs], struct.pack(f"<{inputs}i", *(i // group for i in range(inputs))))
    return layer


def awq(rng, outputs, inputs, group):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    layer = Layer()
    codes, zero, scales, _ = integers(layer, rng, outputs, inputs, group, zeros=(0, 16))
    layer.add("qweight", "I32", [inputs, outputs // 8],
              words(inputs, outputs // 8, lambda row, column, i: codes[8 * column + order[i]][row]))
    layer.add("qzeros", "I32", [inputs // group, outputs // 8],
              words(inputs // group, outputs // 8, lambda row, column, i: zero[8 * column + order[i]][row]))
    layer.add("scales", "F16", [inputs // group, outputs], floats("F16", sum(transposed(scales), []))[0])
    return layer


def packed(rng, outputs, inputs, group, zeros=None, dtype="BF16", bits=4):
    """compressed-tensors' pack-quantized."""
    layer = Layer()
    group = group if group > 0 else inputs
    codes, zero, _, data = integers(layer, rng, outputs, inputs, group, bits, zeros, dtype)
    if bits == 4:
        layer.add("weight_packed", "I32", [outputs, inputs // 8],
                  words(outputs, inputs // 8, lambda row, column, i: codes[row][8 * column + i]))
    else:
        layer.add("weight_packed", "I32", [outputs, inputs // 4], sum(codes, []))
    layer.add("weight_scale", dtype, [outputs, inputs // group], data)
    layer.add("weight_shape", "I64", [2], struct.pack("<2q", outputs, inputs))
    if zeros:
        layer.add("weight_zero_point", "I32", [outputs // 8, inputs // group],
                  words(outputs // 8, inputs // group, lambda row, column, i: zero[8 * row + i][column]))
    return layer


def int8(rng, outputs, inputs):
    """compressed-tensors' int-quantized, a scale for each output."""
    layer = Layer()
    codes, _, _, data = integers(layer, rng, outputs, inputs, inputs, bits=8, dtype="BF16")
    layer.add("weight", "I8", [outputs, inputs], bytes(code ^ 128 for code in sum(codes, [])))
    layer.add("weight_scale", "BF16", [outputs, 1], data)
    return layer


def fp8(rng, outputs, inputs, block, name="weight_scale", dtype="F32"):
    """A scale for each block of [outputs, inputs], or for all."""
    layer = Layer()
    rows, columns = (-(-size // part) for size, part in zip((outputs, inputs), block))
    # Exponents up to 2^0: weights are as large as others.
    codes = [rng.randrange(64) | rng.choice((0, 128)) for _ in range(outputs * inputs)]
    data, scales = floats(dtype, [0.05 * rng.uniform(0.5, 1.5) for _ in range(rows * columns)])
    layer.weights = f32(e4m3(code) * scales[i // inputs // block[0] * columns + i % inputs // block[1]]
                        for i, code in enumerate(codes))
    layer.add("weight", "F8_E4M3", [outputs, inputs], codes)
    layer.add(name, dtype, [] if rows * columns == 1 else [rows, columns], data)
    return layer


def mixed(rng, outputs, inputs):
    """Linears of different formats, in one layer and between layers."""
    if rng.random() < 0.5:
        return packed(rng, outputs, inputs, 32, zeros=(0, 16))
    return fp8(rng, outputs, inputs, (1, inputs), dtype="BF16")


def partial(rng, outputs, inputs):
    """Linears that are quantised, and some that stayed as they were."""
    if rng.random() < 0.5:
        return packed(rng, outputs, inputs, 32, zeros=(0, 16))
    layer = Layer()
    data, layer.weights = floats("BF16", [rng.gauss(0, 0.05) for _ in range(outputs * inputs)])
    layer.add("weight", "BF16", [outputs, inputs], data)
    return layer


def nibbles(codes, high_first=False):
    pairs = zip(codes[::2], codes[1::2])
    return bytes(a << 4 | b if high_first else a | b << 4 for a, b in pairs)


def nvfp4(rng, outputs, inputs):
    layer = Layer()
    codes = [rng.randrange(16) for _ in range(outputs * inputs)]
    units = [rng.randrange(0x60, 0x7f) for _ in range(outputs * inputs // 16)]
    divisor = f32([rng.uniform(3000, 9000)])[0]
    scales = f32(e4m3(unit) / divisor for unit in units)
    layer.weights = f32(E2M1[code] * scales[i // 16] for i, code in enumerate(codes))
    layer.add("weight_packed", "U8", [outputs, inputs // 2], nibbles(codes))
    layer.add("weight_scale", "F8_E4M3", [outputs, inputs // 16], units)
    layer.add("weight_global_scale", "F32", [1], struct.pack("<f", divisor))
    return layer


def mxfp4(rng, outputs, inputs):
    layer = Layer()
    codes = [rng.randrange(16) for _ in range(outputs * inputs)]
    exponents = [rng.randrange(119, 123) for _ in range(outputs * inputs // 32)]
    layer.weights = [E2M1[code] * 2.0 ** (exponents[i // 32] - 127) for i, code in enumerate(codes)]
    layer.add("weight_packed", "U8", [outputs, inputs // 2], nibbles(codes))
    layer.add("weight_scale", "U8", [outputs, inputs // 32], exponents)
    return layer


def bitsandbytes(rng, outputs, inputs, kind, nested, each=64):
    layer = Layer()
    numbers = f32(NF4 if kind == "nf4" else FP4)
    codes = [rng.randrange(16) for _ in range(outputs * inputs)]
    count = len(codes) // each
    state = {"quant_type": kind, "blocksize": each, "dtype": "bfloat16", "shape": [outputs, inputs]}
    if nested:
        state |= {"nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.07}
        units = [rng.randrange(256) for _ in range(count)]
        table = f32(sorted(rng.uniform(-1, 1) for _ in range(256)))
        outer = f32(rng.uniform(0.02, 0.04) for _ in range(-(-count // 256)))
        products = f32(table[unit] * outer[i // 256] for i, unit in enumerate(units))
        offset = f32([state["nested_offset"]])[0]
        scales = f32(product + offset for product in products)
        layer.add("weight.absmax", "U8", [count], units)
        layer.add("weight.nested_absmax", "F32", [len(outer)], array.array("f", outer).tobytes())
        layer.add("weight.nested_quant_map", "F32", [256], array.array("f", table).tobytes())
    else:
        data, scales = floats("F32", [rng.uniform(0.05, 0.1) for _ in range(count)])
        layer.add("weight.absmax", "F32", [count], data)
    layer.weights = f32(numbers[code] * scales[i // each] for i, code in enumerate(codes))
    layer.add("weight", "U8", [len(codes) // 2, 1], nibbles(codes, high_first=True))
    layer.add("weight.quant_map", "F32", [16], array.array("f", numbers).tobytes())
    text = json.dumps(state).encode()
    layer.add(f"weight.quant_state.bitsandbytes__{kind}", "U8", [len(text)], text)
    return layer


def bitsandbytes8(rng, outputs, inputs):
    layer = Layer()
    codes = [rng.randrange(-127, 128) for _ in range(outputs * inputs)]
    data, largest = floats("F32", [rng.uniform(0.05, 0.1) for _ in range(outputs)])
    seventh = f32([1 / 127])[0]
    scales = f32(value * seventh for value in largest)
    layer.weights = f32(code * scales[i // inputs] for i, code in enumerate(codes))
    layer.add("weight", "I8", [outputs, inputs], bytes(code & 255 for code in codes))
    layer.add("SCB", "F32", [outputs], data)
    layer.add("weight_format", "U8", [], [0])
    return layer


def compressed(kind, **weights):
    return {"quant_method": "compressed-tensors", "format": kind, "ignore": ["lm_head"],
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}


# Of each case what config.json says, the format that programs have, and the linear's maker.
CASES = {
    "gptq": ({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": False},
             "int4_g128", lambda *shape: gptq(*shape, 128, zeros=(1, 16))),
    "gptq-32": ({"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": True},
                "int4_g32", lambda *shape: gptq(*shape, 32)),
    "gptq-64": ({"quant_method": "gptq", "bits": 4, "group_size": 64, "checkpoint_format": "gptq_v2"},
                "int4_g64", lambda *shape: gptq(*shape, 64, zeros=(0, 16), v2=True, index=False)),
    "gptq-column": ({"quant_method": "gptq", "bits": 4, "group_size": -1, "desc_act": True},
                    "int4_g128", lambda *shape: gptq(*shape, -1)),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm", "zero_point": True},
            "int4_g128", lambda *shape: awq(*shape, 128)),
    "awq-64": ({"quant_method": "awq", "bits": 4, "group_size": 64, "version": "GEMM"},
               "int4_g64", lambda *shape: awq(*shape, 64)),
    "awq-32": ({"quant_method": "awq", "bits": 4, "group_size": 32},
               "int4_g32", lambda *shape: awq(*shape, 32)),
    "packed": (compressed("pack-quantized", num_bits=4, group_size=32), "int4_g32",
               lambda *shape: packed(*shape, 32, zeros=(0, 16))),
    "packed-128": (compressed("pack-quantized", num_bits=4, group_size=128), "int4_g128",
                   lambda *shape: packed(*shape, 128, dtype="F32")),
    "packed-channel": (compressed("pack-quantized", num_bits=4), "int4_g128",
                       lambda *shape: packed(*shape, -1, dtype="F16")),
    "packed-int8": (compressed("pack-quantized", num_bits=8), "int8_g64",
                    lambda *shape: packed(*shape, -1, bits=8)),
    "int8": (compressed("int-quantized", num_bits=8), "int8_g64", int8),
    "fp8-tensor": (compressed("float-quantized", num_bits=8), "fp8_g64",
                   lambda *shape: fp8(*shape, shape[1:])),
    "fp8-channel": (compressed("float-quantized", num_bits=8), "fp8_g64",
                    lambda *shape: fp8(*shape, (1, shape[2]), dtype="BF16")),
    "fp8-block": (compressed("float-quantized", num_bits=8, strategy="block", block_structure=[128, 128]), "fp8_g64",
                  lambda *shape: fp8(*shape, (128, 128))),
    "mixed": (compressed("mixed-precision", num_bits=8), "int4_g32|fp8_g64", mixed),
    "partial": (compressed("pack-quantized", num_bits=4, group_size=32), "int4_g32|bf16", partial),
    "fp8": ({"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}, "fp8_g64",
            lambda *shape: fp8(*shape, (128, 128), name="weight_scale_inv")),
    "nvfp4": (compressed("nvfp4-pack-quantized", num_bits=4, group_size=16), "nvfp4", nvfp4),
    "mxfp4": (compressed("mxfp4-pack-quantized", num_bits=4, group_size=32), "mxfp4", mxfp4),
    "nf4": ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, "nf4",
            lambda *shape: bitsandbytes(*shape, "nf4", nested=True)),
    "nf4-single": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4",
                  lambda *shape: bitsandbytes(*shape, "nf4", nested=False, each=128)),
    "fp4": ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "fp4"}, "fp4",
            lambda *shape: bitsandbytes(*shape, "fp4", nested=False)),
    "bnb-int8": ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8_g64", bitsandbytes8),
}


def write(path, tensors):
    """A safetensors file of {name: (dtype, shape, bytes)}."""
    header, place = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [place, place + len(data)]}
        place += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def llama(folder, plain, case, seed=1, layers=2, width=128, inner=256, vocabulary=96):
    """A quantised model in one folder, its numbers in F32 in the other."""
    config, _, make = CASES[case]
    rng = random.Random(seed)
    quantised, numbers = {}, {}

    def unquantised(name, shape, mean, spread):
        count = 1
        for extent in shape:
            count *= extent
        data, values = floats("F16", [rng.gauss(mean, spread) for _ in range(count)])
        quantised[name] = ("F16", shape, data)
        numbers[name] = ("F32", shape, floats("F32", values)[0])

    unquantised("model.embed_tokens.weight", [vocabulary, width], 0, 1)
    unquantised("lm_head.weight", [vocabulary, width], 0, 0.1)
    unquantised("model.norm.weight", [width], 1, 0.1)
    shapes = {"self_attn.q_proj": (width, width), "self_attn.k_proj": (width // 2, width),
              "self_attn.v_proj": (width // 2, width), "self_attn.o_proj": (width, width),
              "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width), "mlp.down_proj": (width, inner)}
    for layer, (name, shape) in itertools.product(range(layers), shapes.items()):
        linear = f"model.layers.{layer}.{name}."
        made = make(rng, *shape)
        quantised |= {linear + suffix: tensor for suffix, tensor in made.tensors.items()}
        numbers[linear + "weight"] = ("F32", shape, array.array("f", made.weights).tobytes())
    for layer in range(layers):
        for norm in ("input_layernorm", "post_attention_layernorm"):
            unquantised(f"model.layers.{layer}.{norm}.weight", [width], 1, 0.1)
    base = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
            "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "hidden_size": width, "num_hidden_layers": layers,
            "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": inner,
            "vocab_size": vocabulary, "tie_word_embeddings": False, "rope_theta": 10000.0}
    for path, tensors, more in ((folder, quantised, {"dtype": "float16", "quantization_config": config}),
                                (plain, numbers, {"dtype": "float32"})):
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
            json.dump(base | more, file)
        write(os.path.join(path, "model.safetensors"), tensors)
