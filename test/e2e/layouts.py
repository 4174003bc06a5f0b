"""Where values live changes nothing: carried in place, copied, or seen through views.

Small programs in the model dialect, whose arithmetic is exact in float32, are
compiled, run, and compared with the same arithmetic in Python.
"""

import argparse
import array
import json
import os
import struct

import programs
from programs import expect

WIDTH, VOCABULARY = 4, 4
TABLE = [[(7 * token + 3 * i) % 11 - 5.0 for i in range(WIDTH)] for token in range(VOCABULARY)]
TOKENS = [3, 0, 2, 1, 1, 2, 0]

FLAT = "!model.tensor<rows x 4 x f32>"
SPLIT = "!model.tensor<rows x 2 x 2 x f32>"
WIDE = "!model.tensor<rows x 8 x f32>"


def unary(name, x, of, to=None, attributes=""):
    return f"model.{name} {x} {attributes} : ({of}) -> {to or of}"


def binary(name, x, y, of=FLAT):
    return f"model.{name} {x}, {y} : ({of}, {of}) -> {of}"


def stack(inits, arguments, body, yields, repeat=3):
    types = ", ".join([FLAT] * len(inits))
    names = ", ".join(f"{name}: {FLAT}" for name in arguments)
    return (f"model.stack {', '.join(inits)} repeat {repeat} : ({types}) -> ({types}) {{\n"
            f"^bb0({names}):\n{body}\nmodel.yield {', '.join(yields)} : {types}\n}}")


def plus(x, y):
    return [a + b for a, b in zip(x, y)]


def times(x, factor):
    return [factor * a for a in x]


def iterate(step, values, repeat=3):
    for _ in range(repeat):
        values = step(*values)
    return values


