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

    def __init__(self, trace, name, active=True, memory=None):
        # Active: not a constant. Memory: the tile that it is read from.
        self.trace, self.name, self.active, self.memory = trace, name, active, memory

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


class Whole:
    """A matrix or a state, of which a body has no elements: functions of the library read it."""

    def __init__(self, memory):
        self.memory = memory

    def __repr__(self):
        return f"{self.memory!r}, of which a body has no elements"


class Call:
    """A function of the task library, of what it reads, and the element that it makes."""

    def __init__(self, trace, callee, operands, numbers, memory):
        self.callee, self.operands, self.numbers = callee, operands, numbers
        self.result = Element(trace, f"%{memory}.element", True, memory)


class Trace:
    """The ops of one element."""

    def __init__(self):
        self.lines, self.ops, self.calls = [], [], []
        # Of each line what it takes.
        self.operands = []

    def fresh(self, text, active, operands=()):
        name = f"%{len(self.lines)}"
        self.lines.append(f"{name} = {text} : f32")
        self.operands.append(operands)
        return Element(self, name, active)

    def call(self, callee, operands, numbers):
        call = Call(self, callee, operands, numbers, f"made.{len(self.calls)}")
        self.calls.append(call)
        return call.result

    def needed(self, element):
        """The lines that compute an element, and the elements of tiles that they read."""
        numbers, leaves, open_ = set(), {}, [element]
        while open_:
            one = open_.pop()
            if one.memory:
                leaves[one.name] = one
            elif (number := int(one.name[1:])) not in numbers:
                numbers.add(number)
                open_.extend(self.operands[number])
        return [self.lines[number] for number in sorted(numbers)], [leaves[name] for name in sorted(leaves)]

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
                                any(value.active for value in values), values)
        self.ops.append((name, values, result))
        return result

    def where(self, order, x, y, one, other):
        """`one` where x is in this order to y, else `other`."""
        values = [self.value(value) for value in (x, y, one, other)]
        names = [value.name for value in values]
        truth = self.fresh(f"arith.cmpf {order}, {names[0]}, {names[1]}", False, values[:2])
        return self.fresh(f"arith.select {truth.name}, {names[2]}, {names[3]}", True, [truth, *values[2:]])

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
    """A task body, of elements that lie at one place in [rows, N], in scores [H, rows, kv]
    or, with states, in [rows, H, N]; those of vectors [N] at its column. Matrices and
    states are whole."""

    def __init__(self, function, rows, vectors, scores, matrices=(), states=()):
        self.name, self.rows, self.scores, self.function = function.__name__, rows, scores, function
        self.operands = list(inspect.signature(function).parameters)
        self.vectors, self.matrices, self.states = set(vectors), set(matrices), set(states)
        named = self.vectors | self.matrices | self.states
        unknown = named - set(self.operands)
        if unknown or not self.operands or set(self.operands) <= named:
            others = "".join(f", {kind} are {', '.join(sorted(names))}" for kind, names in
                             (("matrices", self.matrices), ("states", self.states)) if names)
            raise Error(f"body {self.name!r}: takes {', '.join(self.operands) or 'nothing'}, vectors are "
                        f"{', '.join(sorted(self.vectors)) or 'none'}{others}; expected at least one operand of rows")
        if len(self.vectors) + len(self.matrices) + len(self.states) != len(named):
            raise Error(f"body {self.name!r}: an operand is named twice, among vectors, matrices and states")
        if scores and named:
            raise Error(f"body {self.name!r}: scores and {'vectors' if vectors else 'matrices or states'} do not go "
                        "together")
        self.output = "result" if "result" not in self.operands else "result_"
        if self.matrices | self.states and not self.calls():
            raise Error(f"body {self.name!r}: names matrices or states, which functions of baton.library read, and "
                        "calls none")
        self._trace()

    def _trace(self):
        """The trace, its operands' elements by name, and the result."""
        trace = Trace()
        whole = self.matrices | self.states
        elements = {operand: Whole(operand) if operand in whole
                    else Element(trace, f"%{operand}.element", True, operand) for operand in self.operands}
        return trace, elements, trace.value(self.function(*elements.values()))

    def calls(self):
        """Names of the library's functions that the body calls."""
        return [call.callee for call in self._trace()[0].calls]

    def check(self, inputs):
        """Raises Error where values do not fit."""
        if len(inputs) != len(self.operands):
            raise Error(f"body {self.name!r} takes {len(self.operands)} operands, not {len(inputs)}")
        if self.calls():
            return self._check_called(inputs)
        rows = {value.shape for operand, value in zip(self.operands, inputs) if operand not in self.vectors}
        vectors = {value.shape for operand, value in zip(self.operands, inputs) if operand in self.vectors}
        shape = next(iter(rows))
        fits = shape[1:] == ("rows", "kv") if self.scores else shape[:1] == ("rows",)
        if len(rows) != 1 or len(shape) != 2 + self.scores or not fits or vectors - {shape[1:]}:
            expected = "(H, rows, kv)" if self.scores else "(rows, N), and (N) of vectors"
            raise Error(f"body {self.name!r}: operands have the shapes "
                        f"{', '.join(str(value.shape) for value in inputs)}, expected {expected}")

    def _check_called(self, inputs):
        """Of a body that calls the library, whose tiles have sizes of their own: batonc compares those."""
        for operand, value in zip(self.operands, inputs):
            rank, first, form = ((1, None, "(N)") if operand in self.vectors else
                                 (2, None, "(N, K)") if operand in self.matrices else
                                 (3, "kv", "(kv, G, N)") if operand in self.states else
                                 (3, None, "(H, rows, kv)") if self.scores else
                                 (3, "rows", "(rows, H, N)") if self.states else (2, "rows", "(rows, N)"))
            if len(value.shape) != rank or (first and value.shape[0] != first) or \
                    (self.scores and value.shape[1:] != ("rows", "kv")):
                raise Error(f"body {self.name!r}: operand {operand!r} has the shape {value.shape}, expected {form}")

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
        if trace.calls:
            return Stages(self, trace, result).text()
        names = {"inputs": [operand for operand in self.operands if operand not in self.vectors],
                 "weights": [operand for operand in self.operands if operand in self.vectors]}
        adjoints = {f"{self.name}_adjoint_{kind}": operands for kind, operands in names.items() if operands}
        named = ", ".join(f"adjoint_{kind} = @{self.name}_adjoint_{kind}" for kind in names if names[kind])
        own = self._body(self.name, self.operands, [self.output], trace.lines, [result.name],
                         attributes=f"\n  attributes {{{named}}}")
        return "\n".join([own, *(self._adjoint(name, operands, name.endswith("weights"))
                                 for name, operands in adjoints.items())])

    __str__ = text


