"""Task bodies that call the task library: the bits of the ops that they replace.

Norm and products in front of attention by one body, attention, softmax: prompts and
decoding, on CPUs and as emulated CUDA, for chunks and workers, have the logits of the
program without the bodies, bit for bit. So has a norm that is computed again in front of a
product. A feed-forward layer by one body computes in its own order: the golden logits, and
one set of bits on both targets. Weights of 16 bits and biases are those of the library's
linear, and so are products that a body has as one op, of packed matrices and of rows.
`batonc check-body` finds bodies and adjoints right, and a box that is too small;
sizes that do not fit are an error of batonc's where they are known, and of a program with a
sanitizer's where they are not; the thread sanitizer finds nothing. A norm's body that names
its adjoints trains, in F32 and in F64. From Python, functions of baton.library have the bits of
the model's ops, and refuse to train in one line.

Without --more: attention and the products in front of it on CPUs, a whole layer and a product as
one op on both targets, one box that is too small, sizes that batonc knows, and functions from Python on CPUs.
"""

import argparse
import json
import os
import random
import re
import struct
import sys

import programs
from programs import Program, expect, run
from training import lines_of, write_tokens

INPUTS = ["tools/python/baton/*"]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tools/python"))
import baton  # noqa: E402

EMULATED = "--target=cuda:emulated"


def read(name):
    with open(os.path.join(HERE, "inputs", name)) as file:
        return file.read()


def without(text, *bodies):
    """A schedule without what puts these bodies in their places."""
    for body in bodies:
        text, count = re.subn(rf".*baton.match.*\n.*baton.replace .* with @{body}\n", "", text)
        expect(count == 1, f"no replacement by @{body}")
    return text


