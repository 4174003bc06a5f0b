"""Models as code: a method for each op of the model dialect, and the pieces of
attention that models share.

    model = baton.Model("small", max_seq=128)
    table = model.weight("embed", [256, 32])
    x = model.embedding(model.tokens, table)
    x = model.stack(x, 4, lambda x: x + model.linear("layers.{layer}.up", x, 32))
    model.finish(model.linear("head", model.last_rows(x), 256))
    print(model)

A name that has parameters is the checkpoint's module, with "{layer}" for the layer's
number in a stack ("{layer+1}" for the next one of a pattern of several): "layers.
{layer}.up" reads the tensor "layers.{layer}.up.weight". Phases, traces and errors are
named after the ops. Ops without parameters have a keyword `name`.
"""

import re

from . import ir
from .errors import Error
from .ir import Block, Op, Type, Value

ACTIVATIONS = ("identity", "silu", "gelu", "gelu_tanh", "relu")
MIXINGS = ("none", "identity", "free", "sinkhorn")
LAYER = re.compile(r"\.?\{layer(\+\d+)?\}")


def location(name):
    """Names a module whatever its layer: "layers.up" of "layers.{layer}.up"."""
    return LAYER.sub(lambda match: match.group(1) or "", name)


class Model:
    """A program of the model dialect, written op by op.

    `max_seq` is the longest sequence in tokens. `weights` is the type of matrices
    in the checkpoint: f32, bf16 or f16; activations and vectors are f32. `family` is
    config.json's model_type, which programs that train compare. Tensors are looked up
    as `prefix` + name, then without the prefix, but those of `unprefixed` only so."""

    def __init__(self, name="model", max_seq=512, family=None, weights="f32", prefix="",
                 unprefixed=("lm_head.",)):
        if not isinstance(max_seq, int) or max_seq < 1:
            raise Error(f"max_seq is {max_seq!r}, expected a number of tokens, at least 1")
        self.name, self.max_seq, self.family, self.weight_type = name, max_seq, family, weights
        self.prefix, self.unprefixed = prefix, tuple(unprefixed)
        self.tokens = Value(self, Type(["rows"], "i32"))
        self.body = self.block = Block([self.tokens])
        self.bodies = {}
        # What a checkpoint would have, where the model was not written for one: name ->
        # array. See `compile`.
        self.tensors = None
        self._names = {}
        self._attentions = 0
        self._finished = False

    # -----------------------------------------------------------------------
    # Writing ops
    # -----------------------------------------------------------------------

    def _unique(self, name, kind):
        if name is not None:
            return location(name)
        count = self._names[kind] = self._names.get(kind, 0) + 1
        return kind if count == 1 else f"{kind}.{count}"

    def _write(self, kind, operands, types, name, attributes=None, **more):
        if self._finished:
            raise Error(f"{kind}: the model is finished")
        operands = [self._check(kind, value) for value in operands]
        for word, value in more.get("words", ()):
            self._check(f"{kind}: {word}", value)
        op = Op(kind, operands, [], self._unique(name, kind), attributes, **more)
        op.results = [Value(self, type, op) for type in types]
        self.block.ops.append(op)
        return op.results[0] if len(op.results) == 1 else tuple(op.results)

    def _check(self, what, value):
        if not isinstance(value, Value):
            raise Error(f"{what}: an operand is {value!r}, expected a value of the model")
        if value.model is not self:
            raise Error(f"{what}: an operand is of another model")
        return value

    def _expect(self, condition, kind, name, text):
        if not condition:
            raise Error(f"{kind}{f' {name!r}' if name else ''}: {text}")

    # -----------------------------------------------------------------------
    # Parameters
    # -----------------------------------------------------------------------

    def parameter(self, name, shape, element="f32", transposed=False, blocks=None, plus=0.0, sources=None):
        """A tensor of the checkpoint, `shape` as the model reads it.

        `transposed`: it is stored as [K, N]. `blocks` (size, stride, offset): of a
        taller stored tensor these rows. `plus`: is added to each element. `sources`:
        names to try, in place of `name` with and without the prefix."""
        if sources is None:
            bare = name.startswith(self.unprefixed) or not self.prefix
            sources = [name] if bare else [self.prefix + name, name]
        attributes = {}
        if blocks is not None:
            attributes["blocks"] = ir.i64s(blocks)
        if plus:
            attributes["plus"] = ir.f32(plus)
        lead = f"[{', '.join(map(ir.quoted, sources))}]" + (" transposed" if transposed else "")
        return self._write("parameter", [], [Type(shape, element)], name, attributes, lead=lead)

    def weight(self, module, shape, transposed=False, blocks=None):
        """The tensor `module`.weight, in the type of the model's weights."""
        return self.parameter(module + ".weight", shape, self.weight_type, transposed, blocks)

    def concat(self, *parts, name=None):
        """Parameters one after another along dimension 0, as one."""
        rows = sum(part.shape[0] for part in parts)
        return self._write("concat", parts, [Type((rows, *parts[0].shape[1:]), parts[0].type.element)], name)

    # -----------------------------------------------------------------------
    # Rows in, rows out
    # -----------------------------------------------------------------------

    def embedding(self, tokens, table, multiplier=1.0, name=None):
        """table[tokens] * multiplier, [rows, width], for a table [vocabulary, width]."""
        attributes = {} if multiplier == 1 else {"multiplier": ir.f32(multiplier)}
        return self._write("embedding", [tokens, table], [Type(["rows", table.shape[1]])], name, attributes)

    def position_embedding(self, table, name=None):
        """The table's row at each token's position, [rows, width]."""
        return self._write("position_embedding", [table], [Type(["rows", table.shape[1]])], name)

    def linear(self, module, x, outputs=None, bias=False, transposed=False, blocks=None, weight=None,
               name=None):
        """x [R, K] · weightᵀ + bias, [R, outputs].

        The weight [outputs, K] is `module`.weight, or `weight`, which is there already;
        `bias` is whether there is `module`.bias, or a value [outputs]. `blocks`: of
        taller stored tensors these rows only."""
        self._expect(len(x.shape) == 2, "linear", module, f"x has the shape {x.shape}, expected [R, K]")
        if weight is None:
            self._expect(outputs is not None, "linear", module, "neither outputs nor a weight")
            weight = self.weight(module, [outputs, x.shape[1]], transposed, blocks)
        self._expect(weight.shape[1:] == x.shape[1:], "linear", module,
                     f"x has the shape {x.shape}, the weight {weight.shape}")
        if bias is True:
            bias = self.parameter(module + ".bias", [weight.shape[0]], blocks=blocks)
        words = [("bias", bias)] if isinstance(bias, Value) else []
        return self._write("linear", [x, weight], [Type([x.shape[0], weight.shape[0]])], name or module,
                           words=words)

    def rms_norm(self, module, x, epsilon, plus=0.0, weight=None, name=None):
        """x / sqrt(mean(x²) + epsilon) * weight over the last dimension of [R, K] or
        [R, H, K]. `plus` is added to the stored weight [K]."""
        if weight is None:
            weight = self.parameter(module + ".weight", x.shape[-1:], plus=plus)
        return self._write("rms_norm", [x, weight], [x.type], name or module, {"epsilon": ir.f32(epsilon)})

    def layer_norm(self, module, x, epsilon, weight=None, bias=None, name=None):
        """(x - mean) / sqrt(variance + epsilon) * weight + bias over the rows of [R, K]."""
        weight = weight or self.parameter(module + ".weight", x.shape[-1:])
        bias = bias or self.parameter(module + ".bias", x.shape[-1:])
        return self._write("layer_norm", [x, weight, bias], [x.type], name or module,
                           {"epsilon": ir.f32(epsilon)})

    def activate(self, x, activation, name=None):
        """identity, silu, gelu (by erf), gelu_tanh or relu of each element."""
        self._expect(activation in ACTIVATIONS, "activate", name,
                     f"{activation!r}, expected one of {', '.join(ACTIVATIONS)}")
        return self._write("activate", [x], [x.type], name, {"activation": f"#model.activation<{activation}>"})

    def add(self, x, y, name=None):
        """x + y, of one type."""
        self._same("add", x, y, name)
        return self._write("add", [x, y], [x.type], name)

    def mul(self, x, y, name=None):
        """x * y, of one type."""
        self._same("mul", x, y, name)
        return self._write("mul", [x, y], [x.type], name)

    def _same(self, kind, x, y, name):
        for value in (x, y):
            self._check(kind, value)
        self._expect(x.type == y.type, kind, name, f"operands are {x!r} and {y!r}, expected one type")

    def scale(self, x, factor, name=None):
        """x * factor, a number."""
        return self._write("scale", [x], [x.type], name, {"factor": ir.f32(factor)})

    def tanh(self, x, name=None):
        return self._write("tanh", [x], [x.type], name)

    def softcap(self, x, limit, name):
        """limit * tanh(x / limit)"""
        x = self.scale(x, ir.single(1 / ir.single(limit)), name + ".divide")
        return self.scale(self.tanh(x, name + ".tanh"), limit, name)

    def gate(self, x, gate, name=None):
        """x [rows, H, E] * sigmoid(gate), of [rows, H] or [rows, H, E]."""
        return self._write("gate", [x, gate], [x.type], name)

    def last_rows(self, x, name=None):
        """The rows that get logits, [outputs, K] of [rows, K]."""
        return self._write("last_rows", [x], [Type(["outputs", *x.shape[1:]])], name)

    # -----------------------------------------------------------------------
    # Views
    # -----------------------------------------------------------------------

    def reshape(self, x, shape, name=None):
        """Splits or joins dimensions after the first."""
        return self._write("reshape", [x], [Type(shape, x.type.element)], name)

    def transpose(self, x, permutation, name=None):
        """Dimension i of the result is x's dimension permutation[i]."""
        shape = [x.shape[axis] for axis in permutation]
        return self._write("transpose", [x], [Type(shape, x.type.element)], name,
                           {"permutation": ir.i64s(permutation)})

    def slice(self, x, axis, offset, size, name=None):
        """`size` indices of one numbered dimension, from `offset` on."""
        shape = (*x.shape[:axis], size, *x.shape[axis + 1:])
        return self._write("slice", [x], [Type(shape, x.type.element)], name,
                           {"axis": ir.i64(axis), "offset": ir.i64(offset)})

    def broadcast(self, x, axis, times, name=None):
        """Repeats each index of a numbered dimension next to itself."""
        shape = (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1:])
        return self._write("broadcast", [x], [Type(shape, x.type.element)], name,
                           {"axis": ir.i64(axis), "times": ir.i64(times)})

    def split_heads(self, x, heads, name=None):
        """[R, heads · dim] to [R, heads, dim]."""
        self._expect(x.shape[1] % heads == 0, "split_heads", name,
                     f"{x.shape[1]} columns are not divisible into {heads} heads")
        return self.reshape(x, [x.shape[0], heads, x.shape[1] // heads], name)

    # -----------------------------------------------------------------------
    # Attention
    # -----------------------------------------------------------------------

    def rope_table(self, frequencies, scale=1.0, name=None):
        """Cosines, then sines, of position * frequency, times `scale`: [rows, 2 n] for n
        frequencies in radians per position."""
        attributes = {"frequencies": ir.f32s(frequencies)}
        if scale != 1:
            attributes["scale"] = ir.f32(scale)
        return self._write("rope_table", [], [Type(["rows", 2 * len(frequencies)])], name, attributes)

    def rope(self, x, table, name=None):
        """Turns pairs (i, i + n) of every head of [rows, heads, dim] by a table [rows,
        2 n]; dimensions past 2 n pass through."""
        return self._write("rope", [x, table], [x.type], name)

    def kv_append(self, x, state, name=None):
        """Appends x [rows, heads, dim] to a state, and reads all of it: [kv, heads, dim].
        Each iteration of a stack has a state of its own."""
        return self._write("kv_append", [x], [Type(["kv", *x.shape[1:]])], name, tail=f"to {ir.quoted(state)}")

    def matmul(self, x, y, name=None):
        """[B, M, K] · [B, K, N], M a symbol."""
        return self._write("matmul", [x, y], [Type([*x.shape[:2], y.shape[2]])], name)

    def mask(self, x, window=0, name=None):
        """Hides from each row of [H, rows, kv] the positions behind it, and with a window
        all but the last `window` of the others."""
        return self._write("mask", [x], [x.type], name, {"window": ir.i64(window)} if window else {})

    def softmax(self, x, name=None):
        """Over the last dimension."""
        return self._write("softmax", [x], [x.type], name)

    def attention(self, q, k, v, scale, softcap=0.0, window=0, gate=None, name=None):
        """Causal attention as one op, [rows, H, E]: q [rows, H, D], states k [kv, G, D]
        and v [kv, G, E], G a divisor of H."""
        attributes = {"scale": ir.f32(scale)}
        if softcap:
            attributes["softcap"] = ir.f32(softcap)
        if window:
            attributes["window"] = ir.i64(window)
        return self._write("attention", [q, k, v] + ([gate] if gate else []),
                           [Type([*q.shape[:2], v.shape[2]])], name, attributes)

    def attend(self, module, q, k, v, scale=None, softcap=0.0, window=0, weights=None):
        """Causal attention in primitive form, [rows, H, E]: appends k [rows, G, D] and
        v [rows, G, E] to states of their own, for q [rows, H, D], G a divisor of H.
        Without `scale` scores stay as they are. `weights` is what makes weights of masked
        scores [H, rows, kv], a function of them and a name; without it, `softmax`."""
        heads, groups = q.shape[1], k.shape[1]
        self._expect(heads % groups == 0, "attend", module,
                     f"{groups} key/value heads do not divide {heads} heads")
        at = location(module)
        self._attentions += 1
        number = f".{self._attentions}" if self._attentions > 1 else ""
        keys = self.kv_append(k, "k" + number, at + ".k_state")
        values = self.kv_append(v, "v" + number, at + ".v_state")
        q = self.transpose(q, [1, 0, 2], at + ".q_heads")
        keys = self.transpose(keys, [1, 2, 0], at + ".k_heads")
        if heads != groups:
            keys = self.broadcast(keys, 0, heads // groups, at + ".k_repeat")
        values = self.transpose(values, [1, 0, 2], at + ".v_heads")
        if heads != groups:
            values = self.broadcast(values, 0, heads // groups, at + ".v_repeat")
        scores = self.matmul(q, keys, at + ".scores")
        if scale is not None:
            scores = self.scale(scores, scale, at + ".scale")
        if softcap:
            scores = self.softcap(scores, softcap, at + ".softcap")
        scores = self.mask(scores, window, at + ".mask")
        scores = weights(scores, at + ".weights") if weights else self.softmax(scores, at + ".softmax")
        result = self.matmul(scores, values, at + ".weighted_values")
        return self.transpose(result, [1, 0, 2], at + ".attention")

    def causal_attention(self, module, q, k, v, scale=None, softcap=0.0, window=0, gate=None, weights=None):
        """As `attend`, with its heads gated by `gate` and joined: [rows, H · E]."""
        result = self.attend(module, q, k, v, scale, softcap, window, weights)
        at = location(module)
        if gate is not None:
            result = self.gate(result, gate, at + ".gate")
        return self.reshape(result, ["rows", result.shape[1] * result.shape[2]], at + ".merge_heads")

    # -----------------------------------------------------------------------
    # Hyper-connections (docs/hyper-connections.md)
    # -----------------------------------------------------------------------

    def hyper_project(self, x, phi, epsilon, name=None):
        """(x · phiᵀ) / sqrt(mean(x²) + epsilon), [R, M]: x [R, n, C], phi [M, n · C]."""
        return self._write("hyper_project", [x, phi], [Type([x.shape[0], phi.shape[0]])], name,
                           {"epsilon": ir.f32(epsilon)})

    def hyper_maps(self, logits, scale, base, streams, mixing, iterations, epsilon, name=None):
        """What a sublayer reads and writes, and how streams mix: [R, M] of logits [R, M]."""
        self._expect(mixing in MIXINGS, "hyper_maps", name, f"{mixing!r}, expected one of {', '.join(MIXINGS)}")
        return self._write("hyper_maps", [logits, scale, base], [logits.type], name, {
            "streams": ir.i64(streams), "mixing": f"#model.mixing<{mixing}>",
            "iterations": ir.i64(iterations), "epsilon": ir.f32(epsilon)})

    def hyper_pre(self, x, weights, name=None):
        """What a sublayer reads of streams: [R, C] of x [R, n, C] and weights [R, n]."""
        return self._write("hyper_pre", [x, weights], [Type([x.shape[0], x.shape[2]])], name)

    def hyper_post(self, x, y, weights, name=None):
        """The streams [R, n, C] after a sublayer made y [R, C]."""
        return self._write("hyper_post", [x, y, weights], [x.type], name)

    # -----------------------------------------------------------------------
    # Bodies, stacks, the end
    # -----------------------------------------------------------------------

    def custom(self, body, *inputs, columns=None, name=None):
        """What a task body of one's own (`baton.body`) computes of values [R, N] and
        vectors [N]: [R, columns], as wide as the first input without `columns`; or of
        scores [H, rows, kv]."""
        known = self.bodies.setdefault(body.name, body)
        self._expect(known is body, "custom", name, f"another body is named {body.name!r}")
        body.check(inputs)
        shape = inputs[0].shape
        return self._write("custom", inputs, [Type([*shape[:-1], columns or shape[-1]])], name or body.name,
                           lead=f"@{body.name}")

    def stack(self, x, repeat, pattern, first_layer=0, layers=1, name="layers"):
        """`repeat` copies of what `pattern` writes, each feeding the next: a function of x
        [rows, ...] to a value of the same type, or of several to as many.

        A copy holds `layers` layers, counted from `first_layer` on."""
        carried = list(x) if isinstance(x, (tuple, list)) else [x]
        block = Block([Value(self, value.type) for value in carried])
        outer, self.block = self.block, block
        try:
            results = pattern(*block.arguments)
        finally:
            self.block = outer
        block.results = list(results) if isinstance(results, (tuple, list)) else [results]
        for value in block.results:
            self._check("stack", value)
        types = [value.type for value in carried]
        self._expect([value.type for value in block.results] == types, "stack", name,
                     "the pattern returns other types than it takes")
        attributes = {}
        if first_layer:
            attributes["first_layer"] = ir.i64(first_layer)
        if layers != 1:
            attributes["layers_per_iteration"] = ir.i64(layers)
        return self._write("stack", carried, types, name, attributes, tail=f"repeat {int(repeat)}", block=block)

    def finish(self, logits):
        """Ends the program with its logits [outputs, vocabulary]. Returns the model."""
        self._check("finish", logits)
        self._expect(len(logits.shape) == 2 and logits.shape[0] == "outputs", "finish", None,
                     f"logits have the shape {logits.shape}, expected [outputs, vocabulary]; see last_rows")
        self.body.results = [logits]
        self._finished = True
        return self

    # -----------------------------------------------------------------------
    # Text
    # -----------------------------------------------------------------------

    def text(self):
        """The model's IR. Raises Error where it is not finished."""
        if not self._finished:
            raise Error(f"the model {self.name!r} is not finished: call finish with its logits")
        printer = ir.Printer()
        printer.block(self.body, "model.return", 1)
        family = f" family {ir.quoted(self.family)}" if self.family else ""
        symbol = self.name if re.fullmatch(r"[A-Za-z_][\w$.]*", self.name) else ir.quoted(self.name)
        head = f"model.program @{symbol} max_seq {self.max_seq}{family} {{"
        end = f"}} loc({ir.quoted(self.name)})"
        bodies = [body.text() for body in self.bodies.values()]
        return "\n".join([*bodies, head, *printer.lines, end]) + "\n"

    __str__ = text