class Stages:
    """A body that calls the library: loops over elements and calls, one behind the other,
    with temporaries between them."""

    def __init__(self, body, trace, result):
        self.body, self.trace, self.result = body, trace, result
        self.lines, self.types, self.dims = [], {}, 0
        for operand in (*body.operands, body.output):
            rank = 1 if operand in body.vectors else 2 if operand in body.matrices else self.rank
            strides = ", ".join(["?"] * (rank - 1) + ["1"])
            self.types[operand] = f"memref<{'?x' * rank}f32, strided<[{strides}]>>"

    @property
    def rank(self):
        return 3 if self.body.scores or self.body.states else 2

    def dim(self, memory, d):
        """The size of a tile's dimension."""
        name = f"%size.{self.dims}"
        self.dims += 1
        self.lines.append(f"{name} = memref.dim %{memory}, %c.{d} : {self.types[memory]}")
        return name

    def temporary(self, memory, sizes):
        """A tile with these sizes: pairs of a tile and a dimension of it."""
        names = ", ".join(self.dim(*size) for size in sizes)
        self.types[memory] = f"memref<{'?x' * len(sizes)}f32>"
        self.lines.append(f"%{memory} = memref.alloca({names}) : {self.types[memory]}")

    def sizes_like(self, memory):
        return [(memory, d) for d in range(self.rank)]

    def loop(self, element, output):
        """Computes an element at each place of a tile."""
        lines, leaves = self.trace.needed(element)
        indices = ["h", "i", "j"][3 - self.rank:]
        index = lambda memory: "j" if memory in self.body.vectors else ", ".join(indices)
        listed = lambda names: f"{', '.join('%' + name for name in names)} : " \
                               f"{', '.join(self.types[name] for name in names)}"
        memories = [leaf.memory for leaf in leaves]
        maps = ", ".join(f"affine_map<({', '.join(indices)}) -> ({index(memory)})>" for memory in [*memories, output])
        kinds = ", ".join(['"parallel"'] * self.rank)
        elements = ", ".join([*(f"{leaf.name}: f32" for leaf in leaves), f"%{output}.element: f32"])
        self.lines += [f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}",
                       *([f"    ins({listed(memories)})"] if memories else []),
                       f"    outs({listed([output])}) {{", f"^bb0({elements}):",
                       *(f"  {line}" for line in lines), f"  linalg.yield {element.name} : f32", "}"]

    def stored(self, element, number):
        """The tile that has an element at each place."""
        if isinstance(element, Whole) or element.memory:
            return element.memory
        rows = next((leaf.memory for leaf in self.trace.needed(element)[1]
                     if leaf.memory not in self.body.vectors), None)
        if rows is None:
            raise Error(f"body {self.body.name!r}: calls the library with a value that has no rows")
        memory = f"read.{number}"
        self.temporary(memory, self.sizes_like(rows))
        self.loop(element, memory)
        return memory

    def call(self, call, operands, output):
        """The op; where tiles have a dimension more than it takes, for each index of that."""
        rank2 = call.callee != "attention"
        names = [f"%{memory}" for memory in operands] + [f"%{output}"]
        types = [self.types[memory] for memory in (*operands, output)]
        indent = ""
        if rank2 and self.rank == 3:
            # The dimension of heads, which is in front of scores' rows.
            at = 0 if self.body.scores else 1
            heads = self.dim(operands[0], at)
            self.lines.append(f"scf.for %head.index = %c.0 to {heads} step %c.1 {{")
            indent = "  "
            part = "memref<?x?xf32, strided<[?, 1], offset: ?>>"
            for i, memory in enumerate((*operands, output)):
                if memory in self.body.vectors:
                    continue
                sizes = [f"%all.{i}.{d}" for d in range(3)]
                self.lines += [f"  {size} = memref.dim %{memory}, %c.{d} : {self.types[memory]}"
                               for d, size in enumerate(sizes) if d != at]
                of = lambda some, chosen: ", ".join(chosen if d == at else some[d] for d in range(3))
                self.lines.append(f"  %part.{i} = memref.subview %{memory}[{of('000', '%head.index')}] [{of(sizes, '1')}] "
                                  f"[1, 1, 1] : {self.types[memory]} to {part}")
                names[i], types[i] = f"%part.{i}", part
        numbers = ", ".join(f"{name} = {value}" for name, value in call.numbers)
        self.lines.append(f"{indent}event.library_call \"{call.callee}\" ins({', '.join(names[:-1])} : "
                          f"{', '.join(types[:-1])}) outs({names[-1]} : {types[-1]})"
                          + (f" {{{numbers}}}" if numbers else ""))
        if indent:
            self.lines.append("}")

    def text(self):
        body = self.body
        self.lines += [f"%c.{d} = arith.constant {d} : index" for d in range(3)]
        last = self.trace.calls[-1]
        for number, call in enumerate(self.trace.calls):
            operands = [self.stored(operand, f"{number}.{i}") for i, operand in enumerate(call.operands)]
            x = operands[0]
            sizes = self.sizes_like(x)
            if call.callee == "linear":
                sizes[-1] = (operands[1], 0)
            elif call.callee == "attention":
                sizes[-1] = (operands[2], 2)
            output = call.result.memory
            # The last one makes the result itself.
            if call is last and self.result.memory == output:
                output = body.output
            else:
                self.temporary(output, sizes)
            self.call(call, operands, output)
        if self.result.memory != last.result.memory:
            self.loop(self.result, body.output)
        low, high = f"t * {body.rows}", f"t * {body.rows} + {body.rows}"

        def access(kind, operand):
            ends = (("0", f"{ALL}") if operand in body.vectors else
                    ("0, 0", f"{ALL}, {ALL}") if operand in body.matrices else
                    ("0, 0, 0", f"past + {high}, {ALL}, {ALL}") if operand in body.states else
                    (f"0, {low}, 0", f"{ALL}, {high}, {ALL}") if body.scores else
                    (f"{low}, 0, 0", f"{high}, {ALL}, {ALL}") if body.states else
                    (f"{low}, 0", f"{high}, {ALL}"))
            return f"#event.access<{kind} @{operand}, (t){STEP} -> ({ends[0]})\n    to (t){STEP} -> ({ends[1]})>"

        accesses = ",\n   ".join([*(access("read", operand) for operand in body.operands),
                                  access("write", body.output)])
        arguments = ", ".join(f"%{operand}: {self.types[operand]}" for operand in (*body.operands, body.output))
        code = "".join(f"  {line}\n" for line in self.lines)
        return f"""event.body @{body.name}
  grid (){STEP} -> (rows ceildiv {body.rows})
  accesses
  [{accesses}] {{
^bb0({arguments}):
{code}}}"""


def body(function=None, rows=16, vectors=(), scores=False, matrices=(), states=()):
    """Makes a Body of a function of elements: sums, products, quotients, integer powers,
    and maximum, minimum, exp, log, sqrt, rsqrt, tanh, erf, absolute, sigmoid; and of what
    baton.library makes of whole rows.

    A task computes `rows` rows. Operands named in `vectors` have one element for each
    column. With `scores` operands are attention's, [H, rows, kv]. Those named in `matrices`
    [N, K] and in `states` [kv, G, N] are whole, for functions of baton.library; with states,
    rows are [rows, H, N]. The adjoints follow from the function, but where it calls the
    library; where maximum or minimum has two equal operands, the second one gets the
    gradient. Raises Error."""
    if function is None:
        return functools.partial(body, rows=rows, vectors=vectors, scores=scores, matrices=matrices, states=states)
    for name in (function.__name__, *inspect.signature(function).parameters):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Error(f"{name!r} is no name of the IR's")
    return Body(function, rows, vectors, scores, matrices, states)
