//===- GgufVocabularyTest.cpp - tokenizers that GGUF files describe ------===//
//
// published.py compares whole vocabularies with the tokenizers library.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/gguf_vocabulary.h"

#include "runtime/error.h"
#include "runtime/tokenizer/tokenizer.h"
#include "test/runtime/weights/gguf_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <stdlib.h>
#include <unistd.h>

namespace baton::test {
namespace {

using Ids = std::vector<int32_t>;

class GgufVocabularies : public testing::Test {
protected:
  GgufVocabularies() {
    path =
        (std::filesystem::temp_directory_path() / "baton-gguf-XXXXXX").string();
    close(mkstemp(path.data()));
  }
  ~GgufVocabularies() override { unlink(path.c_str()); }

  std::shared_ptr<const GgufFile> open(const GgufWriter &writer) {
    std::ofstream(path, std::ios::binary) << writer.bytes();
    return GgufFile::open(path);
  }
  Tokenizer read(const GgufWriter &writer) {
    return Tokenizer::of_gguf(*open(writer));
  }
  void expect_refused(const GgufWriter &writer, const std::string &what) {
    try {
      read(writer);
      ADD_FAILURE() << "accepted; expected " << what;
    } catch (const Error &error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(path + ": "), 0u) << message;
      EXPECT_NE(message.find(what), std::string::npos) << message;
    }
  }

  /// Letters, digits, a space and some merges; the special tokens come last.
  static GgufWriter bytes(const std::string &words,
                          const std::vector<std::string> &merges = {"a b",
                                                                    "Ġ ab"}) {
    GgufWriter writer;
    writer.text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", words)
        .texts("tokenizer.ggml.tokens",
               {"a", "b", "Ġ", "1", "2", "ab", "Ġab", "12", "<|end|>", "user"})
        .list<int32_t>("tokenizer.ggml.token_type", GgufWriter::I32,
                       {1, 1, 1, 1, 1, 1, 1, 1, 3, 4})
        .texts("tokenizer.ggml.merges", merges);
    return writer;
  }

  /// As SentencePiece has it: "▁ab" is best, then "ab".
  static GgufWriter pieces() {
    GgufWriter writer;
    writer.text("tokenizer.ggml.model", "llama")
        .texts("tokenizer.ggml.tokens",
               {"<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xA9>", "▁", "a",
                "b", "ab", "▁ab", "aa", "aaa"})
        .list<float>("tokenizer.ggml.scores", GgufWriter::F32,
                     {0, 0, 0, 0, 0, 0, -5, -6, -7, -1, -0.5f, -3, -2})
        .list<int32_t>("tokenizer.ggml.token_type", GgufWriter::I32,
                       {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1});
    return writer;
  }

  std::string path;
};

TEST_F(GgufVocabularies, OfBytes) {
  Tokenizer tokenizer = read(bytes("gpt-2"));
  EXPECT_EQ(tokenizer.encode("ab ab"), (Ids{5, 6}));
  EXPECT_EQ(tokenizer.encode("12<|end|>useruse"), (Ids{3, 4, 8, 9}));
  EXPECT_EQ(tokenizer.decode(Ids{5, 6, 8, 9}), "ab ab<|end|>user");
  EXPECT_TRUE(tokenizer.is_special(8));
  EXPECT_FALSE(tokenizer.is_special(9));
}

TEST_F(GgufVocabularies, OfWordsByName) {
  std::vector<std::string> merges = {"a b", "1 2"};
  // Where each digit is a word, they do not merge.
  EXPECT_EQ(read(bytes("smollm", merges)).encode("12"), (Ids{3, 4}));
  EXPECT_EQ(read(bytes("qwen2", merges)).encode("12"), (Ids{3, 4}));
  EXPECT_EQ(read(bytes("default", merges)).encode("12"), (Ids{7}));
  EXPECT_EQ(read(bytes("gpt-4o", merges)).encode("12"), (Ids{7}));
  // A word that is a token needs no merges.
  GgufWriter llama = bytes("llama-bpe", {"a b"});
  llama.integer("tokenizer.ggml.bos_token_id", 8);
  EXPECT_EQ(read(llama).encode("12"), (Ids{8, 7}));
  EXPECT_EQ(read(llama).encode("12", /*add_special_tokens=*/false), (Ids{7}));
  expect_refused(bytes("poro-chat"),
                 "\"tokenizer.ggml.pre\" is \"poro-chat\", expected one of "
                 "default, gpt-2");
}

TEST_F(GgufVocabularies, OfDeepSeekHaveTheSplitsOfItsGoldenFile) {
  std::ifstream stream(BATON_GOLDEN_TOKENIZERS "/deepseek-420/tokenizer.json");
  const auto golden = nlohmann::json::parse(stream);
  const auto found =
      read_gguf_vocabulary(*open(bytes("deepseek-v3"))).description;
  auto splits = [](const nlohmann::json &description) {
    std::vector<std::string> patterns;
    for (const auto &step : description["pre_tokenizer"]["pretokenizers"])
      if (step["type"] == "Split" && step["behavior"] == "Isolated")
        patterns.push_back(step["pattern"]["Regex"]);
    return patterns;
  };
  EXPECT_EQ(splits(golden).size(), 3u);
  EXPECT_EQ(splits(found), splits(golden));
}

TEST_F(GgufVocabularies, OfTokensAroundATextThatTheFileNames) {
  GgufWriter both = bytes("gpt-2");
  both.integer("tokenizer.ggml.bos_token_id", 8)
      .integer("tokenizer.ggml.eos_token_id", 9)
      .boolean("tokenizer.ggml.add_bos_token", true)
      .boolean("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(read(both).encode("a"), (Ids{8, 0, 9}));
  GgufWriter nameless = bytes("gpt-2");
  nameless.boolean("tokenizer.ggml.add_bos_token", true);
  expect_refused(nameless, "no key \"tokenizer.ggml.bos_token_id\"");
  GgufWriter far = bytes("llama3");
  far.integer("tokenizer.ggml.bos_token_id", 10);
  expect_refused(far, "is 10, but there are 10 tokens");
}

TEST_F(GgufVocabularies, OfScores) {
  Tokenizer tokenizer = read(pieces());
  // A space begins the text, and <s> where nothing is said of it.
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{1, 10}));
  EXPECT_EQ(tokenizer.encode("ab ab b"), (Ids{1, 10, 10, 6, 8}));
  EXPECT_EQ(tokenizer.decode(Ids{10, 10}), "ab ab");
  // By bytes where there are such tokens, else unknown, of several one.
  EXPECT_EQ(tokenizer.encode("é\n"), (Ids{1, 6, 4, 5, 3}));
  EXPECT_EQ(tokenizer.encode("日本"), (Ids{1, 6, 0}));

