"""A program of --max-batch: rows of many sequences in a step, and in each the bits of one alone.

Logits of all positions are those of the program of one sequence, for several chunks. Requests
of random lengths, half of them with a common beginning, greedy and sampled, come to the tokens
that `generate` of the other program comes to; so they do with other workers, chunks, without
the cache of prefixes, and with so few pages that texts are put off and computed again.
Log-probabilities agree to the last digit. Some requests have penalties, bias, min-p and two
continuations, which `generate` does not know: their results agree with one another. Some texts repeat
themselves: tokens of them are guessed, and results are those without guesses. With --device the
same is held for CUDA, emulated, and results are those of the CPU.
With --mesh both programs have ranks. With another --kv-type than f32 logits are near those of one
sequence, and all else is held against `generate` of the same program. Of a mixture of experts they are
so where each row has all experts: a rounded state may send a row to other experts, whose results are no
nearer than others.
`bench --batch` has its verdict, and what does not go together is refused by name.
With --sanitize, neither sanitizer nor the check of memory finds anything.
"""

import argparse
import array
import json
import math
import os
import random
import shutil
import struct

import programs
from programs import MPI, Program, expect, run

SEQUENCES, ROWS = 5, 24


def write_requests(path, requests):
    with open(path, "w") as file:
        for request in requests:
            file.write(json.dumps(request) + "\n")


def make_requests(case, count, generator):
    """Prompts of the golden case's tokens, in any order, some of which begin alike."""
    tokens = case["tokens"]
    longest = min(len(tokens), 150)
    common = [generator.choice(tokens) for _ in range(70 if longest >= 120 else 30)]
    requests = []
    for number in range(count):
        length = generator.choice([1, 2, 3, 17, 63, 64, 65, longest - 20])
        prompt = [generator.choice(tokens) for _ in range(max(1, min(length, longest - 20)))]
        if number % 2:
            prompt = (common + prompt)[:longest - 20]
        request = {"id": f"r{number}", "tokens": prompt, "max_new_tokens": generator.choice([1, 2, 7, 19]),
                   "logprobs": 3}
        if number % 3:
            request |= {"temperature": 0.9, "seed": number, "top_k": 40, "top_p": 0.95}
        if number % 4 == 3:
            bias = {str(generator.choice(tokens)): 2.5, str(generator.choice(tokens)): -3}
            request |= {"repetition_penalty": 1.3, "presence_penalty": 0.3, "frequency_penalty": 0.2,
                        "min_p": 0.02, "logit_bias": bias, "n": 2}
        requests.append(request)
    # Texts of one token and of two, which are guessed.
    for number, kinds in enumerate((tokens[:1], tokens[1:3])):
        requests.append({"id": f"loop{number}", "tokens": tokens[:3], "max_new_tokens": 30, "logprobs": 2,
                         "temperature": number, "seed": 3, "logit_bias": {str(token): 100 for token in kinds}})
    return requests


class Batch:
    """Runs of a batch program over one file of requests."""

    def __init__(self, program, requests, path):
        self.program, self.requests, self.path = program, requests, path
        write_requests(path("requests.jsonl"), requests)

    def run(self, *flags, launcher=(), environment=None):
        """Results in the order of requests without what the cache did, and the summary."""
        out = self.path("results.jsonl")
        if os.path.exists(out):
            os.remove(out)
        result = run([*launcher, self.program.path, "batch", "--weights", self.program.weights, "--requests",
                      self.path("requests.jsonl"), "--out", out, "--json", "--quiet", "--no-cache", *flags],
                     env=environment)
        with open(out) as file:
            results = [json.loads(line) for line in file]
        expect([result["id"] for result in results] == [request["id"] for request in self.requests],
               "results are not in the order of requests")
        for each in results:
            expect("error" not in each, f"{each}")
            each.pop("cached_tokens")
        return results, json.loads(result.stdout)


def alone(program, request):
    """The tokens of `generate`; none where that does not know what the request wants."""
    if "logit_bias" in request:
        return None
    flags = []
    for key in ("temperature", "seed", "top_k", "top_p"):
        if key in request:
            flags += ["--" + key.replace("_", "-"), request[key]]
    return program.generate(request["tokens"], request["max_new_tokens"], *flags)["tokens"]


# Of the largest logit.
BOUNDS = {"bf16": 0.01, "int8": 0.02, "fp8": 0.1}