# Name, ops from %e (the embedded tokens) to %y, what they compute of one row.
CASES = [
    ("two carried values change places",
     f"%f = {unary('scale', '%e', FLAT, attributes='{factor = 2.0 : f32}')}\n"
     f"%r:2 = {stack(['%e', '%f'], ['%a', '%b'], '', ['%b', '%a'])}\n"
     f"%h = {unary('scale', '%r#1', FLAT, attributes='{factor = 0.25 : f32}')}\n"
     f"%y = {binary('add', '%r#0', '%h')}",
     lambda e: plus(times(e, 2), times(e, 0.25))),
    ("one carried value is computed from both",
     f"%f = {unary('scale', '%e', FLAT, attributes='{factor = 2.0 : f32}')}\n"
     f"%r:2 = {stack(['%e', '%f'], ['%a', '%b'], '%s = ' + binary('add', '%a', '%b'), ['%b', '%s'])}\n"
     f"%y = {binary('mul', '%r#0', '%r#1')}",
     lambda e: (lambda a, b: [p * q for p, q in zip(a, b)])(
         *iterate(lambda a, b: (b, plus(a, b)), (e, times(e, 2))))),
    ("the same value is yielded twice",
     f"%f = {unary('scale', '%e', FLAT, attributes='{factor = 2.0 : f32}')}\n"
     f"%r:2 = {stack(['%e', '%f'], ['%a', '%b'], '%s = ' + binary('add', '%a', '%b'), ['%s', '%s'])}\n"
     f"%y = {binary('add', '%r#0', '%r#1')}",
     lambda e: plus(*iterate(lambda a, b: (plus(a, b),) * 2, (e, times(e, 2))))),
    ("a value from outside is yielded",
     f"%r:2 = {stack(['%e', '%e'], ['%a', '%b'], '%s = ' + binary('add', '%a', '%b'), ['%s', '%e'])}\n"
     f"%y = {binary('add', '%r#0', '%r#1')}",
     lambda e: plus(*iterate(lambda a, b: (plus(a, b), e), (e, e)))),
    ("the first value of a stack is read after it",
     f"%r = {stack(['%e'], ['%a'], '%s = ' + binary('add', '%a', '%a'), ['%s'])}\n"
     f"%y = {binary('add', '%r', '%e')}",
     lambda e: plus(times(e, 8), e)),
    ("what the first value is a view of is read after the stack",
     f"%e3 = {unary('reshape', '%e', FLAT, SPLIT)}\n"
     f"%x3 = {unary('scale', '%e3', SPLIT, attributes='{factor = 0.5 : f32}')}\n"
     f"%x = {unary('reshape', '%x3', SPLIT, FLAT)}\n"
     f"%r = {stack(['%x'], ['%a'], '%s = ' + binary('add', '%a', '%a'), ['%s'])}\n"
     f"%r3 = {unary('reshape', '%r', FLAT, SPLIT)}\n"
     f"%y3 = {binary('add', '%r3', '%x3', SPLIT)}\n"
     f"%y = {unary('reshape', '%y3', SPLIT, FLAT)}",
     lambda e: plus(times(e, 4), times(e, 0.5))),
    ("a view of the old value is read after the new one is there",
     f"%r = {stack(['%e'], ['%a'], chr(10).join(['%v = ' + unary('reshape', '%a', FLAT, SPLIT), '%s = ' + unary('scale', '%a', FLAT, attributes='{factor = 2.0 : f32}'), '%s3 = ' + unary('reshape', '%s', FLAT, SPLIT), '%t3 = ' + binary('add', '%s3', '%v', SPLIT), '%t = ' + unary('reshape', '%t3', SPLIT, FLAT)]), ['%t'])}\n"
     f"%y = {unary('scale', '%r', FLAT, attributes='{factor = 0.5 : f32}')}",
     lambda e: times(e, 13.5)),
    ("one stack continues another",
     f"%r = {stack(['%e'], ['%a'], '%s = ' + binary('add', '%a', '%a'), ['%s'])}\n"
     f"%q = {stack(['%r'], ['%b'], '%t = ' + binary('add', '%b', '%e'), ['%t'], repeat=2)}\n"
     f"%y = {binary('add', '%q', '%r')}",
     lambda e: times(e, 18)),
    ("repeated heads are laid out anew",
     f"%e3 = {unary('reshape', '%e', FLAT, SPLIT)}\n"
     f"%b = {unary('broadcast', '%e3', SPLIT, '!model.tensor<rows x 4 x 2 x f32>', '{axis = 1 : i64, times = 2 : i64}')}\n"
     f"%w = {unary('reshape', '%b', '!model.tensor<rows x 4 x 2 x f32>', WIDE)}\n"
     f"%c = {unary('slice', '%w', WIDE, FLAT, '{axis = 1 : i64, offset = 2 : i64}')}\n"
     f"%y = {binary('add', '%c', '%e')}",
     lambda e: plus([e[0], e[1], e[2], e[3]], e)),
]


def program(ops):
    table = f"!model.tensor<{VOCABULARY} x {WIDTH} x f32>"
    return f"""model.program @layouts max_seq 16 {{
^bb0(%tokens: !model.tensor<rows x i32>):
%table = model.parameter ["table"] : {table}
%e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, {table}) -> {FLAT}
{ops}
%l = model.last_rows %y : ({FLAT}) -> !model.tensor<outputs x 4 x f32>
model.return %l : !model.tensor<outputs x 4 x f32>
}}
"""


def checkpoint(folder):
    values = array.array("f", [value for row in TABLE for value in row])
    header = json.dumps({"table": {"dtype": "F32", "shape": [VOCABULARY, WIDTH],
                                   "data_offsets": [0, 4 * len(values)]}}).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + values.tobytes())


def test(arguments, scratch):
    path = os.path.join(scratch, "model.mlir")
    checkpoint(scratch)
    for name, ops, reference in CASES:
        with open(path, "w") as file:
            file.write(program(ops))
        compiled = programs.Program(arguments.batonc, path, os.path.join(scratch, "program"))
        compiled.weights = scratch
        expected = [reference(TABLE[token]) for token in TOKENS]
        for flags in (["--workers=1"], ["--workers=3", "--prefill-chunk=2"]):
            got = programs.rows_of(compiled.logits(TOKENS, os.path.join(scratch, "logits.npy"), *flags))
            expect(got == expected, f"{name}, {' '.join(flags)}: {got}, expected {expected}")
        print(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))


if __name__ == "__main__":
    main()
