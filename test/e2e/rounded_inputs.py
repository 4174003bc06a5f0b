"""With --activations=bf16-avx512 or bf16-amx linears round their inputs to BF16, and a row has the bits that it has alone.

Logits are near those of inputs in F32, and the same for other workers, chunks, CPUs, without optional
passes, and for a program of batches, whose texts come to the tokens of one sequence each. CPUs agree
on sums of denormal size, too, and what comes behind sums keeps its denormal numbers. Programs, explain
and plans say what they round. Models without BF16 weights, training and CUDA are refused by name.
"""

import argparse
import json
import os
import random
import struct

import programs
from batches import Batch, alone, make_requests
from programs import USUAL, Program, expect, rows_of, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
F32_MODEL = os.path.join(ROOT, "test/golden/llama-gqa")


# Tokens' rows of a table, and a linear of them with a bias.
TINY = (64, 48)
TINY_MODEL = """!table = !model.tensor<{1} x {0} x bf16>
!last = !model.tensor<outputs x {0} x f32>
!bias = !model.tensor<{1} x f32>
!logits = !model.tensor<outputs x {1} x f32>
model.program @tiny max_seq 64 inputs bf16{2} {{
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : <{1} x {0} x bf16>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !table) -> !model.tensor<rows x {0} x f32>
  %last = model.last_rows %x : (!model.tensor<rows x {0} x f32>) -> !last
  %weight = model.parameter ["weight"] : <{1} x {0} x bf16>
  %bias = model.parameter ["bias"] : <{1} x f32>
  %logits = model.linear %last, %weight bias %bias : (!last, !table, !bias) -> !logits
  model.return %logits : !logits
}}
"""


def write_tensors(path, tensors):
    """A safetensors file of what maps names to a type, a shape and bytes."""
    header, data = {}, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def check_tiny(batonc, amx, path):
    """Products around 2^-126, the least normal number, of which sums are some; biases below it."""
    generator = random.Random(1)
    width, vocabulary = TINY

    def tensor(*shape, exponents):
        count = shape[0] * shape[1]
        # A sign, an exponent with a bias of 127, and seven bits.
        words = [generator.choice((0, 0x8000)) | generator.choice(exponents) << 7 | generator.randrange(128)
                 for _ in range(count)]
        return "BF16", list(shape), struct.pack(f"<{count}H", *words)

    os.makedirs(path("tiny"), exist_ok=True)
    bias = struct.pack(f"<{vocabulary}f", *(generator.uniform(-1, 1) * 2.0 ** -127 for _ in range(vocabulary)))
    write_tensors(path("tiny/model.safetensors"), {
        "table": tensor(vocabulary, width, exponents=range(58, 65)),
        "weight": tensor(vocabulary, width, exponents=[0, *range(55, 65)]), "bias": ("F32", [vocabulary], bias)})
    with open(path("tiny.mlir"), "w") as file:
        file.write(TINY_MODEL.format(width, vocabulary, " amx" if amx else ""))
    tokens = [1, 17, 5, 40, 33, 2, 47, 41, 7, 0, 3, 3, 28]
    dumps = {}
    for cpu in ("native", "x86-64-v4", "x86-64-v3", "x86-64"):
        program = Program(batonc, path("tiny.mlir"), path("tiny.program"), f"--target-cpu={cpu}")
        program.weights = path("tiny")
        if cpu == "x86-64-v4" and "avx512vl" not in open("/proc/cpuinfo").read():
            continue
        dumps[cpu] = program.logits(tokens, path("tiny.npy"))
    first = dumps["native"]
    for cpu, logits in dumps.items():
        expect(logits == first, f"of tiny numbers {cpu} makes other logits")
    # A bias alone, behind a sum that is zero, or beside one that is hardly more.
    numbers = [abs(number) for row in rows_of(first) for number in row]
    denormal = sum(number < 2.0 ** -126 for number in numbers)
    expect(0 < denormal < len(numbers) / 2, f"of {len(numbers)} logits {denormal} are denormal")


def folder_config(folder):
    with open(os.path.join(folder, "config.json")) as file:
        return file.read()


def distance(exact, rounded):
    """How far logits are off, of the largest."""
    pairs = [(a, b) for near, far in zip(rows_of(rounded), rows_of(exact), strict=True)
             for a, b in zip(near, far, strict=True)]
    return max(abs(a - b) for a, b in pairs) / max(abs(b) for _, b in pairs)


def check_batches(program, one, case, tokens, expected, path):
    expect(program.logits(tokens, path("batch.npy")) == expected, "a batch's logits have other bits")
    requests = make_requests(case, 8, random.Random(3))
    batch = Batch(program, requests, path)
    results, _ = batch.run()
    for request, result in zip(requests, results, strict=True):
        wanted = alone(one, request)
        expect(wanted is None or result["tokens"] == wanted, f"{request}: {result}")
    for flags in (["--workers", 1, "--no-prefix-cache"], ["--workers", 3, "--prefill-chunk", 5]):
        expect(batch.run(*flags)[0] == results, f"{flags}: other results")


