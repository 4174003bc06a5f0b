"""The kernels of a CUDA graph, one for each phase, run by the emulation on the host.

They have the tasks, tiles and memory of the persistent kernel (--launch=graph changes
nothing else), so that everything is bit for bit what that computes, by portable bodies
and by tuned ones: logits for several numbers of workers, chunks and orders of threads,
row by row too; tokens, greedy and sampled, until a limit, a stop token and a logit that
is not finite; dumps; and with --train a run of training. Steps are started ahead of the
host, which must not change how a generation ends.

With --emit-unproved: kernels start while those before still run, and the thread
sanitizer has nothing to report; it does where kernels, or some of their blocks, do not
wait for those before.
"""

import argparse
import glob
import json
import os
import re
import shutil
import struct

import programs
from programs import QUICK, Program, expect, run
from sanitize import ENVIRONMENT


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test_decode(arguments, scratch):
    case = programs.golden(arguments.folder)
    tokens = case["tokens"][:24]
    path = lambda name: os.path.join(scratch, name)
    # Neither form knows how many threads a block has: with a fourth of them emulation is quick.
    usual = os.path.join(os.path.dirname(arguments.batonc), "../lib/baton/targets/cuda.json")
    fewer = programs.changed_target(usual, path("target.json"), threads=64)
    for flags in ([], ["--dtype=bf16"], ["--dtype=bf16", "--batch-invariant"]):
        forms = [Program(arguments.batonc, arguments.folder, path(launch), f"--target={arguments.target}",
                         fewer, f"--launch={launch}", *flags) for launch in ("persistent", "graph")]
        persistent, graph = forms
        for workers, chunk, seed in ((3, 64, 0), (2, 7, 3), (4, 1, 1)):
            environment = dict(os.environ, BATON_EMULATION_SEED=str(seed))
            bits = [form.logits(tokens, path("out.npy"), "--workers", workers, "--prefill-chunk", chunk,
                                environment=environment) for form in forms]
            expect(bits[0] == bits[1], f"{flags}, {workers} workers, chunks of {chunk}, seed {seed}: "
                                       "the logits of the graph are others")
    print("logits are the persistent kernel's bit for bit")

    greedy = case["greedy"]
    count = min(12, len(greedy["new_tokens"]))
    for flags in ((), ("--prefill-chunk", 2), ("--temperature", 2, "--top-k", 20, "--seed", 4),
                  ("--temperature", 0.8, "--seed", 7, "--prefill-chunk", 3)):
        answers = [form.generate(greedy["prompt"], count, "--workers", 2, *flags) for form in forms]
        expect(answers[0]["tokens"] == answers[1]["tokens"] and len(answers[1]["tokens"]) == count,
               f"the tokens with {flags} differ: {answers}")
    expect(graph.generate(greedy["prompt"], 1)["tokens"] == greedy["new_tokens"][:1], "one token")

    # What follows a stop token has been started already, and does nothing.
    stopping = path("stopping")
    shutil.copytree(arguments.folder, stopping)
    with open(os.path.join(stopping, "config.json")) as file:
        config = json.load(file)
    config["eos_token_id"] = greedy["new_tokens"][3]
    for name in ("config.json", "generation_config.json"):
        with open(os.path.join(stopping, name), "w") as file:
            json.dump(config, file)
    ends = [run([form.path, "generate", "--weights", stopping, "--tokens", ",".join(map(str, greedy["prompt"])),
                 "--max-new-tokens", count, "--json", "--no-cache", "--quiet"]) for form in forms]
    ends = [json.loads(end.stdout) for end in ends]
    expect(ends[0]["tokens"] == ends[1]["tokens"] and ends[1]["finish_reason"] == "stop"
           and len(ends[1]["tokens"]) < count, f"a stop token: {ends}")

    broken = path("broken")
    shutil.copytree(arguments.folder, broken)
    for weights in glob.glob(os.path.join(broken, "*.safetensors")):
        with open(weights, "r+b") as file:
            header = 8 + int.from_bytes(file.read(8), "little")
            file.seek(header)
            file.write(b"\xff" * (os.path.getsize(weights) - header))
    result = run([graph.path, "generate", "--weights", broken, "--tokens", "1,2", "--max-new-tokens", 4,
                  "--no-cache", "--quiet"], check=False)
    expect(result.returncode == 1 and result.stderr == "error: logits at position 2 are not finite\n",
           f"not a number: {result}")
    print("tokens are the persistent kernel's, and so are a generation's ends")

    for form, folder in zip(forms, ("values", "graph-values")):
        form.logits(tokens[:9], path("dumped.npy"), "--dump", path(folder))
    names = [sorted(os.listdir(path(folder))) for folder in ("values", "graph-values")]
    expect(names[0] == names[1] and len(names[0]) > 10, f"the dumps hold {names}")
    for name in names[0]:
        expect(read(path(f"values/{name}")) == read(path(f"graph-values/{name}")), f"the dumps differ in {name}")

    graph.logits(tokens[:4], path("traced.npy"), "--workers", 2, "--trace", path("trace.json"))
    with open(path("trace.json")) as file:
        slices = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    info = json.loads(run([graph.path, "info", "--json"]).stdout)
    expect(len(slices) >= len(info["phases"]), "the trace lacks tasks")
    kernels = [phase["name"] for kernel in info["device"]["kernels"] for segment in kernel["segments"]
               for phase in segment["phases"]]
    expect(info["device"]["launch"] == "graph" and len(set(kernels)) == len(info["phases"]),
           f"info: {info['device']}")
    text = run([graph.path, "info"]).stdout
    launches = [sum(segment["repeat"] * len(segment["phases"]) for segment in kernel["segments"])
                for kernel in info["device"]["kernels"]]
    words = f"a CUDA graph for each step, of {launches[0]} or {launches[1]} kernels"
    expect(words in text, f"info lacks '{words}': {text}")
    expect("one persistent kernel for all steps" in run([persistent.path, "info"]).stdout, "info of the other")
    bench = json.loads(run([graph.path, "bench", "--prefill", 5, "--decode", 3, "--repeat", 1, "--workers", 2,
                            "--quiet", "--json"]).stdout)
    expect(bench["verdict"].startswith("bit-identical") and len(bench["decode_seconds"]) == 3, f"bench: {bench}")