EMPTY = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    transform.yield
  }
}
"""

BOX = "(t)[rows, past, outputs] -> (t * 16, 0) to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)"

# In front of the products of a feed-forward layer: in place of the norm, by way of a temporary.
NORM = f"""!rows = memref<?x?xf32, strided<[?, 1]>>
module attributes {{transform.with_named_sequence}} {{
  event.body @norm grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @x, {BOX}>,
                #event.access<read @w, (t)[rows, past, outputs] -> (0) to (t)[rows, past, outputs] -> (65536)>,
                #event.access<write @y, {BOX}>] {{
  ^bb0(%x: !rows, %w: memref<?xf32, strided<[1]>>, %y: !rows):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tall = memref.dim %x, %c0 : !rows
    %wide = memref.dim %x, %c1 : !rows
    %normal = memref.alloca(%tall, %wide) : memref<?x?xf32>
    event.library_call "rms_norm" ins(%x, %w : !rows, memref<?xf32, strided<[1]>>)
        outs(%normal : memref<?x?xf32>) {{epsilon = 0.00999999977 : f32}}
    memref.copy %normal, %y : memref<?x?xf32> to !rows
  }}
  transform.named_sequence @model(%program: !transform.any_op {{transform.readonly}}) {{
    %norm = transform.baton.match named "layers.post_attention_layernorm" in %program
    %made = transform.baton.replace %norm with @norm
    transform.baton.recompute %made
    transform.yield
  }}
}}
"""

# Of F16 and with a bias: a checkpoint's query projection.
BIASED = """!rows = memref<?x?xf32, strided<[?, 1]>>
!half = memref<?x?xf16, strided<[?, 1]>>
!vector = memref<?xf32, strided<[1]>>
module attributes {transform.with_named_sequence} {
  event.body @biased grid ()[rows, past, outputs] -> (rows ceildiv 16, 2)
      accesses [#event.access<read @x, (t, c)[rows, past, outputs] -> (t * 16, 0)
                                    to (t, c)[rows, past, outputs] -> (t * 16 + 16, 65536)>,
                #event.access<read @w, (t, c)[rows, past, outputs] -> (c * 6, 0)
                                    to (t, c)[rows, past, outputs] -> (c * 6 + 6, 65536)>,
                #event.access<read @b, (t, c)[rows, past, outputs] -> (c * 6)
                                    to (t, c)[rows, past, outputs] -> (c * 6 + 6)>,
                #event.access<write @y, (t, c)[rows, past, outputs] -> (t * 16, c * 6)
                                     to (t, c)[rows, past, outputs] -> (t * 16 + 16, c * 6 + 6)>] {
  ^bb0(%x: !rows, %w: !half, %b: !vector, %y: !rows):
    event.library_call "linear" ins(%x, %w, %b : !rows, !half, !vector) outs(%y : !rows)
  }
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %linear = transform.baton.match named "layers.self_attn.k_proj" in %program
    transform.baton.replace %linear with @biased
    transform.yield
  }
}
"""


@baton.body(vectors=["weight"], matrices=["up"])
def normal_up(x, weight, up):
    return baton.library.linear(baton.library.rms_norm(x, weight, 1e-2), up)


@baton.body(vectors=["weight", "bias"], matrices=["down", "wide"])
def down_and_more(x, y, weight, bias, down, wide):
    # Bare and computed operands, a result that is computed.
    both = baton.library.layer_norm(x, weight, bias, 1e-3)
    return baton.library.linear(both, down) * 2 + baton.library.linear(y * y, wide)


@baton.body(states=["k", "v"])
def attend(q, k, v):
    return baton.library.attention(q, k, v, 0.3, window=5)


def network(own):
    """A model by bodies, or by the ops that they stand for."""
    model = baton.Model("library", max_seq=64)
    x = model.embedding(model.tokens, model.weight("embed", [24, 16]))

    def layer(x):
        at = "layers.{layer}"
        q, k, v = (model.split_heads(model.linear(f"{at}.{part}", x, width), heads)
                   for part, width, heads in (("q", 16, 4), ("k", 8, 2), ("v", 8, 2)))
        k, v = model.kv_append(k, "k"), model.kv_append(v, "v")
        attended = (model.custom(attend, q, k, v) if own else model.attention(q, k, v, 0.3, window=5))
        x = x + model.reshape(attended, ["rows", 16])
        norm, up = model.parameter(at + ".norm", [16]), model.weight(at + ".up", [24, 16])
        inner = (model.custom(normal_up, x, norm, up, columns=24) if own else
                 model.linear("up", model.rms_norm("norm", x, 1e-2, weight=norm), weight=up))
        weight, bias = model.parameter(at + ".weight", [24]), model.parameter(at + ".bias", [24])
        down, wide = model.weight(at + ".down", [16, 24]), model.weight(at + ".wide", [16, 16])
        if own:
            return x + model.custom(down_and_more, inner, x, weight, bias, down, wide, columns=16)
        product = model.linear("down", model.layer_norm("both", inner, 1e-3, weight, bias), weight=down)
        return x + (model.scale(product, 2) + model.linear("wide", model.mul(x, x), weight=wide))

    x = model.stack(x, 2, layer)
    return model.finish(model.linear("head", model.last_rows(x), 24))


def write_weights(folder):
    """Those of `network`, at random."""
    draw = random.Random(3)
    shapes = {"embed.weight": [24, 16], "head.weight": [24, 16]}
    for layer in range(2):
        for name, shape in (("q.weight", [16, 16]), ("k.weight", [8, 16]), ("v.weight", [8, 16]), ("norm", [16]),
                            ("up.weight", [24, 16]), ("weight", [24]), ("bias", [24]), ("down.weight", [16, 24]),
                            ("wide.weight", [16, 16])):
            shapes[f"layers.{layer}.{name}"] = shape
    header, data = {}, b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        chunk = struct.pack(f"<{count}f", *(draw.gauss(0, 0.4) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(chunk)]}
        data += chunk
    text = json.dumps(header).encode()
    os.mkdir(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "config.json"), "w") as file:
        file.write("{}")


def named(function):
    function.__name__ = "function"
    return function


def check_python(batonc, path, more):
    """On CPUs, by chunks of one length, with what is refused; with `more`, the rest."""
    write_weights(path("weights"))
    logits = {}
    for name, own, *flags in (("ops", False), ("bodies", True), *([("device", True, EMULATED)] if more else [])):
        with open(path(name + ".mlir"), "w") as file:
            file.write(str(network(own)))
        program = Program(batonc, path(name + ".mlir"), path(name), *flags)
        program.weights = path("weights")
        for chunk in (1, 7, 64) if more else (7,):
            bits = program.logits(range(1, 23), path("logits.npy"), "--workers", 2, "--prefill-chunk", chunk)
            expect(bits == logits.setdefault("ops", bits), f"{name}, chunks of {chunk}: other logits than by ops")
    if more:
        result = run([batonc, "check-body", path("bodies.mlir"), EMULATED]).stdout
        expect(result.count(" ok: ") == 6, result)
        return
    for refused, expected in (
            (lambda: baton.compile(network(True), mode="train"), "adjoint_inputs"),
            (lambda: baton.body(named(lambda x: baton.library.softmax(3))), "an element"),
            (lambda: baton.body(named(lambda x, w: x + w), matrices=["w"]), "has no elements"),
            (lambda: baton.body(named(lambda x, w: x + x), matrices=["w"]), "calls none"),
            (lambda: baton.body(named(lambda x, w: baton.library.rms_norm(x, x + x, 1))), "names in vectors"),
            (lambda: baton.body(named(lambda x, w: baton.library.linear(x, w))), "matrices")):
        try:
            refused()
        except baton.Error as error:
            expect(expected in str(error) and "\n" not in str(error), f"{error}, expected {expected}")
        else:
            expect(False, f"{expected}: not refused")


def check_training(batonc, folder, path):
    """The norms of bodies_that_train.mlir by the library, beside their adjoints."""
    own = read("bodies_that_train.mlir")
    begin = own.index("    %c0", own.index("event.body @rms\n"))
    end = own.index("  }\n\n  // With s", begin)
    library = (own[:begin] + '    event.library_call "rms_norm" ins(%x, %w : !matrix, !vector) outs(%y : !matrix) '
               "{epsilon = 1.0e-2 : f32}\n" + own[end:]).replace("strided<[?, ?]>", "strided<[?, 1]>").replace(
                   "strided<[?]>", "strided<[1]>")
    write_tokens(path("tokens.u16"), random.Random(2).choices(range(100), k=66))
    for kind, bound in (("f32", 2e-5), ("f64", 1e-12)):
        losses = []
        for name, text in (("own", own), ("library", library)):
            with open(path(name + ".mlir"), "w") as file:
                file.write(text)
            trainer = Program(batonc, folder, path(name), "--mode=train", f"--dtype={kind}",
                              f"--schedule={path(name + '.mlir')}").path
            result = run([trainer, "train", "--weights", folder, "--data", path("tokens.u16"), "--out",
                          path(f"{name}-{kind}"), "--batch", 2, "--seq", 16, "--validation-fraction", 0, "--steps", 2,
                          "--quiet"])
            losses.append([line["loss"] for line in lines_of(result.stdout) if "loss" in line])
        errors = [abs(one - other) / one for one, other in zip(*losses)]
        expect(len(errors) == 2 and max(errors) <= bound, f"{kind}: losses {losses}")


class Bench:
    def __init__(self, arguments, scratch):
        self.batonc, self.folder, self.scratch = arguments.batonc, arguments.folder, scratch
        self.case = programs.golden(arguments.folder)
        self.tokens = self.case["tokens"][:24]

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write(self, name, text):
        with open(self.path(name + ".mlir"), "w") as file:
            file.write(text)
        return self.path(name + ".mlir")

    def compiled(self, name, text, *flags, folder=None):
        schedule = [f"--schedule={self.write(name, text)}"] if text else []
        return Program(self.batonc, folder or self.folder, self.path(name), *schedule, *flags)

    def logits(self, program, tokens=None, *flags):
        return program.logits(tokens or self.tokens, self.path("logits.npy"), *flags)

    def expect_bits(self, name, text, expected, *targets, tokens=None, folder=None,
                    ways=((1, 64), (3, 17), (2, 1))):
        """Prompts by chunks and row by row."""
        for target in targets:
            program = self.compiled(name, text, *([target] if target else []), folder=folder)
            for workers, chunk in ways:
                bits = self.logits(program, tokens, "--workers", workers, "--prefill-chunk", chunk)
                expect(bits == expected, f"{name}, {target}, {workers} workers, chunks of {chunk}: other logits")
        return program

    def check_body(self, name, text, *flags, check=True):
        return run([self.batonc, "check-body", self.write(name, text), *flags], check=check)

    def refused(self, name, text, *flags):
        """What batonc says of a schedule that it does not compile."""
        result = run([self.batonc, self.folder, "-o", self.path("wrong"), f"--schedule={self.write(name, text)}",
                      "--quiet", *flags], check=False)
        expect(result.returncode == 1, f"{name}: {result}")
        return result.stderr


# Rows of a matrix for all heads: that the code does not say.
SIZES = [f"--size={name}" for one in "qkv" for name in (f"w{one}.0=12", f"{one}.1=3", f"{one}.2=4")]
CPU = None


def test_few(bench):
    # Attention as one op has other bits than softmax of all scores: each is compared with its like.
    called = read("library_calls.mlir")
    expected = bench.logits(bench.compiled("fused", None))
    bench.expect_bits("calls", without(called, "feed_forward"), expected, CPU)
    # Of a step of many rows each, in a chain of its own.
    host = bench.compiled("host", called)
    bench.expect_bits("layer", called, bench.logits(host), EMULATED, ways=((3, 17),))
    bench.logits(host, bench.case["tokens"])
    programs.check(bench.path("logits.npy"), bench.folder)

    # A product as one op, with what is computed of its left side, whose matrix comes packed.
    plain = bench.logits(bench.compiled("plain", EMPTY))
    product = read("projection.mlir")
    bench.expect_bits("packed", product.replace("36", "32"), plain, CPU, EMULATED, ways=((2, 17), (2, 1)))

    # What check-body says.
    low = called.replace("read @x, (t)[rows, past, outputs] -> (t * 16, 0)\n                    to (t)[rows, past, "
                         "outputs] -> (t * 16 + 16, 65536)", "read @x, (t)[rows, past, outputs] -> (t * 16, 0)\n"
                         "                    to (t)[rows, past, outputs] -> (t * 16 + 15, 65536)", 1)
    result = bench.check_body("low", low, "--body=qkv", *SIZES, check=False)
    expect(low != called and result.returncode == 1 and "@qkv  regions  fault: " in result.stdout, result.stdout)

    # Sizes that batonc knows.
    wrong = called.replace('ins(%gates, %down : !temporary, !rows) outs(%y : !rows)',
                           'ins(%gates, %up : !temporary, !rows) outs(%y : !rows)')
    said = bench.refused("wrong", wrong)
    expect(re.search(r"wrong\.mlir:\d+:\d+: 'event.library_call' op operand 'weight' of 'linear' has 100 columns, "
                     r"'out' has 60", said), said)
    unbounded = NORM.replace("%normal = memref.alloca(%tall", "%less = arith.subi %tall, %c1 : index\n"
                             "    %normal = memref.alloca(%less")
    said = bench.refused("wrong", unbounded)
    expect("has a size without a bound that can be seen" in said, said)
    check_python(bench.batonc, bench.path, more=False)


def test_more(bench, half_folder):
    called = read("library_calls.mlir")
    fused = bench.compiled("fused", None)
    device = bench.expect_bits("calls", without(called, "feed_forward"), bench.logits(fused), EMULATED)
    texts = [program.generate(bench.tokens[:3], 12)["tokens"] for program in (fused, device)]
    expect(texts[0] == texts[1], f"tokens {texts[1]}, without bodies {texts[0]}")
    unfused = bench.logits(bench.compiled("unfused", EMPTY))
    expect(unfused != bench.logits(fused), "attention as products has the bits of attention as one op")
    bench.expect_bits("softmax", read("library_softmax.mlir"), unfused, CPU, EMULATED)
    bench.expect_bits("recomputed", NORM, unfused, CPU, EMULATED)
    # From rows inside of panels on, the matrix comes row by row; added to what is there, it is no linear.
    product = read("projection.mlir")
    bench.expect_bits("rows", product, unfused, CPU, EMULATED)
    added = product.replace("linalg.fill", """linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]} outs(%y : memref<?x?xf32, strided<[?, 1]>>) {
    ^bb0(%old: f32):
      linalg.yield %zero : f32
    }
    //""")
    bench.expect_bits("added", added, unfused, CPU, EMULATED)
    packed = product.replace("36", "32")
    sanitized = bench.compiled("sanitized product", packed, "--sanitize=address")
    expect(bench.logits(sanitized, bench.tokens[:9]) == bench.logits(bench.compiled("packed", packed), bench.tokens[:9]),
           "a packed product: other bits when sanitized")

    host = bench.compiled("host", called)
    bench.expect_bits("layer", called, bench.logits(host), CPU, EMULATED)
    sanitized = bench.compiled("sanitized", called, EMULATED, "--sanitize=thread")
    expect(bench.logits(sanitized, bench.tokens[:20], "--workers", 2) == bench.logits(host, bench.tokens[:20]),
           "other bits when sanitized")

    half = programs.golden(half_folder)["tokens"][:24]
    plain = bench.logits(bench.compiled("half", EMPTY, folder=half_folder), half)
    bench.expect_bits("biased", BIASED, plain, CPU, EMULATED, tokens=half, folder=half_folder)

    # What check-body says.
    result = bench.check_body("calls", called, EMULATED, "--body=qkv", *SIZES).stdout
    result += bench.check_body("calls", called, EMULATED, "--body=own_attention", "--body=feed_forward").stdout
    for body in ("qkv", "own_attention", "feed_forward"):
        for check, verdict in (("regions", "ok: "), ("cuda", "ok: ")):
            expect(f"@{body}  {check}  {verdict}" in result, f"@{body}, {check}: {result}")
    result = bench.check_body("softmax", read("library_softmax.mlir"), EMULATED).stdout
    expect("@softmax_of_rows  adjoint_inputs  ok: " in result and result.count("  cuda  ok: ") == 3, result)

    # A loop whose result others need, which one thread would run, and with it the call.
    summing = NORM.replace("    memref.copy", """    %zero = arith.constant 0.0 : f32
    %sum = scf.for %i = %c0 to %wide step %c1 iter_args(%before = %zero) -> f32 {
      %element = memref.load %normal[%c0, %i] : memref<?x?xf32>
      memref.store %element, %y[%c0, %i] : !rows
      %next = arith.addf %before, %element : f32
      scf.yield %next : f32
    }
    memref.store %sum, %y[%c0, %c0] : !rows
    memref.copy""")
    bench.compiled("summing", summing)
    said = bench.refused("summing", summing, EMULATED)
    expect("the task library's 'rms_norm'" in said and "is for all threads of a block" in said and
           said.count("\n") == 1, said)

    # For a GPU, without spilling.
    result = run([bench.batonc, bench.folder, "-o", bench.path("gpu"), f"--schedule={bench.write('calls', called)}",
                  "--target=cuda:sm_80", "--quiet"], check=False)
    if not ("NVRTC" in result.stderr and "was not found" in result.stderr):
        expect(result.returncode == 0, f"for a GPU: {result.stderr}")
        kernels = json.loads(run([bench.path("gpu"), "info", "--json"]).stdout)["device"]["kernels"]
        expect(all(kernel["spilled_bytes"] == 0 for kernel in kernels), f"registers are spilled: {kernels}")

    # Sizes that the step says, which are asserted.
    short = NORM.replace("memref.alloca(%tall, %wide)", "memref.alloca(%taller, %wide)").replace(
        "    %normal", "    %taller = arith.addi %tall, %c1 : index\n    %normal", 1)
    checked = bench.compiled("short", short, "--sanitize=address")
    result = run([checked.path, "logits", "--weights", bench.folder, "--tokens", "1,2,3", "--out",
                  bench.path("logits.npy"), "--no-cache", "--quiet"], check=False)
    expect(result.returncode != 0 and "operand 'x' has other rows" in result.stderr, result.stderr)
    check_python(bench.batonc, bench.path, more=True)
    check_training(bench.batonc, bench.folder, bench.path)


def test(arguments, scratch):
    bench = Bench(arguments, scratch)
    if arguments.more:
        test_more(bench, arguments.more)
    else:
        test_few(bench)
    print("task bodies that call the library have the bits of the ops that they replace")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    parser.add_argument("--more", metavar="HALF", help="all else, with a checkpoint of F16 that has biases")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
