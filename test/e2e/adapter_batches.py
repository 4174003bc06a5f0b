"""Low-rank adapters that requests of one program name, each its own.

Folders as PEFT writes them, of random pairs of several ranks beside some linears, are loaded
into a program of --max-adapters. Logits of a text with one are those of the checkpoint that
`batonc merge` makes of it, ranks and alphas by PEFT's patterns are what one rank and alpha would
make with other numbers, and texts without one have the bits of the program without. Requests
with different adapters, with none, and of one beginning have in one run the tokens and
log-probabilities that each has when it is alone; so they do where there is room for fewer
adapters than they name, with other workers, few pages, no cache of prefixes, no guesses, and in
emulated CUDA. A server knows adapters as models. What does not fit is refused by name.
With --sanitize, neither sanitizer nor the check of memory finds anything.
"""

import argparse
import glob
import json
import math
import os
import random
import re
import shutil
import struct

import programs
from programs import Program, expect, rows_of, run
from serving import Server, in_parallel
from training import read_tensors, write_tensors

BATCH = ["--max-batch=5", "--max-rows=24"]
# Of all adapters below two fit at once, and the largest beside none.
ROOM = ["--max-adapters=1", "--max-adapter-rank=40"]


def in_f32(folder, copy):
    """A checkpoint whose weights are F32, as merging rounds to the type that is stored."""
    shutil.copytree(folder, copy)
    for path in glob.glob(os.path.join(copy, "*.safetensors")):
        write_tensors(path, {name: (shape, values) for name, (_, shape, values) in read_tensors(path).items()})
    return copy


def write_adapter(folder, tensors, **config):
    """A PEFT folder; `tensors` are name -> (shape, values)."""
    os.makedirs(folder, exist_ok=True)
    write_tensors(os.path.join(folder, "adapter_model.safetensors"), tensors)
    with open(os.path.join(folder, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "task_type": "CAUSAL_LM", "bias": "none", "use_rslora": False,
                   "lora_alpha": 8, "base_model_name_or_path": None} | config, file)
    return folder


def random_adapter(folder, template, rank, generator, keeps=lambda name: True, **config):
    """Pairs of another rank beside the linears that an adapter has pairs beside."""
    tensors = {}
    for name, (_, shape, _) in template.items():
        if not keeps(name):
            continue
        is_up = ".lora_B." in name
        shape = [shape[0], rank] if is_up else [rank, shape[1]]
        scale = 0.15 if is_up else 1 / math.sqrt(shape[1])
        tensors[name] = (shape, [generator.gauss(0, scale) for _ in range(shape[0] * shape[1])])
    modules = sorted({name.rsplit(".lora_", 1)[0].rsplit(".", 1)[1] for name in tensors})
    return write_adapter(folder, tensors, r=rank, target_modules=modules, **config)


