"""Golden bytes of the panels that quantised weights lie in, of every format.

    python3 test/golden/panels.py         # rewrites panels.json (standard library only)
    python3 test/golden/panels.py --check
    python3 test/golden/panels.py --compare   # with package gguf: numbers of ggml's blocks

Panels are written here by what runtime/weight_blocks.h says of each block, from codes, scales
and zeros that are taken from a file's bytes by the methods' definitions (test/e2e/gguf_reader.py
for ggml's blocks). A case has as many tensors as a method needs, of bytes that `byte` makes:
those where scales have exponents are masked, so that they are finite. Tests make the same bytes.

Of each panel's blocks there is a hash, FNV-1a of 64 bits, and of the first block what it begins with.
"""

import argparse
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import gguf_reader  # noqa: E402
from gguf_writer import TYPES  # noqa: E402
from quantised_writer import FP4, NF4  # noqa: E402

LANES = 16
INPUTS = 512
# By index, as MixedHead has them.
FORMATS = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "int4_g32", "int4_g64",
           "int4_g128", "int8_g64", "fp8_g64", "nvfp4", "mxfp4", "nf4", "fp4"]
ANY = [255]
F16, F32 = [255, 0xBF], [255, 255, 127, 0x3F]
# No E4M3 with these bits is a NaN.
E4M3 = [0xF7]


def byte(seed, place):
    """Byte `place` of tensor `seed`."""
    word = (place + 65537 * seed + 1) * 2654435761 & 0xFFFFFFFF
    word = (word ^ word >> 15) * 2246822519 & 0xFFFFFFFF
    return word >> 24


SIZES = {"I8": 1, "U8": 1, "F8_E4M3": 1, "F16": 2, "BF16": 2, "F32": 4, "I32": 4, "I64": 8}


class Tensor:
    """Of bytes that `byte` makes and a mask, again and again; or of given ones."""

    def __init__(self, name, dtype, shape, seed, mask=None, given=None, size=None):
        self.name, self.dtype, self.shape, self.seed, self.mask, self.given = name, dtype, shape, seed, mask or ANY, given
        count = size or SIZES[dtype]
        for extent in shape:
            count *= extent
        self.data = given or bytes(byte(seed, i) & self.mask[i % len(self.mask)] for i in range(count))

    def row(self, output, size):
        return self.data[output * size:(output + 1) * size]

    def numbers(self, form):
        return struct.unpack(f"<{len(self.data) // struct.calcsize(form)}{form}", self.data)

    def floats(self):
        if self.dtype == "BF16":
            return struct.unpack(f"<{len(self.data) // 2}f", b"".join(
                b"\0\0" + self.data[i:i + 2] for i in range(0, len(self.data), 2)))
        return self.numbers("e" if self.dtype == "F16" else "f")

    def codes(self, index, places=range(8)):
        """Of four bits, of word `index`."""
        word, = struct.unpack_from("<I", self.data, 4 * index)
        return [word >> 4 * place & 15 for place in places]

    def json(self):
        more = {"bytes": self.given.hex()} if self.given else {"seed": self.seed, "mask": self.mask, "size": len(self.data)}
        return {"name": self.name, "dtype": self.dtype, "shape": self.shape} | more


# What a block of one output has: codes, and what its format has of scales.
class Block:
    def __init__(self, codes, **parts):
        self.codes, self.parts = codes, parts


