"""What torch.export makes of a module, prepared to be read: parameters by name, constants
that depend on positions only, and the line of source behind each node."""

import inspect
import operator
import os
import re
import types

import torch
from torch.utils import _pytree as pytree

from .errors import Error

# Nodes that hand their first operand on. Activations are F32 in programs, so changes of
# type are among them.
HANDED_ON = {"to", "_to_copy", "type_as", "contiguous", "alias", "detach", "clone", "dropout", "lift_fresh_copy"}
# Positions at which tables are looked at, and at most those of a mask.
PROBE, LONGEST_PROBE = 64, 8200


def widen(argument):
    is_narrow = isinstance(argument, torch.dtype) and argument in (torch.bfloat16, torch.float16)
    return torch.float32 if is_narrow else argument


def operation(node):
    """"linear" of aten.linear.default; of other callables their name."""
    if node.op != "call_function":
        return node.op
    schema = getattr(node.target, "_schema", None)
    return schema.name.split("::")[-1] if schema else node.target.__name__


def arguments(node):
    """All arguments of an ATen op by their names in its schema, with defaults."""
    schema = node.target._schema
    values = {}
    for index, argument in enumerate(schema.arguments):
        if index < len(node.args):
            values[argument.name] = node.args[index]
        elif argument.name in node.kwargs:
            values[argument.name] = node.kwargs[argument.name]
        else:
            values[argument.name] = argument.default_value if argument.has_default_value() else None
    return types.SimpleNamespace(**{("x" if name == "self" else name): value for name, value in values.items()})


def line_of(node):
    """FILE:LINE and the code behind a node: of the deepest frame that is not PyTorch's."""
    trace = node.meta.get("stack_trace") or ""
    frames = re.findall(r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)', trace)
    own = os.path.dirname(torch.__file__) + os.sep
    frames = [frame for frame in frames if not frame[0].startswith(own)] or frames
    if not frames:
        return "", ""
    file, line, code = frames[-1]
    return f"{file}:{line}: ", code.strip()


def failure(node, text):
    """An Error that names the op, its line, and what is wrong."""
    where, code = line_of(node)
    return Error(f"{where}{node.target if node.op == 'call_function' else node.name}: {text}"
                 + (f", in `{code}`" if code else ""))


