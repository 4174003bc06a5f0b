"""Decoders of PyTorch in the model dialect.

A node of the exported program is either the root of something that the dialect has (a
norm, a rotation, attention, a sum), or lies inside of one, or is constant. Roots are found
from the logits back to the tokens, and written from the tokens on. roll.py then finds the
layers that repeat.
"""

import torch

from . import graph as graphs
from .errors import Error
from .graph import Graph, arguments, failure, is_getitem, operation
from .model import Model
from .roll import Layers, roll, select_rows

VIEWS = {"view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze"}
ACTIVATIONS = {"silu": "silu", "relu": "relu", "gelu": "gelu"}
TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.float64: "f64"}
# sqrt(2 / pi), and the factor of the cube, of gelu's approximation by tanh.
GELU_OUTER, GELU_CUBE = 0.7978845608028654, 0.044715


def translate(module, example, max_seq, name, family):
    """What `baton.from_torch` does, which says what these are."""
    config = getattr(module, "config", None)
    if max_seq is None:
        max_seq = getattr(config, "max_position_embeddings", None)
    if not isinstance(max_seq, int):
        raise Error("max_seq is missing, and the module has no config.max_position_embeddings")
    family = family or getattr(config, "model_type", None)
    prefix = getattr(module, "base_model_prefix", "")
    model = Model(name or family or type(module).__name__, max_seq, family=family,
                  prefix=prefix + "." if prefix else "")
    graph = Graph(module, example, max_seq)
    translator = Translator(graph, model)
    model.body.results = [translator.run()]
    roll(model, translator.layers)
    model.tensors = translator.tensors
    return model.finish(select_rows(model, model.body.results[0]))


def drop_unread(block, result):
    """Removes ops whose results nothing reads."""
    read, kept = {result}, []
    for op in reversed(block.ops):
        if any(value in read for value in op.results):
            kept.append(op)
            read.update(op.reads())
    block.ops = kept[::-1]


class Act:
    """A value in PyTorch's layout: dimension i of it is dimension axes[i] of `value`, or of
    size 1 where that is None. `times`: each head is repeated so often."""

    def __init__(self, value, axes, label, times=1):
        self.value, self.axes, self.label, self.times = value, tuple(axes), label, times


