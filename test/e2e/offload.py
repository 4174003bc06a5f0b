"""Programs of --offload in less memory than they take: the same tokens, within the limit.

Requests that share steps come to the tokens of a run without a limit, with weights in a file, with
pages of keys and values there, too, and for another number of workers. Each layer's weights come
once for each step, whatever the number of sequences. What the process has resident stays below
--memory. A limit that is too small, and flags that mean nothing, end in one line.
"""

import argparse
import json
import os
import random
import subprocess
import sys

import programs
from programs import QUICK, expect, in_memory, run

# Layers outweigh all else; an odd number of them, so that the ring has a third place.
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 13,
    "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 512,
    "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": False, "torch_dtype": "float32",
}
SEQUENCES = 6
MIB = 2**20


def write_requests(path):
    generator = random.Random(4)
    with open(path, "w") as file:
        for number in range(SEQUENCES + 2):
            tokens = [generator.randrange(512) for _ in range(generator.choice([3, 60, 70, 130]))]
            request = {"id": str(number), "tokens": tokens, "max_new_tokens": generator.choice([3, 8, 12])}
            if number % 2:
                request |= {"temperature": 0.8, "seed": number}
            file.write(json.dumps(request) + "\n")


def test(arguments, scratch):
    if in_memory(scratch):
        print(f"skipped: {scratch} is in memory, where files save none")
        sys.exit(77)
    path = lambda *names: os.path.join(scratch, *names)
    with open(path("config.json"), "w") as file:
        json.dump(CONFIG, file)
    run([sys.executable, arguments.random_checkpoint, path("model"), "--like", path("config.json")])
    write_requests(path("in.jsonl"))
    compiled = lambda program, *flags: run(
        [arguments.batonc, path("model"), QUICK, "--quiet", f"--max-batch={SEQUENCES}", "--max-rows=64",
         "--max-seq=256", *flags, "-o", path(program)])
    compiled("program", "--offload")

    def batch(name, *flags, check=True, program="program"):
        """The results' lines, the summary, and the most bytes that were resident."""
        process = subprocess.Popen(
            [path(program), "batch", "--weights", path("model"), "--requests", path("in.jsonl"), "--out", path(name),
             "--json", "--quiet", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        text, errors = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if not check:
            return process.returncode, errors
        expect(process.returncode == 0, f"{name}: status {process.returncode}: {errors}")
        with open(path(name)) as file:
            return file.read(), json.loads(text), usage.ru_maxrss * 1024

    expected, summary, whole = batch("whole")
    expect("memory" not in summary, f"{summary}: nothing moves without a limit")
    weights = json.loads(run([path("program"), "info", "--json"]).stdout)["memory"]["weights"]

    limit = whole // MIB * 3 // 4
    runs = [("part", ["--workers", "2"], limit), ("one-worker", ["--workers", "1"], limit),
            ("no-cache", ["--workers", "2", "--no-cache"], limit),
            ("pages", ["--workers", "2", "--kv-in-memory", "0"], limit),
            ("no-prefetch", ["--workers", "2", "--kv-in-memory", "0", "--no-prefetch"], limit),
            ("some-pages", ["--workers", "2", "--kv-in-memory", "6MiB", "--no-prefix-cache"], limit)]
    for name, flags, size in runs:
        found, summary, resident = batch(name, "--memory", f"{size}MiB", *flags)
        expect(found == expected, f"{name}: other results than without a limit")
        memory = summary["memory"]
        expect(resident <= size * MIB, f"{name}: {resident / MIB:.1f} MiB are resident, of {size}: {memory}")
        expect(memory["planned"] <= memory["limit"] == size * MIB, f"{name}: {memory}")
        expect(memory["moved_weights"] > weights // 5, f"{name}: too few weights of {weights} move: {memory}")
        # Behind the last layer the first one's come once more, for a step that may not follow.
        expect(memory["steps"] <= memory["least_loads"] <= memory["most_loads"] <= memory["steps"] + 1,
               f"{name}: layers do not come once for each step: {memory}")
        moved, steps = memory["moved_weights"], memory["steps"]
        expect(moved * steps <= memory["weights_read"] <= moved * (steps + 1) * 1.05, f"{name}: {memory}")
        expect((memory["pages_read"] > 0) == (memory["pages_in_memory"] < memory["pages"]), f"{name}: {memory}")
        expect((memory["pages_written"] > 0) == (memory["pages_in_memory"] < memory["pages"]), f"{name}: {memory}")
        if "--kv-in-memory" in flags:
            expect(memory["pages_in_memory"] < memory["pages"], f"{name}: all pages stay: {memory}")
        print(f"{name}: {resident / MIB:.1f} MiB of {whole / MIB:.1f} within {size}, {memory['planned'] / MIB:.1f} "
              f"planned; {moved / MIB:.1f} MiB of weights come in each of {steps} steps")

    # All of it stays where there is room.
    found, summary, _ = batch("room", "--memory", "4GiB")
    expect(found == expected and summary["memory"]["moved_weights"] == 0, f"{summary}")
    expect(summary["memory"]["weights_read"] == 0, f"{summary}")

    # What batonc plan offload says is compiled, and runs so.
    planned = json.loads(run([arguments.batonc, "plan", "offload", "--model", path("model"), "--memory", f"{limit}MiB",
                              "--prompt", 130, "--generate", 12, "--sequences", SEQUENCES, "--max-batch", f"1,{SEQUENCES}",
                              "--workers", 2, "--offload-dir", scratch, "--quiet", "--json"]).stdout)
    best = planned["best"]
    expect(best["max_batch"] == SEQUENCES and best["planned"] <= limit * MIB and len(planned["all"]) == 2, planned)
    run([arguments.batonc, path("model"), QUICK, "--quiet", *best["compile"].split(), "-o", path("planned")])
    found, summary, resident = batch("planned-run", "--workers", "2", *best["run"].split(), program="planned")
    expect(found == expected and resident <= limit * MIB, f"as planned: {resident / MIB:.1f} MiB: {summary}")
    print(f"as planned: {resident / MIB:.1f} MiB, {best['planned'] / MIB:.1f} planned")

    # bench compares with each sequence alone; its weights are random, in a file without a name.
    os.mkdir(path("elsewhere"))
    result = json.loads(run([path("program"), "bench", "--batch", "4", "--prefill", "20", "--decode", "6", "--repeat", "1",
                             "--memory", f"{limit}MiB", "--kv-in-memory", "0", "--offload-dir", path("elsewhere"),
                             "--json", "--quiet"]).stdout)
    expect(result["verdict"] == "sequences have the tokens that they have alone", result)
    expect(result["memory"]["weights_read"] > 0 and result["memory"]["pages_read"] > 0, result)
    expect(not os.listdir(path("elsewhere")), "a file of layers is left")

    def refused(message, *flags, program="program"):
        status, errors = batch("refused", *flags, check=False, program=program)
        expect(status == 1 and errors.count("\n") == 1 and message in errors, f"{flags}: {status}: {errors}")
        print(errors.strip())

    refused("--memory: 8MiB is less than the", "--memory", "8MiB")
    refused("two layers' weights", "--memory", "8MiB")
    refused("--memory: \"much\" is not a size", "--memory", "much")
    refused("--kv-in-memory is a part of --memory", "--kv-in-memory", "1MiB")
    refused("--no-prefetch is for --memory", "--no-prefetch")
    refused("--offload-dir is for --memory", "--offload-dir", scratch)
    refused("--offload-dir: " + path("nowhere"), "--memory", f"{limit}MiB", "--kv-in-memory", "0",
            "--offload-dir", path("nowhere"))
    compiled("usual")
    refused("compile it with --offload", "--memory", f"{limit}MiB", program="usual")
    for flags, message in ((["--target=cuda:sm_90a", "--max-batch=2"], "--offload with --target=cuda:sm_90a is not built yet"),
                           (["--mesh=tp=2", "--max-batch=2"], "--offload with --mesh=tp=2 is not built yet"),
                           ([], "--offload is for --max-batch")):
        result = subprocess.run([arguments.batonc, path("model"), "--offload", *flags, "-o", path("none")],
                                capture_output=True, text=True)
        expect(result.returncode == 1 and message in result.stderr, f"{flags}: {result}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--random-checkpoint", required=True)
    programs.main(lambda scratch: test(parser.parse_args(), scratch))
