"""Task bodies that call the task library: the bits of the ops that they replace.

Norm and products in front of attention by one body, attention, softmax: prompts and
decoding, on CPUs and as emulated CUDA, for chunks and workers, have the logits of the
program without the bodies, bit for bit. So has a norm that is computed again in front of a
product. A feed-forward layer by one body computes in its own order: the golden logits, and
one set of bits on both targets. Weights of 16 bits and biases are those of the library's
linear. `batonc check-body` finds bodies and adjoints right, and a box that is too small; sizes
that do not fit are an error of batonc's where they are known, and of a program with a
sanitizer's where they are not; the thread sanitizer finds nothing.
"""

import argparse
import os
import re

import programs
from programs import Program, expect, run

HERE = os.path.dirname(os.path.abspath(__file__))
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


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder, case = arguments.folder, programs.golden(arguments.folder)
    tokens = case["tokens"][:24]

    def write(name, text):
        with open(path(name + ".mlir"), "w") as file:
            file.write(text)
        return path(name + ".mlir")

    def compiled(name, text, *flags, folder=folder):
        schedule = [f"--schedule={write(name, text)}"] if text else []
        return Program(arguments.batonc, folder, path(name), *schedule, *flags)

    def expect_bits(name, text, expected, tokens=tokens, folder=folder):
        """Prompts by chunks, row by row, and generation: CPU and CUDA."""
        for target in ((), (EMULATED,)):
            program = compiled(name, text, *target, folder=folder)
            for workers, chunk in ((1, 64), (3, 17), (2, 1)):
                bits = program.logits(tokens, path("logits.npy"), "--workers", workers, "--prefill-chunk", chunk)
                expect(bits == expected, f"{name}, {target}, {workers} workers, chunks of {chunk}: other logits")
        return program

    # Attention as one op has other bits than softmax of all scores: each is compared with its like.
    called = read("library_calls.mlir")
    fused = compiled("fused", None)
    expected = fused.logits(tokens, path("logits.npy"))
    device = expect_bits("calls", without(called, "feed_forward"), expected)
    texts = [program.generate(tokens[:3], 12)["tokens"] for program in (fused, device)]
    expect(texts[0] == texts[1], f"tokens {texts[1]}, without bodies {texts[0]}")
    unfused = compiled("unfused", EMPTY).logits(tokens, path("logits.npy"))
    expect(unfused != expected, "attention as products has the bits of attention as one op")
    expect_bits("softmax", read("library_softmax.mlir"), unfused)
    expect_bits("recomputed", NORM, unfused)

    # Of a step of many rows each, in a chain of its own.
    host = compiled("host", called)
    bits = host.logits(tokens, path("logits.npy"))
    expect_bits("layer", called, bits)
    host.logits(case["tokens"], path("logits.npy"))
    programs.check(path("logits.npy"), folder)
    sanitized = compiled("sanitized", called, EMULATED, "--sanitize=thread")
    expect(sanitized.logits(tokens[:20], path("logits.npy"), "--workers", 2) ==
           host.logits(tokens[:20], path("host.npy")), "other bits when sanitized")

    half = programs.golden(arguments.half)["tokens"][:24]
    plain = compiled("half", EMPTY, folder=arguments.half).logits(half, path("logits.npy"))
    expect_bits("biased", BIASED, plain, half, arguments.half)

    # What check-body says.
    # Rows of a matrix for all heads: that the code does not say.
    sizes = [f"--size={name}" for one in "qkv" for name in (f"w{one}.0=12", f"{one}.1=3", f"{one}.2=4")]
    check = [arguments.batonc, "check-body", write("calls", called), EMULATED]
    result = run([*check, "--body=qkv", *sizes]).stdout + run([*check, "--body=own_attention",
                                                               "--body=feed_forward"]).stdout
    for body in ("qkv", "own_attention", "feed_forward"):
        for check, verdict in (("regions", "ok: "), ("cuda", "ok: ")):
            expect(f"@{body}  {check}  {verdict}" in result, f"@{body}, {check}: {result}")
    result = run([arguments.batonc, "check-body", write("softmax", read("library_softmax.mlir"))]).stdout
    expect("@softmax_of_rows  adjoint_inputs  ok: " in result, result)
    low = called.replace("read @x, (t)[rows, past, outputs] -> (t * 16, 0)\n                    to (t)[rows, past, "
                         "outputs] -> (t * 16 + 16, 65536)", "read @x, (t)[rows, past, outputs] -> (t * 16, 0)\n"
                         "                    to (t)[rows, past, outputs] -> (t * 16 + 15, 65536)", 1)
    result = run([arguments.batonc, "check-body", write("low", low), "--body=qkv", *sizes], check=False)
    expect(low != called and result.returncode == 1 and "@qkv  regions  fault: " in result.stdout, result.stdout)

    # Sizes that batonc knows.
    wrong = called.replace('ins(%gates, %down : !temporary, !rows) outs(%y : !rows)',
                           'ins(%gates, %up : !temporary, !rows) outs(%y : !rows)')
    result = run([arguments.batonc, folder, "-o", path("wrong"), f"--schedule={write('wrong', wrong)}", "--quiet"],
                 check=False)
    expect(result.returncode == 1 and re.search(r"wrong\.mlir:\d+:\d+: 'event.library_call' op operand 'weight' of "
                                                r"'linear' has 100 columns, 'out' has 60", result.stderr),
           result.stderr)
    unbounded = NORM.replace("%normal = memref.alloca(%tall", "%less = arith.subi %tall, %c1 : index\n"
                             "    %normal = memref.alloca(%less")
    result = run([arguments.batonc, folder, "-o", path("wrong"), f"--schedule={write('wrong', unbounded)}", "--quiet"],
                 check=False)
    expect(result.returncode == 1 and "has a size without a bound that can be seen" in result.stderr, result.stderr)

    # And sizes that the step says, which are asserted.
    short = NORM.replace("memref.alloca(%tall, %wide)", "memref.alloca(%taller, %wide)").replace(
        "    %normal", "    %taller = arith.addi %tall, %c1 : index\n    %normal", 1)
    checked = compiled("short", short, "--sanitize=address")
    result = run([checked.path, "logits", "--weights", folder, "--tokens", "1,2,3", "--out", path("logits.npy"),
                  "--no-cache", "--quiet"], check=False)
    expect(result.returncode != 0 and "operand 'x' has other rows" in result.stderr, result.stderr)
    print("task bodies that call the library have the bits of the ops that they replace")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("folder")
    parser.add_argument("half")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