def check_descriptions(batonc, folder, flag, program, routes):
    info = json.loads(run([program.path, "info", "--json"]).stdout)
    amx = flag.endswith("amx")
    expect(info["model"]["activations"] == ("bf16-amx" if amx else "bf16"), f"info says {info['model']}")
    plan = run([batonc, folder, flag, "--emit=event"]).stdout
    for body in ("round_rows", "amx_linear_bf16" if amx else "rounded_linear_bf16"):
        expect(f'event.call "{body}"' in plan, f"no task calls {body}")
    # Routers do not round, lest rows go to other experts.
    expect(('event.call "linear_bf16"' in plan) == routes, "a linear of BF16 weights does not round, or a router does")
    text = run([batonc, "explain", folder, flag]).stdout
    expect("round_rows of" in text, "explain does not say who rounds")


def check_usual(batonc, folder, path):
    """Whose sums there are without a name, the CPU decides."""
    for cpu, sums in (("znver4", "rounded_linear"), ("sapphirerapids", "amx_linear"), ("x86-64-v3", "rounded_linear")):
        plan = run([batonc, folder, "--activations=bf16", f"--target-cpu={cpu}", "--emit=event"]).stdout
        expect(f'event.call "{sums}_bf16"' in plan, f"for {cpu} no task calls {sums}")


def check_refusals(batonc, folder, flag, path):
    model = path("model.mlir")
    run([batonc, folder, flag, "--emit=model", "-o", model])
    with open(model) as file:
        expect(("inputs bf16 amx" if flag.endswith("amx") else "inputs bf16 ") in file.read(),
               "the model does not say that it rounds")
    for flags, words in (
            ([F32_MODEL, flag], "no weight that linears of"),
            ([folder, flag, "--dtype=f32"], "no weight that linears of"),
            ([folder, flag, "--mode=train"], f"{flag} is for programs that decode"),
            ([folder, flag, "--target=cuda:emulated"], f"{flag} with --target=cuda:emulated is not built yet"),
            ([model, flag], "are written in it"),
            ([model, "--target=cuda:emulated"], "the plan calls round_rows, which is for CPUs only")):
        result = run([batonc, *flags, "-o", path("none")], check=False)
        expect(result.returncode == 1 and words in result.stderr, f"{flags}: {result}")
    # A file says it without the flag.
    return Program(batonc, model, path("file"))


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    folder = arguments.folder
    case = programs.golden(folder)
    tokens = case["tokens"]
    compiled = lambda name, *flags: Program(arguments.batonc, folder, path(name), *flags)
    exact = compiled("exact").logits(tokens, path("exact.npy"))
    flag = f"--activations={arguments.activations}"
    one = compiled("one", flag)
    expected = one.logits(tokens, path("one.npy"), "--workers", 2)
    off = distance(exact, expected)
    print(f"logits are off by {off:.1e} of the largest")
    expect(0 < off < 0.02, f"inputs in BF16 put logits off by {off}")

    for workers, chunk in ((1, 1), (1, 7), (3, 2), (2, 5), (2, 13), (2, 64)):
        bits = one.logits(tokens, path("again.npy"), "--workers", workers, "--prefill-chunk", chunk)
        expect(bits == expected, f"{workers} workers, chunks of {chunk}: other bits")
    # The same sums by other instructions, of other vectors.
    for cpu in ("x86-64-v3", "x86-64"):
        other = compiled("other", flag, f"--target-cpu={cpu}")
        expect(other.logits(tokens, path("other.npy")) == expected, f"as {cpu} computes them, logits have other bits")
    for name, flags in (("usual", [USUAL]), ("unfused", ["--disable-pass=linear-grouping,norm-rewrites"])):
        other = compiled(name, flag, *flags)
        expect(other.logits(tokens, path("other.npy")) == expected, f"{flags}: other bits")
    print("bits are the same for other workers, chunks, CPUs and without optional passes")
    check_tiny(arguments.batonc, flag.endswith("amx"), path)
    check_batches(compiled("many", flag, "--max-batch=3", "--max-rows=20"), one, case, tokens, expected, path)
    check_descriptions(arguments.batonc, folder, flag, one, routes="experts" in folder_config(folder))
    check_usual(arguments.batonc, folder, path)
    program = check_refusals(arguments.batonc, folder, flag, path)
    program.weights = folder
    expect(program.logits(tokens, path("file.npy")) == expected, "compiled from its model in MLIR, it has other bits")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--activations", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
