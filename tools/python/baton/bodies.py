"""Task bodies as code: functions of elements, as event.body ops.

    @baton.body
    def relu_squared_times(gate, up):
        return baton.maximum(gate, 0) ** 2 * up

    y = model.custom(relu_squared_times, gate, up)

The body's grid, accesses and loops follow from the function, and so do its adjoints;
docs/schedules.md shows one written out.
"""

import functools
import inspect
import math
import re

from .errors import Error
from .ir import float_text

# Boxes are cut to the extents of values: this means all columns.
ALL = 65536
STEP = "[rows, past, outputs]"


class Element:
    """An F32 number of a task, which is known when it runs."""

    def __init__(self, trace, name, active=True):
        # Active: not a constant.
        self.trace, self.name, self.active = trace, name, active

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
        self.lines, self.ops = [], []

    def fresh(self, text, active):
        name = f"%{len(self.lines)}"
        self.lines.append(f"{name} = {text} : f32")
        return Element(self, name, active)

    def value(self, operand):
        if isinstance(operand, Element):
            return operand
        if isinstance(operand, (int, float)) and not isinstance(operand, bool):
            return self.fresh(f"arith.constant {float_text(operand)}", False)
        raise Error(f"an operand is {operand!r}, expected an element or a number")

    def op(self, name, *operands):
        values = [self.value(operand) for operand in operands]
        if name == "sigmoid":
            result = 1 / (1 + exp(-values[0]))
        else:
            result = self.fresh(f"{name} {', '.join(value.name for value in values)}",
                                any(value.active for value in values))
        self.ops.append((name, values, result))
        return result

    def where(self, order, x, y, one, other):
        """`one` where x is in this order to y, else `other`."""
        names = [self.value(value).name for value in (x, y, one, other)]
        truth = self.fresh(f"arith.cmpf {order}, {names[0]}, {names[1]}", False)
        return self.fresh(f"arith.select {truth.name}, {names[2]}, {names[3]}", True)

    def gradients(self, result, gradient):
        """Element's name -> its gradient, of that of the result."""
        found = {result.name: gradient}
        ops, passed = self.ops, set()
        self.ops = []
        for name, operands, made in reversed(ops):
            # What a sigmoid consists of has no gradient of its own.
            if made.name not in found or made.name in passed:
                continue
            passed.add(made.name)
            for operand, part in zip(operands, ADJOINTS[name](self, found[made.name], made, *operands)):
                if operand.active:
                    found[operand.name] = found[operand.name] + part if operand.name in found else part
        return found


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
# Zero for minus infinity, and so is its slope.
sigmoid = _function("sigmoid")

# Gradients of operands, of the gradient d of the result y.
ADJOINTS = {
    "arith.addf": lambda trace, d, y, a, b: (d, d),
    "arith.subf": lambda trace, d, y, a, b: (d, -d),
    "arith.mulf": lambda trace, d, y, a, b: (d * b, d * a),
    "arith.divf": lambda trace, d, y, a, b: (d / b, -(d * y / b)),
    "arith.negf": lambda trace, d, y, a: (-d,),
    "arith.maximumf": lambda trace, d, y, a, b: (trace.where("ogt", a, b, d, 0), trace.where("ogt", a, b, 0, d)),
    "arith.minimumf": lambda trace, d, y, a, b: (trace.where("olt", a, b, d, 0), trace.where("olt", a, b, 0, d)),
    "math.exp": lambda trace, d, y, a: (d * y,),
    "math.log": lambda trace, d, y, a: (d / a,),
    "math.sqrt": lambda trace, d, y, a: (0.5 * d / y,),
    "math.rsqrt": lambda trace, d, y, a: (-0.5 * d * y / a,),
    "math.tanh": lambda trace, d, y, a: (d * (1 - y * y),),
    "math.erf": lambda trace, d, y, a: (d * (2 / math.sqrt(math.pi)) * exp(-(a * a)),),
    "math.absf": lambda trace, d, y, a: (trace.where("olt", a, 0, -d, d),),
    "sigmoid": lambda trace, d, y, a: (d * y * (1 - y),),
}


