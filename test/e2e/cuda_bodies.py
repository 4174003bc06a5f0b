"""Task bodies of users on CUDA: the CPU's bits, by all threads of a block.

Each body stands in the place of a feed-forward layer's activation and product, most in a
model that has little else. Its
program for the emulation gives the CPU program's logits bit for bit, in prompts and row by
row, for any number of workers and order of threads, and is clean under the thread sanitizer; where NVRTC is,
two of them compile for a GPU without spilling. Reductions are as vectors what they are as loops. An
op for which there is no C++ is refused in one line that names it. With --few: the ops of five bodies
in one, a body that appends to states, reductions, the example of the docs in prompts, decoding and
batches, and the refusals.
"""

import argparse
import json
import math
import os
import re

import programs
import schedules
from programs import Program, expect, rows_of, run

MEMREF = "memref<?x?xf32, strided<[?, ?]>>"
ROWS_AND_COLUMNS = "affine_map<(i, j) -> (i, j)>"


def custom(code):
    """A body @mine of x and y, which makes z."""
    box = lambda: "(t)[rows, past, outputs] -> (t * 16, 0) to (t)[rows, past, outputs] -> (t * 16 + 16, 65536)"
    return f"""  event.body @mine grid ()[rows, past, outputs] -> (rows ceildiv 16)
      accesses [#event.access<read @x, {box()}>, #event.access<read @y, {box()}>, #event.access<write @z, {box()}>] {{
  ^bb0(%x: {MEMREF}, %y: {MEMREF}, %z: {MEMREF}):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %one = arith.constant 1.0 : f32
    %rows = memref.dim %z, %c0 : {MEMREF}
    %columns = memref.dim %z, %c1 : {MEMREF}
{code}
  }}
"""


def elementwise(inputs, code, result, outputs="%z", output_map=ROWS_AND_COLUMNS):
    """A structured op over all elements, of %a, %b ... and the old %o."""
    names = ["%a", "%b"][:len(inputs)]
    ins = f"ins({', '.join(inputs)} : {', '.join([MEMREF] * len(inputs))})" if inputs else ""
    return f"""    linalg.generic {{indexing_maps = [{', '.join([ROWS_AND_COLUMNS] * len(inputs) + [output_map])}],
                    iterator_types = ["parallel", "parallel"]}} {ins} outs({outputs} : {MEMREF}) {{
    ^bb0({', '.join(f"{name}: f32" for name in names + ["%o"])}):
{code}
      linalg.yield {result} : f32
    }}
"""


PRODUCT = elementwise(["%x", "%y"], "      %p = arith.mulf %a, %b : f32", "%p")

# z[i, j] += the sum over k of x[i, k] * y[i, k], in ascending k.
CONTRACTION = f"""    linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, k)>,
                                     affine_map<(i, j, k) -> (i, j)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%x, %y : {MEMREF}, {MEMREF}) outs(%z : {MEMREF}) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }}
"""

FUNCTIONS = """      %exp = math.exp %a : f32
      %tanh = math.tanh %b : f32
      %abs = math.absf %a : f32
      %log = math.log1p %abs : f32
      %sin = math.sin %b : f32
      %erf = math.erf %a : f32
      %root = math.sqrt %abs : f32
      %near = arith.addf %abs, %one : f32
      %inverse = math.rsqrt %near : f32
      %floor = math.floor %exp : f32
      %fused = math.fma %tanh, %log, %sin : f32
      %largest = arith.maximumf %fused, %erf : f32
      %least = arith.minimumf %root, %inverse : f32
      %larger = arith.maxnumf %largest, %b : f32
      %less = arith.minnumf %least, %floor : f32
      %half = arith.truncf %larger : f32 to f16
      %halves = arith.addf %half, %half : f16
      %wide = arith.extf %halves : f16 to f32
      %upper = arith.constant 16 : i32
      %less_bits = arith.bitcast %less : f32 to i32
      %high = arith.shrui %less_bits, %upper : i32
      %short = arith.trunci %high : i32 to i16
      %brain = arith.bitcast %short : i16 to bf16
      %wider = arith.extf %brain : bf16 to f32
      %rounded = arith.truncf %wide : f32 to bf16
      %whole_brain = arith.extf %rounded : bf16 to f32
      %whole = arith.fptosi %whole_brain : f32 to i32
      %shift = arith.constant 3 : i32
      %shifted = arith.shrsi %whole, %shift : i32
      %real = arith.sitofp %shifted : i32 to f32
      %bits = arith.bitcast %wider : f32 to i32
      %mask = arith.constant -65536 : i32
      %masked = arith.andi %bits, %mask : i32
      %again = arith.bitcast %masked : i32 to f32
      %is = arith.cmpf ult, %again, %real : f32
      %chosen = arith.select %is, %again, %wide : f32
      %sum = arith.addf %chosen, %real : f32
      %result = math.tanh %sum : f32
"""

