#!/usr/bin/env python3
"""Compares what a compiled model computes with the golden files of a case.

    check.py LOGITS.npy CASE_FOLDER [--tolerance 2e-4]
    check.py --greedy OUTPUT.json CASE_FOLDER [--tolerance 2e-4]

The first form compares logits: the largest difference may be `tolerance` times
the largest golden logit. The second form compares the "tokens" of a greedy
generation with the golden continuation: they have to be the same up to the
first step whose two best logits are closer than that tolerance can tell apart.
Needs nothing but the standard library. Exits with 1 when the case fails.
"""

import argparse
import array
import ast
import json
import math
import sys
from pathlib import Path

TOLERANCE = 2e-4


class Failure(Exception):
    """Why the case fails, in one line."""


def read_npy(path):
    """Shape and row-major values of a little-endian float32 .npy file.

    The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
    """
    data = Path(path).read_bytes()
    if data[:6] != b"\x93NUMPY" or len(data) < 10:
        raise Failure(f"{path}: not a .npy file")
    length_bytes = 2 if data[6] == 1 else 4
    start = 8 + length_bytes
    end = start + int.from_bytes(data[8:start], "little")
    try:
        header = ast.literal_eval(data[start:end].decode("latin-1").strip())
        dtype, fortran, shape = header["descr"], header["fortran_order"], header["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError):
        raise Failure(f"{path}: malformed .npy header") from None
    if dtype != "<f4" or fortran:
        raise Failure(f"{path}: holds {dtype}, fortran_order={fortran}; expected row-major '<f4'")
    values = array.array("f")
    if len(data) - end != math.prod(shape) * values.itemsize:
        raise Failure(f"{path}: {len(data) - end} bytes of data do not fit the shape {shape}")
    values.frombytes(data[end:])
    if sys.byteorder == "big":
        values.byteswap()
    return shape, values


def check_logits(path, folder, tolerance):
    shape, values = read_npy(path)
    golden_shape, golden = read_npy(Path(folder) / "logits.npy")
    if shape != golden_shape:
        raise Failure(f"{path}: shape {shape}, expected {golden_shape}")
    wrong = next((i for i, value in enumerate(values) if not math.isfinite(value)), None)
    if wrong is not None:
        place = divmod(wrong, shape[-1])
        raise Failure(f"{path}: {values[wrong]} at [token, vocabulary] = {list(place)}")
    largest = max(map(abs, golden))
    errors = [abs(value - expected) for value, expected in zip(values, golden)]
    worst = max(range(len(errors)), key=errors.__getitem__)
    ratio = errors[worst] / largest
    line = (
        f"{Path(folder).name}: max error {errors[worst]:.3e} at [token, vocabulary] = "
        f"{list(divmod(worst, shape[-1]))}, ratio {ratio:.3e} of tolerance {tolerance:.0e}"
    )
    if ratio > tolerance:
        raise Failure(line)
    return line


def check_greedy(path, folder, tolerance):
    golden = json.loads((Path(folder) / "golden.json").read_text())["greedy"]
    try:
        tokens = json.loads(Path(path).read_text())["tokens"]
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path}: no JSON object with \"tokens\": {error}") from None
    # Both of the two best logits may be off, in opposite directions.
    ambiguous = 2 * tolerance * golden["max_abs_logit"]
    certain = next(
        (i for i, margin in enumerate(golden["top2_margin"]) if margin < ambiguous),
        len(golden["new_tokens"]),
    )
    for step, expected in enumerate(golden["new_tokens"][:certain]):
        if step >= len(tokens):
            raise Failure(f"{path}: ends after {step} of {certain} tokens")
        if tokens[step] != expected:
            raise Failure(
                f"{path}: token {step} is {tokens[step]}, expected {expected} "
                f"(margin {golden['top2_margin'][step]:.3e})"
            )
    return f"{Path(folder).name}: {certain} of {len(golden['new_tokens'])} greedy tokens checked, all the same"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", help="logits.npy, or with --greedy the JSON of a generation")
    parser.add_argument("case", help="a folder with golden.json and logits.npy")
    parser.add_argument("--greedy", action="store_true", help="compare generated tokens")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    options = parser.parse_args(arguments)
    check = check_greedy if options.greedy else check_logits
    try:
        print(check(options.file, options.case, options.tolerance))
    except (Failure, OSError) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
