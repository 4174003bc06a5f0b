"""Products by cuBLASLt (--cublaslt=always) on the emulated device, with a library of
the host's in its place (cublaslt.cpp).

A golden checkpoint's logits are within the rounding of the CPU's, and bit for bit the
same for any number of workers and order of threads, as one persistent kernel and as a
CUDA graph; every product of a chunk is the library's, none of a step of one row; and
tokens, dumps and traces are there as without it.

With --errors: what a program says where the library is not found, too old, or fails,
and how --cublaslt=auto goes on without it; and that products are the library's from the
number of rows on that the target description's figures say.
"""

import argparse
import collections
import json
import os

import programs
from cuda import largest_difference
from programs import Program, expect, run


def environment(arguments, library="whole", **more):
    path = os.path.join(arguments.libraries, f"libcublasLt-{library}.so")
    return dict(os.environ, BATON_CUBLASLT=path if library in ("whole", "old") else library, **more)


def logged(path):
    """How often the library computed each [rows, depth, columns]."""
    if not os.path.exists(path):
        return collections.Counter()
    with open(path) as file:
        return collections.Counter(tuple(map(int, line.split()[1:])) for line in file)


def products_of(program, sizes):
    """What it should have computed in steps of so many rows."""
    info = json.loads(run([program.path, "info", "--json"]).stdout)
    repeats = [phase["repeat"] for phase in info["phases"]]
    first, expected = 0, collections.Counter()
    for kernel in info["device"]["kernels"]:
        count = sum(segment["phases"] for segment in kernel.get("order", []))
        for product in kernel.get("products", []):
            expect(info["phases"][first + product["phase"]]["name"] == product["name"], f"a product's name: {product}")
            for rows in sizes:
                if rows >= product["least_rows"]:
                    expected[rows, product["depth"], product["columns"]] += repeats[first + product["phase"]]
        first += count
    return expected


def test_products(arguments, scratch):
    case = programs.golden(arguments.folder)
    tokens = case["tokens"][:27]
    path = lambda name: os.path.join(scratch, name)
    host = Program(arguments.batonc, arguments.folder, path("host"), "--dtype=bf16")
    reference = host.logits(tokens, path("host.npy"))
    forms = {launch: Program(arguments.batonc, arguments.folder, path(launch), "--dtype=bf16", "--cublaslt=always",
                             f"--target={arguments.target}", f"--launch={launch}")
             for launch in ("persistent", "graph")}
    found = {}
    for launch, program in forms.items():
        for workers, chunk, seed in ((1, 64, 0), (3, 64, 4), (2, 7, 1), (4, 7, 2), (2, 1, 3)):
            log = path(f"{launch}-{workers}-{chunk}.log")
            bits = program.logits(tokens, path("out.npy"), "--workers", workers, "--prefill-chunk", chunk,
                                  environment=environment(arguments, CUBLASLT_LOG=log,
                                                          BATON_EMULATION_SEED=str(seed)))
            what = f"{launch}, {workers} workers, chunks of {chunk}"
            expect(bits == found.setdefault(chunk, bits), f"{what}: the logits are others")
            far = largest_difference(bits, reference)
            expect(far <= 5e-2, f"{what}: the logits are {far} from the CPU's")
            # `logits` has no more rows in a step than a step has rows of logits.
            most = min(chunk, 16)
            sizes = [min(most, len(tokens) - first) for first in range(0, len(tokens), most)]
            expected = products_of(program, sizes)
            expect(logged(log) == expected, f"{what}: products {logged(log)}, expected {expected}")
            expect(bool(expected) == (chunk > 1), f"{what}: products of {expected}")
    print(f"{len(products_of(forms['graph'], [27]))} kinds of products, the same logits everywhere")

    greedy = case["greedy"]
    os.environ.update(environment(arguments))
    answers = [program.generate(greedy["prompt"], 6, "--workers", 2, "--prefill-chunk", chunk)["tokens"]
               for program in forms.values() for chunk in (64, 3)]
    expect(answers[0] == answers[2] and answers[1] == answers[3] and len(answers[0]) == 6, f"tokens: {answers}")
    whole = [program.logits(tokens[:9], path("out.npy"), "--dump", path(launch + "-values"), "--prefill-chunk", 64)
             for launch, program in forms.items()]
    expect(whole[0] == whole[1] == forms["graph"].logits(tokens[:9], path("out.npy"), "--prefill-chunk", 64),
           "a dump changes the logits")
    names = [sorted(os.listdir(path(launch + "-values"))) for launch in forms]
    expect(names[0] == names[1] and len(names[0]) > 10, f"the dumps hold {names}")
    for launch, program in forms.items():
        program.logits(tokens[:9], path("out.npy"), "--workers", 2, "--trace", path("trace.json"), "--prefill-chunk",
                       64)
        with open(path("trace.json")) as file:
            traced = {event["name"] for event in json.load(file)["traceEvents"] if event["ph"] == "X"}
        expect(len(traced) > 5, f"{launch}: the trace has {traced}")
    bench = json.loads(run([forms["persistent"].path, "bench", "--prefill", 6, "--decode", 2, "--repeat", 1,
                            "--workers", 2, "--quiet", "--json"]).stdout)
    expect(bench["verdict"].startswith("bit-identical"), f"bench: {bench}")


