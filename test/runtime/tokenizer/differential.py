"""Vocabularies that were mutilated at random: the ids of the tokenizers library, and its text.

The golden tokenizers, and some that are trained here, lose tokens and merges, get
unknown tokens, bytes to fall back on, added tokens with any options, other
pre-tokenizers and decoders, and encode a mixed text and random ones. Where the
library refuses a file or a text, Baton has to, and nowhere else. Skipped (77) where
the library cannot be fetched.
"""

import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys

import packages

WORDS = ["token", "tok", "<x>", "<|a|>", "<|a|>b", " ", "  ", "\n", "é", "e\u0301", "日本", "Ġ", "▁", "1", "a", "the",
         "<0x41>", "ing", "'s", "x y", "\u2028", "<unk>", "ab", ">b", "İ", "ﬁ", "q\u200d"]
CHARACTERS = ("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789    \n\t\r.,;:!?'\"-_()<>|/\\@#$%^&*+=~`"
              "éüñßøİıﬁ½²Ⅷ٣日本語、。한국어русскийΕλ😀🎉👍🏽\u200d\u0301\u00a0\u2028\u3000\u0085\u0000\u001f▁Ġ\ufffd\u20dd①")


def spelled_bytes(tokenizers):
    """The characters that spell bytes."""
    return set(tokenizers.pre_tokenizers.ByteLevel.alphabet())


def trained(tokenizers, texts):
    """Files as of SmolLM2, with single digits before the bytes, and over characters."""
    for size in (400, 900):
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        tokenizer.train_from_iterator(texts * 3, tokenizers.trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=sorted(spelled_bytes(tokenizers)), show_progress=False))
        yield json.loads(tokenizer.to_str())
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        tokenizer.train_from_iterator(texts * 3, tokenizers.trainers.BpeTrainer(
            vocab_size=size, special_tokens=["<unk>"], show_progress=False))
        yield json.loads(tokenizer.to_str())


def chance(rng, probability):
    return rng.random() < probability


def sides(merge):
    return merge.split(" ") if isinstance(merge, str) else merge


def mutilate_vocabulary(rng, model):
    """Removes tokens, and the merges that cannot be without them."""
    vocabulary = model["vocab"]
    share = rng.choice([0, 0, 0.02, 0.1, 0.4])
    of_characters = rng.choice([0, 0.02, 0.1, 0.5])
    kept = {token: id for token, id in vocabulary.items()
            if not chance(rng, of_characters if len(token) == 1 else share)}
    if chance(rng, 0.3):  # bytes to fall back on, of all characters or of some
        share = rng.choice([0, 0, 0.01, 0.3])
        for byte in range(256):
            if not chance(rng, share):
                kept.setdefault(f"<0x{byte:02X}>", max(kept.values(), default=-1) + 1)
    numbering = rng.choice(["holes", "dense", "shuffled"])
    if numbering != "holes":
        ids = list(range(len(kept)))
        if numbering == "shuffled":
            rng.shuffle(ids)
        kept = dict(zip(kept, ids))
    merges = [merge for merge in model["merges"]
              if {*sides(merge), "".join(sides(merge))} <= kept.keys() and not chance(rng, share / 2)]
    if merges and chance(rng, 0.2):
        merges.insert(rng.randrange(len(merges)), rng.choice(merges))
    if merges and chance(rng, 0.1):
        rng.shuffle(merges)
    if chance(rng, 0.05):  # a token that is not there
        merges.append("q zzz" if merges and isinstance(merges[0], str) else ["q", "zzz"])
    model["vocab"], model["merges"] = kept, merges


def mutilate_model(rng, model):
    mutilate_vocabulary(rng, model)
    names = list(model["vocab"]) or ["a"]
    if chance(rng, 0.7):
        model["unk_token"] = rng.choice([None, None, rng.choice(names), rng.choice(names), "<nowhere>"])
    for key in ("fuse_unk", "byte_fallback", "ignore_merges"):
        if chance(rng, 0.5):
            model[key] = chance(rng, 0.5)
        elif chance(rng, 0.1):
            model.pop(key, None)


