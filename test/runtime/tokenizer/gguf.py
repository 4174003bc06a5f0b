"""The metadata of a GGUF file, version 2 and 3, whose tensors are not read."""

import struct

NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd"))
STRING, ARRAY = 8, 9


class Metadata(dict):
    """By key, as in the file."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.passed = []
        magic, self.version, _, count = struct.unpack("<4sIQQ", file.read(24))
        if magic != b"GGUF" or self.version not in (2, 3):
            raise ValueError(f"is no GGUF file of version 2 or 3: {magic}, {self.version}")
        for _ in range(count):
            key = self.read(STRING)
            self[key] = self.read(self.number("I"))

    def without_tensors(self):
        """The bytes of a file that has these and no tensor."""
        return struct.pack("<4sIQQ", b"GGUF", self.version, 0, len(self)) + b"".join(self.passed)

    def take(self, size):
        self.passed.append(self.file.read(size))
        return self.passed[-1]

    def number(self, kind):
        return struct.unpack("<" + kind, self.take(struct.calcsize("<" + kind)))[0]

    def read(self, kind):
        if kind == STRING:
            return self.take(self.number("Q")).decode()
        if kind != ARRAY:
            return self.number(NUMBERS[kind])
        kind, count = self.number("I"), self.number("Q")
        return [self.read(kind) for _ in range(count)]
