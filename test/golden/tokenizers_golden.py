"""Trains small byte-level BPE tokenizers and records what the reference encodes.

Run by regenerate.py. Every tokenizer becomes a folder below tokenizer/ with
tokenizer.json and golden.json: texts, their ids with and without the special
tokens that the post-processor adds, and what the ids decode to.
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models
from tokenizers import normalizers, pre_tokenizers, processors, trainers

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "tokenizer"
MIXED = (FOLDER / "mixed.txt").read_bytes().decode("utf-8")

# The split of the Llama 3 checkpoints.
LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# What is merged: prose, code and numbers, said several times over so that the
# most frequent pairs do not hang on single letters.
CORPUS = [
    "The tokens of a text are the longest pieces that the merges can build from its bytes.",
    "Every merge joins two neighbouring tokens, and the merge that was learned first is applied first.",
    "When the same pair occurs twice, the one on the left is joined before the one on the right.",
    "It isn't hard: don't split what you've joined, and you'll find that we're done; I'd say that's it.",
    "return values[index] if index < len(values) else None",
    "for (int i = 0; i < count; ++i) { total += values[i] * weights[i]; }",
    "    while not finished:\n        step = step + 1\n        finished = step == 1000\n",
    "The 12 workers computed 123 tiles of 1024 rows in 2024, 365 days a year.",
    "日本語のテキスト、中文字符，日本語と中文。한국어 문장",
    "café, naïve, straße, Ελληνικά και русский текст, мир и текст",
    "😀 🎉 👍 😀 🎉 👍",
    "aaaa aaaa abab abab aaab",
]


def train(pre_tokenizer, vocab_size, special_tokens=()):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=list(special_tokens),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    return tokenizer


def gpt2(vocab_size):
    """As the published gpt2: the stop token is part of the model's vocabulary."""
    tokenizer = train(
        pre_tokenizers.ByteLevel(add_prefix_space=False), vocab_size, ["<|endoftext|>"]
    )
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def llama3(vocab_size):
    """As the published Llama 3: special tokens follow the model's vocabulary."""
    specials = [
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
        "<|eot|>",
    ]
    split = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer = train(split, vocab_size - len(specials))
    tokenizer.model.ignore_merges = True
    tokenizer.add_special_tokens(specials)
    begin = specials[0]
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single=[begin, "$A"],
                pair=[begin, "$A", f"{begin}:1", "$B:1"],
                special_tokens=[(begin, tokenizer.token_to_id(begin))],
            ),
        ]
    )
    return tokenizer


def prefix_space():
    """A space before every piece, single digits, and added tokens with options."""
    tokenizer = train(
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=True),
            ]
        ),
        340,
    )
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.add_tokens(
        [
            AddedToken("<right>", rstrip=True),
            AddedToken("<both>", lstrip=True, rstrip=True),
            AddedToken("token", single_word=True),
            AddedToken("tok", normalized=False),
            AddedToken("<|a|>"),
            AddedToken("<|a|>b"),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=["<mask>", "$A", "<both>"],
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<mask>", "<both>")],
    )
    return tokenizer


def removed():
    """Splits that drop text: separators, then everything that is no word."""
    return train(
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(",", "removed"),
                pre_tokenizers.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True),
                pre_tokenizers.Digits(individual_digits=False),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        ),
        320,
    )


# The split of the Qwen checkpoints.
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def qwen(vocab_size):
    """As the published Qwen2 and Qwen3: composed characters, no BOS."""
    split = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = train(split, vocab_size - len(specials))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in specials])
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False)])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


