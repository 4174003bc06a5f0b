#!/usr/bin/env python3
"""Compares FILE batch with llama.cpp on prompts that begin alike, with the same random weights.

    test/bench/prefixes.py build/bin/batonc --work DIR [--models llama-3.2-1b] [--dtype bf16]
                           [--prompts 64] [--prefix 512] [--own 8] [--new 16] [--workers 2] [--rounds 3]

So many prompts have a beginning of --prefix tokens in common, each has --own tokens more, and is continued by
--new tokens, greedily. What counts is the time from the first prompt's row to the last token, weights loaded before;
each round begins without any state. Baton finds the common pages by itself. llama.cpp is told: the beginning is
computed once, its states are given to all sequences (llama_memory_seq_cp in one buffer for all), then all prompts'
own tokens are one batch of up to 512 rows, and each further step has a token of each sequence; the likeliest token is
looked for by numpy, in a part of the time that is left out. So nothing that llama.cpp computes is computed twice.

Engines run in turn, each in a process of its own; the median of the rounds counts. Checkpoints are those of peers.py.
Beside each time stands how many texts begin with the token that Baton finds: random weights have ties that rounding
decides.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import peers


def prompts_of(arguments, vocabulary):
    common = peers.tokens_of(arguments.prefix, vocabulary)
    return [common + [(104729 * (number * arguments.own + i + 1)) % vocabulary for i in range(arguments.own)]
            for number in range(arguments.prompts)]


def run_llama_cpp(arguments, vocabulary):
    """Seconds, and the tokens of each text."""
    import llama_cpp
    import numpy
    positions = arguments.prefix + arguments.prompts * (arguments.own + arguments.new)
    engine = peers.LlamaCpp(llama_cpp, arguments.model, arguments.workers, positions, vocabulary,
                            arguments.prompts, shared=True)
    memory = llama_cpp.llama_get_memory(engine.state)
    prompts = prompts_of(arguments, vocabulary)
    # Touches all weights.
    engine.fill(32)
    engine.clear()
    left_out = 0.0

    def likeliest(rows):
        """Of each sequence's last row."""
        nonlocal left_out
        begin = time.perf_counter()
        found = {sequence: int(numpy.argmax(numpy.ctypeslib.as_array(
            llama_cpp.llama_get_logits_ith(engine.state, row), (vocabulary,))))
            for row, (_, _, sequence, has_logits) in enumerate(rows) if has_logits}
        left_out += time.perf_counter() - begin
        return found

    start = time.perf_counter()
    common = prompts[0][:arguments.prefix]
    for first in range(0, arguments.prefix, peers.PROMPT):
        part = common[first:first + peers.PROMPT]
        engine.step([(token, first + i, 0, i == len(part) - 1) for i, token in enumerate(part)])
    for sequence in range(1, arguments.prompts):
        llama_cpp.llama_memory_seq_cp(memory, 0, sequence, 0, arguments.prefix)
    texts = [[] for _ in prompts]
    rows = [(token, arguments.prefix + i, sequence, i == arguments.own - 1)
            for sequence, prompt in enumerate(prompts) for i, token in enumerate(prompt[arguments.prefix:])]
    whole = peers.PROMPT // arguments.own * arguments.own
    for first in range(0, len(rows), whole):
        engine.step(rows[first:first + whole])
        for sequence, token in likeliest(rows[first:first + whole]).items():
            texts[sequence].append(token)
    for i in range(arguments.new - 1):
        rows = [(text[-1], arguments.prefix + arguments.own + i, sequence, True)
                for sequence, text in enumerate(texts)]
        engine.step(rows)
        for sequence, token in likeliest(rows).items():
            texts[sequence].append(token)
    return time.perf_counter() - start - left_out, texts