# What the first op wrote in one order, the second reads in another; then rows one by
# one, with a value that all elements of the next op need.
DEPENDENT = f"""    %part = memref.subview %z[0, 0] [%rows, %columns] [1, 1] : {MEMREF} to memref<?x?xf32, strided<[?, ?]>>
    scf.for %i = %c0 to %rows step %c1 {{
      %most = scf.for %j = %c0 to %columns step %c1 iter_args(%m = %one) -> (f32) {{
        %e = memref.load %part[%i, %j] : {MEMREF}
        %n = arith.maximumf %m, %e : f32
        scf.yield %n : f32
      }}
      %odd = arith.remsi %i, %c2 : index
      %is = arith.cmpi eq, %odd, %c0 : index
      %sign = scf.if %is -> (f32) {{
        scf.yield %most : f32
      }} else {{
        scf.yield %one : f32
      }}
      memref.store %sign, %z[%i, %c0] : {MEMREF}
    }}
    %corner = memref.load %z[%c0, %c0] : {MEMREF}
""" + elementwise([], "      %q = arith.divf %o, %corner : f32", "%q")

# A buffer of the task's own.
STACK = f"""    scf.for %i = %c0 to %rows step %c1 {{
      %sums = memref.alloca() : memref<2x2xf32>
      %row = memref.subview %sums[1, 0] [1, 2] [1, 1] : memref<2x2xf32> to memref<2xf32, strided<[1], offset: 2>>
      memref.store %one, %sums[%c1, %c0] : memref<2x2xf32>
      scf.for %j = %c0 to %columns step %c1 {{
        %old = memref.load %row[%c0] : memref<2xf32, strided<[1], offset: 2>>
        %e = memref.load %x[%i, %j] : {MEMREF}
        %n = arith.addf %old, %e : f32
        memref.store %n, %row[%c0] : memref<2xf32, strided<[1], offset: 2>>
        %sum = memref.load %sums[%c1, %c0] : memref<2x2xf32>
        memref.store %sum, %z[%i, %j] : {MEMREF}
      }}
    }}
"""

# Every element of a row is written to its first column: the last one stays.
OVERWRITING = elementwise(["%y"], "", "%a", output_map="affine_map<(i, j) -> (i, 0)>")

