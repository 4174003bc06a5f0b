"""GGUF files of small models with random quantised weights (standard library only)."""

import random
import struct

# ggml's numbers of types, elements and bytes of a block, and where it has F16 scales.
TYPES = {"F32": (0, 1, 4, []), "F16": (1, 1, 2, []), "Q4_0": (2, 32, 18, [0]), "Q4_1": (3, 32, 20, [0, 2]),
         "Q5_0": (6, 32, 22, [0]), "Q5_1": (7, 32, 24, [0, 2]), "Q8_0": (8, 32, 34, [0]),
         "Q2_K": (10, 256, 84, [80, 82]), "Q3_K": (11, 256, 110, [108]), "Q4_K": (12, 256, 144, [0, 2]),
         "Q5_K": (13, 256, 176, [0, 2]), "Q6_K": (14, 256, 210, [208]), "IQ4_NL": (20, 32, 18, [0]),
         "BF16": (30, 1, 2, [])}
# What scales make weights of about 0.05: numbers reach 15, or 127, and units 63.
SCALES = {"Q8_0": 6e-4, "Q4_0": 8e-3, "Q4_1": 8e-3, "Q5_0": 4e-3, "Q5_1": 4e-3, "Q2_K": 5e-3, "Q3_K": 1.2e-3,
          "Q4_K": 2e-4, "Q5_K": 1e-4, "Q6_K": 4e-5, "IQ4_NL": 6e-4}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


class Writer:
    """Collects metadata and tensors; the same seed makes the same file."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.keys, self.tensors = [], []

    def set(self, key, value):
        kind, data = (8, text(value)) if isinstance(value, str) else (
            (6, struct.pack("<f", value)) if isinstance(value, float) else (4, struct.pack("<I", value)))
        self.keys.append(text(key) + struct.pack("<I", kind) + data)

    def tensor(self, name, kind, *shape):
        """Of [outputs, inputs], or of [size]; F32 near 1 where it is a vector."""
        number, elements, size, scales = TYPES[kind]
        count = 1
        for extent in shape:
            count *= extent
        if kind in ("F32", "F16", "BF16"):
            mean, spread = (1.0, 0.1) if len(shape) == 1 else (0.0, 0.05)
            form = "<e" if kind == "F16" else "<f"
            # BF16 is the upper half of an F32.
            first = 2 if kind == "BF16" else 0
            data = b"".join(struct.pack(form, self.random.gauss(mean, spread))[first:] for _ in range(count))
        else:
            data = bytearray(self.random.randbytes(count // elements * size))
            for block in range(0, len(data), size):
                for place in scales:
                    scale = SCALES[kind] * self.random.uniform(0.5, 1.5) * self.random.choice([-1, 1])
                    data[block + place:block + place + 2] = struct.pack("<e", scale)
        self.tensors.append((name, number, shape, bytes(data)))

    def write(self, path):
        infos, data = [], bytearray()
        for name, number, shape, content in self.tensors:
            data += bytes(-len(data) % 32)
            infos.append(text(name) + struct.pack("<I", len(shape)) +
                         b"".join(struct.pack("<Q", extent) for extent in reversed(shape)) +
                         struct.pack("<IQ", number, len(data)))
            data += content
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.keys)) + b"".join(self.keys + infos)
        with open(path, "wb") as file:
            file.write(head + bytes(-len(head) % 32) + data)


def llama(path, kinds, seed=1, layers=3, width=256, inner=512, vocabulary=96, experts=0, positions=128,
          writer=Writer):
    """A model whose tensor `blk.N.X` has the type kinds(N, X), and others kinds(None, X).
    With experts, two of which each row goes to, it is Mixtral's."""
    writer = writer(seed)
    writer.set("general.architecture", "llama")
    for key, value in {"embedding_length": width, "feed_forward_length": inner, "block_count": layers,
                       "attention.head_count": 4, "attention.head_count_kv": 2, "context_length": positions,
                       "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 10000.0,
                       "vocab_size": vocabulary}.items():
        writer.set(f"llama.{key}", value)
    if experts:
        writer.set("llama.expert_count", experts)
        writer.set("llama.expert_used_count", 2)
    writer.tensor("token_embd.weight", kinds(None, "token_embd"), vocabulary, width)
    writer.tensor("output_norm.weight", "F32", width)
    output = kinds(None, "output")
    if output:
        writer.tensor("output.weight", output, vocabulary, width)
    shapes = {"attn_q": (width, width), "attn_k": (width // 2, width), "attn_v": (width // 2, width),
              "attn_output": (width, width), "ffn_gate": (inner, width), "ffn_up": (inner, width),
              "ffn_down": (width, inner)}
    if experts:
        for name in ("ffn_gate", "ffn_up", "ffn_down"):
            shapes[name + "_exps"] = (experts, *shapes.pop(name))
        shapes["ffn_gate_inp"] = (experts, width)
    for layer in range(layers):
        for norm in ("attn_norm", "ffn_norm"):
            writer.tensor(f"blk.{layer}.{norm}.weight", "F32", width)
        for name, shape in shapes.items():
            writer.tensor(f"blk.{layer}.{name}.weight", kinds(layer, name), *shape)
    writer.write(path)