def add_tokens(rng, tokenizers, document):
    """Added tokens with any options; none that becomes another one's content when it is normalized."""
    normalize = lambda text: text
    if document["normalizer"]:
        only = json.dumps({**document, "added_tokens": [], "post_processor": None,
                           "model": {"type": "BPE", "vocab": {}, "merges": []}})
        normalize = tokenizers.Tokenizer.from_str(only).normalizer.normalize_str
    contents = [*WORDS, *rng.sample(sorted(document["model"]["vocab"]), min(8, len(document["model"]["vocab"])))]
    added = document["added_tokens"] if chance(rng, 0.7) else []
    for content in rng.sample(contents, rng.randrange(8)):
        added.append({"id": rng.randrange(2000), "content": content,
                      **{key: chance(rng, 0.4) for key in ("single_word", "lstrip", "rstrip", "normalized", "special")}})
    if added and chance(rng, 0.2):
        added.append({**rng.choice(added), "lstrip": True, "special": True})
    # Of two tokens with one spelling the library matches either, as its hash table has them.
    spellings = {}
    for token in added:
        spelling = token["normalized"], normalize(token["content"]) if token["normalized"] else token["content"]
        spellings.setdefault(spelling, token["content"])
    document["added_tokens"] = [
        token for token in added
        if spellings[token["normalized"], normalize(token["content"]) if token["normalized"] else token["content"]]
        == token["content"]]


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def any_split(rng):
    behavior = rng.choice(["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
    return rng.choice([
        {"type": "Digits", "individual_digits": chance(rng, 0.5)},
        {"type": "Punctuation", "behavior": behavior},
        {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"},
        {"type": "CharDelimiterSplit", "delimiter": rng.choice(" e,")},
        {"type": "Split", "pattern": rng.choice([{"String": " "}, {"Regex": r"\s+"}, {"Regex": r"\p{L}+|\p{N}"},
                                              {"Regex": r"\w+|[^\w\s]+"}, {"Regex": r"\b[[:punct:]]|\p{Han}+"}]),
         "behavior": behavior, "invert": chance(rng, 0.5)},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": rng.choice(["always", "first", "never"]),
         "split": chance(rng, 0.5)},
        {**BYTES, "add_prefix_space": chance(rng, 0.5), "use_regex": chance(rng, 0.5)},
    ])


def change_steps(rng, document):
    if chance(rng, 0.3):
        steps = [any_split(rng) for _ in range(rng.randrange(3))]
        if document["pre_tokenizer"]:
            steps.insert(rng.randrange(len(steps) + 1), document["pre_tokenizer"])
        # Not supported: a first word, where one character is several words' of it.
        for step in steps[1:]:
            if step.get("prepend_scheme") == "first":
                step["prepend_scheme"] = "always"
        document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    if chance(rng, 0.2):
        document["normalizer"] = rng.choice([None, {"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"},
                                             {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
                                             {"type": "Prepend", "prepend": "▁"}])
    if chance(rng, 0.2):
        document["decoder"] = rng.choice([
            None, BYTES, {"type": "Fuse"}, {"type": "ByteFallback"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}])
    if chance(rng, 0.2):
        document["post_processor"] = rng.choice([
            None, {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]},
            {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True,
             "add_prefix_space": False}])


def random_text(rng, document):
    pieces = [lambda: "".join(rng.choice(CHARACTERS) for _ in range(rng.randrange(1, 12)))]
    if document["added_tokens"]:
        pieces.append(lambda: rng.choice(document["added_tokens"])["content"])
    vocabulary = list(document["model"]["vocab"])
    if vocabulary:
        pieces.append(lambda: rng.choice(vocabulary).replace("Ġ", " ").replace("▁", " "))
    pieces.append(lambda: rng.choice([" ", "  ", "\n", "a", "."]))
    return "".join(rng.choice(pieces)() for _ in range(rng.randrange(1, 12)))


def random_tokens(rng, document):
    """Also ids of no token."""
    most = max(document["model"]["vocab"].values(), default=0) + 12
    return [rng.randrange(most) for _ in range(rng.randrange(12))]


class Panic(Exception):
    """The library fell over."""


def attempt(action):
    """What an action of the library gives, or None where it refuses."""
    try:
        return action()
    except Exception:
        return None
    except BaseException as panic:
        if type(panic).__name__ == "PanicException":
            raise Panic from None
        raise


def ill_formed_run(tokenizer, ids):
    """Whether tokens of bytes in a row are no text. Of such a run the library replaces every
    byte, as it decodes the whole; Baton, which shows text as it comes, those that are no text."""
    run = b""
    for token in [*map(tokenizer.id_to_token, ids), ""]:
        if token is None:
            continue
        if re.fullmatch("<0x[0-9A-Fa-f]{2}>", token):
            run += bytes.fromhex(token[3:5])
            continue
        try:
            run.decode()
        except UnicodeDecodeError:
            return True
        run = b""
    return False


def reference(tokenizers, question):
    """The library's answer, as tokenize.cpp spells it; None where it cannot be judged."""
    tokenizer = attempt(lambda: tokenizers.Tokenizer.from_str(question["file"]))
    if tokenizer is None:
        return {"error": True}
    falls_back = "ByteFallback" in json.dumps(json.loads(question["file"])["decoder"])
    is_special = {token["content"] for token in json.loads(question["file"])["added_tokens"] if token["special"]}

    def decode(ids, skip):
        kept = [id for id in ids if not skip or tokenizer.id_to_token(id) not in is_special]
        return None if falls_back and ill_formed_run(tokenizer, kept) else tokenizer.decode(ids, skip)

    def encode(text):
        ids = tokenizer.encode(text).ids
        return {"ids": ids, "plain": tokenizer.encode(text, add_special_tokens=False).ids,
                "decoded": decode(ids, False), "skipped": decode(ids, True)}

    def encode_or_panic(text):
        try:
            return attempt(lambda: encode(text)) or {"error": True}
        except Panic:
            return None

    return {"texts": [encode_or_panic(text) for text in question["texts"]],
            "tokens": [decode(tokens, False) for tokens in question["tokens"]]}


def baton(tokenize, questions):
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    result = subprocess.run([tokenize], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]]


def agree(expected, found):
    """Whether two answers for a text are one."""
    if "error" in expected or "error" in found:
        return "error" in expected and "error" in found
    return all(value is None or value == found[key] for key, value in expected.items())


def differences(question, expected, found):
    """What differs, in words."""
    if "error" in expected or "error" in found:
        if ("error" in expected) != ("error" in found):
            yield f"the library {'refuses' if 'error' in expected else 'accepts'} it, Baton says {found.get('error')}"
        return
    for text, one, other in zip(question["texts"], expected["texts"], found["texts"]):
        if one is not None and not agree(one, other):
            yield f"{text!r}\n    library {one}\n    Baton   {other}"
    for tokens, one, other in zip(question["tokens"], expected["tokens"], found["tokens"]):
        if one is not None and one != other:
            yield f"{tokens}\n    library {one!r}\n    Baton   {other!r}"


def make(rng, tokenizers, bases, lines, whole):
    document = json.loads(rng.choice(bases))
    change_steps(rng, document)
    mutilate_model(rng, document["model"])
    add_tokens(rng, tokenizers, document)
    texts = [random_text(rng, document) for _ in range(6)] + rng.sample(lines, 6) + [rng.choice(["", whole])]
    return {"file": json.dumps(document), "texts": texts,
            "tokens": [random_tokens(rng, document) for _ in range(3)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenize", required=True)
    parser.add_argument("--golden", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        tokenizers = packages.tokenizers(arguments.cache)
    except packages.Unavailable as missing:
        print(f"SKIPPED: {missing}")
        sys.exit(packages.SKIPPED)

    with open(os.path.join(arguments.golden, "mixed.txt"), newline="", encoding="utf-8") as file:
        whole = file.read()
    lines = whole.splitlines(keepends=True)
    bases = [json.dumps(document) for document in trained(tokenizers, lines)]
    for name in sorted(os.listdir(arguments.golden)):
        path = os.path.join(arguments.golden, name, "tokenizer.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                bases.append(file.read())
    rng = random.Random(arguments.seed)
    questions = [make(rng, tokenizers, bases, lines, whole) for _ in range(arguments.count)]
    answers = baton(arguments.tokenize, questions)
    counts, failures = collections.Counter(), []
    for number, (question, found) in enumerate(zip(questions, answers, strict=True)):
        expected = reference(tokenizers, question)
        counts["files"] += 1
        counts["refused files"] += "error" in expected
        for text in expected.get("texts", []):
            counts["panics" if text is None else "refused texts" if "error" in text else "texts"] += 1
        found = list(differences(question, expected, found))
        if found:
            failures.append((number, question, found))
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    for number, question, found in failures[:5]:
        document = json.loads(question["file"])
        model = document.pop("model")
        print(f"\nfile {number} of seed {arguments.seed}: {json.dumps(document, ensure_ascii=False)}\n  model "
              f"{ {key: value for key, value in model.items() if key not in ('vocab', 'merges')} }")
        for what in found[:3]:
            print("  " + what)
    if failures:
        sys.exit(f"{len(failures)} files differ")
    # What is judged has to be there.
    for what, least in (("files", 1), ("refused files", 1), ("refused texts", 1), ("texts", 10)):
        if counts[what] * 100 < least * arguments.count:
            sys.exit(f"too few {what}")
    if counts["panics"] * 50 > counts["texts"]:
        sys.exit(f"the library fell over {counts['panics']} times")


if __name__ == "__main__":
    main()