class Translator:
    """Writes one graph's ops to a model."""

    def __init__(self, graph, model):
        self.graph, self.model = graph, model
        self.layers = Layers()
        self.tensors = {}
        self.acts, self.roots = {}, {}
        self.tables, self.shared, self.stored, self.names = {}, {}, {}, {}

    def run(self):
        """Writes the ops; returns the logits [rows, vocabulary]."""
        graph = self.graph
        output = graph.through(graph.output)
        needed = {output}
        for node in reversed(graph.nodes):
            if node not in needed or node is graph.tokens:
                continue
            match = self.match(node)
            self.roots[node] = match
            needed.update(graph.through(source) for source in match[1])
        for node in graph.nodes:
            if node in self.roots:
                self.node = node
                self.acts[node] = self.roots[node][0]()
        self.node = output
        logits = self.rows_first(self.acts[output])
        drop_unread(self.model.body, logits)
        return logits

    # -----------------------------------------------------------------------
    # Pieces of patterns
    # -----------------------------------------------------------------------

    def is_op(self, node, *names):
        return isinstance(node, torch.fx.Node) and node.op == "call_function" and operation(node) in names \
            and node not in self.graph.constants

    def act(self, node):
        return self.acts[self.graph.through(node)]

    def parameter_of(self, node):
        """(node, plus, transposed) of a parameter, changed in no other way, or None."""
        if not isinstance(node, torch.fx.Node):
            return None
        node = self.graph.through(node)
        if node in self.graph.parameters:
            return node, 0.0, False
        if self.is_op(node, "add", "rsub"):
            found = arguments(node)
            for one, other in ((found.x, found.other), (found.other, found.x)):
                number, below = self.graph.number(one), self.parameter_of(other)
                if operation(node) == "add" and found.alpha == 1 and number is not None and below and not below[1]:
                    return below[0], number, below[2]
        if self.is_op(node, "t", "numpy_T") or (self.is_op(node, "transpose") and len(self.graph.shape(node)) == 2):
            below = self.parameter_of(node.args[0])
            return below and (below[0], below[1], not below[2])
        return None

    def scaled(self, node):
        """(x, factor) of x times or divided by a number, or None."""
        if not self.is_op(node, "mul", "div", "neg") or getattr(arguments(node), "rounding_mode", None):
            return None
        if operation(node) == "neg":
            return node.args[0], -1.0
        one, other = node.args[:2]
        number = self.graph.number(other)
        if number is not None and isinstance(one, torch.fx.Node):
            return one, number if operation(node) == "mul" else 1 / number
        number = self.graph.number(one)
        if number is not None and operation(node) == "mul":
            return other, number
        return None

    def part(self, node):
        """(x, begin, end) of the last dimension of x that a node is."""
        node = self.graph.through(node)
        if self.is_op(node, "slice"):
            found, rank = arguments(node), len(self.graph.shape(node))
            if found.dim % rank == rank - 1 and found.step == 1:
                size = self.graph.shape(node)[-1]
                begin = found.start or 0
                begin += self.graph.shape(node.args[0])[-1] if begin < 0 else 0
                return self.graph.through(node.args[0]), begin, begin + size
        if is_getitem(node) and self.is_op(node.args[0], "chunk", "split", "split_with_sizes"):
            pieces = node.args[0]
            found = arguments(pieces)
            source = self.graph.through(found.x)
            if found.dim % len(self.graph.shape(source)) == len(self.graph.shape(source)) - 1:
                sizes = [value.shape[-1] for value in pieces.meta["val"]]
                return source, sum(sizes[:node.args[1]]), sum(sizes[:node.args[1] + 1])
        return node, 0, self.graph.shape(node)[-1]

    def rms(self, node):
        """(x, epsilon) of x / sqrt(mean(x²) + epsilon), or None."""
        node = self.graph.through(node)
        if not self.is_op(node, "mul", "div"):
            return None
        kinds = {"mul": "rsqrt", "div": "sqrt"}
        pairs = [node.args[:2], node.args[1::-1]] if operation(node) == "mul" else [node.args[:2]]
        for x, root in pairs:
            if not isinstance(root, torch.fx.Node):
                continue
            root = self.graph.through(root)
            power = None
            if self.is_op(root, kinds[operation(node)]):
                power = root.args[0]
            elif operation(node) == "mul" and self.is_op(root, "pow") and self.graph.number(root.args[1]) == -0.5:
                power = root.args[0]
            if power is None or not self.is_op(power, "add"):
                continue
            epsilon = self.graph.number(power.args[1])
            mean = self.graph.through(power.args[0])
            if epsilon is None or not self.is_op(mean, "mean"):
                continue
            found = arguments(mean)
            square = self.graph.through(found.x)
            last = len(self.graph.shape(square)) - 1
            if [dim % (last + 1) for dim in found.dim or []] != [last] or not found.keepdim:
                continue
            is_square = self.is_op(square, "pow") and self.graph.number(square.args[1]) == 2 \
                or self.is_op(square, "mul") and square.args[0] is square.args[1]
            if is_square and self.graph.through(square.args[0]) is self.graph.through(x):
                return self.graph.through(x), epsilon
        return None

    def gelu_by_tanh(self, node):
        """x of 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))), or None."""
        if not self.is_op(node, "mul"):
            return None
        for half, rest in (node.args[:2], node.args[1::-1]):
            outer = self.scaled(half) if isinstance(half, torch.fx.Node) else None
            if not outer or outer[1] != 0.5 or not self.is_op(rest, "add"):
                continue
            x = self.graph.through(outer[0])
            one, tanh = self.graph.number(rest.args[1]), rest.args[0]
            if one is None:
                one, tanh = self.graph.number(rest.args[0]), rest.args[1]
            if one != 1 or not self.is_op(tanh, "tanh"):
                continue
            inner = self.scaled(tanh.args[0])
            if not inner or abs(inner[1] - GELU_OUTER) > 1e-6 or not self.is_op(inner[0], "add"):
                continue
            for value, cube in (inner[0].args[:2], inner[0].args[1::-1]):
                cubed = self.scaled(cube) if isinstance(cube, torch.fx.Node) else None
                if cubed and self.graph.through(value) is x and abs(cubed[1] - GELU_CUBE) < 1e-9 \
                        and self.is_op(cubed[0], "pow") and self.graph.number(cubed[0].args[1]) == 3 \
                        and self.graph.through(cubed[0].args[0]) is x:
                    return x
        return None

    # -----------------------------------------------------------------------
    # Rotations
    # -----------------------------------------------------------------------

    def by_table(self, node):
        """(x, table) of x times a table that depends on positions, or None."""
        if not self.is_op(node, "mul"):
            return None
        for x, table in (node.args[:2], node.args[1::-1]):
            if isinstance(table, torch.fx.Node) and table in self.graph.constants \
                    and self.graph.number(table) is None and isinstance(x, torch.fx.Node) \
                    and x not in self.graph.constants:
                return x, table
        return None

    def half_turned(self, node):
        """The source of a part whose halves are swapped, the first one negated: (x, begin,
        end), or None."""
        node = self.graph.through(node)
        if not self.is_op(node, "cat") or len(node.args[0]) != 2:
            return None
        first, second = node.args[0]
        if not self.is_op(first, "neg"):
            return None
        upper, lower = self.part(first.args[0]), self.part(second)
        if upper[0] is lower[0] and lower[2] == upper[1] and upper[2] - upper[1] == lower[2] - lower[1]:
            source, begin, _ = self.part_of(upper[0])
            return source, begin + lower[1], begin + upper[2]
        return None

    def rotation(self, node):
        """((x, begin, end), cosines, sines) of a part of the heads that turns, or None."""
        node = self.graph.through(node)
        if self.is_op(node, "add"):
            left, right = (self.by_table(side) if isinstance(side, torch.fx.Node) else None for side in node.args[:2])
            if not left or not right:
                return None
            for (x, cosines), (turned, sines) in ((left, right), (right, left)):
                source = self.half_turned(turned)
                if source and source == self.part_of(x):
                    return source, cosines, sines
        if self.is_op(node, "cat") and len(node.args[0]) == 2:
            # x1 cos - x2 sin and x2 cos + x1 sin, joined.
            first, second = node.args[0]
            if not self.is_op(first, "sub") or not self.is_op(second, "add"):
                return None
            terms = [self.by_table(side) for half in (first, second) for side in half.args[:2]]
            if not all(terms):
                return None
            (x1, c1), (x2, s1), (y2, c2), (y1, s2) = [(self.part_of(x), table) for x, table in terms]
            if (x1, x2, c1, s1) == (y1, y2, c2, s2) and x1[0] is x2[0] and x1[2] == x2[1]:
                return (x1[0], x1[1], x2[2]), c1, s1
        return None

    def part_of(self, node):
        """As `part`, of the source of all slices."""
        source, begin, end = self.part(node)
        while True:
            below, before, _ = self.part(source)
            if below is source:
                return source, begin, end
            source, begin, end = below, before + begin, before + end

    def match_rotation(self, node):
        """A rotation of whole heads, or of their first dimensions with the others behind."""
        whole = self.rotation(node)
        if whole is None and self.is_op(node, "cat") and len(node.args[0]) == 2:
            rest = self.part_of(node.args[0][1])
            turns = self.rotation(node.args[0][0])
            if turns and turns[0][0] is rest[0] and turns[0][2] == rest[1]:
                whole = (turns[0][0], turns[0][1], rest[2]), *turns[1:]
        if whole is None:
            return None
        (source, begin, end), cosines, sines = whole
        return lambda: self.write_rotation(node, source, begin, end, cosines, sines), [source]

    def write_rotation(self, node, source, begin, end, cosines, sines):
        table = self.table(node, cosines, sines)
        act = self.cut(self.act(source), begin, end, node)
        value = self.heads(act, node)
        turned = self.write("rope", value, table, name=self.path(node, f"{act.label}_rope"))
        return Act(self.back(turned, act, node), act.axes, act.label)

    def table(self, node, cosines, sines):
        """The rotary table of cosines and sines: one for all that are equal."""
        key = tuple(self.base_of(part) for part in (cosines, sines))
        if key not in self.tables:
            frequencies, scale = graphs.rotary_angles(self.graph, cosines, sines)
            half = len(frequencies) // 2
            if frequencies[:half] == frequencies[half:]:
                frequencies = frequencies[:half]
            elif self.is_op(self.graph.through(node), "add"):
                raise failure(node, "it turns pairs (2 i, 2 i + 1); the dialect turns pairs (i, i + n)")
            content = (tuple(frequencies), scale)
            if content not in self.tables:
                with self.layers.outside():
                    self.tables[content] = self.write("rope_table", frequencies, scale, name=self.table_name(cosines))
            self.tables[key] = self.tables[content]
        return self.tables[key]

    def base_of(self, node):
        """A table without views of it."""
        while node.op == "call_function" and operation(node) in VIEWS | {"to", "alias", "expand"}:
            node = node.args[0]
        return node

    def table_name(self, node):
        source = next((found for found in self.graph.ancestors(node) if operation(found) == "cos"), node)
        path, has_children = self.graph.module_path(source)
        return self.unique("rope_table" if has_children or not path else self.bare(path))

    # -----------------------------------------------------------------------
    # Attention
    # -----------------------------------------------------------------------

    def match_attention(self, node):
        if self.is_op(node, "scaled_dot_product_attention"):
            found = arguments(node)
            if found.dropout_p:
                raise failure(node, "dropout in training; export the module after module.eval()")
            if found.attn_mask is None and not found.is_causal:
                raise failure(node, "attention that is not causal")
            masks = [] if found.attn_mask is None else [(found.attn_mask, False)]
            scale = found.scale
            if scale is None:
                scale = self.graph.shape(found.query)[-1] ** -0.5
            return self.attention(node, found.query, found.key, found.value, scale, 0.0, masks)
        if not self.is_op(node, "matmul", "bmm"):
            return None
        weights = self.graph.through(node.args[0])
        if not self.is_op(weights, "softmax", "_softmax"):
            return None
        if arguments(weights).dim % len(self.graph.shape(weights)) != len(self.graph.shape(weights)) - 1:
            raise failure(weights, "a softmax over another dimension than the last one")
        scores, masks, softcap = self.graph.through(weights.args[0]), [], 0.0
        scale = None
        while True:
            scores = self.graph.through(scores)
            times = self.scaled(scores)
            if self.is_op(scores, "add") and any(side in self.graph.constants for side in scores.args[:2]):
                mask = next(side for side in scores.args[:2] if side in self.graph.constants)
                masks.append((mask, False))
                scores = scores.args[1] if scores.args[0] is mask else scores.args[0]
            elif self.is_op(scores, "where") and scores.args[0] in self.graph.constants \
                    and (self.graph.number(scores.args[2]) or 0) < -1e4:
                masks.append((scores.args[0], False))
                scores = scores.args[1]
            elif self.is_op(scores, "masked_fill") and scores.args[1] in self.graph.constants \
                    and (self.graph.number(scores.args[2]) or 0) < -1e4:
                masks.append((scores.args[1], True))
                scores = scores.args[0]
            elif times and self.is_op(self.graph.through(times[0]), "tanh") and scale is None:
                inside = self.scaled(self.graph.through(times[0]).args[0])
                if not inside or abs(inside[1] * times[1] - 1) > 1e-6:
                    raise failure(scores, "scores are capped otherwise than by c tanh(x / c)")
                softcap, scores = times[1], inside[0]
            elif times:
                scale, scores = (scale or 1.0) * times[1], times[0]
            else:
                break
        if not self.is_op(scores, "matmul", "bmm"):
            raise failure(weights, "a softmax of something that is no product of queries and keys")
        keys = self.graph.through(scores.args[1])
        rank = len(self.graph.shape(keys))
        swapped = self.is_op(keys, "transpose") and {dim % rank for dim in keys.args[1:3]} == {rank - 1, rank - 2}
        if not swapped:
            raise failure(scores, "keys that are not transposed")
        if not masks:
            raise failure(weights, "attention that is not causal: there is no mask")
        return self.attention(node, scores.args[0], keys.args[0], node.args[1], scale, softcap, masks)

    def attention(self, node, q, k, v, scale, softcap, masks):
        windows = [self.graph.window(node, *mask) for mask in masks]
        window = min((window for window in windows if window), default=0)
        scale = None if scale == 1 else scale

        def write():
            parts = [self.act(part) for part in (q, k, v)]
            for part in parts:
                if len(part.axes) not in (3, 4) or part.axes[-2:] not in ((0, 1), (0, 2)):
                    raise failure(node, "queries, keys and values are not [1, heads, T, dim]")
            if parts[0].times != 1:
                parts[0] = self.plain(parts[0], node)
            if parts[1].times != parts[2].times:
                parts[1:] = [self.plain(part, node) for part in parts[1:]]
            values = [self.heads(part, node) for part in parts]
            path = self.bare(self.graph.module_path(node)[0]) or "attention"
            # Its ops are named within the path.
            count = self.unique(path + " ").rpartition(" ")[2]
            result = self.write("attend", path + count, *values, scale=scale, softcap=softcap, window=window)
            axes = (None, 1, 0, 2) if len(parts[0].axes) == 4 else (1, 0, 2)
            return Act(result, axes, "attention")

        return write, [q, k, v]

    def match_repeat(self, node):
        """Heads repeated next to themselves: expanded along a new dimension, which is
        joined with the one before, or repeat_interleave."""
        if self.is_op(node, "repeat_interleave"):
            found = arguments(node)
            source, times, dim = found.x, getattr(found, "repeats", None), found.dim
            if not isinstance(times, int) or dim != 1:
                return None
        elif self.is_op(node, "reshape", "view", "_unsafe_view", "flatten"):
            expanded = self.graph.through(node.args[0])
            if not self.is_op(expanded, "expand"):
                return None
            wide, narrow = self.graph.shape(expanded), self.graph.shape(expanded.args[0])
            changed = [axis for axis in range(len(wide)) if wide[axis] != narrow[axis]]
            one = self.graph.through(expanded.args[0])
            if len(changed) != 1 or narrow[changed[0]] != 1 or changed[0] != 2:
                return None
            source, times = one, wide[2]
            if self.is_op(one, "unsqueeze") and one.args[1] == 2:
                source = one.args[0]
            elif self.is_op(one, "slice", "index"):
                return None
            if len(self.graph.shape(source)) != 4 or \
                    self.graph.shape(node) != (wide[0], wide[1] * times, *wide[3:]):
                return None
        else:
            return None

        def write():
            act = self.act(source)
            return Act(act.value, act.axes, act.label, act.times * times)

        return write, [source]

    # -----------------------------------------------------------------------
    # All kinds of roots
    # -----------------------------------------------------------------------

    def match(self, node):
        """How to write a root, and the nodes that it reads. Raises Error."""
        if node in self.graph.constants or node in self.graph.parameters:
            raise failure(node, "a value that does not depend on tokens is read as one that does")
        for match in (self.match_norm, self.match_rotation, self.match_attention, self.match_repeat,
                      self.match_embedding, self.match_activation, self.match_gate):
            found = match(node)
            if found:
                return found
        if is_getitem(node) or operation(node) in ("slice", "narrow", "select"):
            return self.match_slice(node)
        handler = getattr(self, "match_" + operation(node), None)
        if operation(node) in VIEWS:
            return lambda: self.view(node), [node.args[0]]
        if handler is None or node.op != "call_function":
            raise failure(node, "the dialect has nothing for it")
        return handler(node)

    def match_embedding(self, node):
        factor, lookup = 1.0, node
        times = self.scaled(node)
        if times:
            below = self.graph.through(times[0])
            if self.is_op(below, "embedding") and len(below.users) == 1:
                factor, lookup = times[1], below
        if not self.is_op(lookup, "embedding"):
            return None
        table = self.parameter_of(lookup.args[0])
        if not table:
            raise failure(lookup, "a table that is no parameter")
        indices = self.graph.through(lookup.args[1])
        if indices is self.graph.tokens:
            def write():
                value = self.write("embedding", self.model.tokens, self.matrix(table[0], lookup), factor,
                                   name=self.path(lookup, "embedding"))
                return Act(value, (None, 0, 1), self.leaf(lookup))
            return write, []
        if indices in self.graph.constants and factor == 1:
            length = min(self.graph.max_seq, graphs.PROBE)
            positions = self.graph.evaluate(indices, length).reshape(-1)
            if not torch.equal(positions, torch.arange(length)):
                raise failure(lookup, "an embedding of other numbers than tokens and positions 0, 1, 2, ...")

            def write():
                value = self.write("position_embedding", self.matrix(table[0], lookup),
                                   name=self.path(lookup, "positions"))
                return Act(value, (None, 0, 1), self.leaf(lookup))
            return write, []
        raise failure(lookup, "an embedding of other numbers than tokens and positions")

    def match_norm(self, node):
        if self.is_op(node, "layer_norm", "rms_norm"):
            found = arguments(node)
            kind, epsilon = operation(node), found.eps
            if epsilon is None:
                epsilon = torch.finfo(torch.float32).eps
            if list(found.normalized_shape) != [self.graph.shape(node)[-1]]:
                raise failure(node, "a norm over several dimensions")
            weight = found.weight and self.parameter_of(found.weight)
            if not weight or kind == "layer_norm" and (found.bias is None or not self.parameter_of(found.bias)):
                raise failure(node, "a norm without a weight" + (" and a bias" if kind == "layer_norm" else ""))
            bias = self.parameter_of(found.bias) if kind == "layer_norm" else None
            return self.norm(node, node.args[0], kind, weight, bias, epsilon)
        if self.is_op(node, "mul"):
            for weight, normed in (node.args[:2], node.args[1::-1]):
                parameter = self.parameter_of(weight)
                found = self.rms(normed) if parameter and isinstance(normed, torch.fx.Node) else None
                if found:
                    return self.norm(node, found[0], "rms_norm", parameter, None, found[1])
        if self.rms(node):
            raise failure(node, "a norm without a weight")
        return None

    def norm(self, node, x, kind, weight, bias, epsilon):
        def write():
            act = self.plain(self.act(x), node)
            value = act.value
            if kind == "layer_norm" and len(value.shape) != 2:
                raise failure(node, "a layer norm of heads; the dialect has one of rows")
            if act.axes[-1] != len(value.shape) - 1:
                raise failure(node, "a norm over another dimension than the last one in memory")
            name = self.path(node, "norm")
            vectors = {"weight": self.vector(weight[0], node, weight[1])}
            if bias:
                vectors["bias"] = self.vector(bias[0], node)
            return Act(self.write(kind, name, value, epsilon, **vectors, name=name), act.axes, act.label)
        return write, [x]

    def match_linear(self, node):
        found = arguments(node)
        return self.linear(node, found.input, self.parameter_of(found.weight), found.bias)

    def match_addmm(self, node):
        found = arguments(node)
        if found.beta != 1 or found.alpha != 1:
            raise failure(node, "factors of a product")
        return self.linear(node, found.mat1, self.flipped(found.mat2), found.x)

    def match_matmul(self, node):
        if not self.parameter_of(node.args[1]):
            raise failure(node, "a product of two values that is no attention")
        return self.linear(node, node.args[0], self.flipped(node.args[1]), None)

    match_mm = match_matmul

    def flipped(self, node):
        found = self.parameter_of(node)
        return found and (found[0], found[1], not found[2])

    def linear(self, node, x, weight, bias):
        if not weight or weight[1]:
            raise failure(node, "a weight that is no parameter as it is stored")
        offset = self.parameter_of(bias) if bias is not None else None
        if bias is not None and (not offset or offset[1]):
            raise failure(node, "a bias that is no parameter as it is stored")

        def write():
            act = self.plain(self.act(x), node)
            value = self.rows_first(act)
            name = self.path(node, "linear")
            matrix = self.matrix(weight[0], node, weight[2])
            vector = self.vector(offset[0], node) if offset else False
            result = self.write("linear", name, value, weight=matrix, bias=vector, name=name)
            return Act(result, act.axes, self.leaf(node))
        return write, [x]

    def match_activation(self, node):
        kind, x = None, None
        if self.is_op(node, *ACTIVATIONS):
            kind, x = ACTIVATIONS[operation(node)], node.args[0]
            if kind == "gelu" and arguments(node).approximate == "tanh":
                kind = "gelu_tanh"
        elif self.is_op(node, "mul"):
            for one, other in (node.args[:2], node.args[1::-1]):
                if self.is_op(other, "sigmoid") and isinstance(one, torch.fx.Node) \
                        and self.graph.through(other.args[0]) is self.graph.through(one):
                    kind, x = "silu", one
            approximated = self.gelu_by_tanh(node)
            if approximated is not None:
                kind, x = "gelu_tanh", approximated
        if kind is None:
            return None
        return self.unary(node, x, lambda value, name: self.write("activate", value, kind, name=name), kind)

    def unary(self, node, x, make, label):
        def write():
            act = self.plain(self.act(x), node)
            return Act(make(act.value, self.path(node, label)), act.axes, act.label)
        return write, [x]

    def match_tanh(self, node):
        return self.unary(node, node.args[0], lambda value, name: self.write("tanh", value, name=name), "tanh")

    def match_gate(self, node):
        """x * sigmoid(gate): the result of attention, or any other rows."""
        if not self.is_op(node, "mul"):
            return None
        for x, gate in (node.args[:2], node.args[1::-1]):
            if isinstance(gate, torch.fx.Node) and self.is_op(self.graph.through(gate), "sigmoid") \
                    and isinstance(x, torch.fx.Node) and self.graph.shape(x) == self.graph.shape(gate):
                source = self.graph.through(gate).args[0]

                def write():
                    act, other = self.plain(self.act(x), node), self.plain(self.act(source), node)
                    value, gates = self.same_order(node, act, other)
                    flat, name = value.shape, self.path(node, "gate")
                    if len(flat) == 2:
                        value, gates = (self.write("reshape", part, ["rows", 1, flat[1]], name=f"{name}.{kind}")
                                        for part, kind in ((value, "x"), (gates, "by")))
                    result = self.write("gate", value, gates, name=name)
                    if len(flat) == 2:
                        result = self.write("reshape", result, flat, name=f"{name}.rows")
                    return Act(result, act.axes, act.label)
                return write, [x, source]
        return None

    def match_add(self, node):
        found = arguments(node)
        return self.sum(node, found.x, found.other, found.alpha)

    def match_sub(self, node):
        found = arguments(node)
        return self.sum(node, found.x, found.other, -found.alpha)

    def sum(self, node, x, y, factor):
        for side in (x, y):
            self.check_operand(node, side)

        def write():
            one, other = self.plain(self.act(x), node), self.plain(self.act(y), node)
            left, right = self.same_order(node, one, other)
            name = self.path(node, None)
            # As importers name it: after the linear whose task adds.
            last = next((act.value.op for act in (other, one) if act.value.op.kind in ("linear", "scale")), None)
            name = self.unique(last.name + ".residual") if last and factor == 1 else self.path(node, "sum")
            if factor != 1:
                right = self.write("scale", right, factor, name=name + ".scale")
            return Act(self.write("add", left, right, name=name), self.fullest(one, other), one.label)
        return write, [x, y]

    def match_mul(self, node):
        times = self.scaled(node)
        if times:
            def make(value, _):
                base = value.op.name if value.op else "tokens"
                return self.write("scale", value, times[1], name=self.unique(base + ".scale"))
            return self.unary(node, times[0], make, "scale")
        x, y = node.args[:2]
        for side in (x, y):
            self.check_operand(node, side)

        def write():
            one, other = self.plain(self.act(x), node), self.plain(self.act(y), node)
            left, right = self.same_order(node, one, other)
            label = f"{one.label}_{other.label}" if one.label and other.label else "product"
            return Act(self.write("mul", left, right, name=self.path(node, label)), self.fullest(one, other),
                       one.label)
        return write, [x, y]

    def match_div(self, node):
        if not self.scaled(node):
            raise failure(node, "a quotient that is no product with a number")
        return self.match_mul(node)

    match_neg = match_mul

    def check_operand(self, node, side):
        if not isinstance(side, torch.fx.Node) or side in self.graph.constants:
            raise failure(node, "a number or table joined with values; the dialect multiplies by numbers, no more")
        if self.parameter_of(side):
            raise failure(node, "a parameter that is joined with values element by element")
        if self.bare_shape(side) != self.bare_shape(node):
            raise failure(node, f"an operand of the shape {list(self.graph.shape(side))} spread over "
                          f"{list(self.graph.shape(node))}")

    def bare_shape(self, node):
        return [size for size in self.graph.shape(node) if size != 1]

    def fullest(self, *acts):
        """The axes of the operand with most dimensions, which are those of the result."""
        return max((act.axes for act in acts), key=len)

    # -----------------------------------------------------------------------
    # Views
    # -----------------------------------------------------------------------

    def match_transpose(self, node):
        rank = len(self.graph.shape(node))
        order = list(range(rank))
        one, other = (dim % rank for dim in node.args[1:3])
        order[one], order[other] = order[other], order[one]
        return self.permuted(node, order)

    def match_permute(self, node):
        rank = len(self.graph.shape(node))
        return self.permuted(node, [dim % rank for dim in node.args[1]])

    def permuted(self, node, order):
        def write():
            act = self.act(node.args[0])
            return Act(act.value, [act.axes[dim] for dim in order], act.label, act.times)
        return write, [node.args[0]]

    def view(self, node):
        act = self.act(node.args[0])
        sizes = self.graph.shape(node)
        kept = [size for size in sizes if size != 1]
        old = [size for size in self.graph.shape(node.args[0]) if size != 1]
        if kept == old:
            # Dimensions of size 1 come or go.
            left = [axis for size, axis in zip(self.graph.shape(node.args[0]), act.axes) if size != 1]
            axes = [None if size == 1 else left.pop(0) for size in sizes]
            return Act(act.value, axes, act.label, act.times)
        act = self.plain(act, node)
        order = [axis for axis in act.axes if axis is not None]
        if order != sorted(order) or not kept or kept[0] != "rows" or "rows" in kept[1:]:
            raise failure(node, f"a view of {list(self.graph.shape(node.args[0]))} as {list(sizes)} that moves rows")
        label = act.label if len(kept) > 2 else "merge_heads"
        value = self.write("reshape", act.value, kept, name=self.path(node, label))
        count = iter(range(len(kept)))
        return Act(value, [None if size == 1 else next(count) for size in sizes], act.label)

    def match_slice(self, node):
        if is_getitem(node):
            pieces = node.args[0]
            if not self.is_op(pieces, "chunk", "split", "split_with_sizes"):
                raise failure(pieces, "an op with several results")
            found = arguments(pieces)
            source, dim = found.x, found.dim
            dim %= len(self.graph.shape(source))
            sizes = [value.shape[dim] for value in pieces.meta["val"]]
            begin, size, number = sum(sizes[:node.args[1]]), sizes[node.args[1]], node.args[1]
        else:
            if operation(node) != "slice":
                raise failure(node, "the dialect has nothing for it")
            found = arguments(node)
            source, dim = found.x, found.dim % len(self.graph.shape(found.x))
            if found.step != 1:
                raise failure(node, f"a slice with a step of {found.step}")
            size, number = self.graph.shape(node)[dim], None
            begin = found.start or 0
            if not isinstance(begin, int) or not isinstance(size, int):
                raise failure(node, "a slice of the sequence; the program says itself which rows get logits")
            begin += self.graph.shape(source)[dim] if begin < 0 else 0

        def write():
            act = self.act(source)
            if act.times != 1:
                act = self.plain(act, node)
            label = f"{act.label}.{begin if number is None else number}"
            axis = act.axes[dim]
            if axis is None:
                raise failure(node, "a slice of a dimension of size 1")
            return Act(self.columns(act.value, axis, begin, size, self.path(node, label)), act.axes, label)
        return write, [source]

    def columns(self, value, axis, begin, size, name):
        """A slice. Of a linear, or of each of its heads, it is a linear of its own with these
        rows of the weight: so gates find their products, and heads lie behind one another."""
        split = value.op if value.op and value.op.kind == "reshape" and axis == 2 else None
        whole = split.operands[0].op if split else value.op
        parameters = []
        if whole and whole.kind == "linear" and axis == len(value.shape) - 1:
            heads, width = value.shape[1:] if split else (1, value.shape[1])
            parameters = [self.rows_of(parameter.op, heads * size, (size, width, begin))
                          for parameter in whole.reads()[1:]]
        if not parameters or None in parameters:
            return self.write("slice", value, axis, begin, size, name=name)
        part = self.write("linear", name, whole.operands[0], weight=parameters[0],
                          bias=parameters[1] if len(parameters) > 1 else False, name=name)
        if not split:
            return part
        return self.write("reshape", part, ["rows", heads, size], name=self.unique(name + ".heads"))

    def rows_of(self, parameter, rows, blocks):
        """A parameter of some rows of a stored one, if that is whole so far."""
        if parameter.attributes or "transposed" in parameter.lead:
            return None
        sources = self.sources(self.stored[parameter])
        shape = [rows, *parameter.results[0].shape[1:]]
        return self.write("parameter", parameter.name, shape, parameter.results[0].type.element, blocks=blocks,
                          sources=sources)

    # -----------------------------------------------------------------------
    # Writing
    # -----------------------------------------------------------------------

    def write(self, method, *operands, **more):
        """Calls a method of the model; its ops belong to the layer of the present node."""
        count = len(self.model.block.ops)
        result = getattr(self.model, method)(*operands, **{key: value for key, value in more.items()
                                                           if not (key == "name" and value is None)})
        path, _ = self.graph.module_path(self.node)
        self.layers.note(self.model.block.ops[count:], path)
        return result

    def plain(self, act, node):
        """With repeated heads written out."""
        if act.times == 1:
            return act
        axis = act.axes[1]
        if axis is None:
            raise failure(node, "one head that is repeated, outside of attention")
        value = self.write("broadcast", act.value, axis, act.times, name=self.path(node, f"{act.label}_repeat"))
        return Act(value, act.axes, act.label)

    def rows_first(self, act):
        """[rows, K]"""
        order = [axis for axis in act.axes if axis is not None]
        if order != [0, 1]:
            raise failure(self.node, f"an operand with {len(order)} dimensions, expected rows of one")
        return act.value

    def same_order(self, node, one, other):
        if [axis for axis in one.axes if axis is not None] != [axis for axis in other.axes if axis is not None]:
            raise failure(node, "operands whose dimensions lie in other orders")
        return one.value, other.value

    def heads(self, act, node):
        """[rows, heads, dim]: of one head, too."""
        value = act.value
        if act.axes[-1] != len(value.shape) - 1 or len(value.shape) not in (2, 3) or value.shape[0] != "rows":
            raise failure(node, f"heads of the shape {value.shape}, expected [rows, heads, dim]")
        if len(value.shape) == 3:
            return value
        return self.write("reshape", value, ["rows", 1, value.shape[1]], name=self.path(node, f"{act.label}_head"))

    def back(self, value, act, node):
        """A value of `heads`, as `act` has it."""
        if len(act.value.shape) == 3:
            return value
        return self.write("reshape", value, act.value.shape, name=self.path(node, f"{act.label}_row"))

    def cut(self, act, begin, end, node):
        axis = act.axes[-1]
        act = self.plain(act, node)
        if (begin, end) == (0, act.value.shape[axis]):
            return act
        name = self.path(node, f"{act.label}.{begin}")
        return Act(self.columns(act.value, axis, begin, end - begin, name), act.axes, act.label)

    def matrix(self, node, reader, transposed=False):
        return self.parameter(node, reader, transposed=transposed)

    def vector(self, node, reader, plus=0.0):
        return self.parameter(node, reader, plus=plus)

    def parameter(self, node, reader, **form):
        """The parameter op of a tensor: one for all that read it outside of layers."""
        names, tensor = self.graph.parameters[node]
        path, _ = self.graph.module_path(reader)
        key = (names[0], Layers.of(path), tuple(form.items()))
        if key in self.shared:
            return self.shared[key]
        kind = TYPES.get(tensor.dtype)
        if kind is None:
            raise failure(reader, f"a weight of type {tensor.dtype}")
        shape = list(tensor.shape)
        if form.get("transposed"):
            shape.reverse()
        self.tensors[names[0]] = tensor
        value = self.write("parameter", self.bare(names[0]), shape, kind if len(shape) > 1 else "f32",
                           sources=self.sources(names[0]), **form)
        self.stored[value.op] = names[0]
        self.shared[key] = value
        return value

    def sources(self, name):
        """What to look for in a checkpoint: the name, and as the bare body stores it."""
        prefix = self.model.prefix
        return [name, name[len(prefix):]] if prefix and name.startswith(prefix) else [name]

    # -----------------------------------------------------------------------
    # Names
    # -----------------------------------------------------------------------

    def bare(self, path):
        prefix = self.model.prefix
        if prefix and (path + ".").startswith(prefix):
            path = path[len(prefix):]
        return path

    def leaf(self, node):
        """"q" of the module layers.0.self_attn.q_proj."""
        path, _ = self.graph.module_path(node)
        return path.rpartition(".")[2].removesuffix("_proj")

    def path(self, node, label):
        """A name for a node's op: its module's, or if that has modules of its own, one
        within it."""
        path, has_children = self.graph.module_path(node)
        path = self.bare(path)
        if label is None or not has_children and path:
            return self.unique(path) if label else path
        return self.unique(f"{path}.{label}" if path else label)

    def unique(self, name):
        count = self.names[name] = self.names.get(name, 0) + 1
        return name if count == 1 else f"{name}.{count}"
