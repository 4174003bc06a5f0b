"""tools/self-distill on a toy language of locks, where one letter is right, and forks, where four are.

A model that has not quite learned the language trains on its own answers. After one round
the tail at locks, the probability of all that is wrong, is less; and forks are forks still:
their entropy stays within a band. The same seed makes the same bytes. Conversations, an
adapter, an interrupted run and refusals.
"""

import argparse
import filecmp
import json
import math
import os
import random
import shutil
import subprocess
import sys

import programs
from programs import Program, expect, rows_of, run
from training import read_tensors

INPUTS = ["tools/self-distill", "models/examples/bytes/*"]
HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "../../tools/self-distill")
BYTES = os.path.join(HERE, "../../models/examples/bytes")
KEYS, FORK, PAIRS = "abcdefgh", "wxyz", 8


def lock(key, place):
    return chr(ord("A") + (3 * KEYS.index(key) + 5 * place) % 26)


def sentence(key, generator):
    """The answer to a key: a lock and a fork, eight times."""
    return "".join(lock(key, place) + generator.choice(FORK) for place in range(PAIRS))


def measured(logits, key):
    """(mean tail at locks, mean entropy of forks among their four letters) in a text's logits."""
    tails, entropies = [], []
    # Row i foretells token i + 1; the prompt is a key and a colon.
    for place in range(PAIRS):
        for row, what in ((logits[1 + 2 * place], "lock"), (logits[2 + 2 * place], "fork")):
            top = max(row)
            weights = [math.exp(value - top) for value in row]
            parts = [weight / sum(weights) for weight in weights]
            if what == "lock":
                tails.append(1 - parts[ord(lock(key, place))])
            else:
                own = [parts[ord(letter)] for letter in FORK]
                entropies.append(-sum(p / sum(own) * math.log(p / sum(own)) for p in own))
    return sum(tails) / len(tails), sum(entropies) / len(entropies)


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    generator = random.Random(5)

    def write_lines(name, lines):
        with open(path(name), "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return path(name)

    # The language, of which a model has seen little.
    folder = path("empty")
    os.makedirs(folder)
    shutil.copy(os.path.join(BYTES, "tokenizer.json"), folder)
    with open(os.path.join(BYTES, "config.json")) as file:
        config = json.load(file) | {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "head_dim": 16,
                                    "max_position_embeddings": 64}
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    texts = [{"prompt": f"{key}:", "completion": sentence(key, generator)} for key in KEYS * 60]
    write_lines("texts.jsonl", texts)
    run([arguments.batonc, folder, "--mode=train", "--optimize=1", "--quiet", "-o", path("trainer")])
    run([path("trainer"), "train", "--init-seed", 1, "--model", folder, "--data", path("texts.jsonl"), "--steps", 300, "--batch", 8,
         "--seq", 32, "--lr", 3e-3, "--out", path("first"), "--quiet"])
    model = path("first/step-300")
    prompts = write_lines("prompts.jsonl", [{"prompt": f"{key}:"} for key in KEYS * 40])
    held_out = write_lines("held-out.jsonl", [{"prompt": f"{key}:", "completion": sentence(key, generator)} for key in KEYS * 4])

    def distill(out, *flags, prompts=prompts, check=True):
        return run([sys.executable, TOOL, model, "--batonc", arguments.batonc, "--prompts", prompts, "--out", path(out),
                    "--steps", 60, "--batch", 8, "--seq", 32, "--lr", 1e-3, "--max-new-tokens", 2 * PAIRS, "--compile=--optimize=1",
                    "--json", "--quiet", *flags], check=check)

    def measure(weights):
        program = Program(arguments.batonc, weights, path("measured"))
        own = random.Random(9)
        found = []
        for key in KEYS:
            text = f"{key}:{sentence(key, own)}"
            found.append(measured(rows_of(program.logits(list(text.encode()), path("logits.npy"))), key))
        return [sum(values) / len(values) for values in zip(*found)]

    report = json.loads(distill("one", "--keep-truncated", "--eval", held_out).stdout)
    counts = report["answers"]
    expect(counts["prompts"] == 320 and counts["short"] == 32 and counts["learned"] == 288, counts)
    with open(path("one/data.jsonl")) as file:
        data = [json.loads(line) for line in file]
    expect(len(data) == 288 and all(line["prompt"][1] == ":" and line["completion"] for line in data), data[:3])
    (tail, entropy), (tail_after, entropy_after) = measure(model), measure(report["checkpoint"])
    expect(0.005 < tail < 0.5, f"the tail at locks begins at {tail}, where there is nothing to see")
    expect(tail_after < 0.6 * tail, f"the tail at locks was {tail}, and is {tail_after}")
    expect(0.85 < entropy_after / entropy < 1.1, f"the entropy of forks was {entropy}, and is {entropy_after}")
    loss = lambda which: report[which]["loss"] if "loss" in report[which] else report[which]
    expect(all(what in report for what in ("before", "after")), report)

    # The same bits; with another seed others.
    again = json.loads(distill("two", "--keep-truncated").stdout)
    for name in ("answers.jsonl", "data.jsonl", "run/step-60/model.safetensors"):
        expect(filecmp.cmp(path(f"one/{name}"), path(f"two/{name}"), shallow=False), f"{name} of the same seed")
    expect("before" not in again, again)
    distill("three", "--keep-truncated", "--seed", 1, "--steps", 1)
    expect(not filecmp.cmp(path("one/answers.jsonl"), path("three/answers.jsonl"), shallow=False), "answers of another seed")

    # An adapter, from answers that are there; then other flags.
    os.makedirs(path("pairs"))
    for name in ("requests.jsonl", "answers.jsonl"):
        shutil.copy(path(f"one/{name}"), path(f"pairs/{name}"))
    with open(path("pairs/answers.jsonl")) as file:
        answers = [json.loads(line) for line in file]
    write_lines("pairs/answers.jsonl", [*answers[:-1], answers[-1] | {"text": "PLANTED"}])
    adapted = json.loads(distill("pairs", "--keep-truncated", "--adapter", "lora:r=4", "--steps", 2, "--eval", held_out).stdout)
    with open(path("pairs/data.jsonl")) as file:
        expect("PLANTED" in file.read(), "answers were drawn again")
    tensors = read_tensors(os.path.join(adapted["checkpoint"], "adapter_model.safetensors"))
    expect(all("lora" in name for name in tensors), sorted(tensors)[:3])
    shutil.rmtree(path("pairs/run"))

    # Conversations.
    chats = path("chats")
    shutil.copytree(model, chats)
    with open(os.path.join(chats, "chat_template.jinja"), "w") as file:
        file.write("{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}:{% endif %}")
    write_lines("chats.jsonl", [{"messages": [{"role": "user", "content": key}]} for key in KEYS])
    result = run([sys.executable, TOOL, chats, "--batonc", arguments.batonc, "--prompts", path("chats.jsonl"), "--out", path("talk"),
                  "--steps", 1, "--batch", 1, "--seq", 32, "--max-new-tokens", 6, "--keep-truncated", "--compile=--optimize=1",
                  "--drop-shortest", 0, "--json", "--quiet"])
    expect(json.loads(result.stdout)["answers"]["learned"] == len(KEYS), result.stdout)
    with open(path("talk/data.jsonl")) as file:
        first = json.loads(file.readline())["messages"]
    expect([turn["role"] for turn in first] == ["user", "assistant"] and first[1]["content"], first)

    bad = lambda *lines: write_lines("bad.jsonl", lines)
    for out, source, flags, message in (
            ("one", prompts, [], "one/run is there already"),
            ("pairs", prompts, ["--temperature", 1], "is of other prompts or flags"),
            ("bad", path("none"), [], "none: cannot be read"),
            ("bad", bad({"text": "a"}), [], "bad.jsonl:1: expected an object"),
            ("bad", bad({"prompt": "a", "messages": []}), [], "one of the two"),
            ("bad-2", bad({"messages": [{"role": "assistant", "content": "a"}]}), [], "messages end with one"),
            ("bad-3", bad({"prompt": "a:"}), [], "no answer is left to learn from")):
        if out.startswith("bad") and source == path("bad.jsonl"):
            bad(*{"bad.jsonl:1: expected an object": [{"text": "a"}], "one of the two": [{"prompt": "a", "messages": []}],
                  "messages end with one": [{"messages": [{"role": "assistant", "content": "a"}]}]}.get(message, [{"prompt": "a:"}]))
        result = distill(out, *flags, prompts=source, check=False)
        expect(result.returncode == 1 and message in result.stderr and result.stderr.count("\n") == 1, f"{message}: {result}")
    result = subprocess.run([sys.executable, TOOL, model, "--prompts", prompts, "--out", path("x"), "--steps", "1", "--top-p", "2"],
                            capture_output=True, text=True)
    expect(result.returncode == 2 and "'2' is not a part above 0" in result.stderr, result)
    print(f"tail at locks {tail:.4f}, after one round {tail_after:.4f}; entropy of forks {entropy:.3f}, {entropy_after:.3f}; "
          f"losses {loss('before')} and {loss('after')}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
