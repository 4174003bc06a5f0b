"""What the end-to-end tests of training share (standard library only)."""

import json
import math
import os
import random
import struct
import sys

from programs import expect

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden"))
from projections import distance, project  # noqa: E402

FORMATS = {"F32": ("f", 4), "F64": ("d", 8), "F16": ("e", 2), "I8": ("b", 1), "U8": ("B", 1)}


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def write_tokens(path, tokens):
    """A flat token file, as --data takes it."""
    tokens = list(tokens)
    with open(path, "wb") as file:
        file.write(struct.pack(f"<{len(tokens)}H", *tokens))


def read_tensors(path, codes=False):
    """Name -> (type, shape, values) of a safetensors file; of bytes only with `codes`."""
    data = read_bytes(path)
    (size,) = struct.unpack("<Q", data[:8])
    header, data = json.loads(data[8:8 + size]), data[8 + size:]
    result = {}
    for name, entry in header.items():
        if name == "__metadata__" or (entry["dtype"] == "U8" and not codes):
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":
            bits = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
            values = struct.unpack(f"<{len(bits)}f", b"".join(struct.pack("<I", b << 16) for b in bits))
        else:
            letter, width = FORMATS[entry["dtype"]]
            values = struct.unpack(f"<{(end - begin) // width}{letter}", data[begin:end])
        result[name] = (entry["dtype"], entry["shape"], values)
    return result


# A network's tensors, as PyLO publishes those of small_fc_lopt.
NETWORK = {
    "network.input.weight": (32, 39), "network.input.bias": (32,),
    "network.linear_0.weight": (32, 32), "network.linear_0.bias": (32,),
    "network.output.weight": (2, 32), "network.output.bias": (2,),
}


def write_optimizer_weights(path, seed=5, **offsets):
    """Random weights of small_fc_lopt, as large as torch.nn.Linear's at first; and offsets of its
    decays, where they are given. Returns what it has written."""
    source = random.Random(seed)
    tensors = {}
    for name, shape in NETWORK.items():
        limit = NETWORK[name.rsplit(".", 1)[0] + ".weight"][1] ** -0.5
        values = [source.uniform(-limit, limit) for _ in range(math.prod(shape))]
        tensors[name] = (shape, struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))
    for name, values in offsets.items():
        tensors[name] = ((len(values),), values)
    write_tensors(path, tensors)
    return {name: values for name, (_, values) in tensors.items()}


def write_tensors(path, tensors):
    """A safetensors file of F32 tensors: name -> (shape, values)."""
    header, offset, data = {}, 0, []
    for name, (shape, values) in tensors.items():
        content = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [offset, offset + len(content)]}
        offset += len(content)
        data.append(content)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def lines_of(output, *without):
    """The steps that `train` prints, but for what `without` names."""
    return [{key: value for key, value in json.loads(line).items() if key not in without}
            for line in output.splitlines()]


class Golden:
    """gradients.json of a golden checkpoint, or routers.json: one step's loss and
    gradients by PyTorch in F64, and the losses of 50 steps (test/golden/gradients.py)."""

    def __init__(self, folder, name="gradients.json"):
        with open(os.path.join(folder, name)) as file:
            self.contents = json.load(file)

    def __getitem__(self, key):
        return self.contents[key]

    def __contains__(self, key):
        return key in self.contents

    @property
    def factors(self):
        """The flags for the losses of routers, if it has some."""
        names = {"balance": "--router-aux-loss", "z": "--router-z-loss"}
        return [f"{names[name]}={value}" for name, value in self.contents.get("factors", {}).items()]

    @property
    def sequence(self):
        """The flag for steps of its sequences' length."""
        return ["--seq", len(self["sequences"][0]) - 1]

    @property
    def batch(self):
        """The flag for steps of all its sequences."""
        return ["--batch", len(self["sequences"])]

    def write_tokens(self, path):
        write_tokens(path, (token for sequence in self["sequences"] for token in sequence))


def gradient_errors(found, references):
    """(name, type, error) of each gradient that PyTorch has, in its norm."""
    for tensor, reference in references.items():
        names = [tensor, tensor.removeprefix("model."), tensor.removeprefix("transformer.")]
        name = next((name for name in names if name in found), None)
        expect(name is not None, f"no gradient of {tensor}")
        kind, _, values = found[name]
        # Of zeros, as of an expert that no row goes to, nothing may be off.
        yield tensor, kind, (distance(project(tensor, values), reference["projections"])
                             / (reference["norm"] or 1e-30))
