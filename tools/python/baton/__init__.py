"""Baton from Python: models as code or from PyTorch, compiled, run, and read as arrays.

    program = baton.compile("path/to/checkpoint")
    logits = program.logits([1, 2, 3])          # float32 [3, vocabulary]

docs/python.md is the guide.
"""

from .bodies import Body, absolute, body, erf, exp, log, maximum, minimum, rsqrt, sigmoid, sqrt, tanh
from .errors import Error
from .ir import Type, Value
from .model import Model
from . import library, tensors
from .program import Program, Run, compile, emit, find_batonc

__all__ = ["Body", "Error", "Model", "Program", "Run", "Type", "Value", "absolute", "body", "compile", "emit", "erf",
           "exp", "find_batonc", "from_torch", "library", "log", "maximum", "minimum", "rsqrt", "sigmoid", "sqrt", "tanh",
           "tensors"]


def from_torch(module, example, max_seq=None, name=None, family=None):
    """The Model of a decoder in PyTorch, with the module's weights.

    `example` is token ids [1, T], T at least 3, or a dictionary or tuple of the module's
    inputs, of which they are the only tensor. `max_seq` is the longest sequence; without
    it, the config's max_position_embeddings. `name` and `family` are those of `Model`;
    without them, the config's model_type. Raises Error, which names the ATen op and its
    line, for what the dialect does not have."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise Error(f"from_torch needs PyTorch: {error}") from error
    from .translate import translate
    return translate(module, example, max_seq, name, family)
