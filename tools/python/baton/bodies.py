"""Task bodies as code: functions of elements, as event.body ops.

    @baton.body
    def relu_squared_times(gate, up):
        return baton.maximum(gate, 0) ** 2 * up

    y = model.custom(relu_squared_times, gate, up)

The body's grid, accesses and loops follow from the function; docs/schedules.md shows one
written out.
"""

import functools
import inspect
import re

from .errors import Error
from .ir import float_text

MATRIX, VECTOR = "memref<?x?xf32, strided<[?, ?]>>", "memref<?xf32, strided<[?]>>"
# Boxes are cut to the extents of values: this means all columns.
ALL = 65536


class Element:
    """An F32 number of a task, which is known when it runs."""

    def __init__(self, trace, name):
        self.trace, self.name = trace, name

    def __add__(self, other):
        return self.trace.op("arith.addf", self, other)

    def __sub__(self, other):
        return self.trace.op("arith.subf", self, other)

    def __rsub__(self, other):
        return self.trace.op("arith.subf", other, self)

    def __mul__(self, other):
        return self.trace.op("arith.mulf", self, other)

    def __truediv__(self, other):
        return self.trace.op("arith.divf", self, other)

    def __rtruediv__(self, other):
        return self.trace.op("arith.divf", other, self)

    def __neg__(self):
        return self.trace.op("arith.negf", self)

    def __pow__(self, power):
        if not isinstance(power, int) or power < 1:
            raise Error(f"an element to the power of {power!r}, expected an integer of at least 1")
        return functools.reduce(Element.__mul__, [self] * power)

    __radd__, __rmul__ = __add__, __mul__

    def __bool__(self):
        raise Error("an element is not known before the task runs; maximum and minimum choose between two")


class Trace:
    """The ops of one element."""

    def __init__(self):
        self.lines = []

    def fresh(self, text):
        name = f"%{len(self.lines)}"
        self.lines.append(f"{name} = {text} : f32")
        return Element(self, name)

    def value(self, operand):
        if isinstance(operand, Element):
            return operand
        if isinstance(operand, (int, float)) and not isinstance(operand, bool):
            return self.fresh(f"arith.constant {float_text(operand)}")
        raise Error(f"an operand is {operand!r}, expected an element or a number")

    def op(self, name, *operands):
        values = [self.value(operand) for operand in operands]
        return self.fresh(f"{name} {', '.join(value.name for value in values)}")


def _function(op):
    def apply(*operands):
        trace = next((operand.trace for operand in operands if isinstance(operand, Element)), None)
        if trace is None:
            raise Error(f"{op}: no operand is an element of a body")
        return trace.op(op, *operands)
    return apply


maximum, minimum = _function("arith.maximumf"), _function("arith.minimumf")
exp, log, sqrt, rsqrt, tanh, erf, absolute = (
    _function("math." + name) for name in ("exp", "log", "sqrt", "rsqrt", "tanh", "erf", "absf"))


class Body:
    """A task body: of each row's elements [R, N], and of vectors [N], one element."""

    def __init__(self, function, rows, vectors):
        self.name, self.rows = function.__name__, rows
        self.operands = list(inspect.signature(function).parameters)
        self.vectors = set(vectors)
        unknown = self.vectors - set(self.operands)
        if unknown or not self.operands or set(self.operands) <= self.vectors:
            raise Error(f"body {self.name!r}: takes {', '.join(self.operands) or 'nothing'}, vectors are "
                        f"{', '.join(sorted(self.vectors)) or 'none'}; expected at least one operand of rows")
        trace = Trace()
        result = function(*(Element(trace, f"%{operand}.element") for operand in self.operands))
        self.result = trace.value(result).name
        self.lines = trace.lines

    def check(self, inputs):
        """Raises Error where values do not fit."""
        if len(inputs) != len(self.operands):
            raise Error(f"body {self.name!r} takes {len(self.operands)} operands, not {len(inputs)}")
        rows = {value.shape for operand, value in zip(self.operands, inputs) if operand not in self.vectors}
        vectors = {value.shape for operand, value in zip(self.operands, inputs) if operand in self.vectors}
        shape = next(iter(rows))
        if len(rows) != 1 or len(shape) != 2 or shape[0] != "rows" or vectors - {shape[1:]}:
            raise Error(f"body {self.name!r}: operands have the shapes "
                        f"{', '.join(str(value.shape) for value in inputs)}, expected (rows, N), and (N) of vectors")

    def text(self):
        """The event.body."""
        step = "[rows, past, outputs]"

        def access(kind, operand):
            if operand in self.vectors:
                low, high = "0", str(ALL)
            else:
                low, high = f"t * {self.rows}, 0", f"t * {self.rows} + {self.rows}, {ALL}"
            return f"#event.access<{kind} @{operand}, (t){step} -> ({low})\n    to (t){step} -> ({high})>"

        output = "result" if "result" not in self.operands else "result_"
        form = lambda operand: VECTOR if operand in self.vectors else MATRIX
        index = lambda operand: "(j)" if operand in self.vectors else "(i, j)"
        maps = ", ".join(f"affine_map<(i, j) -> {index(operand)}>" for operand in [*self.operands, output])
        accesses = ",\n   ".join([*(access("read", operand) for operand in self.operands), access("write", output)])
        listed = ", ".join(f"%{operand}" for operand in self.operands)
        lines = "".join(f"    {line}\n" for line in self.lines)
        elements = ", ".join(f"%{operand}.element: f32" for operand in [*self.operands, output])
        return f"""event.body @{self.name}
  grid (){step} -> (rows ceildiv {self.rows})
  accesses
  [{accesses}] {{
^bb0({", ".join(f"%{operand}: {form(operand)}" for operand in [*self.operands, output])}):
  linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}}
      ins({listed} : {", ".join(map(form, self.operands))})
      outs(%{output} : {MATRIX}) {{
  ^bb0({elements}):
{lines}    linalg.yield {self.result} : f32
  }}
}}"""

    __str__ = text


def body(function=None, rows=16, vectors=()):
    """Makes a Body of a function of elements: sums, products, quotients, integer powers,
    and maximum, minimum, exp, log, sqrt, rsqrt, tanh, erf, absolute.

    A task computes `rows` rows. Operands named in `vectors` have one element for each
    column. The body has no adjoint, so models with it are not trained. Raises Error."""
    if function is None:
        return functools.partial(body, rows=rows, vectors=vectors)
    for name in (function.__name__, *inspect.signature(function).parameters):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Error(f"{name!r} is no name of the IR's")
    return Body(function, rows, vectors)