def export(module, example):
    """The exported program of `module` for one sequence of any length."""
    signature = inspect.signature(module.forward)
    parameters = [parameter for parameter in signature.parameters.values()
                  if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    if isinstance(example, dict):
        inputs = dict(example)
    else:
        values = example if isinstance(example, (tuple, list)) else (example,)
        inputs = {parameter.name: value for parameter, value in zip(parameters, values)}
    # Transformers' caches are no tensors; the program has states of its own.
    if "use_cache" in signature.parameters:
        inputs.setdefault("use_cache", False)
    tokens = [name for name, value in inputs.items() if isinstance(value, torch.Tensor)]
    if len(tokens) != 1:
        raise Error(f"the example has {len(tokens)} tensors ({', '.join(tokens)}), expected token ids alone")
    ids = inputs[tokens[0]]
    if ids.is_floating_point() or ids.dim() != 2 or ids.shape[0] != 1 or ids.shape[1] < 3:
        raise Error(f"the example is {ids.dtype} of the shape {list(ids.shape)}, expected token ids "
                    "[1, T], T at least 3")
    # Buffers may be as long as the longest sequence, which a range would have to leave out.
    shapes = {name: {1: torch.export.Dim.DYNAMIC} if name == tokens[0] else None for name in inputs}
    try:
        with torch.no_grad():
            return torch.export.export(module, (), inputs, dynamic_shapes=shapes)
    except Error:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines()
        raise Error(f"torch.export does not take the module: {lines[0] if lines else error!r}") from error


class Graph:
    """The nodes of an exported program, and what they say of themselves."""

    def __init__(self, module, example, max_seq):
        program = export(module, example)
        self.max_seq = max_seq
        self.nodes = list(program.graph.nodes)
        self.modules = dict(module.named_modules())
        names = {}
        for name, tensor in module.named_parameters(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(name)
        own = dict(module.named_parameters(remove_duplicate=False))
        # Node -> all names of its tensor, and the tensor; node -> a constant; the token ids.
        self.parameters, self.values, self.tokens = {}, {}, None
        kinds = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        for node in self.nodes:
            if node.op != "placeholder":
                continue
            spec = kinds[node.name]
            kind = spec.kind.name
            if kind == "PARAMETER":
                tensor = own[spec.target]
                self.parameters[node] = (names[id(tensor)], tensor)
            elif kind == "BUFFER":
                found = program.state_dict.get(spec.target)
                self.values[node] = program.constants[spec.target] if found is None else found
            elif kind == "CONSTANT_TENSOR":
                self.values[node] = program.constants[spec.target]
            elif kind == "USER_INPUT" and isinstance(node.meta.get("val"), torch.Tensor):
                self.tokens = node
            else:
                self.values[node] = getattr(spec.arg, "value", None)
        self.constants = set(self.values)
        for node in self.nodes:
            if node.op == "call_function" and self._is_constant(node):
                self.constants.add(node)
        self._evaluated, self._windows = {}, {}
        self._position = {node: index for index, node in enumerate(self.nodes)}

    def _is_constant(self, node):
        if operation(node) in ("sym_size", "size") and node.args[0] is self.tokens:
            return True
        return all(value in self.constants for value in node.all_input_nodes)

    @property
    def output(self):
        """The node of the logits: the module's first result."""
        results = self.nodes[-1].args[0]
        return results[0] if isinstance(results, (tuple, list)) else results

    def through(self, node):
        """The node that this one hands on."""
        while node.op == "call_function" and node not in self.constants:
            name = operation(node)
            if name == "dropout" and arguments(node).train and arguments(node).p:
                raise failure(node, "dropout in training; export the module after module.eval()")
            same = name in ("expand", "view", "reshape", "slice") and self.shape(node) == self.shape(node.args[0])
            if name not in HANDED_ON and not same:
                break
            node = node.args[0]
        return node

    def shape(self, node):
        """Dimensions; "rows" stands for the sequence's length. Raises Error."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            raise failure(node, "no tensor")
        sizes = []
        for size in value.shape:
            if isinstance(size, int):
                sizes.append(size)
            elif str(size) == str(self.tokens.meta["val"].shape[1]):
                sizes.append("rows")
            else:
                raise failure(node, f"a dimension is {size} of the sequence's length")
        return tuple(sizes)

    def evaluate(self, node, length):
        """A constant, for a sequence of `length` tokens."""
        if node in self.values:
            return self.values[node]
        known = self._evaluated.setdefault(length, {})
        todo, order = [node], []
        seen = set()
        while todo:
            current = todo.pop()
            if current in seen or current in known or current in self.values:
                continue
            seen.add(current)
            order.append(current)
            if not (operation(current) in ("sym_size", "size") and current.args[0] is self.tokens):
                todo.extend(current.all_input_nodes)
        for current in sorted(order, key=self._position.get):
            if operation(current) in ("sym_size", "size") and current.args[0] is self.tokens:
                known[current] = 1 if current.args[1] == 0 else length
                continue
            look = lambda value: self.values[value] if value in self.values else known[value]
            # Programs have tables in F32, also of models in 16 bits.
            args, kwargs = (pytree.tree_map(widen, torch.fx.node.map_arg(given, look))
                            for given in (current.args, current.kwargs))
            with torch.no_grad():
                known[current] = current.target(*args, **kwargs)
        return known[node]

    def ancestors(self, node):
        """A constant's node and all that it is made of."""
        todo, seen = [node], set()
        while todo:
            current = todo.pop()
            if current not in seen:
                seen.add(current)
                if current is not self.tokens:
                    todo.extend(value for value in current.all_input_nodes if value is not self.tokens)
        return seen

    def number(self, value):
        """A Python number of a number or a constant with one element, or None."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, torch.fx.Node) and value in self.constants:
            found = self.evaluate(value, PROBE)
            if isinstance(found, (int, float)):
                return None if "val" in value.meta and not isinstance(value.meta["val"], (int, float)) else float(found)
            if isinstance(found, torch.Tensor) and found.numel() == 1 and found.dim() == 0:
                return float(found)
        return None

    def window(self, node, mask, hides):
        """`mask_window` of a mask that `node` reads, looked at once."""
        key = mask, hides
        if key not in self._windows:
            self._windows[key] = mask_window(self, node, mask, hides)
        return self._windows[key]

    def module_path(self, node):
        """The module in which a node was made, and whether it has modules of its own."""
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        path = stack[-1][0] if stack else ""
        path = re.sub(r"^L\['self'\]\.?", "", path)
        module = self.modules.get(path)
        return path, module is None or any(True for _ in module.children())


# ---------------------------------------------------------------------------
# Tables and masks
# ---------------------------------------------------------------------------

def rotary_angles(graph, cosine, sine):
    """(frequencies, scale) of a rotary table of cosines and one of sines, both [T, 2 n] or
    [T, n]. Raises Error where they are none."""
    def table(node, length):
        value = graph.evaluate(node, length)
        value = value.reshape([size for size in value.shape if size != 1]) if value.dim() > 2 else value
        if value.dim() != 2 or value.shape[0] != length:
            raise failure(node, f"a factor of the shape {list(value.shape)}, expected rotary [T, N]")
        return value.double()

    length = min(PROBE, graph.max_seq)
    cos, sin = table(cosine, length), table(sine, length)
    source = next((node for node in graph.ancestors(cosine) if operation(node) == "cos"), None)
    if source is not None:
        angles = graph.evaluate(source.args[0], length)
        frequencies = angles.reshape(-1, angles.shape[-1])[1].double()[: cos.shape[1]]
    else:
        # Angles grow linearly, so each row that is twice as far has the slope twice as well.
        frequencies, step = torch.atan2(sin[1], cos[1]), 2
        while step < length:
            turn = torch.atan2(sin[step], cos[step])
            turns = torch.round((step * frequencies - turn) / (2 * torch.pi))
            frequencies = (turn + 2 * torch.pi * turns) / step
            step *= 2
    scale = cos[0, 0].item()
    for far in {length, min(graph.max_seq, 4 * length)}:
        cos, sin = table(cosine, far), table(sine, far)
        if frequencies.shape[0] < cos.shape[1]:
            frequencies = frequencies.repeat(cos.shape[1] // frequencies.shape[0])
        angles = torch.outer(torch.arange(far, dtype=torch.float64), frequencies)
        error = max((cos - scale * angles.cos()).abs().max(), (sin - scale * angles.sin()).abs().max())
        if not error <= 1e-4 * abs(scale):
            raise failure(cosine, "a factor that is no rotary table: its angles do not grow with positions")
    return frequencies.tolist(), scale


def mask_window(graph, node, mask, hides):
    """How many positions a row sees by a constant mask, 0 for all before it. A mask is
    added to scores, or says what is seen or, with `hides`, what is not. Raises Error where
    it is not causal."""
    numbers = [argument for source in graph.ancestors(mask) if source.op == "call_function"
               for argument in pytree.tree_leaves((source.args, source.kwargs))
               if isinstance(argument, int) and not isinstance(argument, bool)]
    numbers += [int(value) for source, value in graph.values.items()
                if isinstance(value, torch.Tensor) and value.dim() == 0 and source in graph.ancestors(mask)]
    # Long enough that a window would show.
    literal = max([abs(number) for number in numbers if abs(number) < graph.max_seq], default=0)
    length = min(graph.max_seq, max(PROBE, 2 * literal + 2))
    if length > LONGEST_PROBE:
        raise failure(node, f"a mask with the number {literal}: windows up to {LONGEST_PROBE // 2 - 2} are recognised")
    value = graph.evaluate(mask, length)
    if value.dtype == torch.bool:
        seen = ~value if hides else value
    else:
        seen = value == 0
        if (value[~seen] > -1e4).any():
            raise failure(node, "a mask that adds finite numbers to scores")
    seen = seen.reshape(-1, *seen.shape[-2:])
    if seen.shape[0] != 1 or seen.shape[1:] != (length, length):
        raise failure(node, f"a mask of the shape {list(value.shape)}, expected one for all heads")
    window = int(seen[0, -1].sum())
    distance = torch.arange(length)[:, None] - torch.arange(length)
    if not torch.equal(seen[0], (distance >= 0) & (distance < window)):
        raise failure(node, "a mask that is not causal, with or without a window")
    return window if window < length else 0


def is_getitem(node):
    return node.op == "call_function" and node.target is operator.getitem
