"""Programs of --offload in less memory than they take: the same tokens, within the limit.

Requests that share steps come to the tokens of a run without a limit, with weights in a file, with
pages of keys and values there, too, and for another number of workers; so do scores of texts. Each
layer's weights come once for each step, whatever the number of sequences. What the process has
resident stays below --memory. What batonc plan offload -o has written is compiled, and runs as it
was planned. A limit that is too small, and flags that mean nothing, end in one line.
"""

import argparse
import json
import os
import random
import subprocess
import sys

import programs
from programs import QUICK, expect, in_memory, run
from serving import Server, in_parallel

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

    def batch(name, *flags, check=True, program="program", command="batch", requests="in.jsonl"):
        """The results' lines, the summary, and the most bytes that were resident."""
        process = subprocess.Popen(
            [path(program), command, "--weights", path("model"), "--requests", path(requests), "--out", path(name),
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

    # Scores of texts.
    with open(path("texts.jsonl"), "w") as file:
        for number in range(SEQUENCES):
            file.write(json.dumps({"id": str(number), "tokens": [number, 1, 2] * (number * 9 + 1),
                                   "continuations": [[5, number, 7] * 5, [number]], "logprobs": 2}) + "\n")
        file.write(json.dumps({"id": "choices", "tokens": [1, 2] * 40, "choices": [3, 4, 5]}) + "\n")
        file.write(json.dumps({"id": "only", "tokens": [2, 1] * 40, "choices": [3, 4, 5], "only": True}) + "\n")
    scores, summary, _ = batch("scores", command="score", requests="texts.jsonl")
    expect(scores.count("\n") == SEQUENCES + 2 and '"error"' not in scores and "memory" not in summary, scores)
    found, summary, resident = batch("scores-limited", "--memory", f"{limit}MiB", "--kv-in-memory", "0", "--workers", "2",
                                     command="score", requests="texts.jsonl")
    memory = summary["memory"]
    expect(found == scores and resident <= limit * MIB, f"scores: {resident / MIB:.1f} MiB of {limit}: {memory}")
    expect(memory["weights_read"] > 0 and memory["pages_read"] > 0, memory)

    # Answers of a server.
    def answers(*flags):
        with Server(path("program"), path("model"), "--workers", 2, *flags) as server:
            texts = in_parallel([
                lambda prompt=prompt: server.get("/v1/completions", {
                    "prompt": prompt, "max_tokens": 12, "temperature": 0, "logprobs": 1})["choices"][0]
                for prompt in ([7, 8, 9] * 40, list(range(70)), [3], [200, 100])])
            with open(f"/proc/{server.process.pid}/status") as file:
                most = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
            return texts, most

    served, _ = answers()
    found, most = answers("--memory", f"{limit + 8}MiB", "--kv-memory", "16MiB", "--kv-in-memory", "0",
                          "--offload-dir", scratch)
    expect(found == served and most <= (limit + 8) * MIB, f"served: {most / MIB:.1f} MiB of {limit + 8}")
    print(f"served: {most / MIB:.1f} MiB within {limit + 8}")

    # What batonc plan offload says is compiled, and runs so.
    said = run([arguments.batonc, "plan", "offload", "--model", path("model"), "--memory", f"{limit}MiB",
                "--prompt", 130, "--generate", 12, "--sequences", SEQUENCES, "--max-batch", f"1,{SEQUENCES}",
                "--workers", 2, "--offload-dir", scratch, "--quiet", "--json", "-o", path("plan.json"),
                "--html", path("plan.html")]).stdout
    planned = json.loads(said)
    best = planned["best"]
    expect(best["max_batch"] == SEQUENCES and best["planned"] <= limit * MIB and len(planned["all"]) == 2, planned)
    with open(path("plan.json")) as file:
        written = json.load(file)
    expect(written["compile"] == best["compile"] and written["train"] == {} and
           written["forecast"] == {"seconds": best["step_s"], "bytes_of_a_rank": best["planned"]}, written)
    with open(path("plan.html")) as file:
        page = file.read()
    for words in ("<h2>A layer of a step</h2>", ">more for the disk<", f">{SEQUENCES} sequences: memory<", ">layer 12<",
                  "places of layers that come", f"--kv-in-memory={best['compile']['--kv-in-memory']}"):
        expect(words in page, f"the page has no {words}")
    expect(page.count("<svg") == 4 and "http://" not in page.replace("http://www.w3.org/2000/svg", "") and
           "https://" not in page, "the page needs others")
    run([arguments.batonc, path("model"), QUICK, "--quiet", f"--plan={path('plan.json')}", "-o", path("planned")])
    # The plan has measured what the program starts with, and the program says so.
    result = run([path("planned"), "batch", "--weights", path("model"), "--requests", path("in.jsonl"), "--out",
                  path("nothing"), "--workers", 2, "--dry-run", "--json"])
    dry = json.loads(result.stdout)
    expect(not os.path.exists(path("nothing")), "--dry-run leaves results")
    expect(dry["limit"] == limit * MIB and dry["pages"] == best["pages"] and
           dry["pages_in_memory"] == best["pages_in_memory"] and dry["planned"] <= limit * MIB, [dry, best])
    expect(abs(dry["resident"] - planned["resident"]) < 2 * MIB, [dry, planned["resident"]])
    found, summary, resident = batch("planned-run", "--workers", "2", program="planned")
    memory = summary["memory"]
    expect(found == expected and resident <= limit * MIB, f"as planned: {resident / MIB:.1f} MiB: {memory}")
    expect(memory["limit"] == limit * MIB and memory["pages_in_memory"] == best["pages_in_memory"], [memory, best])
    # What moves is the plan's to the byte where the process is; one that is larger by a page may send one
    # more piece away, the largest of which (gate and up) has 3 MiB.
    largest = 0 if memory["process"] == best["process"] else 3 * MIB
    expect(abs(memory["moved_weights"] - best["moved_weights"]) <= largest, [memory, best])
    print(f"as planned: {resident / MIB:.1f} MiB, {best['planned'] / MIB:.1f} planned; the process "
          f"{planned['resident'] / MIB:.1f}, said {dry['resident'] / MIB:.1f}")
    # The user's flag is another plan.
    found, summary, _ = batch("planned-otherwise", "--memory", "4GiB", program="planned")
    expect(found == expected and summary["memory"]["moved_weights"] == 0, summary)

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
    refused("--dry-run is for --memory", "--dry-run")
    refused("--kv-in-memory is a part of --memory", "--kv-in-memory", "1MiB")
    refused("--no-prefetch is for --memory", "--no-prefetch")
    refused("--offload-dir is for --memory", "--offload-dir", scratch)
    refused("--offload-dir: " + path("nowhere"), "--memory", f"{limit}MiB", "--kv-in-memory", "0",
            "--offload-dir", path("nowhere"))
    compiled("usual")
    refused("compile it with --offload", "--memory", f"{limit}MiB", program="usual")
    for flags, message in ((["--target=cuda:sm_90a", "--max-batch=2"], "--offload with --target=cuda:sm_90a is not built yet"),
                           (["--mesh=tp=2", "--max-batch=2"], "--offload with --mesh=tp=2 is not built yet"),
                           (["--max-batch=2", "--memory=much"], "--memory=much: expected a size"),
                           (["--max-batch=2", "--kv-memory=1GiB"], "--kv-memory=1GiB is for --offload with --memory"),
                           ([], "--offload is for --max-batch")):
        result = subprocess.run([arguments.batonc, path("model"), "--offload", *flags, "-o", path("none")],
                                capture_output=True, text=True)
        expect(result.returncode == 1 and message in result.stderr, f"{flags}: {result}")
    result = run([arguments.batonc, path("model"), "--max-batch=2", "--memory=1GiB", "-o", path("none")], check=False)
    expect(result.returncode == 1 and "--memory=1GiB is for --mode=train and --offload" in result.stderr, result)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--random-checkpoint", required=True)
    programs.main(lambda scratch: test(parser.parse_args(), scratch))
