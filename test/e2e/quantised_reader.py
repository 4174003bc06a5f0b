"""The numbers of quantised folders that batonc quantize writes, by their definitions.

Of compressed-tensors: pack-quantized of 4 bits, int-quantized, float-quantized, nvfp4- and
mxfp4-pack-quantized; of bitsandbytes: NF4 without double quantisation. Shares no code with the
reader of the runtime.
"""

import json
import os
import struct

from quantised_writer import E2M1, NF4, e4m3, f32, floats, write

FORMS = {"F16": "e", "F32": "f", "I8": "b", "U8": "B", "I32": "I", "I64": "q"}


def tensors_of(path):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    places = sorted(entry["data_offsets"] for entry in header.values())
    if [end for _, end in places] != [begin for begin, _ in places[1:]] + [len(data)] or places[0][0] != 0:
        raise ValueError(f"{path}: tensors leave holes")
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def values(tensor):
    dtype, _, data = tensor
    if dtype == "F8_E4M3":
        return [e4m3(byte) for byte in data]
    if dtype == "BF16":
        data, dtype = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)), "F32"
    return list(struct.unpack(f"<{len(data) // struct.calcsize(FORMS[dtype])}{FORMS[dtype]}", data))


def nibbles(data):
    """Of each byte its lower half first."""
    return [code for byte in data for code in (byte & 15, byte >> 4)]


def linear(tensors, name):
    """A linear's weights, row by row, and how many outputs and inputs; nothing where it is not quantised."""
    def part(suffix):
        return tensors.get(name + suffix)

    state = part("weight.quant_state.bitsandbytes__nf4")
    if state:
        state = json.loads(state[2])
        codes = [code for byte in part("weight")[2] for code in (byte >> 4, byte & 15)]
        scales, each = values(part("weight.absmax")), state["blocksize"]
        return [NF4[code] * scales[i // each] for i, code in enumerate(codes)], state["shape"]
    scales = part("weight_scale")
    if not scales:
        return None, None
    if part("weight_global_scale"):
        divisor, = values(part("weight_global_scale"))
        scales = f32(scale / divisor for scale in values(scales))
    elif scales[0] == "U8":
        scales = [2.0 ** (exponent - 127) for exponent in scales[2]]
    else:
        scales = values(scales)
    if part("weight_packed"):
        dtype, shape, data = part("weight_packed")
        numbers = [code - 8 if dtype == "I32" else E2M1[code] for code in nibbles(data)]
        shape = [shape[0], len(numbers) // shape[0]]
        if dtype == "I32" and values(part("weight_shape")) != shape:
            raise ValueError(f"{name}: weight_shape is not {shape}")
    else:
        numbers, shape = values(part("weight")), part("weight")[1]
    each = len(numbers) // len(scales)
    return [number * scales[i // each] for i, number in enumerate(numbers)], shape


def dequantise(folder, plain):
    """Writes the folder's numbers in F32."""
    tensors = tensors_of(os.path.join(folder, "model.safetensors"))
    numbers = {}
    for name, tensor in tensors.items():
        # Every part of a linear but the first is about its weight.
        base = name[:name.rindex("weight")] if "weight" in name else name
        weights, shape = linear(tensors, base)
        if weights is None:
            numbers[name] = ("F32", tensor[1], floats("F32", values(tensor))[0])
        else:
            numbers[base + "weight"] = ("F32", shape, floats("F32", f32(weights))[0])
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    del config["quantization_config"]
    os.makedirs(plain, exist_ok=True)
    with open(os.path.join(plain, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    write(os.path.join(plain, "model.safetensors"), numbers)
