"""What docs/training.md says of data: its code, taken from the page, against a trainer.

- The order of sequences, over several epochs, with microbatches and other seeds: at a
  learning rate too small to change a weight, a step's loss is the mean of those of its
  sequences, each of which a run of its own has told.
- Which texts a folder has, in which order, and that without a tokenizer bytes are the
  tokens of data and of prompts.
- With --torch, all of it: the losses that PyTorch computes with the page's loop are those
  that the trainer prints, of text by a tokenizer and of tokens. Skipped (77) where torch,
  transformers or tokenizers cannot be imported; by hand:

      venv/bin/python test/e2e/train_data.py --batonc build/bin/batonc --torch
          test/golden/gpt2-small docs/training.md
"""

import argparse
import importlib
import itertools
import json
import math
import os
import re
import shutil
import sys

import programs
from programs import QUICK, expect, run
from training import lines_of, write_tokens

LENGTH, BATCH = 24, 4


def blocks_of(page):
    """The Python of the page's section about data."""
    with open(page) as file:
        section = re.search(r"^## Data\n(.*?)^## ", file.read(), re.M | re.S)
    expect(section, f"{page} has no section about data")
    blocks = re.findall(r"^```python\n(.*?)^```$", section[1], re.M | re.S)
    expect(len(blocks) == 3, f"{page}: {len(blocks)} blocks of Python, expected batches, the loop and its call")
    return blocks


class Trainer:
    def __init__(self, batonc, folder, scratch):
        self.folder, self.scratch, self.runs = folder, scratch, 0
        self.path = os.path.join(scratch, "trainer")
        run([batonc, folder, "--mode=train", "--dtype=f32", QUICK, "--quiet", "-o", self.path])

    def losses(self, data, steps, *flags):
        self.runs += 1
        return [line["loss"] for line in lines_of(run(
            [self.path, "train", "--weights", self.folder, "--data", data, "--steps", steps, "--seq", LENGTH,
             "--out", os.path.join(self.scratch, f"run-{self.runs}"), "--quiet", *flags]).stdout)]


def near(found, expected, bound):
    return len(found) == len(expected) and all(abs(a / b - 1) < bound for a, b in zip(found, expected))


def check_order(trainer, page, tokens, scratch):
    data = os.path.join(scratch, "data.u16")
    still = ["--lr", 1e-30]

    def losses(tokens, *flags):
        write_tokens(data, tokens)
        return trainer.losses(data, *flags, *still)

    cut = [tuple(tokens[i:i + LENGTH + 1]) for i in range(0, len(tokens) - LENGTH, LENGTH + 1)]
    alone = {rows: losses(rows, 1, "--batch", 1)[0] for rows in cut}
    expect(len(set(alone.values())) == len(cut) == 19, f"sequences have equal losses: {alone}")
    orders = set()
    for seed, batch, accumulate, set_aside in ((0, 1, 1, 0.13), (7, 2, 3, 0.1), (2**64 - 1, 3, 2, 0), (7, 4, 1, 0.5)):
        found = losses(tokens, 13, "--batch", batch, "--accumulate", accumulate, "--seed", seed,
                       "--validation-fraction", set_aside)
        rows = [[tuple(row) for microbatch in step for row in microbatch] for step in itertools.islice(
            page["steps"](tokens, LENGTH, batch, accumulate, seed, set_aside), 13)]
        expected = [sum(alone.get(row, math.nan) for row in step) / len(step) for step in rows]
        expect(near(found, expected, 1e-5), f"seed {seed}, {accumulate} of {batch}: {found}, by the page {expected}")
        orders.add(tuple(map(tuple, rows)))
    expect(len(orders) == 4, "orders do not differ")
    # Whole epochs, each sequence once, in another order.
    page_order = [[page["shuffled"](place, 17, 3, epoch) for place in range(17)] for epoch in range(3)]
    expect(all(sorted(epoch) == list(range(17)) for epoch in page_order) and page_order[0] != page_order[1],
           f"no permutations: {page_order}")


def write_texts(folder):
    # "a-b" comes before "a/", although "a" comes before "a-b".
    for number, name in enumerate(("a/one", "a-b", "B", "a/.hidden", ".git/x", "empty", "binary", "ä")):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        words = " ".join(f"{name} {number * i} of many lines.\r\n" for i in range(60))
        with open(path, "wb") as file:
            file.write({"empty": b"", "binary": b"a\0b"}.get(name, words.encode()))