def llama_cpp_process(arguments, model):
    flags = [flag for name in ("workers", "prompts", "prefix", "own", "new")
             for flag in (f"--{name}", str(getattr(arguments, name)))]
    result = subprocess.run([sys.executable, __file__, "--model", model, "--vocabulary", str(arguments.vocabulary),
                             *flags], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"llama.cpp failed: {result.stderr.strip()[-500:]}")
    return json.loads(result.stdout.splitlines()[-1])


def baton_process(arguments, program, weights):
    with tempfile.TemporaryDirectory() as scratch:
        path = lambda name: os.path.join(scratch, name)
        with open(path("in.jsonl"), "w") as file:
            for number, prompt in enumerate(prompts_of(arguments, arguments.vocabulary)):
                print(json.dumps({"id": str(number), "tokens": prompt, "max_new_tokens": arguments.new}), file=file)
        result = subprocess.run(
            [program, "batch", "--weights", weights, "--requests", path("in.jsonl"), "--out", path("out.jsonl"),
             "--workers", str(arguments.workers), "--json", "--quiet"], check=True, capture_output=True, text=True)
        summary = json.loads(result.stdout)
        with open(path("out.jsonl")) as file:
            texts = [json.loads(line)["tokens"] for line in file]
    return summary["seconds"], texts, summary


def compare(arguments, name):
    config = peers.SHAPES[name]
    arguments.vocabulary = config["vocab_size"]
    weights = os.path.join(arguments.work, f"{name}-{arguments.dtype}")
    peers.in_child(peers.write_checkpoint, weights, config, arguments.dtype)
    positions = arguments.prefix + arguments.own + arguments.new
    programs = {"Baton": []} | ({"Baton bf16": ["--activations=bf16"]} if arguments.dtype == "bf16" else {})
    for who, flags in programs.items():
        programs[who] = os.path.join(arguments.work, f"{name}-{arguments.dtype}-{who[6:]}prefixes.program")
        subprocess.run([arguments.batonc, weights, "-o", programs[who], "--quiet", f"--max-seq={positions}",
                        f"--max-batch={arguments.prompts}", f"--max-rows={peers.PROMPT}", *flags], check=True)
    times, first = {}, {}
    for _ in range(arguments.rounds):
        for who, program in programs.items():
            seconds, texts, summary = baton_process(arguments, program, weights)
            times.setdefault(who, []).append(seconds)
            first[who] = [text[0] for text in texts]
        seconds, texts = llama_cpp_process(arguments, peers.quantised(arguments, name, arguments.dtype))
        times.setdefault("llama.cpp", []).append(seconds)
        first["llama.cpp"] = [text[0] for text in texts]
    print(f"\n{name} {arguments.dtype}, {arguments.workers} workers: {arguments.prompts} prompts of "
          f"{arguments.prefix} tokens in common and {arguments.own} of their own, {arguments.new} new tokens each; "
          f"{summary['cached_tokens']} tokens were found, {summary['steps']} steps")
    for who, own in times.items():
        median = statistics.median(own)
        same = sum(a == b for a, b in zip(first["Baton"], first[who], strict=True))
        note = f", llama.cpp takes {statistics.median(times['llama.cpp']) / median:.2f} times as long" \
            if who != "llama.cpp" else ""
        print(f"  {who:12} {median:6.2f} s ({min(own):.2f} to {max(own):.2f}), {same} of {arguments.prompts} begin "
              f"alike{note}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batonc", nargs="?")
    parser.add_argument("--work", default="peers")
    parser.add_argument("--models", nargs="+", default=["llama-3.2-1b"], choices=list(peers.SHAPES))
    parser.add_argument("--dtype", default="bf16", choices=list(peers.TYPES))
    for name, usual in (("prompts", 64), ("prefix", 512), ("own", 8), ("new", 16), ("workers", 2), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--vocabulary", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.model:
        print(json.dumps(run_llama_cpp(arguments, arguments.vocabulary)))
        return
    if not arguments.batonc:
        parser.error("which batonc?")
    for name in arguments.models:
        compare(arguments, name)


if __name__ == "__main__":
    main()
