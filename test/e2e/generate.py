"""What `generate` promises beside the right tokens: text, streaming, sampling,
stop tokens, limits, and the keys of its JSON."""

import argparse
import json
import os
import shutil

import programs
from programs import Program, expect, run

KEYS = {"prompt_tokens", "tokens", "text", "finish_reason", "prefill_s", "decode_s", "tokens_per_s"}


def ids(answer):
    return answer["tokens"]


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    for name in ("gpt2-small", "llama3-rope"):
        folder = os.path.join(arguments.golden, name)
        program = Program(arguments.batonc, folder, path(name))
        base = [program.path, "generate", "--weights", folder, "--no-cache", "--max-new-tokens", "24"]
        prompt = "def f(x): return x  # naïve café 東京 🙂"
        text = json.loads(run(base + ["--prompt", prompt, "--json", "--quiet"]).stdout)
        expect(KEYS <= set(text), f"{name}: JSON lacks {KEYS - set(text)}")
        with open(os.path.join(arguments.golden, "tokenizer",
                               {"gpt2-small": "gpt2-259", "llama3-rope": "llama3-300"}[name],
                               "golden.json")) as file:
            case = next(c for c in json.load(file)["cases"] if 8 < len(c["ids"]) < 60)
        by_text = json.loads(run(base + ["--prompt", case["text"], "--json", "--quiet"]).stdout)
        expect(by_text["prompt_tokens"] in (len(case["ids"]), case["ids"]),
               f"{name}: the prompt has {by_text['prompt_tokens']} tokens, not {len(case['ids'])}")
        by_ids = program.generate(case["ids"], 24)
        expect(ids(by_text) == ids(by_ids), f"{name}: text and its ids give other tokens")

        # Streamed bytes are whole characters, and the same as the JSON's text.
        streamed = run(base + ["--prompt", prompt, "--quiet"]).stdout
        expect(text["text"].strip() in streamed, f"{name}: streamed {streamed!r}, JSON has {text['text']!r}")

    folder = os.path.join(arguments.golden, "llama-gqa")
    program = Program(arguments.batonc, folder, path("llama"))
    prompt = programs.golden(folder)["greedy"]["prompt"]
    greedy = ids(program.generate(prompt, 32))
    expect(ids(program.generate(prompt, 32, "--top-k", 1, "--temperature", 0.7)) == greedy,
           "--top-k 1 is not greedy")
    sampled = [ids(program.generate(prompt, 32, "--temperature", 1.5, "--top-p", 0.95, "--seed", seed,
                                    "--workers", workers))
               for seed, workers in ((7, 1), (7, 3), (8, 1))]
    expect(sampled[0] == sampled[1], "one seed gives two answers")
    expect(sampled[0] != sampled[2], "two seeds give one answer")
    expect(sampled[0] != greedy, "sampling is greedy")

    # The answer ends where the sequence does.
    limited = program.generate([1] * 250, 64)
    expect(len(ids(limited)) == 6 and limited["finish_reason"] == "length",
           f"250 + {len(ids(limited))} tokens of 256, {limited['finish_reason']}")

    # And at a stop token.
    copy = path("stop")
    shutil.copytree(folder, copy)
    with open(os.path.join(copy, "config.json")) as file:
        config = json.load(file)
    config["eos_token_id"] = [greedy[5], 130]
    with open(os.path.join(copy, "config.json"), "w") as file:
        json.dump(config, file)
    program.weights = copy
    stopped = program.generate(prompt, 32)
    first = greedy.index(greedy[5])
    expect(stopped["finish_reason"] == "stop" and ids(stopped)[:first] == greedy[:first]
           and len(ids(stopped)) <= first + 1, f"did not stop at {greedy[5]}: {stopped}")
    program.weights = folder

    # Every value of the model can be dumped, and the sum of chunks is the whole.
    values = []
    for chunk in (150, 9):
        folder_out = path(f"dump{chunk}")
        program.logits(programs.golden(folder)["tokens"][:20], path("l.npy"), "--dump", folder_out,
                       "--prefill-chunk", chunk)
        with open(os.path.join(folder_out, "index.json")) as file:
            index = json.load(file)["values"]
        expect(len(index) > 3 * 8, f"only {len(index)} values were dumped")
        contents = {}
        for value in index:
            with open(os.path.join(folder_out, value["file"]), "rb") as file:
                contents[value["file"]] = file.read()
        values.append(contents)
    expect(values[0] == values[1], "chunks change dumped values: "
           + ", ".join(n for n in values[0] if values[0][n] != values[1].get(n)))

    bench = json.loads(run([program.path, "bench", "--prefill", 40, "--decode", 9, "--json", "--quiet"]).stdout)
    for key in ("prefill_tokens_per_s", "decode_tokens_per_s", "read_bandwidth_fraction", "fma_fraction",
                "prefill_by_layers_tokens_per_s", "decode_by_layers_tokens_per_s",
                "peak_bytes", "workers", "verdict"):
        expect(key in bench, f"bench --json lacks {key}")
    info = json.loads(run([program.path, "info", "--json"]).stdout)
    for key in ("model", "target", "phases", "events", "memory", "proof"):
        expect(key in info, f"info --json lacks {key}")
    expect(info["proof"]["status"] == "proved", f"info says {info['proof']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--golden", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
