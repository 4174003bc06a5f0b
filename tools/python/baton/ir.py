"""Values and ops of the model dialect, and their text.

A model is a list of ops here; `Model` (model.py) writes it op by op, and roll.py
rewrites it. docs/reference/model.md says what each op computes.
"""

import json
import math
import struct

from .errors import Error

SYMBOLS = ("rows", "kv", "outputs")
ELEMENTS = ("f32", "f16", "bf16", "f64", "i32")


class Type:
    """A tensor type: `shape` has numbers and the symbols rows, kv and outputs."""

    __slots__ = ("shape", "element")

    def __init__(self, shape, element="f32"):
        self.shape = tuple(shape)
        self.element = element
        for size in self.shape:
            if size not in SYMBOLS and not (isinstance(size, int) and size >= 1):
                raise Error(f"a dimension is {size!r}, expected a number of at least 1, rows, kv or outputs")
        if element not in ELEMENTS:
            raise Error(f"the type of elements is {element!r}, expected one of {', '.join(ELEMENTS)}")

    def __eq__(self, other):
        return isinstance(other, Type) and (self.shape, self.element) == (other.shape, other.element)

    def __hash__(self):
        return hash((self.shape, self.element))

    def __str__(self):
        return f"!model.tensor<{' x '.join(map(str, self.shape + (self.element,)))}>"


class Value:
    """What an op computes, or an argument of a program or a stack's pattern.

    Sums and products of values write ops: `x + y`, `x * y`, `x * 0.5`."""

    __slots__ = ("model", "type", "op")

    def __init__(self, model, type, op=None):
        self.model, self.type, self.op = model, type, op

    @property
    def shape(self):
        """Dimensions: numbers, "rows", "kv" or "outputs"."""
        return self.type.shape

    def __repr__(self):
        return f"<{self.op.name if self.op else 'argument'} : {' x '.join(map(str, self.shape + (self.type.element,)))}>"

    def __add__(self, other):
        return self.model.add(self, other)

    def __mul__(self, other):
        return self.model.mul(self, other) if isinstance(other, Value) else self.model.scale(self, other)

    __rmul__ = __mul__

    def __truediv__(self, number):
        return self.model.scale(self, 1 / number)


class Block:
    """A list of ops with arguments: a program's body, or a stack's pattern."""

    __slots__ = ("arguments", "ops", "results")

    def __init__(self, arguments=()):
        self.arguments, self.ops, self.results = list(arguments), [], []


class Op:
    """One op: `kind` without "model.", values, attributes as MLIR text, a location.

    `lead` is what stands between the kind and the operands, `words` (keyword,
    operand) pairs that come after them; a stack has a `block`."""

    __slots__ = ("kind", "operands", "words", "lead", "tail", "attributes", "results", "name", "block")

    def __init__(self, kind, operands, results, name, attributes=None, words=(), lead="", tail="", block=None):
        self.kind, self.operands, self.name = kind, list(operands), name
        self.words, self.lead, self.tail, self.block = list(words), lead, tail, block
        self.attributes = dict(attributes or {})
        self.results = results

    def reads(self):
        """Operands in the order of the op's type."""
        return self.operands + [value for _, value in self.words]


# ---------------------------------------------------------------------------
# Attributes
# ---------------------------------------------------------------------------

def single(number):
    """The nearest F32 number. Raises Error beyond its range."""
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        raise Error(f"{number} is no number of F32") from None


def float_text(number):
    number = single(number)
    if not math.isfinite(number):
        raise Error(f"a number is {number}, expected a finite one")
    text = repr(number)
    if "." not in text:
        # MLIR wants a point: 1e-05 is 1.0e-05.
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}.0e{exponent}"
    return text


def f32(number):
    return f"{float_text(number)} : f32"


def i64(number):
    return f"{int(number)} : i64"


def i64s(numbers):
    return f"array<i64: {', '.join(str(int(number)) for number in numbers)}>"


def f32s(numbers):
    return f"array<f32: {', '.join(map(float_text, numbers))}>"


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


# ---------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------

class Printer:
    """Writes a block; values are numbered as they come."""

    def __init__(self):
        self.lines, self.names = [], {}

    def name(self, value):
        return self.names.setdefault(value, f"%{len(self.names)}")

    def block(self, block, end, indent):
        pad = "  " * indent
        arguments = ", ".join(f"{self.name(value)}: {value.type}" for value in block.arguments)
        self.lines.append(f"{pad[2:]}^bb0({arguments}):")
        for op in block.ops:
            self.op(op, pad, indent)
        values = ", ".join(map(self.name, block.results))
        types = ", ".join(str(value.type) for value in block.results)
        self.lines.append(f"{pad}{end} {values} : {types}")

    def op(self, op, pad, indent):
        results = ", ".join(map(self.name, op.results))
        text = f"{pad}{results} = model.{op.kind}"
        if op.lead:
            text += f" {op.lead}"
        operands = ", ".join(map(self.name, op.operands))
        if op.kind == "custom":
            operands = f"({operands})"
        words = "".join(f" {word} {self.name(value)}" for word, value in op.words)
        text += (f" {operands}" if operands else "") + words
        if op.tail:
            text += f" {op.tail}"
        if op.attributes:
            text += f" {{{', '.join(f'{key} = {value}' for key, value in op.attributes.items())}}}"
        types = ", ".join(str(value.type) for value in op.results)
        if op.kind == "parameter":
            text += f" : {types}"
        else:
            reads = ", ".join(str(value.type) for value in op.reads())
            text += f" : ({reads}) -> {types}" if len(op.results) == 1 else f" : ({reads}) -> ({types})"
        where = f" loc({quoted(op.name)})"
        if op.block is None:
            self.lines.append(text + where)
            return
        self.lines.append(text + " {")
        self.block(op.block, "model.yield", indent + 1)
        self.lines.append(f"{pad}}}{where}")