def differences(exact, stored, rows):
    """Of each row the largest one, divided by the largest logit of all."""
    begin = 10 + struct.unpack("<H", exact[8:10])[0]
    exact, stored = (array.array("f", data[begin:]) for data in (exact, stored))
    size, width = max(map(abs, exact)), len(exact) // rows
    apart = [abs(one - other) / size for one, other in zip(exact, stored, strict=True)]
    return [max(apart[row * width:][:width]) for row in range(rows)]


def check_near(exact, stored, tokens, kv_type, is_mixture):
    """The logits with stored keys and values are near those with F32: of a mixture most of them."""
    apart = sorted(differences(exact, stored, len(tokens)))
    worst, median = apart[-1], apart[len(apart) // 2]
    print(f"{kv_type}: logits are off by {worst:.1e} of the largest, of half of the rows by {median:.1e} at most")
    expect(0 < worst, "logits are those of F32")
    found = 2 * median if is_mixture else worst
    expect(found < BOUNDS[kv_type], f"logits are off by {found}")


def check_without_choice(arguments, tokens, capacities, mesh, path):
    """All experts of a mixture are each row's: the states alone make the difference."""
    folder = path("all-experts")
    shutil.copytree(arguments.folder, folder)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    counts = ("n_routed_experts", "num_local_experts", "num_experts")
    config["num_experts_per_tok"] = next(config[name] for name in counts if name in config)
    if "n_group" in config:
        config["topk_group"] = config["n_group"]
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    exact = Program(arguments.batonc, folder, path("one-all"), *mesh).logits(tokens, path("all.npy"))
    many = Program(arguments.batonc, folder, path("many-all"), *capacities)
    print("all experts: ", end="")
    check_near(exact, many.logits(tokens, path("all.npy")), tokens, arguments.kv_type, is_mixture=False)


def page_bytes(program):
    """Of a page of all states, in bytes."""
    return json.loads(run([program.path, "info", "--json"]).stdout)["batch"]["page_bytes"]


def check_bench(program):
    """Each number of sequences has its rates, and the tokens that each has alone."""
    command = [program.path, "bench", "--brief", "--quiet", "--json", "--workers", 2, "--prefill", 12, "--decode", 9,
               "--batch", f"1,{SEQUENCES}"]
    result = json.loads(run(command).stdout)
    expect([each["sequences"] for each in result["batches"]] == [1, SEQUENCES], f"{result}")
    for each in result["batches"]:
        expect(each["decode_tokens_per_s"] > 0 and each["step_s"] > each["host_s"] > 0 and each["fma_fraction"] is None, f"{each}")
    expect(result["verdict"] == "sequences have the tokens that they have alone", f"{result}")


def check_refusals(batonc, folder, program, path):
    """What --max-batch and bench --batch do not go with."""
    for stage in ("model", "event"):
        run([batonc, folder, f"--max-batch={SEQUENCES}", f"--emit={stage}", "-o", path(f"{stage}.mlir")])
    bench = [program.path, "bench", "--prefill", 12, "--decode", 9, "--batch"]
    with open(path("one.jsonl"), "w") as file:
        file.write('{"id": "a", "tokens": [1, 2]}\n')
    batch = [program.path, "batch", "--weights", folder, "--requests", path("one.jsonl"), "--out", path("none")]
    for command, words in (
            ([batonc, path("model.mlir"), "--max-batch=2", "-o", path("none")],
             "model.mlir is a batch already; leave the flag out"),
            ([batonc, path("event.mlir"), "--max-batch=2", "-o", path("none")],
             "event.mlir holds a plan, of which all is decided"),
            ([*bench, SEQUENCES + 1], f"--batch: {SEQUENCES + 1} sequences are more than the program's {SEQUENCES}"),
            ([*batch, "--kv-memory=1000TiB"], "--kv-memory: 1000TiB is more than the "),
            ([*bench, "1,x"], "--batch: x is no whole number"),
            ([*bench, "1", "--profile"], "--profile is of one sequence"),
            ([*bench, "1", "--trace", path("none")], "--trace is of one sequence")):
        result = run(command, check=False)
        expect(result.returncode == 1 and words in result.stderr, f"{command}: {result}")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    case = programs.golden(arguments.folder)
    generator = random.Random(5)
    capacities = [f"--max-batch={SEQUENCES}", f"--max-rows={ROWS}"]
    mesh = [f"--mesh={arguments.mesh}"] if arguments.mesh else []
    capacities += mesh
    one = Program(arguments.batonc, arguments.folder, path("one"), *mesh)
    capacities.append(f"--kv-type={arguments.kv_type}")
    if arguments.device:
        many = Program(arguments.batonc, arguments.folder, path("many"), *capacities, "--batch-invariant",
                       "--target=cuda:emulated")
    else:
        sanitize = [f"--sanitize={arguments.sanitize}"] if arguments.sanitize else []
        many = Program(arguments.batonc, arguments.folder, path("many"), *capacities, *sanitize)

    tokens = case["tokens"][:60 if arguments.device else 200]
    expected = one.logits(tokens, path("one.npy"))
    if arguments.kv_type != "f32":
        with open(os.path.join(arguments.folder, "config.json")) as file:
            is_mixture = "num_experts_per_tok" in json.load(file)
        exact, expected = expected, many.logits(tokens, path("many.npy"))
        check_near(exact, expected, tokens, arguments.kv_type, is_mixture)
        if is_mixture:
            check_without_choice(arguments, tokens, capacities, mesh, path)
        # What one sequence is then, this program says, too.
        one = many
    for chunk in (7,) if arguments.device else (ROWS, 7):
        expect(many.logits(tokens, path("many.npy"), "--prefill-chunk", chunk) == expected,
               f"logits of one sequence in chunks of {chunk}: other bits")

    requests = make_requests(case, 6 if arguments.device or arguments.sanitize else 30, generator)
    batch = Batch(many, requests, path)
    results, summary = batch.run()
    for request, result in zip(requests, results):
        wanted = alone(one, request)
        expect(wanted is None or result["tokens"] == wanted, f"{request}: {result}")
    shares = len(case["tokens"]) >= 120 and not arguments.sanitize and not arguments.device
    expect(not shares or summary["cached_tokens"] > 0, f"no page was shared: {summary}")
    print(f"{len(requests)} requests in {summary['steps']} steps: the tokens of one sequence each")
    expect(summary["right_guesses"] > 0, f"no guess was right: {summary}")
    plain, summary = batch.run("--prompt-lookup", 0)
    expect(plain == results, "without guesses: other results")
    expect(summary["guessed_tokens"] == 0, f"guesses that nobody wants: {summary}")
    if arguments.device:
        expect(batch.run("--workers", 3, "--prefill-chunk", 5, environment=dict(os.environ, BATON_EMULATION_SEED="9"))[0]
               == results, "three workers: other results")
        host = Program(arguments.batonc, arguments.folder, path("host"), *capacities)
        expect(Batch(host, requests, path).run()[0] == results, "on the CPU: other results")
        return

    longest = max(len(request["tokens"]) + request["max_new_tokens"] for request in requests)
    pages = (longest + 63) // 64 + 1
    ranks = math.prod(int(axis.split("=")[1]) for axis in (arguments.mesh or "pp=1").split(","))
    few = ["--kv-memory", str(pages * ranks * page_bytes(many))]
    for flags in ([], few, ["--workers", 1, "--no-prefix-cache"], ["--workers", 3, "--prefill-chunk", 5],
                  ["--workers", 3, "--prefill-chunk", 16, *few]):
        if arguments.sanitize == "address":
            flags = [*flags, "--check-memory", path("memory.json")]
        again, summary = batch.run(*flags)
        expect(again == results, f"{flags}: other results")
        if flags == few:
            expect(summary["pages"] == pages, f"{summary}")
    if ranks > 1 and shutil.which("mpirun"):
        again, summary = batch.run(*few, launcher=[*MPI, "-n", ranks])
        expect(again == results, "ranks that are processes: other results")
        expect(summary["pages"] == pages, f"{summary}")
        expect(many.logits(tokens, path("many.npy"), launcher=[*MPI, "-n", ranks]) == expected,
               "logits of one sequence, ranks that are processes: other bits")
    print("so they are for other workers, chunks, pages and without the cache")
    if not arguments.sanitize:
        check_bench(many)
        check_refusals(arguments.batonc, arguments.folder, many, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--kv-type", default="f32", help="as of batonc")
    parser.add_argument("--mesh", help="as of batonc")
    parser.add_argument("--sanitize", choices=["address", "thread"])
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