  GgufWriter plain = pieces();
  plain.boolean("tokenizer.ggml.add_space_prefix", false)
      .boolean("tokenizer.ggml.add_bos_token", false)
      .boolean("tokenizer.ggml.add_eos_token", true);
  tokenizer = read(plain);
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{9, 2}));
  EXPECT_EQ(tokenizer.decode(Ids{10}), " ab");
  // "aaa" is better than "aa", but begins with it.
  EXPECT_EQ(tokenizer.encode("aaaa", false), (Ids{12, 7}));
  EXPECT_EQ(tokenizer.encode("aaa", false), (Ids{12}));
}

TEST_F(GgufVocabularies, ThatContradictThemselvesAreRefused) {
  expect_refused(GgufWriter(), "has no tokenizer");
  expect_refused(GgufWriter().text("tokenizer.ggml.model", "bert"),
                 "\"tokenizer.ggml.model\" is \"bert\", expected gpt2 or "
                 "llama");
  GgufWriter writer;
  writer.text("tokenizer.ggml.model", "gpt2");
  expect_refused(writer, "no key \"tokenizer.ggml.tokens\"");
  writer.texts("tokenizer.ggml.tokens", {"a", "b"});
  expect_refused(writer, "no key \"tokenizer.ggml.merges\"");
  GgufWriter kinds = writer;
  kinds.list<int32_t>("tokenizer.ggml.token_type", GgufWriter::I32, {1});
  expect_refused(kinds, "has 1 elements, but there are 2 tokens");
  for (const char *merge : {"a b", "ab", "a c", ""}) {
    GgufWriter merges = writer;
    merges.texts("tokenizer.ggml.merges", {merge});
    expect_refused(merges, "the merge \"" + std::string(merge) + "\"");
  }
  expect_refused(GgufWriter()
                     .text("tokenizer.ggml.model", "gpt2")
                     .texts("tokenizer.ggml.tokens", {"a", "\xFF"}),
                 "no UTF-8, of id 1");

  GgufWriter pieces;
  pieces.text("tokenizer.ggml.model", "llama")
      .texts("tokenizer.ggml.tokens", {"a", "b"});
  expect_refused(pieces, "no key \"tokenizer.ggml.scores\"");
  GgufWriter few = pieces, odd = pieces;
  few.list<float>("tokenizer.ggml.scores", GgufWriter::F32, {1});
  expect_refused(few, "has 1 elements, but there are 2 tokens");
  odd.list<float>("tokenizer.ggml.scores", GgufWriter::F32, {1, NAN});
  expect_refused(odd, "no number");
  pieces.list<float>("tokenizer.ggml.scores", GgufWriter::F32, {1, 2})
      .boolean("tokenizer.ggml.remove_extra_whitespaces", true);
  expect_refused(pieces, "\"tokenizer.ggml.remove_extra_whitespaces\" is true");
}

TEST_F(GgufVocabularies, NameStopTokens) {
  GgufWriter writer = bytes("gpt-2");
  EXPECT_EQ(read_gguf_stop_tokens(*open(writer)), (Ids{8}));
  writer.integer("tokenizer.ggml.eos_token_id", 2)
      .integer("tokenizer.ggml.eot_token_id", 8)
      .integer("tokenizer.ggml.eom_token_id", 0xFFFFFFFF);
  EXPECT_EQ(read_gguf_stop_tokens(*open(writer)), (Ids{2, 8}));
  EXPECT_TRUE(read_gguf_stop_tokens(*open(GgufWriter())).empty());
}

} // namespace
} // namespace baton::test