# The splits of the DeepSeek V3 and R1 checkpoints, one behind the other.
DEEPSEEK_SPLITS = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def deepseek(vocab_size):
    """As the published DeepSeek V3: three splits, a token before each text."""
    split = pre_tokenizers.Sequence(
        [
            *(pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in DEEPSEEK_SPLITS),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    specials = ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"]
    tokenizer = train(split, vocab_size - len(specials))
    tokenizer.add_special_tokens(specials)
    begin = specials[0]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[begin, "$A"], special_tokens=[(begin, tokenizer.token_to_id(begin))]
    )
    return tokenizer


def sentencepiece(vocab_size, normalizer, pre_tokenizer, decoder, begin="<s>"):
    """Over characters, of which one without a token becomes its bytes' tokens."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<unk>", begin, "</s>"],
        # Some characters of the corpus and all others fall back on bytes.
        limit_alphabet=60,
        show_progress=False,
    )
    # Without spaces to cut at, whole sentences would become tokens.
    words = [word for line in CORPUS for word in line.replace(" ", " \0").split("\0")]
    tokenizer.train_from_iterator(words * 3, trainer)
    description = json.loads(tokenizer.to_str())
    vocabulary = description["model"]["vocab"]
    for byte in range(256):
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    tokenizer = Tokenizer.from_str(json.dumps(description))
    tokenizer.decoder = decoder
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[begin, "$A"],
        pair=[begin, "$A", f"{begin}:1", "$B:1"],
        special_tokens=[(begin, tokenizer.token_to_id(begin))],
    )
    return tokenizer


def joined(*strip):
    return decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    )


def llama2(vocab_size):
    """As the published Llama 2: every piece of text begins with a space."""
    prefixed = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return sentencepiece(vocab_size, prefixed, None, joined(decoders.Strip(" ", 1, 0)))


def phi3(vocab_size):
    """As the published Phi-3: added tokens that take the white space behind them."""
    tokenizer = llama2(vocab_size)
    tokenizer.add_special_tokens(
        [AddedToken(name, rstrip=True, normalized=False) for name in ("<|user|>", "<|end|>")]
    )
    tokenizer.add_tokens([AddedToken("token", normalized=True)])
    return tokenizer


def mistral(vocab_size):
    """As the published Mistral 0.3: only the first piece begins with a space."""
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer = sentencepiece(vocab_size, None, metaspace, joined(decoders.Strip(" ", 1, 0)))
    tokenizer.add_special_tokens(["[INST]", "[/INST]"])
    return tokenizer


def metaspace(vocab_size):
    """Words that begin with a space, cut there; the decoder drops the first."""
    scheme = "always"
    return sentencepiece(
        vocab_size,
        normalizers.NFKC(),
        pre_tokenizers.Metaspace(prepend_scheme=scheme, split=True),
        decoders.Metaspace(prepend_scheme=scheme),
    )


def gemma(vocab_size):
    """As the published Gemma 2: spaces are a letter, runs of them stay together."""
    return sentencepiece(
        vocab_size,
        normalizers.Replace(" ", "▁"),
        pre_tokenizers.Split(" ", "merged_with_previous"),
        joined(),
        begin="<bos>",
    )


def unknown(vocab_size):
    """Without bytes to fall back on; unknown characters in a row are one token."""
    tokenizer = sentencepiece(
        vocab_size, normalizers.NFD(), pre_tokenizers.Split(Regex("[.,]"), "merged_with_next"),
        joined(),
    )
    description = json.loads(tokenizer.to_str())
    description["model"]["byte_fallback"] = False
    return Tokenizer.from_str(json.dumps(description))


def mutilated(tokenizer, remove, **model):
    """Without some tokens, and the merges that are nothing without them."""
    description = json.loads(tokenizer.to_str())
    vocabulary = description["model"]["vocab"]
    for token in remove:
        del vocabulary[token]
    description["model"]["vocab"] = {token: i for i, token in enumerate(vocabulary)}
    description["model"]["merges"] = [
        (left, right)
        for left, right in description["model"]["merges"]
        if {left, right, left + right} <= vocabulary.keys()
    ]
    description["model"].update(model)
    return Tokenizer.from_str(json.dumps(description))


def smollm(vocab_size):
    """As the published SmolLM2: single digits, and a vocabulary that lacks bytes."""
    tokenizer = train(
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        ),
        vocab_size,
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    )
    spelled = set(pre_tokenizers.ByteLevel.alphabet())
    printable = {chr(byte) for byte in (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))}
    # Bytes that no UTF-8 has, control characters, and some that texts have.
    removed = {chr(byte) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))} | {"ě", "q", "Z", "Ł"}
    removed |= set(sorted(spelled - printable)[1:6])
    return mutilated(tokenizer, sorted(removed))


def unknown_bytes(vocab_size):
    """Bytes without tokens that fall back on those of their spelling, or are unknown."""
    remove = [chr(byte) for byte in range(ord("a"), ord("k"))] + ["Ġ", "Ċ", "ã", "Ģ", "ð"]
    tokenizer = mutilated(smollm(vocab_size), remove, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    description = json.loads(tokenizer.to_str())
    # The spelling of a space, of some others' the first byte only.
    for token in ("<unk>", "<0xC4>", "<0xA0>", "<0x61>", "<0xC3>"):
        description["model"]["vocab"][token] = len(description["model"]["vocab"])
    return Tokenizer.from_str(json.dumps(description))


def missing_bytes(vocab_size):
    """Characters some of whose bytes have no token: unknown, one by one."""
    tokenizer = llama2(vocab_size)
    remove = [f"<0x{byte:02X}>" for byte in range(0x80, 0x100, 5)]
    return mutilated(tokenizer, remove, fuse_unk=False)


def added(vocab_size):
    """Added tokens with all options, in and beyond the vocabulary, that overlap."""
    tokenizer = smollm(vocab_size)
    tokenizer.normalizer = normalizers.NFC()
    names = ("lstrip", "rstrip", "single_word", "normalized", "special")
    tokens = [
        # Letters and signs by turns, so that words touch some.
        AddedToken(f"<{number}>" if number % 3 else f"t{number}", **dict(zip(names, map(bool, bits))))
        for number, bits in enumerate(([number >> i & 1 for i in range(5)] for number in range(32)))
    ]
    tokens += [AddedToken("  ", normalized=False), AddedToken("\n\n", normalized=False, rstrip=True)]
    tokens += [AddedToken("the", single_word=True, special=True), AddedToken("e\u0301"), AddedToken("<1>>", lstrip=True)]
    tokenizer.add_tokens(tokens)
    return tokenizer


def words(vocab_size):
    """Words and signs by themselves, and no decoder: spellings with spaces between them."""
    tokenizer = unknown(vocab_size)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Whitespace(),
            pre_tokenizers.Punctuation("contiguous"),
            pre_tokenizers.Split(Regex("[aeiou]"), "merged_with_next", invert=True),
        ]
    )
    description = json.loads(tokenizer.to_str())
    description["decoder"] = None
    description["model"]["unk_token"] = None
    description["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", 2],
        "cls": ["<s>", 1],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    return Tokenizer.from_str(json.dumps(description))


TEXTS = [
    "",
    " ",
    "  ",
    "\n",
    "a",
    "Hello, world!",
    "<|endoftext|>",
    "one<|endoftext|>two <|endoftext|> three",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi there!<|eot_id|>",
    "<|eot|><|eot_id|><|eot_<|eot|>id|><|end_of_text|",
    "the <mask> is   <mask>gone<right>   and <both>  <both> both",
    "token tokens token's a_token token, tok tokentoken",
    "<|a|><|a|>b<|a|> b<|a|>bb",
    "1234567 and 12,345",
    "the the  the   the    the",
    "tokens\r\n\r\n  tokens \n\n tokens\t\ttokens   ",
    "日本語" * 10,
    "a" * 300,
    "<s>one</s> <s> two <unk>",
    "<|user|>  hi<|end|>\n<|user|> token tokens <bos>x",
    "[INST] do it [/INST]  done[INST]x",
    "<|im_start|>user\nhi<|im_end|>\n<tool_call>x</tool_call>",
    "▁ ▁▁ a▁b",
    "e\u0301 \u212b ﬁ ½ 가 \u1112\u1161\u11ab",
    " leading", "trailing ", "\t\ttabs",
]


# Of added(): its tokens beside words, signs, white space and one another.
ADDED_TEXTS = [
    "a <1> <2>  <4> <5> t0 t3s t6 st9 t12 t15 t18 t21  t24 <7> <8><10>  <11>x <13>\n\n  <14> <16>",
    "<17>  <19> <20> <22>  <23><25><26> <28>   <29> t27 t30 <31>   <1>><2> the theme e\u0301",
]


def write(name, tokenizer, merges_as_strings=False, unreachable_words=(), more_texts=()):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    description = json.loads(tokenizer.to_str())
    model = description["model"]
    # Words without their merge are found only because merges may be ignored.
    for word in unreachable_words:
        merge = next(pair for pair in model["merges"] if "".join(pair) == word)
        model["merges"].remove(merge)
    if merges_as_strings:  # The spelling before tokenizers 0.20.
        model["merges"] = [" ".join(pair) for pair in model["merges"]]
    text = json.dumps(description, ensure_ascii=False, indent=1)
    (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
    reloaded = Tokenizer.from_str(text)
    cases = []
    for sample in [*TEXTS, *more_texts, *MIXED.splitlines(keepends=True), MIXED]:
        ids = reloaded.encode(sample).ids
        cases.append(
            {
                "text": sample,
                "ids": ids,
                "ids_without_special_tokens": reloaded.encode(sample, add_special_tokens=False).ids,
                "decoded": reloaded.decode(ids, skip_special_tokens=False),
                "decoded_without_special_tokens": reloaded.decode(ids, skip_special_tokens=True),
            }
        )
    (folder / "golden.json").write_text(
        json.dumps({"cases": cases}, indent=None, separators=(",", ":")) + "\n"
    )


def main():
    write("gpt2-259", gpt2(259), merges_as_strings=True)
    write("gpt2-500", gpt2(500), merges_as_strings=True)
    write("llama3-300", llama3(300))
    write("llama3-560", llama3(560), unreachable_words=["Ġtokens", "Ġthe"])
    write("prefix-space", prefix_space())
    write("removed", removed())
    write("qwen-420", qwen(420))
    write("deepseek-420", deepseek(420))
    write("llama2-300", llama2(300))
    write("phi3-280", phi3(280))
    write("mistral-300", mistral(300))
    write("metaspace-260", metaspace(260))
    write("gemma-320", gemma(320))
    write("unknown-200", unknown(200))
    write("smollm-298", smollm(320))
    write("unknown-bytes", unknown_bytes(290))
    write("missing-bytes", missing_bytes(280))
    write("added", added(300), more_texts=ADDED_TEXTS)
    write("words", words(200))


if __name__ == "__main__":
    main()
