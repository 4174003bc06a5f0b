#!/usr/bin/env python3
"""Holds what `batonc plan serve` predicts against what a compiled program takes on this machine.

    test/bench/plan_serve.py compile BATONC MODEL FOLDER
    test/bench/plan_serve.py measure BATONC MODEL FOLDER    measure steps over a grid, and what it takes to start
    test/bench/plan_serve.py run BATONC MODEL FOLDER        run the settings, none of which the grid has seen
    test/bench/plan_serve.py report BATONC MODEL FOLDER     predict them, and print both

MODEL is a checkpoint's folder or a GGUF file (tools/fetch-model writes one); everything else lies in FOLDER. `measure` and
`run` may be repeated, in turns, as the speed of a shared machine drifts: each time is kept; predictions from each grid are
averaged, and the median of runs counts. --batch-only leaves the server out. Timings want a machine on which nothing else runs.

Settings of `batch` differ in requests, lengths of prompts and answers, prefixes that prompts share, chunks and memory for
keys and values; their requests are all there at once, and what is compared is the seconds of all of them. Settings of
`serve` have arrivals of a Poisson process; what is compared are the mean times to the first token and between tokens, as a
client sees them. Nothing is fitted to either. To predictions of `batch` is added what one request of one step takes
beside that step: threads that start, memory that is touched first.

The predicted numbers of steps, rows, tokens found and preemptions of `batch` are to be those of the program, exactly: `report`
ends with status 1 if they are not.
"""

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time

import serving

BATCH, ROWS, LONGEST = 8, 128, 1024

# Requests, medians of prompts and answers, and what else there is.
SETTINGS = [
    {"requests": 1, "prompt": 60, "answer": 50}, {"requests": 1, "prompt": 500, "answer": 20},
    {"requests": 2, "prompt": 30, "answer": 60}, {"requests": 2, "prompt": 250, "answer": 30},
    {"requests": 3, "prompt": 90, "answer": 40}, {"requests": 4, "prompt": 20, "answer": 70},
    {"requests": 4, "prompt": 160, "answer": 25}, {"requests": 5, "prompt": 45, "answer": 45},
    {"requests": 6, "prompt": 100, "answer": 30}, {"requests": 7, "prompt": 15, "answer": 50},
    {"requests": 8, "prompt": 70, "answer": 25}, {"requests": 8, "prompt": 12, "answer": 60},
    {"requests": 10, "prompt": 40, "answer": 35}, {"requests": 12, "prompt": 80, "answer": 15},
    {"requests": 16, "prompt": 25, "answer": 20}, {"requests": 20, "prompt": 60, "answer": 8},
    {"requests": 6, "prompt": 30, "answer": 30, "prefix": 256}, {"requests": 10, "prompt": 20, "answer": 25, "prefix": 128},
    {"requests": 6, "prompt": 90, "answer": 25, "chunk": 32}, {"requests": 8, "prompt": 120, "answer": 20, "chunk": 64},
    {"requests": 8, "prompt": 100, "answer": 60, "pages": 4}, {"requests": 6, "prompt": 40, "answer": 25, "prefix": 192, "no_cache": True},
]
SERVED = [
    {"requests": 12, "prompt": 60, "answer": 20, "rate": 0.8}, {"requests": 14, "prompt": 30, "answer": 25, "rate": 1.5},
    {"requests": 16, "prompt": 100, "answer": 12, "rate": 1.5}, {"requests": 20, "prompt": 20, "answer": 20, "rate": 3},
]