BODIES = {
    "contraction": PRODUCT + CONTRACTION,
    "functions": elementwise(["%x", "%y"], FUNCTIONS, "%result"),
    "dependent": PRODUCT + DEPENDENT,
    "stack": STACK,
    "overwriting": PRODUCT + OVERWRITING,
    "copy": f"    memref.copy %y, %z : {MEMREF} to {MEMREF}\n",
    "loops": None,
}
# All but the last two, one behind the other.
TOGETHER = STACK + CONTRACTION + elementwise(["%x", "%y"], FUNCTIONS + "      %more = arith.addf %result, %o : f32\n",
                                             "%more") + DEPENDENT + OVERWRITING


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder, case = arguments.folder, programs.golden(arguments.folder)
    tokens = case["tokens"][:24]

    here = os.path.dirname(os.path.abspath(__file__))
    # What a model has beside the body takes most of the time to compile.
    small = os.path.join(here, "inputs", "feed_forward.mlir")

    def schedule(name, text, called="mine"):
        with open(path(name + ".mlir"), "w") as file:
            file.write(schedules.replacing(text, called, fuses=False))
        return f"--schedule={path(name + '.mlir')}"

    def compiled(name, *flags):
        program = Program(arguments.batonc, small, path(name), *flags)
        program.weights = folder
        return program

    bodies = {"together": TOGETHER} if arguments.few else BODIES
    for name, code in bodies.items():
        flag = schedule(name, custom(code)) if code else schedule(name, schedules.body(), "silu_times")
        host, device = compiled("host", flag), compiled("device", flag, "--target=cuda:emulated")
        # Rows one by one are another program's, which decodes. A body may ask which row of
        # its tile one is, and so see how a prompt is divided.
        for workers, chunk, seed in ((1, 64, 0), (3, 17, 1), (2, 1, 0)):
            expected = host.logits(tokens, path("host.npy"), "--prefill-chunk", 1 if chunk == 1 else 64)
            bits = device.logits(tokens, path("device.npy"), "--workers", workers, "--prefill-chunk", chunk,
                                 environment=dict(os.environ, BATON_EMULATION_SEED=str(seed)))
            expect(bits == expected, f"{name}, {workers} workers: the logits are not the CPU's")
            expect(all(map(math.isfinite, sum(rows_of(bits), []))), f"{name}: numbers that say nothing")
        if name == "dependent":
            checked = compiled("checked", flag, "--target=cuda:emulated", "--sanitize=thread")
            bits = checked.logits(tokens[:20], path("checked.npy"), "--workers", 2)
            expect(bits == host.logits(tokens[:20], path("host.npy")), f"{name}: other bits when sanitized")

    dealt = run([arguments.batonc, small, "--emit=cuda", schedule("product", custom(PRODUCT)),
                 "--target=cuda:sm_90a"]).stdout
    function = dealt[dealt.index("baton_body_0"):]
    function = function[:function.index("\n}\n")]
    expect("(threadIdx.x, blockDim.x, " in function and "threadIdx.x == 0" not in function, f"not dealt out: {function}")

    plain = Program(arguments.batonc, folder, path("plain")).generate(tokens[:3], 12)["tokens"]
    names = ["rope-append"] if arguments.few else ["rope-append", "norm_of_parts", "projection"]
    # Rotation and both states by one body; a norm by parts of rows; a product: the library's
    # numbers but for roundings.
    for name in names:
        file = os.path.join(arguments.examples, "schedules", name + ".mlir")
        if not os.path.exists(file):
            file = os.path.join(here, "inputs", name + ".mlir")
        host, device = [Program(arguments.batonc, folder, path(f"{name}{i}"), f"--schedule={file}", *flags)
                        for i, flags in enumerate(((), ("--target=cuda:emulated",)))]
        expected = host.logits(tokens, path("logits.npy"))
        for chunk in (1, 9, 17):
            for program in (host, device):
                expect(program.logits(tokens, path("logits.npy"), "--prefill-chunk", chunk) == expected,
                       f"{name}, chunks of {chunk}: other logits")
        host.logits(case["tokens"], path("logits.npy"))
        programs.check(path("logits.npy"), folder)
        expect(host.generate(tokens[:3], 12)["tokens"] == device.generate(tokens[:3], 12)["tokens"] == plain,
               f"{name}: other tokens than without it")

    # Reductions: of a prompt's rows sixteen are the lanes of vectors on the CPU, row by row none is,
    # and on CUDA a thread has one.
    file = os.path.join(here, "inputs", "reductions.mlir")
    host, device = [Program(arguments.batonc, folder, path(f"reductions{i}"), f"--schedule={file}", *flags)
                    for i, flags in enumerate(((), ("--target=cuda:emulated",)))]
    expected = host.logits(tokens, path("logits.npy"), "--prefill-chunk", 1)
    for program, chunk in ((host, 24), (host, 17), (device, 24)):
        expect(program.logits(tokens, path("logits.npy"), "--prefill-chunk", chunk) == expected,
               f"reductions, chunks of {chunk}: other logits")
    expect(all(map(math.isfinite, sum(rows_of(expected), []))), "reductions: numbers that say nothing")

    # Prompts are one program on CUDA, steps of one row another: both have the body.
    example = "--schedule=" + os.path.join(arguments.examples, "schedules", "own-body.mlir")
    alone = [Program(arguments.batonc, folder, path(f"example{i}"), example, *flags)
             for i, flags in enumerate(((), ("--target=cuda:emulated",)))]
    logits = [program.logits(tokens, path("example.npy")) for program in alone]
    expect(logits[0] == logits[1], "own-body.mlir: the logits are not the CPU's")
    texts = [program.generate(tokens[:3], 12)["tokens"] for program in alone]
    expect(texts[0] == texts[1] != plain, f"own-body.mlir: tokens {texts}, without the body {plain}")
    batch = Program(arguments.batonc, folder, path("batch"), example, "--max-batch=2")
    text = batch.generate(tokens[:3], 12)["tokens"]
    expect(text == texts[0], f"own-body.mlir: tokens {text} with --max-batch, {texts[0]} without")

    count = elementwise(["%x", "%y"], """      %bits = arith.bitcast %a : f32 to i32
      %set = math.ctpop %bits : i32
      %real = arith.sitofp %set : i32 to f32
""", "%real")
    # Sixteen threads, which have the point of a vector, would store what is one's to store.
    vectors = elementwise(["%x", "%y"], """      %all = vector.broadcast %a : f32 to vector<16xf32>
      %real = vector.reduction <add>, %all : vector<16xf32> into f32
""", "%real")
    for name, text, op in (("count", count, "math.ctpop"), ("vectors", vectors, "memref.store")):
        result = run([arguments.batonc, small, "-o", path("refused"), schedule(name, custom(text)),
                      "--target=cuda:emulated", "--quiet"], check=False)
        expect(result.returncode == 1 and result.stderr.count("\n") == 1 and "body @mine" in result.stderr
               and f"'{op}'" in result.stderr and re.search(name + r"\.mlir\W+\d+:\d+", result.stderr)
               and not os.path.exists(path("refused")), f"{op}: {result.stderr}")
    print(f"{len(bodies)} bodies, {', '.join(names)} and reductions give the CPU's bits")
    if arguments.few:
        return

    # One behind the other, which share the rest of the model.
    both = schedule("both", custom(BODIES["functions"] + BODIES["dependent"]))
    result = run([arguments.batonc, small, "-o", path("gpu"), both, "--target=cuda:sm_80", "--quiet"], check=False)
    if not ("NVRTC" in result.stderr and "was not found" in result.stderr):
        expect(result.returncode == 0, f"for a GPU: {result.stderr}")
        said = json.loads(run([path("gpu"), "info", "--json"]).stdout)["device"]
        for kernel in said["kernels"]:
            expect(kernel["spilled_bytes"] == 0, f"registers are spilled: {said}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
