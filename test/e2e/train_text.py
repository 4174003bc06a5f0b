"""A folder of texts is the file of its tokens.

Texts of many scripts, each a file, are trained on by a checkpoint's tokenizer.json;
the same tokens, as the tokenizers library encoded them and with the token that ends a
text between two of them, are trained on from a flat file: the same lines and the same
weights, also of a run that was resumed. The checkpoint keeps the tokenizer, so that
its prompts are text again.
"""

import argparse
import json
import os
import shutil

import programs
from programs import QUICK, Program, expect, run
from training import lines_of, read_bytes, write_tokens


STEPS = 8


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    with open(os.path.join(arguments.tokenizer, "golden.json")) as file:
        cases = [case for case in json.load(file)["cases"]
                 if len(case["ids"]) > 60 and not case["text"].isascii() and "\0" not in case["text"]]
    expect(len(cases) > 4, f"{arguments.tokenizer} has only {len(cases)} long texts beside ASCII")
    model = path("model")
    shutil.copytree(arguments.folder, model)
    shutil.copy(os.path.join(arguments.tokenizer, "tokenizer.json"), model)
    with open(os.path.join(model, "config.json")) as file:
        end = json.load(file)["eos_token_id"]
    tokens = []
    for number, case in enumerate(cases):
        name = path(f"text/{number // 3}/{number % 3}")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(case["text"])
        tokens += ([end] if tokens else []) + case["ids_without_special_tokens"]
    write_tokens(path("tokens.u16"), tokens)

    run([arguments.batonc, model, "--mode=train", QUICK, "--quiet", "-o", path("trainer")])

    def train(data, out, *begin):
        output = run([path("trainer"), "train", *begin, "--data", path(data), "--out", path(out), "--seq", 24,
                      "--batch", 4, "--steps", STEPS, "--save-every", STEPS // 2, "--lr", 3e-3, "--warmup", 1,
                      "--quiet"]).stdout
        return lines_of(output, "tokens_per_s")

    last = f"step-{STEPS}"
    weights = lambda out: read_bytes(path(f"{out}/{last}/model.safetensors"))
    by_text, by_tokens = (train(data, f"by-{data}", "--weights", model) for data in ("text", "tokens.u16"))
    expect(by_text == by_tokens, f"by text {by_text}\nby tokens {by_tokens}")
    expect(by_text[-1]["loss"] < 0.9 * by_text[0]["loss"], f"learns nothing: {by_text}")
    expect(weights("by-text") == weights("by-tokens.u16"), "weights differ")

    trained = weights("by-text")
    shutil.rmtree(path(f"by-text/{last}"))
    expect(train("text", "by-text", "--weights", model, "--resume") == by_text[STEPS // 2:], "resumed, lines differ")
    expect(weights("by-text") == trained, "resumed, weights differ")

    # The whole first text has as many tokens as the library says, and the answer is
    # that of the tokens.
    program = Program(arguments.batonc, path(f"by-text/{last}"), path("program"))
    case = min(cases, key=lambda case: len(case["ids"]))
    asked = json.loads(run([program.path, "generate", "--weights", program.weights, "--no-cache", "--quiet",
                            "--json", "--max-new-tokens", 8, "--prompt", case["text"]]).stdout)
    expect(asked["tokens"] == program.generate(case["ids"], 8)["tokens"],
           f"{case['text']!r} and its tokens give other answers")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--tokenizer", required=True, help="folder with tokenizer.json and golden.json")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
