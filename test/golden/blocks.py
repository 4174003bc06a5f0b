"""Golden bytes of every block of GGUF files, and the numbers that package gguf makes of them.

    python3 test/golden/blocks.py         # rewrites blocks.json
    python3 test/golden/blocks.py --check

Blocks are random bits with finite scales: ggml's own quantiser would leave most patterns out.
The package (https://pypi.org/project/gguf, llama.cpp's gguf-py) has functions in numpy of its
own, which share no code with ggml's C.
"""

import argparse
import json
import os
import sys

import gguf
import numpy

# A type, and where its blocks have F16 scales, as ggml-common.h declares them.
TYPES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "IQ4_NL": [0],
         "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "MXFP4": []}


def block_of(name, random):
    kind = gguf.GGMLQuantizationType[name]
    _, size = gguf.GGML_QUANT_SIZES[kind]
    block = random.integers(0, 256, size, dtype=numpy.uint8)
    if name == "MXFP4":
        # Powers of two around 1; 255 is no number.
        block[0] = 120 + block[0] % 16
    for place in TYPES[name]:
        scale = numpy.array([random.uniform(0.01, 2) * random.choice([-1, 1])], dtype=numpy.float16)
        block[place:place + 2] = scale.view(numpy.uint8)
    numbers = gguf.dequantize(block.reshape(1, -1), kind).astype(numpy.float32)
    return {"type": name, "block": block.tobytes().hex(), "numbers": numbers.tobytes().hex()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    random = numpy.random.default_rng(1)
    text = json.dumps([block_of(name, random) for name in TYPES for _ in range(2)], indent=0) + "\n"
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "blocks.json")
    if not arguments.check:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif open(path, encoding="utf-8").read() != text:
        sys.exit(f"{path}: differs from what the package makes")


if __name__ == "__main__":
    main()
