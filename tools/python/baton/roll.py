"""Layers that repeat, as stacks."""

import contextlib
import re
import warnings

from .ir import Block, Op, Type, Value

# Ops whose rows do not depend on other rows.
BY_ROWS = {"rms_norm", "layer_norm", "linear", "activate", "add", "mul", "scale", "tanh"}
# Longer patterns than published models have.
LONGEST_PATTERN = 16


class Layers:
    """Which ops belong to which layer: the outermost number in their module's path."""

    def __init__(self):
        self.layer = {}
        self._outside = False

    @staticmethod
    def of(path):
        """("model.layers", 3) of "model.layers.3.self_attn", or None."""
        found = re.search(r"(?:^|\.)(\d+)(?:\.|$)", path)
        return (path[:found.start()], int(found.group(1))) if found else None

    @contextlib.contextmanager
    def outside(self):
        """Ops written here belong to no layer, wherever they are written."""
        before, self._outside = self._outside, True
        try:
            yield
        finally:
            self._outside = before

    def note(self, ops, path):
        where = Layers.of(path)
        for op in ops:
            self.layer.setdefault(op, None if self._outside else where)


def users_of(ops):
    """Value -> ops that read it."""
    users = {}
    for op in ops:
        for value in op.reads():
            users.setdefault(value, []).append(op)
    return users


# ---------------------------------------------------------------------------
# Rows that get logits
# ---------------------------------------------------------------------------

def select_rows(model, logits):
    """Puts last_rows as far before the logits as one value of two dimensions allows;
    returns the logits [outputs, vocabulary]."""
    ops = model.body.ops
    users = users_of(ops)
    tail, frontier = set(), {logits}
    best = (logits, set())
    for op in reversed(ops):
        value = op.results[0]
        if op.kind == "parameter" or value not in frontier:
            continue
        readable = op.kind in BY_ROWS and len(value.shape) == 2 and all(user in tail for user in users.get(value, ()))
        if not readable:
            break
        tail.add(op)
        frontier.discard(value)
        frontier.update(read for read in op.reads() if read.shape[0] == "rows")
        if len(frontier) == 1 and len(next(iter(frontier)).shape) == 2:
            best = (next(iter(frontier)), set(tail))
    source, tail = best
    last = Op("last_rows", [source], [], "last_rows")
    last.results = [Value(model, Type(("outputs", *source.shape[1:])), last)]
    ops.insert(ops.index(source.op) + 1, last)
    for op in tail:
        replace(op, {source: last.results[0]})
        for value in op.results:
            value.type = Type(("outputs", *value.shape[1:]))
    return last.results[0] if source is logits else logits


def replace(op, values):
    op.operands = [values.get(value, value) for value in op.operands]
    op.words = [(word, values.get(value, value)) for word, value in op.words]


# ---------------------------------------------------------------------------
# Stacks
# ---------------------------------------------------------------------------

class Irregular(Exception):
    """Why layers are no stack, in words."""


def roll(model, layers):
    """Replaces layers that repeat by stacks. Where they cannot be, they stay one behind
    the other, and a warning says why."""
    ops = model.body.ops
    places = [layers.layer.get(op) for op in ops]
    counts = {}
    for place in places:
        if place:
            counts[place[0]] = counts.get(place[0], 0) + 1
    if not counts:
        return
    container = max(counts, key=counts.get)
    numbers = sorted({place[1] for place in places if place and place[0] == container})
    if len(numbers) < 2:
        return
    try:
        if numbers != list(range(len(numbers))):
            raise Irregular(f"they are numbered {numbers}")
        rolled = Rolling(model, container, places).run()
    except Irregular as irregular:
        warnings.warn(f"{model.name}: the layers of {container} are not rolled up, and the plan grows with "
                      f"them: {irregular}", stacklevel=3)
        return
    model.body.ops = rolled
    number_states(rolled)


