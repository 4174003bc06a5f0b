"""GGUF files that `batonc quantize` writes load in llama.cpp, and say the same there.

Of each family, with random weights (random_models.py), and of each format:

- llama.cpp loads the file, and its logits of all positions of a prompt are those of the file's program, within
  what llama.cpp rounds: bounds that are stated for each format, of the root mean square and of the largest
  difference. Baton's inputs of linears are F32. llama.cpp's are F32 where weights are, and else F16, BF16 or 8 bits
  with a scale for 32, of K quants for 256; and it looks GELUs up in a table of F16 (Gemma, GPT-2). Of mixtures in
  blocks nine of ten positions are judged;
- its tokens of texts are Baton's of the file. Texts are composed before (NFC), as Qwen's tokenizer composes them and
  llama.cpp does not.

$BATON_LLAMA_CPP names a python3 that has llama-cpp-python; without it the test is skipped.
"""

import argparse
import array
import json
import math
import os
import shutil
import subprocess
import sys
import unicodedata

import random_models

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = ["test/every/files_elsewhere.py", "test/every/random_models.py", "test/golden/tokenizer/**", "test/e2e/programs.py",
          "test/runtime/tokenizer/*.py", "build/bin/batonc", "build/lib/baton/quantize",
          "build/test/runtime/tokenizer/tokenize"]
