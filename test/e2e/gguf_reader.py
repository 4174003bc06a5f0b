"""GGUF files and the numbers of their blocks, by ggml's definitions (standard library only).

Blocks are taken apart as ggml-common.h declares them; shares no code with the reader of the
runtime.
"""

import struct

from gguf_writer import TYPES

NAMES = {number: name for name, (number, *_) in TYPES.items()} | {30: "BF16", 39: "MXFP4"}
SIZES = {name: (elements, size) for name, (_, elements, size, _) in TYPES.items()} | {"BF16": (1, 2), "MXFP4": (32, 17)}
IQ4_NL = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
# Of metadata, by their number: integers, floats, truth values. 8 is a text, 9 a list.
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Reader:
    """`keys` are {key: value}, `tensors` {name: (type, shape, bytes)}; shapes as [outputs, inputs]."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.place = 4
        version, tensors, keys = self.take("IQQ")
        if self.data[:4] != b"GGUF" or version != 3:
            raise ValueError(f"{path}: no GGUF file of version 3")
        self.keys = {}
        for _ in range(keys):
            key = self.text()
            self.keys[key] = self.value(*self.take("I"))
        infos = []
        for _ in range(tensors):
            name = self.text()
            count, = self.take("I")
            shape = list(reversed(self.take(f"{count}Q")))
            infos.append((name, shape, *self.take("IQ")))
        each = self.keys.get("general.alignment", 32)
        begin = -(-self.place // each) * each
        self.tensors = {}
        for name, shape, number, offset in infos:
            count = 1
            for extent in shape:
                count *= extent
            elements, size = SIZES[NAMES[number]]
            self.tensors[name] = NAMES[number], shape, self.data[begin + offset:begin + offset + count // elements * size]

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.place)
        self.place += struct.calcsize("<" + form)
        return values

    def text(self):
        size, = self.take("Q")
        self.place += size
        return self.data[self.place - size:self.place].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            kind, count = self.take("IQ")
            return [self.value(kind) for _ in range(count)]
        return self.take(SCALARS[kind])[0]


class Block:
    """Weight i is codes[i] * scale * units[u] + minimum * unit_minimums[u] - zero * scale * units[u]
    of its unit u, `unit` weights each."""

    def __init__(self, codes, scale, minimum=0.0, zero=0, units=(1,), unit_minimums=(0,)):
        self.codes, self.scale, self.minimum, self.zero = codes, scale, minimum, zero
        self.units, self.unit_minimums = list(units), list(unit_minimums)

    def numbers(self):
        each = len(self.codes) // len(self.units)
        scales = [self.scale * unit for unit in self.units]
        offsets = [self.minimum * unit - self.zero * scale
                   for unit, scale in zip(self.unit_minimums * (len(scales) // len(self.unit_minimums)), scales)]
        return [code * scales[i // each] + offsets[i // each] for i, code in enumerate(self.codes)]


def halves(data):
    """The lower four bits of bytes, then the upper ones."""
    return [byte & 15 for byte in data] + [byte >> 4 for byte in data]


def fifth(codes, bits):
    return [code | (bits >> i & 1) << 4 for i, code in enumerate(codes)]


def six_bits(data):
    """Q4_K's and Q5_K's scales and minimums of eight units, in twelve bytes."""
    scales = [data[i] & 63 for i in range(4)] + [data[i + 8] & 15 | data[i] >> 6 << 4 for i in range(4)]
    minimums = [data[i + 4] & 63 for i in range(4)] + [data[i + 8] >> 4 | data[i + 4] >> 6 << 4 for i in range(4)]
    return scales, minimums


def signed(byte):
    return byte - 256 if byte > 127 else byte


def take_apart(kind, block):
    def half(place):
        return struct.unpack_from("<e", block, place)[0]

    if kind == "Q8_0":
        return Block([signed(byte) for byte in block[2:]], half(0))
    if kind == "IQ4_NL":
        return Block([IQ4_NL[code] for code in halves(block[2:])], half(0))
    if kind == "Q4_0":
        return Block(halves(block[2:]), half(0), zero=8)
    if kind == "Q4_1":
        return Block(halves(block[4:]), half(0), half(2), unit_minimums=[1])
    if kind == "Q5_0":
        return Block(fifth(halves(block[6:]), *struct.unpack_from("<I", block, 2)), half(0), zero=16)
    if kind == "Q5_1":
        return Block(fifth(halves(block[8:]), *struct.unpack_from("<I", block, 4)), half(0), half(2), unit_minimums=[1])
    if kind == "Q2_K":
        codes = [block[16 + 32 * half + i] >> 2 * pair & 3 for half in range(2) for pair in range(4) for i in range(32)]
        return Block(codes, half(80), -half(82), units=[byte & 15 for byte in block[:16]],
                     unit_minimums=[byte >> 4 for byte in block[:16]])
    if kind == "Q3_K":
        codes = [(block[32 + 32 * half + i] >> 2 * pair & 3) | (block[i] >> 4 * half + pair & 1) << 2
                 for half in range(2) for pair in range(4) for i in range(32)]
        packed = block[96:108]
        units = [(packed[i] & 15 if i < 8 else packed[i - 8] >> 4) | (packed[8 + i % 4] >> 2 * (i // 4) & 3) << 4
                 for i in range(16)]
        return Block(codes, half(108), zero=4, units=[unit - 32 for unit in units])
    if kind in ("Q4_K", "Q5_K"):
        scales, minimums = six_bits(block[4:16])
        place = 16 if kind == "Q4_K" else 48
        codes = [code for pair in range(4) for code in halves(block[place + 32 * pair:place + 32 * pair + 32])]
        if kind == "Q5_K":
            codes = [code | (block[16 + i % 32] >> i // 32 & 1) << 4 for i, code in enumerate(codes)]
        return Block(codes, half(0), -half(2), units=scales, unit_minimums=minimums)
    if kind == "Q6_K":
        codes = []
        for half_block in range(2):
            low, high = block[64 * half_block:][:64], block[128 + 32 * half_block:][:32]
            codes += [low[32 * (quarter % 2) + i] >> 4 * (quarter // 2) & 15 | (high[i] >> 2 * quarter & 3) << 4
                      for quarter in range(4) for i in range(32)]
        return Block(codes, half(208), zero=32, units=[signed(byte) for byte in block[192:208]])
    raise ValueError(f"{kind} are no blocks")


def numbers(kind, data):
    """The weights of a tensor's bytes."""
    if kind in ("F32", "F16"):
        return list(struct.unpack(f"<{len(data) // (4 if kind == 'F32' else 2)}{'f' if kind == 'F32' else 'e'}", data))
    size = SIZES[kind][1]
    return [weight for place in range(0, len(data), size) for weight in take_apart(kind, data[place:place + size]).numbers()]