def words(codes, bits, above=0):
    """Input i is at bit 8 (i % 4) + bits (i / 4) of its word."""
    each = 32 // bits
    return [sum((codes[first + i] >> above & (1 << bits) - 1) << 8 * (i % 4) + bits * (i // 4) for i in range(each))
            for first in range(0, len(codes), each)]


def lanes_of(form, outputs):
    """[lane][many] values as [many][16 lanes]; lanes that are missing are zeros."""
    many = len(outputs[0])
    table = [[output[i] for output in outputs] + [0] * (LANES - len(outputs)) for i in range(many)]
    return b"".join(struct.pack(f"<{LANES}{form}", *row) for row in table)


def panel_block(name, outputs):
    """One block of a panel."""
    def each(part, form):
        return lanes_of(form, [output.parts[part] for output in outputs])

    def packed(bits, first=0, count=None, above=0):
        return lanes_of("I", [words(output.codes[first:count and first + count], bits, above) for output in outputs])

    if name == "q8_0":
        return each("scale", "e") + packed(8)
    if name == "q4_0":
        return each("scale", "e") + packed(4)
    if name == "q4_1":
        return each("scale", "e") + each("minimum", "e") + packed(4)
    if name == "q5_0":
        return each("scale", "e") + packed(4) + packed(1, above=4)
    if name == "q5_1":
        return each("scale", "e") + each("minimum", "e") + packed(4) + packed(1, above=4)
    if name == "q2_k":
        return each("scale", "e") + each("minimum", "e") + each("units", "B") + packed(2)
    if name == "q3_k":
        return each("scale", "e") + each("units", "b") + b"".join(
            packed(2, unit, 32) + packed(1, unit, 32, above=2) for unit in range(0, 256, 32))
    if name == "q4_k":
        return each("scale", "e") + each("minimum", "e") + each("units", "B") + each("unit_minimums", "B") + packed(4)
    if name == "q5_k":
        return each("scale", "e") + each("minimum", "e") + each("units", "B") + each("unit_minimums", "B") + b"".join(
            packed(4, unit, 32) + packed(1, unit, 32, above=4) for unit in range(0, 256, 32))
    if name == "q6_k":
        return each("scale", "e") + each("units", "b") + b"".join(
            packed(4, unit, 16) + packed(2, unit, 16, above=4) for unit in range(0, 256, 16))
    if name.startswith("int4"):
        return each("scale", "f") + each("zero", "B") + packed(4)
    if name in ("int8_g64", "fp8_g64"):
        return each("scale", "f") + packed(8)
    if name == "nvfp4":
        return each("divisor", "f") + each("units", "B") + packed(4)
    if name == "mxfp4":
        return each("exponent", "B") + packed(4)
    return each("scale", "f") + packed(4)


class Case:
    """`blocks(output)` are the blocks of an output's row."""

    def __init__(self, name, formats, own, outputs, tensors, blocks, config=None):
        self.name, self.formats, self.own, self.outputs, self.tensors = name, formats, own, outputs, tensors
        self.blocks, self.config = blocks, config

    def panels(self):
        rows = [self.blocks(output) for output in range(self.outputs)]
        for first in range(0, self.outputs, LANES):
            yield [panel_block(self.own, list(column)) for column in zip(*rows[first:first + LANES])]

    def json(self):
        panels = list(self.panels())
        entry = {"name": self.name, "formats": self.formats, "outputs": self.outputs, "inputs": INPUTS}
        if self.config:
            entry["config"] = self.config
        entry["tensors"] = [tensor.json() for tensor in self.tensors]
        entry["block_bytes"] = len(panels[0][0])
        if "|" in self.formats:
            stride = 64 + max(INPUTS // INPUTS_OF[name] * BYTES_OF[name] for name in self.formats.split("|"))
            entry["head"] = struct.pack("<2I56x", FORMATS.index(self.own), stride).hex()
            entry["panel_bytes"] = stride
        entry["first"] = panels[0][0][:96].hex()
        entry["hashes"] = [" ".join(f"{fnv(block):016x}" for block in panel) for panel in panels]
        return entry


def fnv(data):
    value = 0xCBF29CE484222325
    for each in data:
        value = (value ^ each) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


# The sizes that weight_blocks.h's structures have.
INPUTS_OF = {"q4_k": 256, "q6_k": 256, "q8_0": 32}
BYTES_OF = {"q4_k": 16 * 148, "q6_k": 16 * 210, "q8_0": 16 * 34}


def ggml(kind, seed, formats=None):
    """A matrix of one of ggml's types."""
    elements, size = gguf_reader.SIZES[kind]
    mask = [255] * size
    for place in TYPES[kind][3] if kind in TYPES else []:
        mask[place + 1] = 0xBF
    if kind == "MXFP4":
        mask[0] = 127
    tensor = Tensor("x.weight", kind, [19, INPUTS], seed, mask, size=1)
    # Its own size: blocks, not elements.
    tensor.data = bytes(byte(seed, i) & mask[i % size] for i in range(19 * INPUTS // elements * size))

    def blocks(output):
        row = tensor.row(output, INPUTS // elements * size)
        found = []
        for place in range(0, len(row), size):
            raw = row[place:place + size]
            if kind == "MXFP4":
                found.append(Block(gguf_reader.halves(raw[1:]), exponent=[raw[0]]))
                continue
            apart = gguf_reader.take_apart(kind, raw)
            units = apart.units
            if kind == "Q2_K":
                units = raw[:16]
            # Bytes that hold a code with its sign.
            codes = [code & 255 for code in apart.codes]
            sign = -1 if kind in ("Q2_K", "Q4_K", "Q5_K") else 1
            found.append(Block(codes, scale=[apart.scale], minimum=[sign * apart.minimum], units=list(units),
                               unit_minimums=apart.unit_minimums))
        return found

    own = "q8_0" if kind == "IQ4_NL" else kind.lower()
    return Case(kind.lower() + (" among " + formats if formats else ""), formats or own, own, 19, [tensor], blocks)


def cut(codes, each, parts):
    return [Block(codes[first:first + each], **parts(first)) for first in range(0, len(codes), each)]


def gptq():
    outputs, group = 24, 32
    codes = Tensor("x.qweight", "I32", [INPUTS // 8, outputs], 101)
    zeros = Tensor("x.qzeros", "I32", [INPUTS // group, outputs // 8], 102)
    scales = Tensor("x.scales", "F16", [INPUTS // group, outputs], 103, F16)
    numbers = scales.floats()

    def blocks(output):
        row = [code for word in range(INPUTS // 8) for code in codes.codes(word * outputs + output)]
        return cut(row, 32, lambda first: {
            "scale": [numbers[first // group * outputs + output]],
            "zero": [zeros.codes(first // group * (outputs // 8) + output // 8)[output % 8] + 1]})

    return Case("gptq", "int4_g32", "int4_g32", outputs, [codes, zeros, scales], blocks,
                {"quant_method": "gptq", "bits": 4, "group_size": group})


def awq():
    outputs, group, places = 24, 64, (0, 4, 1, 5, 2, 6, 3, 7)
    codes = Tensor("x.qweight", "I32", [INPUTS, outputs // 8], 111)
    zeros = Tensor("x.qzeros", "I32", [INPUTS // group, outputs // 8], 112)
    scales = Tensor("x.scales", "F16", [INPUTS // group, outputs], 113, F16)
    numbers = scales.floats()

    def blocks(output):
        row = [codes.codes(i * (outputs // 8) + output // 8, places)[output % 8] for i in range(INPUTS)]
        return cut(row, 64, lambda first: {
            "scale": [numbers[first // group * outputs + output]],
            "zero": [zeros.codes(first // group * (outputs // 8) + output // 8, places)[output % 8]]})

    return Case("awq", "int4_g64", "int4_g64", outputs, [codes, zeros, scales], blocks,
                {"quant_method": "awq", "bits": 4, "group_size": group})


COMPRESSED = {"quant_method": "compressed-tensors"}


def packed():
    outputs, group = 24, 128
    codes = Tensor("x.weight_packed", "I32", [outputs, INPUTS // 8], 121)
    zeros = Tensor("x.weight_zero_point", "I32", [outputs // 8, INPUTS // group], 122)
    scales = Tensor("x.weight_scale", "BF16", [outputs, INPUTS // group], 123, F16)
    shape = Tensor("x.weight_shape", "I64", [2], 0, given=struct.pack("<2q", outputs, INPUTS))
    numbers, groups = scales.floats(), INPUTS // group

    def blocks(output):
        row = [code for word in range(INPUTS // 8) for code in codes.codes(output * (INPUTS // 8) + word)]
        return cut(row, 128, lambda first: {
            "scale": [numbers[output * groups + first // group]],
            "zero": [zeros.codes(output // 8 * groups + first // group)[output % 8]]})

    return Case("pack-quantized", "int4_g128", "int4_g128", outputs, [codes, zeros, scales, shape], blocks, COMPRESSED)


def of_bytes(name, dtype, format_name, seed, mask):
    codes = Tensor("x.weight", dtype, [19, INPUTS], seed, mask)
    scales = Tensor("x.weight_scale", "F32", [19, 1], seed + 1, F32)
    numbers = scales.floats()
    return Case(name, format_name, format_name, 19, [codes, scales],
                lambda output: cut(list(codes.row(output, INPUTS)), 64, lambda first: {"scale": [numbers[output]]}),
                COMPRESSED)


def pairs(row, high_first=False):
    return [code for each in row for code in ((each >> 4, each & 15) if high_first else (each & 15, each >> 4))]


def nvfp4():
    codes = Tensor("x.weight_packed", "U8", [19, INPUTS // 2], 151)
    # Scales are not negative.
    scales = Tensor("x.weight_scale", "F8_E4M3", [19, INPUTS // 16], 152, [0x77])
    divisor = Tensor("x.weight_global_scale", "F32", [1], 0, given=struct.pack("<f", 1234.5))
    return Case("nvfp4-pack-quantized", "nvfp4", "nvfp4", 19, [codes, scales, divisor], lambda output: cut(
        pairs(codes.row(output, INPUTS // 2)), 64, lambda first: {
            "divisor": [1234.5], "units": list(scales.row(output, INPUTS // 16)[first // 16:first // 16 + 4])}), COMPRESSED)


def mxfp4():
    codes = Tensor("x.weight_packed", "U8", [19, INPUTS // 2], 161)
    scales = Tensor("x.weight_scale", "U8", [19, INPUTS // 32], 162, [127])
    return Case("mxfp4-pack-quantized", "mxfp4", "mxfp4", 19, [codes, scales], lambda output: cut(
        pairs(codes.row(output, INPUTS // 2)), 32,
        lambda first: {"exponent": [scales.row(output, INPUTS // 32)[first // 32]]}), COMPRESSED)


def bitsandbytes(kind, numbers, seed):
    outputs, each = 19, 64
    codes = Tensor("x.weight", "U8", [outputs * INPUTS // 2, 1], seed)
    scales = Tensor("x.weight.absmax", "F32", [outputs * INPUTS // each], seed + 1, F32)
    table = Tensor("x.weight.quant_map", "F32", [16], 0, given=struct.pack("<16f", *numbers))
    text = json.dumps({"quant_type": kind, "blocksize": each, "dtype": "bfloat16", "shape": [outputs, INPUTS]}).encode()
    state = Tensor(f"x.weight.quant_state.bitsandbytes__{kind}", "U8", [len(text)], 0, given=text)
    found = scales.floats()
    return Case(f"bitsandbytes {kind}", kind, kind, outputs, [codes, scales, table, state], lambda output: cut(
        pairs(codes.row(output, INPUTS // 2), high_first=True), 64,
        lambda first: {"scale": [found[(output * INPUTS + first) // each]]}), {"quant_method": "bitsandbytes"})


def cases():
    kinds = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4"]
    yield from (ggml(kind, seed + 1) for seed, kind in enumerate(kinds))
    yield ggml("Q4_K", 21, "q4_k|q6_k")
    yield ggml("Q6_K", 22, "q4_k|q6_k")
    yield ggml("Q8_0", 23, "q6_k|q8_0")
    yield from (gptq(), awq(), packed(), of_bytes("int-quantized", "I8", "int8_g64", 131, ANY),
                of_bytes("float-quantized", "F8_E4M3", "fp8_g64", 141, E4M3), nvfp4(), mxfp4(),
                bitsandbytes("nf4", NF4, 171), bitsandbytes("fp4", FP4, 181))


def compare():
    """Numbers of ggml's blocks with those of llama.cpp's package."""
    # A script of test/e2e has the package's name.
    sys.path.pop(0)
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize
    import numpy
    for case in cases():
        kind = case.tensors[0].dtype
        if kind not in TYPES:
            continue
        data = case.tensors[0].data
        expected = dequantize(numpy.frombuffer(data, dtype=numpy.uint8).reshape(19, -1),
                              GGMLQuantizationType[kind]).astype(numpy.float32).reshape(-1)
        found = numpy.array(gguf_reader.numbers(kind, data), dtype=numpy.float32)
        if not numpy.array_equal(found, expected):
            sys.exit(f"{kind}: other numbers than the package's, first at {numpy.flatnonzero(found != expected)[0]}")
        print(f"{kind}: {found.size} numbers are the package's")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compare", action="store_true")
    arguments = parser.parse_args()
    if arguments.compare:
        return compare()
    found = [case.json() for case in cases()]
    if {name for case in found for name in case["formats"].split("|")} != set(FORMATS):
        sys.exit("a format has no case")
    text = "[\n" + ",\n".join(json.dumps(case) for case in found) + "\n]\n"
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "panels.json")
    if not arguments.check:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif open(path, encoding="utf-8").read() != text:
        sys.exit(f"{path}: differs from what this script makes")


if __name__ == "__main__":
    main()
