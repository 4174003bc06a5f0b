"""Golden blocks that package gguf makes of weights: what `--scale max` has to write.

    python3 test/golden/encoded_blocks.py         # rewrites encoded_blocks.json
    python3 test/golden/encoded_blocks.py --check

The package (https://pypi.org/project/gguf, llama.cpp's gguf-py) has functions in numpy of its
own, which its tests hold against ggml's reference, bit for bit.
"""

import argparse
import json
import os
import sys

import gguf
import numpy

TYPES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1")


def blocks_of_weights(random):
    """Blocks of 32: ordinary ones, zeros, ties, and ends of ranges."""
    blocks = [random.normal(0, scale, 32) for scale in (1, 0.02, 300, 1e-5)]
    blocks += [numpy.zeros(32), numpy.full(32, 0.75), numpy.full(32, -2.5)]
    # Halves between numbers, of a largest weight that divides them exactly.
    blocks += [numpy.concatenate([[127.0], numpy.arange(31) - 15.5]),
               numpy.concatenate([[-8.0], numpy.arange(31) / 2 - 7.5]),
               numpy.concatenate([[-16.0, 15.0], numpy.arange(30) - 14.5]),
               numpy.concatenate([[0.0, 15.0], numpy.arange(30) / 2 + 0.25])]
    # The largest magnitude twice, with both signs; one weight alone.
    pair = random.normal(0, 0.1, 32)
    pair[[3, 20]] = 1, -1
    alone = numpy.zeros(32)
    alone[31] = -0.3
    blocks += [pair, -pair, alone, numpy.abs(random.normal(0, 1, 32)), -numpy.abs(random.normal(0, 1, 32))]
    return numpy.array(blocks, dtype=numpy.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    weights = blocks_of_weights(numpy.random.default_rng(1))
    golden = {"weights": weights.tobytes().hex()}
    for name in TYPES:
        golden[name] = gguf.quantize(weights, gguf.GGMLQuantizationType[name]).tobytes().hex()
    text = json.dumps(golden, indent=0) + "\n"
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "encoded_blocks.json")
    if not arguments.check:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif open(path, encoding="utf-8").read() != text:
        sys.exit(f"{path}: differs from what the package makes")


if __name__ == "__main__":
    main()