def write_lines(path, lines):
    with open(path, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


class Batch:
    def __init__(self, program, weights, adapters, path):
        self.program, self.weights, self.path = program, weights, path
        self.flags = [f"--adapter={name}={folder}" for name, folder in adapters.items()]

    def run(self, requests, *flags, environment=None):
        """Results by id, and the summary."""
        out = self.path("results.jsonl")
        if os.path.exists(out):
            os.remove(out)
        summary = run([self.program, "batch", "--weights", self.weights, "--requests",
                       write_lines(self.path("requests.jsonl"), requests), "--out", out, "--json", "--quiet",
                       "--no-cache", *self.flags, *flags], env=environment)
        with open(out) as file:
            results = [json.loads(line) for line in file]
        for result in results:
            expect("error" not in result, f"{result}")
            result.pop("cached_tokens")
        return {result["id"]: result for result in results}, json.loads(summary.stdout)


def make_requests(tokens, names, generator):
    """Of each adapter and of none; half of all begin alike, whatever their adapter."""
    common = [generator.choice(tokens) for _ in range(70)]
    requests = []
    for number in range(4 * len(names)):
        prompt = [generator.choice(tokens) for _ in range(generator.choice([1, 5, 20]))]
        if number % 2:
            prompt = common + prompt
        request = {"id": f"r{number}", "tokens": prompt, "max_new_tokens": generator.choice([1, 4, 11]), "logprobs": 2}
        if name := names[number % len(names)]:
            request["adapter"] = name
        if number % 3 == 0:
            request |= {"temperature": 0.8, "seed": number, "n": 2}
        requests.append(request)
    return requests


def check_merged(arguments, program, base, adapters, tokens, path):
    for name, folder in adapters.items():
        merged = path(f"merged-{name}")
        run([arguments.batonc, "merge", folder, "--model", arguments.folder, "-o", merged, "--quiet"])
        base.weights = merged
        expected = rows_of(base.logits(tokens, path("merged.npy")))
        found = rows_of(program.logits(tokens, path("adapted.npy"), "--adapter", folder))
        largest = max(abs(value) for row in expected for value in row)
        error = max(abs(one - other) for row, line in zip(found, expected, strict=True)
                    for one, other in zip(row, line, strict=True)) / largest
        expect(error < 2e-5, f"{name}: logits are off by {error:.2e} from those of the merged checkpoint")
        base.weights = arguments.folder
        plain = rows_of(base.logits(tokens, path("plain.npy")))
        change = max(abs(one - other) for row, line in zip(found, plain) for one, other in zip(row, line)) / largest
        expect(change > 1e-2, f"{name}: changes logits by {change:.2e} only")
        print(f"{name}: logits as merged, worst error {error:.1e}")
    expect(program.logits(tokens, path("none.npy")) == base.logits(tokens, path("plain.npy")),
           "without an adapter: other logits than those of the program that takes none")


def check_patterns(arguments, program, template, tokens, generator, path):
    """Pairs of other ranks and alphas, as PEFT's patterns say, are those of one rank and alpha with zeros and
    other numbers; a merged model has them, too."""
    rank, alpha = 6, 10
    first = next(name for name in template if ".1." in name).split(".lora_")[0].removeprefix("base_model.model.")
    last = first.rsplit(".", 1)[1]
    patterns = {"rank_pattern": {first: 2, last: 21, "layers.0..*": 3}, "alpha_pattern": {".*_proj": 7, last: 1000}}

    def number_of(key, module, usual):
        return next((value for pattern, value in patterns[key].items() if re.match(rf"(.*\.)?({pattern})$", module)), usual)

    patterned, plain, ranks = {}, {}, set()
    for name, (_, shape, _) in template.items():
        module = name.split(".lora_")[0].removeprefix("base_model.model.")
        own = number_of("rank_pattern", module, rank)
        ranks.add(own)
        if ".lora_A." in name:
            values = [generator.gauss(0, 1 / math.sqrt(shape[1])) for _ in range(own * shape[1])]
            patterned[name] = ([own, shape[1]], values)
            plain[name] = ([24, shape[1]], values + [0.0] * ((24 - own) * shape[1]))
        else:
            values = [generator.gauss(0, 0.15) for _ in range(shape[0] * own)]
            patterned[name] = ([shape[0], own], values)
            factor = number_of("alpha_pattern", module, alpha) / math.sqrt(own)
            plain[name] = ([shape[0], 24], [number for row in range(shape[0]) for number in
                                            [factor * value for value in values[own * row:own * (row + 1)]] +
                                            [0.0] * (24 - own)])
    expect(len(ranks) >= 3, f"ranks {ranks} alone")
    folders = [write_adapter(path("patterned"), patterned, r=rank, lora_alpha=alpha, use_rslora=True,
                             target_modules=["x"], **patterns),
               write_adapter(path("unpatterned"), plain, r=24, lora_alpha=24, target_modules=["x"])]
    merged = []
    for folder in folders:
        run([arguments.batonc, "merge", folder, "--model", arguments.folder, "-o", f"{folder}-merged", "--quiet"])
        merged.append(read_tensors(os.path.join(f"{folder}-merged", "model.safetensors")))
    for name, (_, _, values) in merged[0].items():
        size = max(map(abs, values))
        expect(all(abs(a - b) < 1e-6 * size for a, b in zip(values, merged[1][name][2], strict=True)),
               f"patterns: {name} is merged otherwise")
    found, expected, none = (rows_of(program.logits(tokens, path("patterns.npy"), *flags))
                             for flags in (*(["--adapter", folder] for folder in folders), []))
    size = max(abs(value) for row in expected for value in row)
    difference = lambda rows, others: max(abs(a - b) for row, other in zip(rows, others, strict=True)
                                          for a, b in zip(row, other, strict=True)) / size
    expect(difference(found, expected) < 2e-6 < 1e-2 < difference(found, none),
           f"patterns: logits are off by {difference(found, expected):.1e}, and change by {difference(found, none):.1e}")


def check_refusals(arguments, program, base, adapters, template, path):
    weights = ["--weights", arguments.folder, "--quiet"]
    generate = [program.path, "generate", *weights, "--tokens", "1", "--max-new-tokens", 1]
    serve = [program.path, "serve", *weights]
    first = next(iter(adapters.values()))

    def fails(text, command):
        result = run(command, check=False)
        lines = result.stderr.splitlines()
        expect(result.returncode not in (0, None) and result.returncode > 0 and len(lines) == 1 and text in lines[0],
               f"{command}: status {result.returncode}, {result.stderr!r}, expected one line with {text!r}")

    def edited(name, change, **config):
        tensors = {tensor: (shape, [0.0] * math.prod(shape)) for tensor, (_, shape, _) in template.items()}
        change(tensors)
        rank = next(shape[0] for tensor, (shape, _) in tensors.items() if ".lora_A." in tensor)
        return write_adapter(path(name), tensors, **({"r": rank, "target_modules": ["x"]} | config))

    a_name = next(name for name in template if ".lora_A." in name)
    fails("no room for tensor",
          [*generate, "--adapter", edited("stranger", lambda tensors: tensors.update(
              {"base_model.model.strange.lora_A.weight": tensors[a_name]}))])
    fails("but no \"" + a_name.replace(".lora_A.", ".lora_B."),
          [*generate, "--adapter", edited("half", lambda tensors: tensors.pop(a_name.replace(".lora_A.", ".lora_B.")))])
    shape = template[a_name][1]
    fails(f"has shape [{shape[0]}, {shape[1] + 1}], expected [{shape[0]}, {shape[1]}]",
          [*generate, "--adapter", edited("wide", lambda tensors: tensors.update(
              {a_name: ([shape[0], shape[1] + 1], [0.0] * shape[0] * (shape[1] + 1))}))])
    fails("takes up to 48 ranks", [*generate, "--adapter", edited("high", lambda tensors: None, r=1000)])
    fails("use_dora scales rows of the model's weights", [*generate, "--adapter", edited("dora", lambda tensors: None, use_dora=True)])
    for name, key, value, text in (("broken", "rank_pattern", {"(": 2}, "\"(\" is no regular expression"),
                                   ("python", "alpha_pattern", {".*q_proj\\Z": 2}, "that Baton does not read"),
                                   ("long", "rank_pattern", {"x" * 600: 2}, "is too long"),
                                   ("worded", "alpha_pattern", {"x": "2"}, "\"x\" has no number"),
                                   ("listed", "alpha_pattern", [2], "alpha_pattern is no object"),
                                   ("partial", "rank_pattern", {"x": 2.5}, "a number of rank_pattern")):
        fails(text, [*generate, "--adapter", edited(name, lambda tensors: None, **{key: value})])
    fails("the largest rank is 60, and the program takes up to 48 ranks",
          [*generate, "--adapter", edited("higher", lambda tensors: None, rank_pattern={".*": 60})])
    lower = edited("lower", lambda tensors: None, rank_pattern={".*": 2})
    fails("has shape", [*generate, "--adapter", lower])
    fails("but adapter_config.json says 2",
          [arguments.batonc, "merge", lower, "--model", arguments.folder, "-o", path("unmerged"), "--quiet"])
    fails("adapter_config.json", [*generate, "--adapter", path("nowhere")])
    fails("the program takes no adapters", [base.path, *generate[1:], "--adapter", first])
    fails("--adapter: expected NAME=DIR", [*serve, "--adapter", first])
    fails("there is an adapter \"a\" already", [*serve, f"--adapter=a={first}", f"--adapter=a={first}"])
    model = os.path.basename(arguments.folder)
    fails("is the model's own name", [*serve, f"--adapter={model}={first}"])
    compile_ = [arguments.batonc, arguments.folder, "-o", path("refused"), "--quiet"]
    fails("--max-adapters is for --max-batch", [*compile_, "--max-adapters=2"])
    fails("--max-adapter-rank is for --max-adapters", [*compile_, *BATCH, "--max-adapter-rank=8"])
    fails("--max-adapter-rank=2000 is out of range", [*compile_, *BATCH, "--max-adapters=2", "--max-adapter-rank=2000"])
    fails("has no linear that can be adapted called 'nothing'",
          [*compile_, *BATCH, "--max-adapters=2", "--adapter-targets=nothing"])
    out = path("wrong.jsonl")
    run([program.path, "batch", *weights, "--out", out, "--adapter", f"a={first}", "--requests",
         write_lines(path("wrong-requests.jsonl"), [{"id": "x", "tokens": [1], "adapter": "b"}])], check=False)
    with open(out) as file:
        found = json.load(file)
    expect("there is no adapter \"b\"; there is \"a\"" in found["error"]["message"], f"{found}")


def check_server(arguments, program, adapters, batch, tokens, path):
    """Adapters are models; answers have the log-probabilities of `batch`."""
    prompt = tokens[:6]
    expected, _ = batch.run([{"id": name or "base", "tokens": prompt, "max_new_tokens": 7, "logprobs": 0} |
                             ({"adapter": name} if name else {}) for name in [None, *adapters]])
    flags = [f"--adapter={name}={folder}" for name, folder in adapters.items()]
    with Server(program.path, arguments.folder, "--name=base", *flags) as server:
        listed = {model["id"]: model["parent"] for model in server.get("/v1/models")["data"]}
        expect(listed == {"base": None} | {name: "base" for name in adapters}, f"models: {listed}")

        def ask(name):
            found = server.get("/v1/completions", {"model": name, "prompt": prompt, "max_tokens": 7, "temperature": 0,
                                                   "logprobs": 1})
            expect(found["model"] == name, f"{name}: the answer is of {found['model']}")
            return found["choices"][0]["logprobs"]["token_logprobs"]

        names = ["base", *adapters] * 3
        answers = in_parallel([lambda name=name: ask(name) for name in names])
        for name, answer in zip(names, answers, strict=True):
            wanted = [each["logprob"] for each in expected[name]["logprobs"]]
            expect(answer == wanted, f"{name}: {answer}, batch {wanted}")
        expect(len({tuple(answer) for answer in answers}) == 1 + len(adapters), "adapters that change nothing")
        expect(server.ask("/v1/models/nothing")[0] == 404, "a model that there is not")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    generator = random.Random(7)
    arguments.folder = in_f32(arguments.folder, path(os.path.basename(arguments.folder)))
    template = {name: value for name, value in
                read_tensors(os.path.join(arguments.adapter, "adapter_model.safetensors")).items()}
    tokens = programs.golden(arguments.folder)["tokens"]
    adapters = {
        "small": random_adapter(path("small"), template, 3, generator),
        "one": random_adapter(path("one"), template, 16, generator, use_rslora=True),
        # Beside linears of the first layer only.
        "some": random_adapter(path("some"), template, 24, generator, lambda name: ".0." in name, lora_alpha=24),
        "large": random_adapter(path("large"), template, 40, generator),
    }
    base = Program(arguments.batonc, arguments.folder, path("base"), "--dtype=f32", *BATCH, *arguments.flags)
    program = Program(arguments.batonc, arguments.folder, path("program"), "--dtype=f32", *BATCH, *ROOM,
                      *arguments.flags)
    check_merged(arguments, program, base, adapters, tokens[:40], path)

    names = [None, *adapters]
    requests = make_requests(tokens, names, generator)
    batch = Batch(program.path, arguments.folder, adapters, path)
    check = ["--check-memory", path("memory.json")] if "--sanitize=address" in arguments.flags else []
    results, summary = batch.run(requests, *check)
    expect(summary["adapter_loads"] >= len(adapters), f"{summary}")
    alone = {}
    for request in requests:
        found, _ = batch.run([request])
        alone |= found
    expect(results == alone, "requests together have other results than each alone")
    for flags in (["--workers=1"], ["--workers=3"], ["--no-prefix-cache"], ["--prompt-lookup=0"]):
        expect(batch.run(requests, *flags)[0] == results, f"{flags}: other results")
    # So few that texts are put off, their adapters gone meanwhile.
    pages = 3
    again, counts = batch.run(requests, f"--kv-memory={pages * page_bytes(program) // 1024}KiB")
    expect(again == results, f"{pages} pages: other results")
    expect(counts["pages"] == pages, f"{counts}")
    print(f"{len(requests)} requests with {len(adapters)} adapters: the bits of each alone, "
          f"{summary['adapter_loads']} loads")
    if not arguments.quick:
        check_patterns(arguments, program, template, tokens[:40], generator, path)
        check_refusals(arguments, program, base, adapters, template, path)
        check_server(arguments, program, adapters, batch, tokens, path)
    if arguments.cuda:
        # With BF16 weights products are by other bodies there.
        for dtype in ("f32", "bf16"):
            host, emulated = (
                Program(arguments.batonc, arguments.folder, path(f"{name}-{dtype}"), f"--dtype={dtype}", *BATCH, *ROOM,
                        *flags) for name, flags in
                (("host", []), ("emulated", ["--target=cuda:emulated", "--batch-invariant"])))
            expected, found = (Batch(each.path, arguments.folder, adapters, path).run(requests)[0]
                               for each in (host, emulated))
            expect(found == expected, f"emulated CUDA, {dtype}: other results than the CPU's")
    if arguments.quick:
        return
    # Kept as BF16, an adapter of such numbers, whose factor is one, is the same.
    halves_of = lambda values: [struct.unpack("<f", b"\0\0" + struct.pack("<f", value)[2:])[0] for value in values]
    short = {name: (shape, halves_of(values)) for name, (_, shape, values) in
             read_tensors(os.path.join(adapters["one"], "adapter_model.safetensors")).items()}
    rounded = write_adapter(path("rounded"), short, r=16, lora_alpha=16, target_modules=["x"])
    halves = Program(arguments.batonc, arguments.folder, path("halves"), "--dtype=f32", *BATCH, *ROOM,
                     "--adapter-type=bf16", *arguments.flags)
    expect(halves.logits(tokens[:40], path("halves.npy"), "--adapter", rounded) ==
           program.logits(tokens[:40], path("exact.npy"), "--adapter", rounded), "adapters in BF16: other logits")


def page_bytes(program):
    result = json.loads(run([program.path, "info", "--json"]).stdout)
    return result["batch"]["page_bytes"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--cuda", action="store_true", help="compare with emulated CUDA")
    parser.add_argument("--quick", action="store_true", help="neither refusals nor a server")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("folder", help="the model")
    parser.add_argument("adapter", help="a PEFT folder beside it")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