TOKENIZERS = os.path.join(ROOT, "test/golden/tokenizer")
# The tokenizer of each family, and formats beside f32.
FAMILIES = {
    "llama": ("llama3-560", ["f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "q4_0", "q3_k", "q2_k"]),
    "llama2": ("llama2-300", ["q8_0", "q2_k"]),
    "qwen2": ("qwen-420", ["q4_k", "bf16"]),
    "qwen3": ("qwen-420", ["q8_0", "q5_1"]),
    "gemma2": ("gemma-320", ["q4_k", "f16"]),
    "gemma3": ("gemma-320", ["q8_0", "q2_k"]),
    "phi3": ("phi3-280", ["q4_k", "q5_1"]),
    "phi3-long": ("phi3-280", ["q8_0", "f16"]),
    "gpt2": ("gpt2-500", ["q8_0", "q4_k"]),
    "olmoe": ("smollm-298", ["q4_k", "q8_0"]),
    "mixtral": ("mistral-300", ["q8_0", "q2_k"]),
    "qwen2moe": ("qwen-420", ["q5_1", "f16"]),
    "qwen3moe": ("qwen-420", ["q4_k", "bf16"]),
}
# In parts of the largest logit: root mean square, and the largest. 1.5 to 2 times what was found, of inputs that
# are F32, those with a GELU from a table, F16, BF16, and in blocks of 32 and 256.
BOUNDS = {"f32": (5e-7, 2.5e-6), "gelu": (1.2e-4, 5e-4), "f16": (1.7e-4, 9e-4), "bf16": (2e-3, 9e-3), "q": (6e-3, 3e-2),
          "k": (1e-2, 4.5e-2)}
# Where a rounded input chooses another expert a position is another one. Such as are furthest off are left out.
LEFT_OUT_OF_MIXTURES = 0.1
COUNT = 90


def tokens_of_prompt(vocabulary):
    return [(7 * i * i + 3 * i + 5) % vocabulary for i in range(COUNT)]


def elsewhere(file, texts, tokens, out):
    """What llama.cpp says: writes logits, and prints tokens of texts."""
    import llama_cpp
    f32 = 0
    model = llama_cpp.Llama(file, n_ctx=512, n_batch=512, n_ubatch=512, n_threads=1, n_threads_batch=1, n_gpu_layers=0,
                            logits_all=True, type_k=f32, type_v=f32, flash_attn=False, verbose=False)
    model.eval(json.loads(tokens))
    with open(out, "wb") as written:
        array.array("f", model.scores[:COUNT].ravel().tolist()).tofile(written)
    with open(texts, encoding="utf-8") as read:
        print(json.dumps([model.tokenize(text.encode(), add_bos=True, special=True) for text in json.load(read)]))
    model.close()


def python_with_llama():
    python = os.environ.get("BATON_LLAMA_CPP", sys.executable)
    found = subprocess.run([python, "-c", "import llama_cpp, numpy"], capture_output=True, text=True)
    if found.returncode != 0:
        print("skipped: llama-cpp-python is not there; BATON_LLAMA_CPP names a python3 that has it")
        sys.exit(77)
    return python


def checkpoint(folder, family, tokenizer):
    """Returns how many tokens its vocabulary has."""
    os.mkdir(folder)
    source = os.path.join(TOKENIZERS, tokenizer, "tokenizer.json")
    shutil.copy(source, folder)
    with open(source, encoding="utf-8") as file:
        document = json.load(file)
    added = {token["content"]: token["id"] for token in document["added_tokens"]}
    size = 1 + max(*document["model"]["vocab"].values(), *added.values())
    special = [token["id"] for token in document["added_tokens"] if token["special"]]
    random_models.write(folder, family, "F32", -(-size // 32) * 32, bos_token_id=special[0], eos_token_id=special[-1])
    return size


def bounds_of(family, kind):
    if kind == "f32" and family in ("gemma2", "gemma3", "gpt2"):
        return BOUNDS["gelu"]
    return BOUNDS.get(kind) or BOUNDS["k" if kind.endswith("k") else "q"]


def deviation(rows, others, left_out):
    """Of the largest logit: root mean square, and largest, without the rows that are furthest off."""
    largest = max(abs(value) for row in others for value in row)
    off = sorted(([abs(a - b) / largest for a, b in zip(row, other, strict=True)] for row, other in zip(rows, others, strict=True)),
                 key=max)
    kept = [value for row in off[:round(len(off) * (1 - left_out))] for value in row]
    return math.sqrt(sum(value * value for value in kept) / len(kept)), max(kept)


def test_family(arguments, python, family, texts, scratch):
    # What llama.cpp does with files whose names have "phi3" wants a token of the published vocabulary.
    path = lambda name: os.path.join(scratch, name)
    tokenizer, formats = FAMILIES[family]
    tokens = tokens_of_prompt(checkpoint(path("model"), family, tokenizer))
    flags = ["--max-seq=512"] if family == "phi3-long" else []
    with open(texts, encoding="utf-8") as file:
        asked = json.load(file)
    for kind in ["f32", *formats]:
        file, out = path(f"{kind}.gguf"), path("logits")
        run([arguments.batonc, "quantize", path("model"), "--format", kind, "-o", file, "--quiet"])
        said = json.loads(run([python, os.path.abspath(__file__), "--elsewhere", file, texts, json.dumps(tokens), out]).stdout)
        own = rows_of(Program(arguments.batonc, file, path("program"), *flags).logits(tokens, path("own.npy")))
        with open(out, "rb") as read:
            numbers = array.array("f", read.read())
        width = len(own[0])
        found = [numbers[i:i + width].tolist() for i in range(0, len(numbers), width)]
        has_experts = any("experts" in field for field in random_models.CONFIGS[family])
        mean, largest = deviation(found, own, LEFT_OUT_OF_MIXTURES if has_experts and kind not in BOUNDS else 0)
        print(f"{family}, {kind}: llama.cpp's logits are off by {mean:.1e} of the largest, at most by {largest:.1e}")
        bounds = bounds_of(family, kind)
        expect(mean <= bounds[0] and largest <= bounds[1], f"{family}, {kind}: logits are off by {mean:.2e}, at most {largest:.2e}, "
               f"expected {bounds}")
        answer, = differential.baton(arguments.tokenize, [{"gguf": file, "texts": asked, "tokens": []}])
        for text, ids, ours in zip(asked, said, answer["texts"], strict=True):
            expect(ours.get("ids") == ids, f"{family}, {kind}: {text!r} has the tokens {ours.get('ids')}, llama.cpp's {ids}")
        os.remove(file)


def special_texts():
    """With special tokens of every kind of tokenizer inside."""
    with open(os.path.join(TOKENIZERS, "llama3-300/golden.json"), encoding="utf-8") as file:
        return [case["text"] for case in json.load(file)["cases"]]


def test(arguments, scratch):
    python = python_with_llama()
    texts = os.path.join(scratch, "texts.json")
    with open(texts, "w", encoding="utf-8") as file:
        json.dump([unicodedata.normalize("NFC", text) for text in published.texts(TOKENIZERS) + special_texts()], file)
    for number, family in enumerate(arguments.family or FAMILIES):
        folder = os.path.join(scratch, str(number))
        os.mkdir(folder)
        test_family(arguments, python, family, texts, folder)
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--elsewhere"]:
        elsewhere(*sys.argv[2:])
        sys.exit()
    # Behind what runs elsewhere, whose packages are no modules of these.
    sys.path[:0] = [os.path.join(ROOT, "test/runtime/tokenizer"), os.path.join(ROOT, "test/e2e")]
    import differential
    import programs
    import published
    from programs import Program, expect, rows_of, run
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--tokenize", required=True)
    parser.add_argument("family", nargs="*", help=f"of {', '.join(FAMILIES)}; all without")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