class Body:
    """A task body, of elements that lie at one place in [rows, N], or in scores [H, rows,
    kv]; those of vectors [N] at its column."""

    def __init__(self, function, rows, vectors, scores):
        self.name, self.rows, self.scores, self.function = function.__name__, rows, scores, function
        self.operands = list(inspect.signature(function).parameters)
        self.vectors = set(vectors)
        unknown = self.vectors - set(self.operands)
        if unknown or not self.operands or set(self.operands) <= self.vectors:
            raise Error(f"body {self.name!r}: takes {', '.join(self.operands) or 'nothing'}, vectors are "
                        f"{', '.join(sorted(self.vectors)) or 'none'}; expected at least one operand of rows")
        if scores and vectors:
            raise Error(f"body {self.name!r}: scores and vectors do not go together")
        self.output = "result" if "result" not in self.operands else "result_"
        self._trace()

    def _trace(self):
        """The trace, its operands' elements by name, and the result."""
        trace = Trace()
        elements = {operand: Element(trace, f"%{operand}.element") for operand in self.operands}
        return trace, elements, trace.value(self.function(*elements.values()))

    def check(self, inputs):
        """Raises Error where values do not fit."""
        if len(inputs) != len(self.operands):
            raise Error(f"body {self.name!r} takes {len(self.operands)} operands, not {len(inputs)}")
        rows = {value.shape for operand, value in zip(self.operands, inputs) if operand not in self.vectors}
        vectors = {value.shape for operand, value in zip(self.operands, inputs) if operand in self.vectors}
        shape = next(iter(rows))
        fits = shape[1:] == ("rows", "kv") if self.scores else shape[:1] == ("rows",)
        if len(rows) != 1 or len(shape) != 2 + self.scores or not fits or vectors - {shape[1:]}:
            expected = "(H, rows, kv)" if self.scores else "(rows, N), and (N) of vectors"
            raise Error(f"body {self.name!r}: operands have the shapes "
                        f"{', '.join(str(value.shape) for value in inputs)}, expected {expected}")

    def _body(self, name, operands, outputs, lines, results, vectors=(), sums=False, attributes=""):
        """An event.body of elements; with sums each task adds up the results of all rows."""
        vectors = self.vectors | set(vectors)
        low, high = ("0", "rows") if sums else (f"t * {self.rows}", f"t * {self.rows} + {self.rows}")

        def access(kind, operand):
            ends = ("0", f"{ALL}") if operand in vectors else (f"{low}, 0", f"{high}, {ALL}")
            if self.scores:
                ends = (f"0, {low}, 0", f"{ALL}, {high}, {ALL}")
            return f"#event.access<{kind} @{operand}, (t){STEP} -> ({ends[0]})\n    to (t){STEP} -> ({ends[1]})>"

        def form(operand):
            # Scores of one row lie side by side.
            strides = ["?"] if operand in vectors else ["?", "?", "1"] if self.scores else ["?", "?"]
            return f"memref<{'?x' * len(strides)}f32, strided<[{', '.join(strides)}]>>"

        indices = "h, i, j" if self.scores else "i, j"
        index = lambda operand: "j" if operand in vectors else indices
        maps = ", ".join(f"affine_map<({indices}) -> ({index(operand)})>" for operand in [*operands, *outputs])
        accesses = ",\n   ".join([*(access("read", operand) for operand in operands),
                                  *(access("write", output) for output in outputs)])
        listed = lambda names: f"{', '.join('%' + name for name in names)} : {', '.join(map(form, names))}"
        kinds = ", ".join(['"reduction"' if sums else '"parallel"', *['"parallel"'] * (1 + self.scores)])
        zeros = "".join(f"  linalg.fill ins(%zero : f32) outs(%{output} : {form(output)})\n" for output in outputs)
        zeros = "  %zero = arith.constant 0.0 : f32\n" + zeros if sums else ""
        text = "".join(f"    {line}\n" for line in lines)
        elements = ", ".join(f"%{operand}.element: f32" for operand in [*operands, *outputs])
        return f"""event.body @{name}
  grid (){STEP} -> ({"1" if sums else f"rows ceildiv {self.rows}"})
  accesses
  [{accesses}]{attributes} {{
^bb0({", ".join(f"%{operand}: {form(operand)}" for operand in [*operands, *outputs])}):
{zeros}  linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins({listed(operands)})
      outs({listed(outputs)}) {{
  ^bb0({elements}):
{text}    linalg.yield {", ".join(results)} : {", ".join(["f32"] * len(results))}
  }}
}}"""

    def _adjoint(self, name, operands, sums):
        """The event.body that makes gradients of these operands, of all and the result's."""
        trace, elements, result = self._trace()
        gradient = f"d_{self.output}"
        found = trace.gradients(result, Element(trace, f"%{gradient}.element"))
        outputs = [f"d_{operand}" for operand in operands]
        results = [trace.value(found.get(elements[operand].name, 0)) for operand in operands]
        if sums:
            results = [Element(trace, f"%{output}.element") + result for output, result in zip(outputs, results)]
        return self._body(name, [*self.operands, gradient], outputs, trace.lines, [one.name for one in results],
                          outputs if sums else (), sums)

    def text(self):
        """The event.body, and those that are its adjoints."""
        trace, _, result = self._trace()
        names = {"inputs": [operand for operand in self.operands if operand not in self.vectors],
                 "weights": [operand for operand in self.operands if operand in self.vectors]}
        adjoints = {f"{self.name}_adjoint_{kind}": operands for kind, operands in names.items() if operands}
        named = ", ".join(f"adjoint_{kind} = @{self.name}_adjoint_{kind}" for kind in names if names[kind])
        own = self._body(self.name, self.operands, [self.output], trace.lines, [result.name],
                         attributes=f"\n  attributes {{{named}}}")
        return "\n".join([own, *(self._adjoint(name, operands, name.endswith("weights"))
                                 for name, operands in adjoints.items())])

    __str__ = text


def body(function=None, rows=16, vectors=(), scores=False):
    """Makes a Body of a function of elements: sums, products, quotients, integer powers,
    and maximum, minimum, exp, log, sqrt, rsqrt, tanh, erf, absolute, sigmoid.

    A task computes `rows` rows. Operands named in `vectors` have one element for each
    column. With `scores` operands are attention's, [H, rows, kv]. The adjoints follow from
    the function; where maximum or minimum has two equal operands, the second one gets the
    gradient. Raises Error."""
    if function is None:
        return functools.partial(body, rows=rows, vectors=vectors, scores=scores)
    for name in (function.__name__, *inspect.signature(function).parameters):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Error(f"{name!r} is no name of the IR's")
    return Body(function, rows, vectors, scores)
