"""Random projections of tensors: their differences' norms from a few numbers.

For signs s drawn at random, the mean of (s · d)² is |d|² (Johnson and
Lindenstrauss, 1984): COUNT projections of two tensors tell how far they are
apart to about a quarter, without keeping either.
"""

import random

COUNT = 32


def signs(name, number, size):
    """The bits of one projection; a set one stands for +1."""
    return random.Random(f"{name} {number}").getrandbits(size)


def project(name, values):
    """`values` are numbers, row-major."""
    result = []
    for number in range(COUNT):
        text = bin(signs(name, number, len(values)))[2:].zfill(len(values))
        result.append(sum(value if bit == "1" else -value
                          for value, bit in zip(values, text)))
    return result


def distance(one, other):
    return (sum((a - b) ** 2 for a, b in zip(one, other)) / len(one)) ** 0.5