class Rolling:
    """The ops of one container's layers."""

    def __init__(self, model, container, places):
        self.model, self.container = model, container
        # "layers" of "model.layers", as names have it with and without a prefix.
        self.ending = container.rpartition(".")[2]
        ops = model.body.ops
        inside = [index for index, place in enumerate(places) if place and place[0] == container]
        first, last = inside[0], inside[-1]
        # What is written once for all layers stands before them.
        hoisted = [ops[index] for index in range(first, last + 1) if places[index] is None and
                   ops[index].kind in ("rope_table", "position_embedding")]
        self.before = ops[:first] + hoisted
        self.after = ops[last + 1:]
        self.segments = []
        taken = set(hoisted)
        for index in range(first, last + 1):
            if ops[index] in taken:
                continue
            place = places[index]
            number = place[1] if place and place[0] == container else len(self.segments) - 1
            if number == len(self.segments):
                self.segments.append([])
            if number != len(self.segments) - 1:
                raise Irregular(f"ops of layer {number} stand behind those of layer {len(self.segments) - 1}")
            self.segments[-1].append(ops[index])

    def run(self):
        self.find_carried()
        # Layers are of one class where nothing but numbers differs.
        signatures, classes = {}, []
        for number in range(len(self.segments)):
            classes.append(signatures.setdefault(self.signature(number), len(signatures)))
        result = list(self.before)
        values = {}
        for first, layers, repeat in cut(classes):
            op, renamed = self.stack(first, layers, repeat, values)
            result.append(op)
            values.update(renamed)
        for op in self.after:
            replace(op, values)
        self.model.body.results = [values.get(value, value) for value in self.model.body.results]
        return result + self.after

    def find_carried(self):
        """Of each layer the values that it takes from the one before, and hands on."""
        home = {}
        for number, ops in enumerate(self.segments):
            for op in ops:
                for value in op.results:
                    home[value] = number
        count = len(self.segments)
        self.outs = [[] for _ in range(count)]
        readers = {}
        for number, ops in enumerate([*self.segments, self.after]):
            for op in ops:
                for value in op.reads():
                    readers.setdefault(value, set()).add(number)
                    if home.get(value, number) == number:
                        continue
                    if home[value] != number - 1:
                        raise Irregular(f"{op.name} reads {value.op.name} of {number - home[value]} layers before")
                    if value not in self.outs[home[value]]:
                        self.outs[home[value]].append(value)
        for value in self.model.body.results:
            if value in home:
                raise Irregular("the logits are made in a layer")
        for number, ops in enumerate(self.segments):
            place = {value: index for index, op in enumerate(ops) for value in op.results}
            self.outs[number].sort(key=place.get)
        # The first layer takes what no other one reads.
        begins = []
        for op in self.segments[0]:
            for value in op.reads():
                if value not in home and readers[value] == {0} and value.shape[0] == "rows" \
                        and value is not self.model.tokens and value not in begins:
                    begins.append(value)
        self.ins = [begins, *self.outs[:-1]]
        for number in range(count):
            types = lambda values: [value.type for value in values]
            if types(self.ins[number]) != types(self.outs[number]):
                raise Irregular(f"layer {number} takes {len(self.ins[number])} values, and hands "
                                f"{len(self.outs[number])} on, or others")
            if any(value.shape[0] != "rows" for value in self.ins[number]):
                raise Irregular("what layers hand on does not begin with rows")

    def rename(self, text, number, name):
        """A text in which `name` stands for this layer's "layers.3"."""
        return re.sub(rf"(?<!\w){self.ending}\.{number}(?=\.)", lambda _: name, text)

    def signature(self, number):
        local = {value: index for index, value in enumerate(self.ins[number])}
        lines = []
        for op in self.segments[number]:
            reads = tuple(local.get(value, value) for value in op.reads())
            tail = "" if op.kind == "kv_append" else op.tail
            lines.append((op.kind, reads, tuple(word for word, _ in op.words),
                          self.rename(op.lead, number, "*"), tail, tuple(op.attributes.items()),
                          tuple(value.type for value in op.results), self.rename(op.name, number, "*")))
            for value in op.results:
                local[value] = len(local)
        lines.append(tuple(local[value] for value in self.outs[number]))
        return tuple(lines)

    def stack(self, first, layers, repeat, values):
        """One stack of the layers from `first` on; what it hands on, as results of it."""
        model, last = self.model, first + layers * repeat - 1
        inits = [values.get(value, value) for value in self.ins[first]]
        block = Block([Value(model, value.type) for value in inits])
        known = dict(zip(self.ins[first], block.arguments))
        for offset in range(layers):
            number = first + offset
            plus = f"+{offset}" if offset else ""
            for op in self.segments[number]:
                replace(op, known)
                op.lead = self.rename(op.lead, number, f"{self.ending}.{{layer{plus}}}")
                op.name = self.rename(op.name, number, self.ending + plus)
                block.ops.append(op)
        block.results = [known.get(value, value) for value in self.outs[first + layers - 1]]
        attributes = {}
        if first:
            attributes["first_layer"] = f"{first} : i64"
        if layers != 1:
            attributes["layers_per_iteration"] = f"{layers} : i64"
        ending = self.container[len(model.prefix):] if (self.container + ".").startswith(model.prefix) \
            else self.container
        stack = Op("stack", inits, [], ending or "layers", attributes, tail=f"repeat {repeat}", block=block)
        stack.results = [Value(model, value.type, stack) for value in inits]
        return stack, dict(zip(self.outs[last], stack.results))


def cut(classes):
    """(first, layers, repeat) of runs of repeated patterns, such that all patterns together
    are as short as can be: code grows with them."""
    count = len(classes)
    cost, best = [0] * (count + 1), [None] * count
    for first in range(count - 1, -1, -1):
        for layers in range(1, min(LONGEST_PATTERN, count - first) + 1):
            repeat = 1
            while classes[first + layers * repeat:first + layers * (repeat + 1)] == classes[first:first + layers]:
                repeat += 1
            total = layers + cost[first + layers * repeat]
            known = best[first]
            # Of two cuts alike the one whose first run is longer.
            if known is None or total < cost[first] or \
                    total == cost[first] and layers * repeat > known[1] * known[2]:
                cost[first], best[first] = total, (first, layers, repeat)
    runs, first = [], 0
    while first < count:
        runs.append(best[first])
        first += best[first][1] * best[first][2]
    return runs


def number_states(ops):
    """States in the order of attentions: k and v, k.2 and v.2."""
    count = 0
    for op in ops:
        for inner in op.block.ops if op.block else [op]:
            if inner.kind == "kv_append":
                letter, number = "kv"[count % 2], count // 2 + 1
                inner.tail = f'to "{letter}"' if number == 1 else f'to "{letter}.{number}"'
                count += 1
