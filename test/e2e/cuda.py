"""The CUDA kernels of a golden checkpoint, run by the emulation on the host.

With --batch-invariant there are portable bodies only, which do the CPU's
arithmetic, also with the BF16 weights of some checkpoints: everything is bit for bit
what the CPU's program computes: logits for 1, 2, 3 and 8 workers and several
chunks, by the kernel of one row too, in order and shuffled, across 2^32 events, and
each value of a dump, which has those of the CPU's, and the results of norms that the
CPU's tasks keep to themselves; and the tokens are those of the reference and of the
CPU's program, greedy and sampled. With --unfused, without fusion too.

Tuned bodies have bits of their own, the same for any number of workers and any
order of threads. BF16 weights flow through a ring when a step has one row: the
logits are within 1e-5 of the largest. With more rows tensor cores round activations
to BF16: 3e-2, in a mixture of experts in nine rows of ten. Greedy tokens are the CPU's as long as its best logit leads by more than
twice the error.
"""

import argparse
import array
import glob
import json
import os
import re
import shutil

import programs
from programs import Program, expect, rows_of, run


def numbers_of(file):
    """Of a .npy file of F32 as bytes."""
    return array.array("f", file[file.index(b"\n") + 1:])


def largest_difference(one, other):
    """Of two .npy files of F32 as bytes, as a fraction of the largest number."""
    numbers = [numbers_of(file) for file in (one, other)]
    return max(abs(a - b) for a, b in zip(*numbers)) / max(map(abs, numbers[1]))


def is_mixture(folder):
    with open(os.path.join(folder, "config.json")) as file:
        return "num_experts_per_tok" in json.load(file)


