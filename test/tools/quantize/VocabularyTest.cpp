//===- VocabularyTest.cpp - tokenizers as GGUF files say them -------------===//
//
// Golden tokenizers are written into GGUF files, and read from there: the
// tokens of texts have to be those of the tokenizers library.
//
//===----------------------------------------------------------------------===//

#include "tools/quantize/checkpoint_vocabulary.h"

#include "runtime/tokenizer/tokenizer.h"
#include "test/runtime/weights/fixture.h"

#include <gtest/gtest.h>

namespace baton::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json read(const fs::path &file) {
  std::ifstream stream(file);
  return json::parse(stream);
}

class QuantizedVocabulary : public testing::TestWithParam<const char *> {
protected:
  fs::path golden() const { return fs::path(BATON_TOKENIZERS) / GetParam(); }
  uint64_t rows() const {
    const json tokenizer = read(golden() / "tokenizer.json");
    uint64_t most = 0;
    for (const json &id : tokenizer["model"]["vocab"])
      most = std::max(most, id.get<uint64_t>());
    for (const json &token : tokenizer["added_tokens"])
      most = std::max(most, token["id"].get<uint64_t>());
    return most + 1;
  }
  std::shared_ptr<const GgufFile> written() {
    GgufHeader header;
    EXPECT_TRUE(describe_vocabulary(golden(), rows() + 3, header));
    const fs::path file = folder.path / "tokenizer.gguf";
    std::ofstream(file, std::ios::binary) << header.bytes({});
    return GgufFile::open(file);
  }

  TemporaryFolder folder;
};

TEST_P(QuantizedVocabulary, HasTheLibrarysTokens) {
  const auto file = written();
  EXPECT_EQ(file->texts("tokenizer.ggml.tokens")->size(), rows() + 3);
  const Tokenizer tokenizer = Tokenizer::of_gguf(*file);
  size_t same = 0;
  const json golden_cases = read(golden() / "golden.json").at("cases");
  for (const json &example : golden_cases) {
    const std::string text = example.at("text");
    const std::vector<int32_t> ids = example.at("ids");
    EXPECT_EQ(tokenizer.encode(text), ids) << text;
    ++same;
  }
  EXPECT_GE(same, 40u);
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedVocabulary,
                         testing::Values("gemma-320", "gpt2-259", "gpt2-500",
                                         "llama2-300", "llama3-300",
                                         "llama3-560", "qwen-420",
                                         "smollm-298"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

std::string problem(const fs::path &folder) {
  GgufHeader header;
  try {
    describe_vocabulary(folder, 600, header);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(QuantizedVocabularies, WhatAFileCannotSayIsRefused) {
  const fs::path golden = fs::path(BATON_TOKENIZERS) / "metaspace-260";
  EXPECT_EQ(problem(golden),
            (golden / "tokenizer.json").string() +
                ": has the normalizer NFKC, which a GGUF file cannot say of "
                "SentencePiece's tokens; --no-tokenizer leaves the tokenizer "
                "out");
  TemporaryFolder folder;
  GgufHeader header;
  EXPECT_FALSE(describe_vocabulary(folder.path, 10, header));
  std::ofstream(folder.path / "tokenizer.model") << "x";
  EXPECT_EQ(problem(folder.path),
            (folder.path / "tokenizer.json").string() +
                ": no such file, and tokenizer.model beside it cannot be read; "
                "--no-tokenizer leaves the tokenizer out");
}

} // namespace
} // namespace baton::test
