"""Weights from names alone: the same in the program that is tested and in the module that it
was made of. Standard library only."""

import array
import json
import random
import struct


def values(name, shape):
    """F32 numbers, row-major. Norms' weights lie around one; what a matrix makes of rows of
    deviation one has half as much again."""
    draw = random.Random(name).gauss
    count = 1
    for size in shape:
        count *= size
    if len(shape) > 1:
        deviation = 1.0 if "embed" in name else 1.5 * shape[1] ** -0.5
        numbers = (draw(0, deviation) for _ in range(count))
    else:
        middle = 0.0 if name.endswith("bias") else 1.0
        numbers = (middle + draw(0, 0.3) for _ in range(count))
    return array.array("f", numbers)


def write(path, shapes):
    """A safetensors file of name -> shape."""
    header, begin, chunks = {}, 0, []
    for name, shape in shapes.items():
        chunk = values(name, shape).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, begin + len(chunk)]}
        begin += len(chunk)
        chunks.append(chunk)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(chunks)