def check_texts(arguments, trainer, page, scratch):
    """Where no tokenizer makes tokens of them."""
    model = os.path.join(scratch, "bytes")
    shutil.copytree(arguments.folder, model, ignore=shutil.ignore_patterns("tokenizer.json"))
    trainer.folder = model
    texts = os.path.join(scratch, "texts")
    tokens = page["stream"](page["texts"](texts))
    write_tokens(os.path.join(scratch, "same.u16"), tokens)
    flags = ["--batch", 4, "--lr", 1e-3]
    by_text, by_tokens = (trainer.losses(data, 6, *flags) for data in (texts, os.path.join(scratch, "same.u16")))
    expect(by_text == by_tokens, f"texts have other losses than their bytes: {by_text}, {by_tokens}")

    # A prompt's tokens are made in the same way; both commands say so, or refuse alike.
    program = programs.Program(arguments.batonc, model, os.path.join(scratch, "program"))
    commands = {"--data": [trainer.path, "train", "--data", texts, "--steps", 1, "--seq", LENGTH, "--weights", model],
                "--prompt": [program.path, "generate", "--prompt", "ä?", "--max-new-tokens", 4, "--json", "--no-cache",
                             "--weights", model]}

    def called(flag):
        trainer.runs += 1
        out = ["--out", os.path.join(scratch, f"run-{trainer.runs}")] if flag == "--data" else []
        return run(commands[flag] + out, check=False)

    for flag in commands:
        result = called(flag)
        expect(result.returncode == 0 and f"tokenizer.json: no such file; each byte of {flag} is a token\n" in result.stderr,
               f"{flag}: {result}")
    asked = json.loads(result.stdout)
    expect(asked["prompt_tokens"] == list("ä?".encode()), f"a prompt is not its bytes: {asked}")
    expect(asked["text"] == bytes(token for token in asked["tokens"] if token < 256).decode(errors="replace")
           or "\ufffd" in asked["text"], f"tokens are no bytes: {asked}")
    for name, content in (("vocab.json", "{}"), ("tokenizer.json", "{}")):
        with open(os.path.join(model, name), "w") as file:
            file.write(content)
        for flag, instead in (("--data", "a token file"), ("--prompt", "--tokens instead")):
            result = called(flag)
            expect(result.returncode == 1 and result.stderr.count("error: ") == 1 and name in result.stderr
                   and f"; give {instead if flag == '--prompt' else '--data ' + instead}" in result.stderr,
                   f"{flag}, {name}: {result}")
    print(f"{len(tokens)} bytes of texts")


def check_torch(arguments, blocks, trainer, tokens, scratch):
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    texts = os.path.join(scratch, "texts")
    # As the page has it, but for the folders' names, and what it prints.
    found = []
    page = {"print": found.append}
    for block in blocks:
        exec(block.replace('"DIR', f'"{arguments.folder}').replace('"texts/"', repr(texts)), page)
    expected = trainer.losses(texts, 12, "--batch", BATCH)
    worst = max(abs(a / b - 1) for a, b in zip(found, expected, strict=True))
    expect(worst < 1e-5, f"PyTorch's losses {found}, the trainer's {expected}, {worst:.1e} apart")
    expect(expected[-1] < expected[0], f"learns nothing: {expected}")
    print(f"losses of text are within {worst:.1e}")

    data = os.path.join(scratch, "data.u16")
    write_tokens(data, tokens)
    model = page["AutoModelForCausalLM"].from_pretrained(arguments.folder, dtype=torch.float32).eval()
    found = list(page["losses"](model, page["steps"](tokens, LENGTH, 2, 3, seed=5), 15, lr=1e-3, warmup=4))
    expected = trainer.losses(data, 15, "--batch", 2, "--accumulate", 3, "--seed", 5, "--lr", 1e-3, "--warmup", 4)
    worst = max(abs(a / b - 1) for a, b in zip(found, expected, strict=True))
    expect(worst < 1e-5, f"PyTorch's losses {found}, the trainer's {expected}, {worst:.1e} apart")
    print(f"losses of tokens, microbatches and a warm-up are within {worst:.1e}")


def test(arguments, scratch):
    blocks = blocks_of(arguments.page)
    trainer = Trainer(arguments.batonc, arguments.folder, scratch)
    # 19 sequences, and a few tokens more.
    tokens = [(37 * i * i + i // 7) % 251 for i in range(19 * (LENGTH + 1) + 5)]
    write_texts(os.path.join(scratch, "texts"))
    if arguments.torch:
        check_torch(arguments, blocks, trainer, tokens, scratch)
        return
    page = {}
    exec(blocks[0], page)
    check_order(trainer, page, tokens, scratch)
    check_texts(arguments, trainer, page, scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("folder", help="with a tokenizer.json and 256 tokens or more")
    parser.add_argument("page")
    arguments = parser.parse_args()
    if arguments.torch:
        try:
            for package in ("torch", "transformers", "tokenizers"):
                importlib.import_module(package)
        except ImportError as error:
            print(f"skipped: {error}")
            sys.exit(77)
    programs.main(lambda scratch: test(arguments, scratch))
