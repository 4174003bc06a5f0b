"""Functions of the task library, for functions that baton.body takes.

    @baton.body(vectors=["weight"], matrices=["up"])
    def normal_up(x, weight, up):
        return baton.library.linear(baton.library.rms_norm(x, weight, 1e-5), up)

Each takes an element, and gives one: of what the library makes of all the rows' elements.
The code, and so the bits, are those that programs have without a body.
"""

from .bodies import Element, Whole
from .errors import Error
from .ir import f32, i64


def _call(callee, operands, numbers=()):
    """`operands` are pairs of a name and a value, which is to be whole or to be an element."""
    trace = next((value.trace for _, value, _ in operands if isinstance(value, Element)), None)
    for name, value, whole in operands:
        kind = Whole if whole else Element
        if not isinstance(value, kind):
            expected = f"an operand that the body names in {whole}" if whole else "an element"
            raise Error(f"library.{callee}: {name} is {_named(value)}, expected {expected}")
    return trace.call(callee, [value for _, value, _ in operands], numbers)


def _named(value):
    return "an element" if isinstance(value, Element) else repr(value)


def _vector(callee, name, value):
    if not isinstance(value, Element) or not value.memory:
        raise Error(f"library.{callee}: {name} is {_named(value)}, expected an operand that the body names in vectors")
    return (name, value, None)


def rms_norm(x, weight, epsilon):
    """x / sqrt(mean(x^2) + epsilon) * weight, by rows; weight is a vector."""
    return _call("rms_norm", [("x", x, None), _vector("rms_norm", "weight", weight)], [("epsilon", f32(epsilon))])


def layer_norm(x, weight, bias=None, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, by rows."""
    operands = [("x", x, None), _vector("layer_norm", "weight", weight)]
    if bias is not None:
        operands.append(_vector("layer_norm", "bias", bias))
    return _call("layer_norm", operands, [("epsilon", f32(epsilon))])


def softmax(x):
    """e^(x - maximum) / sum, by rows."""
    return _call("softmax", [("x", x, None)])


def linear(x, weight, bias=None):
    """x weight^T + bias: an element of a row of as many columns as the matrix has rows."""
    operands = [("x", x, None), ("weight", weight, "matrices")]
    if bias is not None:
        operands.append(_vector("linear", "bias", bias))
    return _call("linear", operands)


def attention(queries, keys, values, scale, softcap=0.0, window=0):
    """Causal attention of rows [rows, H, N] to states: keys [kv, G, N], values [kv, G, E]."""
    numbers = [("scale", f32(scale))]
    if softcap:
        numbers.append(("softcap", f32(softcap)))
    if window:
        numbers.append(("window", i64(window)))
    return _call("attention", [("queries", queries, None), ("keys", keys, "states"), ("values", values, "states")],
                 numbers)