def usual_difference(one, other):
    """As largest_difference, but for one row in ten: where two experts are nearly as good, a router may
    choose the other one."""
    rows, others = (rows_of(file) for file in (one, other))
    errors = sorted(max(abs(a - b) for a, b in zip(*pair)) for pair in zip(rows, others))
    return errors[len(errors) * 9 // 10] / max(abs(value) for row in others for value in row)


def compare_tokens(host, tuned, prompt, count, chunk, path):
    """How many greedy tokens follow from the CPU's logits and the error of the others,
    both of the CPU's text."""
    expected = host.generate(prompt, count)["tokens"]
    text = prompt + expected
    files = [program.logits(text, path("text.npy"), "--prefill-chunk", size)
             for program, size in ((host, chunk), (tuned, chunk), *([(tuned, 1)] if chunk > 1 else []))]
    logits = numbers_of(files[0])
    # The prompt is computed in chunks, tokens one by one.
    error = max(abs(a - b) for file in files[1:] for a, b in zip(logits, numbers_of(file), strict=True))
    vocabulary = len(logits) // len(text)
    found = tuned.generate(prompt, count, "--prefill-chunk", chunk, "--workers", 2)["tokens"]
    for i, (one, other) in enumerate(zip(expected, found, strict=True)):
        position = len(prompt) + i - 1
        best = sorted(logits[position * vocabulary:(position + 1) * vocabulary])[-2:]
        if best[1] - best[0] <= 2 * error:
            return i
        expect(one == other, f"chunks of {chunk}: token {i} is {other}, the CPU's {one}, whose logit leads by "
                             f"{best[1] - best[0]:.2e}, and logits differ by {error:.1e} at most")
    return count


def test(arguments, scratch):
    case = programs.golden(arguments.folder)
    # Emulation is slow: a few dozen positions cross every tile's border.
    tokens = case["tokens"][:40]
    path = lambda name: os.path.join(scratch, name)

    host = Program(arguments.batonc, arguments.folder, path("host"))
    device = Program(arguments.batonc, arguments.folder, path("device"), "--target=cuda:emulated",
                     "--batch-invariant")
    reference = host.logits(tokens, path("host.npy"))
    for workers, chunk, seed in ((1, 64, 0), (2, 7, 1), (3, 64, 2), (8, 16, 3), (2, 64, 4)):
        environment = dict(os.environ, BATON_EMULATION_SEED=str(seed))
        bits = device.logits(tokens, path("device.npy"), "--workers", workers,
                             "--prefill-chunk", chunk, environment=environment)
        expect(bits == reference, f"{workers} workers, chunks of {chunk}, seed {seed}: "
                                  "the logits are not the CPU's")
    bits = device.logits(tokens, path("wrap.npy"), "--event-origin", 2**32 - 5)
    expect(bits == reference, "counting across 2^32 changes the logits")
    bits = device.logits(tokens[:6], path("single.npy"), "--workers", 3, "--prefill-chunk", 1,
                         environment=dict(os.environ, BATON_EMULATION_SEED="6"))
    expect(bits == host.logits(tokens[:6], path("first.npy")), "row by row, the logits are not the CPU's")
    print("logits are the CPU's bit for bit")

    greedy = case["greedy"]
    count = min(8, len(greedy["new_tokens"]))
    answer = device.generate(greedy["prompt"], count, "--workers", 2)
    expect(answer["tokens"] == greedy["new_tokens"][:count], "the greedy tokens differ")
    # unit.CudaLibraryTest knows more of sampling.
    for flags in (("--temperature", 3, "--seed", 8), ("--top-k", 1),
                  ("--temperature", 5, "--top-k", 50, "--top-p", 0.8, "--seed", 5)):
        both = [program.generate(greedy["prompt"], count, "--prefill-chunk", 3, "--workers", 2, *flags)
                for program in (host, device)]
        expect(both[0]["tokens"] == both[1]["tokens"], f"the tokens with {flags} differ")

    # Weights that are not numbers end a generation, by the kernel as by the host.
    broken = path("broken")
    shutil.copytree(arguments.folder, broken)
    for weights in glob.glob(os.path.join(broken, "*.safetensors")):
        with open(weights, "r+b") as file:
            header = 8 + int.from_bytes(file.read(8), "little")
            file.seek(header)
            file.write(b"\xff" * (os.path.getsize(weights) - header))
    # What stores MXFP4 is checked when it is read: a scale of ones is no number.
    said = "error: logits at position 2 are not finite\n"
    with open(os.path.join(arguments.folder, "config.json")) as file:
        if "quantization_config" in json.load(file):
            said = "has a NaN, in row 0\n"
    messages = [run([program.path, "generate", "--weights", broken, "--tokens", "1,2",
                     "--max-new-tokens", 4, "--no-cache", "--quiet"], check=False).stderr
                for program in (host, device)]
    expect(messages[0] == messages[1] and messages[0].endswith(said), f"not a number: {messages}")

    for program, folder in ((host, "host-values"), (device, "device-values")):
        program.logits(tokens[:9], path("dumped.npy"), "--dump", path(folder))
    values = []
    for folder in ("host-values", "device-values"):
        with open(path(f"{folder}/index.json")) as file:
            values.append({(value["segment"], value["iteration"], value["buffer"]): value["file"]
                           for value in json.load(file)["values"]})
    # Norms in front of linears are computed again by each task of the CPU's, and by
    # tasks of their own for many rows on a device. Nothing else differs.
    more = values[1].keys() - values[0].keys()
    expect(values[0].keys() < values[1].keys()
           and all(re.search(r"(norm|\bln_\w)(\.\d+)?$", buffer) for _, _, buffer in more),
           f"the dumps hold other values: {values[0].keys() ^ values[1].keys()}")

    def read(folder, file):
        with open(path(f"{folder}/{file}"), "rb") as values:
            return values.read()

    # A norm's number counts those before it, of which a device has more: the CPU's are some of
    # them, in their order.
    norm = re.compile(r"((?:norm|\bln_\w))(?:\.(\d+))?$")

    def place(name):
        found = norm.search(name[2])
        return (*name[:2], norm.sub(r"\1", name[2])), int(found[2] or 1) if found else 1

    def by_place(values):
        result = {}
        for name in sorted(values, key=lambda name: place(name)[1]):
            result.setdefault(place(name)[0], []).append(name)
        return result

    of_device = by_place(values[1])
    for key, names in by_place(values[0]).items():
        left = iter(read("device-values", values[1][name]) for name in of_device[key])
        for name in names:
            own = read("host-values", values[0][name])
            expect(any(own == other for other in left), f"{name} is not what the CPU computes")
    print(f"{len(values[0])} values of a dump are the CPU's bit for bit")

    if arguments.unfused:
        passes = "--disable-pass=attention-fusion,linear-grouping,norm-rewrites"
        unfused = [Program(arguments.batonc, arguments.folder, path(f"unfused{i}"), passes, *flags)
                   .logits(tokens, path("unfused.npy"))
                   for i, flags in enumerate(((), ("--target=cuda:emulated", "--batch-invariant")))]
        expect(unfused[0] == unfused[1], "without fusion, the logits are not the CPU's")

    if json.loads(run([host.path, "info", "--json"]).stdout)["model"]["dtype"] != "bf16":
        host = Program(arguments.batonc, arguments.folder, path("host"), "--dtype=bf16")
    tuned = Program(arguments.batonc, arguments.folder, path("tuned"), f"--target={arguments.target}",
                    "--dtype=bf16")
    # Row by row, emulation takes longest.
    for chunk, what, bound, text in ((1, "by the ring", 1e-5, tokens[:10]), (64, "by tensor cores", 3e-2, tokens)):
        first = tuned.logits(text, path("tuned.npy"), "--prefill-chunk", chunk, "--workers", 1)
        # Of many workers some have no task of a mixture's first product, or none of either.
        many = (3, 33) if is_mixture(arguments.folder) and chunk == 1 else (3,)
        for workers in many:
            again = tuned.logits(text, path("again.npy"), "--prefill-chunk", chunk, "--workers", workers,
                                 environment=dict(os.environ, BATON_EMULATION_SEED="5"))
            expect(first == again, f"{what}: {workers} workers do not repeat the logits of 1")
        reference = host.logits(text, path("host.npy"))
        routes = is_mixture(arguments.folder) and what == "by tensor cores"
        error = (usual_difference if routes else largest_difference)(first, reference)
        expect(0 < error < bound, f"logits {what} differ by {error:.1e} of the largest")
        print(f"{what}, logits differ by {error:.1e} of the largest")
    decided = [compare_tokens(host, tuned, greedy["prompt"][:6], count, chunk, path) for chunk in (1, 64)]
    expect(decided[0] > 0, "not even the ring's first token follows from the CPU's logits")
    print(f"greedy tokens that follow from the CPU's logits: {decided[0]} of {count} by the ring, {decided[1]} "
          "behind a prompt by tensor cores")

    device.logits(tokens[:4], path("traced.npy"), "--workers", 2, "--trace", path("trace.json"))
    with open(path("trace.json")) as file:
        slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    phases = json.loads(run([device.path, "info", "--json"]).stdout)["phases"]
    expect(len(slices) >= len(phases), "the trace lacks tasks")

    bench = [device.path, "bench", "--prefill", 5, "--decode", 3, "--repeat", 1, "--workers", 2,
             "--profile", "--quiet"]
    profile = json.loads(run([*bench, "--json"]).stdout)["profile"]
    expect([phase["phase"] for phase in profile] == [phase["name"] for phase in phases]
           and all(phase["prefill_s"] > 0 for phase in profile if "linear" in phase["phase"])
           and sum(phase["decode_s"] for phase in profile) > 0, f"the profile: {profile}")
    expect("where the time goes, with 2 workers" in run(bench).stdout, "the table of the profile")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--target", default="cuda:emulated", help="whose tuned bodies run")
    parser.add_argument("--unfused", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