def test_errors(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    tokens = [(7 * i + i // 5) % 300 for i in range(260)]
    command = lambda program: [program.path, "logits", "--weights", arguments.folder, "--tokens",
                               ",".join(map(str, tokens[:20])), "--out", path("out.npy"), "--no-cache", "--quiet"]
    target = f"--target={arguments.target}"
    for launch in ("persistent", "graph"):
        always = Program(arguments.batonc, arguments.folder, path("always"), target, "--dtype=bf16",
                         "--cublaslt=always", f"--launch={launch}")
        for library, fault, words in (
                (path("nowhere.so"), "", f"cuBLASLt was not found ({path('nowhere.so')}); BATON_CUBLASLT names"),
                ("old", "", "is too old: it lacks cublasLtMatmulAlgoGetHeuristic; this program needs"),
                ("whole", "create", "does not start on the emulated device: CUBLAS_STATUS_NOT_INITIALIZED (cuBLASLt "
                                    "status 1)"),
                ("whole", "heuristic", "a product of 16 rows, 128 columns and depth 64 by cuBLASLt on the emulated "
                                       "device: CUBLAS_STATUS_INTERNAL_ERROR (cuBLASLt status 14)"),
                ("whole", "algorithm", "it has no algorithm for that; compile with --cublaslt=never"),
                ("whole", "multiply", "by cuBLASLt on the emulated device: CUBLAS_STATUS_EXECUTION_FAILED")):
            result = run(command(always), check=False, env=environment(arguments, library, CUBLASLT_FAULT=fault))
            expect(result.returncode == 1 and result.stderr.startswith("error: ") and words in result.stderr
                   and result.stderr.count("\n") == 1, f"{launch}, {library} {fault}: {result}")
    text = run([always.path, "info"]).stdout
    expect("from 2 rows on layers.self_attn.q_proj" in text and "the program needs it" in text, f"info: {text}")

    # Figures that make the library the faster one, for larger products earlier.
    with open(os.path.join(os.path.dirname(arguments.batonc), "../lib/baton/targets/cuda.json")) as file:
        description = json.load(file)
    description.update(own_body_reaches=2.5e-4, max_outputs=512)
    with open(path("target.json"), "w") as file:
        json.dump(description, file)
    with open(path("wrong.json"), "w") as file:
        json.dump(description | {"cublaslt_reaches": 1.5}, file)
    result = run([arguments.batonc, arguments.folder, target, "--target-file", path("wrong.json"), "--emit=cuda"],
                 check=False)
    expect(result.returncode == 1 and "'cublaslt_reaches' is more than 1, all of the peak" in result.stderr,
           f"more than the peak: {result.stderr}")
    flags = [target, "--dtype=bf16", "--target-file", path("target.json"), "--max-seq", 400]
    own, chosen = [Program(arguments.batonc, arguments.folder, path(choice), *flags, f"--cublaslt={choice}")
                   for choice in ("never", "auto")]
    products = json.loads(run([chosen.path, "info", "--json"]).stdout)["device"]["kernels"][0]["products"]
    least = {product["name"].split(".")[-1] if "q_proj" not in product["name"] else "qkv": product["least_rows"]
             for product in products}
    expect(least["gate_up"] == 128 and least["qkv"] == 256, f"thresholds: {least}")
    expect("from 128 rows on layers.mlp.gate_up" in run([chosen.path, "info"]).stdout, "info of thresholds")
    explained = json.loads(run([arguments.batonc, "explain", arguments.folder, *flags, "--prefill", 200,
                                "--json"]).stdout)
    for phase, at in zip(explained["phases"], explained["steps"][0]["phases"]):
        said = phase["reasons"]["cublaslt"]
        expect(bool(said) == any("linear" in call for call in phase["calls"]), f"{phase['name']}: {said}")
        if phase["name"].endswith("gate_up"):
            expect(said[0].startswith("cuBLASLt computes it in steps of 128 rows or more: at 400 rows ")
                   and at["boundary_us"] > 18, f"gate_up: {said}, {at['boundary_us']}")
        elif not phase["name"].endswith("gate_up"):
            expect(at["boundary_us"] == 0, f"{phase['name']}: {at['boundary_us']}")
    for rows in (100, 140, 260):
        log = path(f"rows-{rows}.log")
        bits = [program.logits(tokens[:rows], path("out.npy"), "--workers", 2, "--prefill-chunk", 400,
                               environment=environment(arguments, CUBLASLT_LOG=log)) for program in (own, chosen)]
        expect(logged(log) == products_of(chosen, [rows]) and bool(logged(log)) == (rows > 127),
               f"{rows} rows: {logged(log)}")
        expect(rows > 127 or bits[0] == bits[1], f"{rows} rows: other bits without the library")
        expect(largest_difference(*bits) < 5e-2, f"{rows} rows: far from the kernel's own body")
    # Without the library the kernel's own bodies multiply, and one line says so.
    expected = own.logits(tokens[:140], path("own.npy"), "--prefill-chunk", 400)
    result = run(command(chosen)[:5] + [",".join(map(str, tokens[:140]))] + command(chosen)[6:] +
                 ["--prefill-chunk", 400], env=environment(arguments, path("nowhere.so")))
    with open(path("out.npy"), "rb") as file:
        expect(file.read() == expected, "other bits where the library is not found")
    expect(result.stderr.startswith("warning: cuBLASLt was not found (") and result.stderr.count("\n") == 1
           and result.stderr.endswith("; the program's own kernels multiply instead\n"), f"not found: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--target", default="cuda:emulated")
    parser.add_argument("--libraries", required=True, help="folder of libcublasLt-whole.so and -old.so")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: (test_errors if arguments.errors else test_products)(arguments, scratch))
