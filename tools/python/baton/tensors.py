"""Tensors in safetensors files (https://huggingface.co/docs/safetensors), as NumPy
arrays; PyTorch's can be saved, too."""

import json
import struct

from .errors import Error

# Types of NumPy and PyTorch, as the format names them.
NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}


def _bytes(name, tensor):
    """Type, shape and little-endian bytes of an array or a PyTorch tensor."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().contiguous()
        kind = str(tensor.dtype).removeprefix("torch.")
        import torch
        data = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
    else:
        import numpy
        tensor = numpy.ascontiguousarray(tensor)
        kind = tensor.dtype.name
        data = tensor.astype(tensor.dtype.newbyteorder("<"), copy=False).tobytes()
    if kind not in NAMES:
        raise Error(f"{name} has elements of type {kind}, which a safetensors file does not have")
    return NAMES[kind], list(tensor.shape), data


def save(path, tensors):
    """Writes name -> tensor."""
    header, begin, chunks = {}, 0, []
    for name, tensor in tensors.items():
        kind, shape, data = _bytes(name, tensor)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, begin + len(data)]}
        begin += len(data)
        chunks.append(data)
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(chunks)


def load(path):
    """name -> array; BF16 as float32."""
    import numpy
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    kinds = {name: kind for kind, name in NAMES.items()}
    result = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":
            array = (numpy.frombuffer(data[begin:end], "<u2").astype("<u4") << 16).view("<f4")
        else:
            array = numpy.frombuffer(data[begin:end], numpy.dtype(kinds[entry["dtype"]]).newbyteorder("<"))
        result[name] = array.reshape(entry["shape"])
    return result