def lengths_of(setting, seed, arguments):
    """Of each request its arrival, and the lengths of its prompt, answer and prefix."""
    generator, scale, longest = random.Random(seed), arguments.scale, min(LONGEST, arguments.longest)

    def length(median, most):
        return max(1, min(most, round(scale * median * math.exp(generator.gauss(0, 0.5)))))

    requests, now = [], 0
    for _ in range(setting["requests"]):
        if "rate" in setting:
            now += generator.expovariate(setting["rate"])
        prefix = round(scale * setting.get("prefix", 0))
        requests.append({"arrival": now, "prompt": prefix + length(setting["prompt"], longest // 2 - prefix),
                         "answer": 1 + length(setting["answer"], longest // 4), "prefix": 0, "prefix_length": prefix})
    return requests


def prompt_of(request, seed, vocabulary):
    """Tokens are random, but those of the prefix."""
    common, own = random.Random(0), random.Random(seed)
    tokens = [common.randrange(3, vocabulary) for _ in range(request["prefix_length"])]
    return tokens + [own.randrange(3, vocabulary) for _ in range(request["prompt"] - len(tokens))]


def body_of(request, seed, vocabulary):
    """Of the server's API."""
    return {"prompt": prompt_of(request, seed, vocabulary), "max_tokens": request["answer"], "temperature": 0, "ignore_eos": True,
            "stream": True}


def all_settings(arguments):
    kinds = SETTINGS if arguments.batch_only else SETTINGS + SERVED
    return [(number, setting, lengths_of(setting, 1000 + number, arguments)) for number, setting in enumerate(kinds)]


def path(arguments, name):
    return os.path.join(arguments.folder, name)


def read(arguments, name, otherwise):
    try:
        with open(path(arguments, name)) as file:
            return json.load(file)
    except FileNotFoundError:
        return otherwise


def write(arguments, name, value):
    with open(path(arguments, name), "w") as file:
        json.dump(value, file)


def usual_flags(arguments):
    return ["--weights", arguments.model, "--workers", str(arguments.workers), "--quiet", "--prompt-lookup=0"]


def info(arguments):
    return json.loads(subprocess.run([path(arguments, "program"), "info", "--json"], check=True, capture_output=True).stdout)


def compile_program(arguments):
    os.makedirs(arguments.folder, exist_ok=True)
    subprocess.run([arguments.batonc, arguments.model, "-o", path(arguments, "program"), f"--max-batch={BATCH}", f"--max-rows={ROWS}",
                    f"--max-seq={min(LONGEST, arguments.longest)}", "--quiet"], check=True)


SHORT = {"arrival": 0, "prompt": 4, "answer": 1, "prefix": 0, "prefix_length": 0}


def measure(arguments):
    grids = read(arguments, "grids.json", [])
    # Behind them there is room for the longest chunk.
    contexts = sorted({min(round(arguments.scale * context), min(LONGEST, arguments.longest) - 121) for context in (0, 160, 640)})
    bench = subprocess.run(
        [path(arguments, "program"), "bench", *usual_flags(arguments)[:-1], "--json", "--step-times", path(arguments, "times.json"),
         "--repeat", str(arguments.rounds), "--batch", "1,2,3,4,6,8", "--chunks", "4,16,32,64,120", "--contexts",
         ",".join(map(str, contexts))], check=True, capture_output=True)
    described = info(arguments)
    starts = [run_batch(arguments, 0, {}, [SHORT], described)["seconds"] - predict(arguments, {}, [SHORT], 0)["seconds"] for _ in range(5)]
    grids.append({"times": json.loads(bench.stdout), "start": max(0, statistics.median(starts))})
    write(arguments, "grids.json", grids)


def run_batch(arguments, number, setting, requests, described):
    vocabulary, page_bytes = described["model"]["vocabulary"], described["batch"]["page_bytes"]
    file, out = path(arguments, "requests.jsonl"), path(arguments, "results.jsonl")
    with open(file, "w") as lines:
        for place, request in enumerate(requests):
            # The first ids are of tokens that end texts.
            lines.write(json.dumps({"id": str(place), "tokens": prompt_of(request, 1000 * number + place + 1, vocabulary),
                                    "max_new_tokens": request["answer"], "logit_bias": {"0": -100, "1": -100, "2": -100}}) + "\n")
    if os.path.exists(out):
        os.remove(out)
    command = [path(arguments, "program"), "batch", *usual_flags(arguments), "--requests", file, "--out", out, "--json"]
    if "chunk" in setting:
        command += ["--prefill-chunk", str(setting["chunk"])]
    if "pages" in setting:
        command += ["--kv-memory", str(pages_of(arguments, setting) * page_bytes)]
    if "no_cache" in setting:
        command.append("--no-prefix-cache")
    result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if result["errors"]:
        sys.exit(f"error: setting {number} has {result['errors']} errors in {out}")
    return result


def pages_of(arguments, setting):
    """As many as a sequence may need, at least."""
    return max(setting["pages"], math.ceil(min(LONGEST, arguments.longest) / 64))


async def ask_at(start, request, body, port):
    await asyncio.sleep(max(0, start + request["arrival"] - time.perf_counter()))
    times, _, _ = await serving.ask(port, body)
    return times


async def run_served(arguments, number, requests, vocabulary):
    port = serving.free_port()
    server = serving.Server("Baton", [path(arguments, "program"), "serve", *usual_flags(arguments), "--port", str(port)], port)
    try:
        await server.wait()
        bodies = [body_of(request, 1000 * number + place + 1, vocabulary) for place, request in enumerate(requests)]
        await serving.ask(port, body_of(requests[0], 999, vocabulary))
        start = time.perf_counter()
        answers = await asyncio.gather(*(ask_at(start, request, body, port) for request, body in zip(requests, bodies)))
    finally:
        server.end()
    # What is sent together was drawn together, or is a part of a letter: the last token's time counts.
    return {"to_first": statistics.mean(times[0] for times in answers),
            "between": statistics.mean((times[-1] - times[0]) / (request["answer"] - 1) for times, request in zip(answers, requests))}


def run(arguments):
    results = read(arguments, "results.json", {})
    described = info(arguments)
    for number, setting, requests in all_settings(arguments):
        if "rate" in setting:
            found = asyncio.run(run_served(arguments, number, requests, described["model"]["vocabulary"]))
        else:
            found = run_batch(arguments, number, setting, requests, described)
        results.setdefault(str(number), []).append(found)
        write(arguments, "results.json", results)


def predict(arguments, setting, requests, pages):
    with open(path(arguments, "trace.jsonl"), "w") as file:
        for request in requests:
            file.write(json.dumps(request) + "\n")
    command = [arguments.batonc, "plan", "serve", "--simulate", "--json", "--step-times", path(arguments, "times.json"),
               "--trace", path(arguments, "trace.jsonl")]
    if pages:
        command += ["--pages", str(pages)]
    if "chunk" in setting:
        command += ["--prefill-chunk", str(setting["chunk"])]
    if "no_cache" in setting:
        command.append("--no-prefix-cache")
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def text_of(setting):
    words = {"prefix": "prefix {}", "chunk": "chunks of {}", "pages": "few pages", "no_cache": "no cache", "rate": "{} a second"}
    return ", ".join(text.format(setting[key]) for key, text in words.items() if key in setting)


def report(arguments):
    results, grids = read(arguments, "results.json", {}), read(arguments, "grids.json", [])
    if not results or not grids:
        sys.exit(f"error: {arguments.folder} has no grid or no run; run measure and run first")
    errors, wrong, served = [], [], []
    starts = [1e3 * grid["start"] for grid in grids]
    print(f"{len(grids)} grids, {max(map(len, results.values()))} runs; to start takes {min(starts):.0f} to {max(starts):.0f} ms\n")
    print("| requests | prompt | answer | | steps | predicted s | measured s | error |\n|---:|---:|---:|---|---:|---:|---:|---:|")
    for number, setting, requests in all_settings(arguments):
        runs = results.get(str(number), [])
        if not runs:
            continue
        predictions = []
        for grid in grids:
            write(arguments, "times.json", grid["times"])
            predictions.append(predict(arguments, setting, requests, runs[0].get("pages", 0)))
        if "rate" in setting:
            for name, key, found in (("to the first token", "ttft_s", "to_first"), ("between tokens", "tpot_s", "between")):
                served.append((setting, name, statistics.mean(predicted[key]["mean"] for predicted in predictions),
                               statistics.median(run[found] for run in runs)))
            continue
        seconds = statistics.mean(predicted["seconds"] + grid["start"] for predicted, grid in zip(predictions, grids))
        measured = statistics.median(run["seconds"] for run in runs)
        errors.append(seconds / measured - 1)
        for key in ("steps", "rows", "prompt_tokens", "cached_tokens", "generated_tokens", "preemptions", "recomputed_tokens"):
            if predictions[0][key] != runs[0][key]:
                wrong.append(f"setting {number}: {key}: {predictions[0][key]} predicted, {runs[0][key]} made")
        print(f"| {setting['requests']} | {setting['prompt']} | {setting['answer']} | {text_of(setting)} | {predictions[0]['steps']} | "
              f"{seconds:.3f} | {measured:.3f} | {100 * errors[-1]:+.1f} % |")
    sizes = [abs(error) for error in errors]
    if sizes:
        print(f"\n{len(sizes)} settings of batch: error {100 * statistics.mean(sizes):.1f} % on average, median "
              f"{100 * statistics.median(sizes):.1f} %, largest {100 * max(sizes):.1f} %; within 10 %: {sum(size <= .1 for size in sizes)}")
    if served:
        print("\n| requests | prompt | answer | | of serve | predicted ms | measured ms | error |\n|---:|---:|---:|---|---|---:|---:|---:|")
        for setting, name, guess, measured in served:
            print(f"| {setting['requests']} | {setting['prompt']} | {setting['answer']} | {text_of(setting)} | {name} | {1e3 * guess:.1f} | "
                  f"{1e3 * measured:.1f} | {100 * (guess / measured - 1):+.1f} % |")
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit("error: the simulator's steps are not the program's")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compile", "measure", "run", "report"])
    parser.add_argument("batonc")
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="times through the grid, each time (3)")
    parser.add_argument("--longest", type=int, default=LONGEST, help=f"positions of the model, if they are below {LONGEST}")
    parser.add_argument("--scale", type=float, default=1, help="of all lengths (1)")
    parser.add_argument("--batch-only", action="store_true", help="no settings of serve")
    arguments = parser.parse_args()
    {"compile": compile_program, "measure": measure, "run": run, "report": report}[arguments.what](arguments)


if __name__ == "__main__":
    main()