# What the emulation says, once.
WAIT = "  ::baton::emulation::wait_for_kernel_before();\n"


def test_sanitizer(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    tokens = ",".join(map(str, programs.golden(arguments.folder)["tokens"][:20]))
    copy = path("installation")
    shutil.copytree(arguments.installation, copy)
    plan = run([arguments.batonc, arguments.folder, "--target=cuda:emulated", "--dtype=bf16", "--emit=event"]).stdout
    with open(path("plan.mlir"), "w") as file:
        file.write(plan)

    def attempts(what, count):
        run([arguments.emit_unproved, path("plan.mlir"), path("program"), "cuda:emulated", "thread", copy, "graph"])
        for attempt in range(count):
            result = run([path("program"), "logits", "--weights", arguments.folder, "--tokens", tokens, "--out",
                          path("out.npy"), "--no-cache", "--quiet", "--workers", 4, "--prefill-chunk",
                          (20, 1)[attempt % 2]],
                         check=False, env=dict(ENVIRONMENT, BATON_EMULATION_SEED=str(attempt)))
            if result.returncode:
                break
        return result

    result = attempts("as it is", 4)
    expect(result.returncode == 0, f"kernels as they are: {result}")
    emulation = os.path.join(copy, "include/runtime/cuda/emulation/emulation.h")
    with open(emulation) as file:
        sound = file.read()
    expect(sound.count(WAIT) == 1, f"the emulation does not say {WAIT} once")
    for what, fault in (("no kernel waits", ""),
                        ("blocks of odd numbers do not wait", "  if (blockIdx.x % 2 == 0)\n  " + WAIT)):
        with open(emulation, "w") as file:
            file.write(sound.replace(WAIT, fault))
        result = attempts(what, 20)
        expect(result.returncode == 66 and "ThreadSanitizer: data race" in result.stderr,
               f"{what}: no race, but status {result.returncode} and\n{result.stderr}")
        frames = re.findall(r"#\d+ (?:0x\w+ in )?(baton_kernel_\w+|baton_task_\w+)", result.stderr)
        expect(frames, f"{what}: no kernel in the report\n{result.stderr}")
        print(f"{what}: a race in {frames[0]}")


def test_training(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    tokens = [(7 * i + i // 13) % 97 for i in range(512)]
    with open(path("tokens.u16"), "wb") as file:
        file.write(struct.pack(f"<{len(tokens)}H", *tokens))

    def train(*flags, workers=1, weights=arguments.folder, rate=3e-3, check=True):
        run([arguments.batonc, arguments.folder, "--mode=train", QUICK, "--quiet", "-o", path("program"), *flags])
        return run([path("program"), "train", "--weights", weights, "--data", path("tokens.u16"), "--batch", 2,
                    "--seq", 20, "--accumulate", 2, "--steps", 3, "--lr", rate, "--warmup", 0, "--out",
                    path(f"run{len(os.listdir(scratch))}"), "--quiet", "--workers", workers], check=check)

    def lines(result):
        found = [json.loads(line) for line in result.stdout.splitlines()]
        for line in found:
            del line["tokens_per_s"]
        return found

    graph = [f"--target={arguments.target}", "--launch=graph"]
    expected = lines(train())
    for workers in (1, 3):
        found = lines(train(*graph, workers=workers))
        expect(found == expected and len(found) == 3, f"{workers} workers: {found}, expected {expected}")
    said = [train(*flags, rate=1e30, check=False) for flags in ([], graph)]
    expect(said[0].stderr == said[1].stderr and "is not finite: " in said[1].stderr, f"not finite: {said}")
    print("losses are the CPU's bit for bit")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--target", default="cuda:emulated")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--emit-unproved", help="the sanitizer's test instead")
    parser.add_argument("--installation")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    which = test_training if arguments.train else test_sanitizer if arguments.emit_unproved else test_decode
    programs.main(lambda scratch: which(arguments, scratch))
