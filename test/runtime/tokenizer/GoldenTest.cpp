//===- GoldenTest.cpp - the same tokens as the reference library ---------===//

#include "runtime/tokenizer/stream_decoder.h"
#include "runtime/tokenizer/tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace baton;
using Ids = std::vector<int32_t>;

namespace {

class GoldenTokenizer : public testing::TestWithParam<std::string> {
protected:
  GoldenTokenizer()
      : folder(std::filesystem::path(BATON_GOLDEN_TOKENIZERS) / GetParam()),
        tokenizer(Tokenizer::load(folder / "tokenizer.json")) {
    std::ifstream stream(folder / "golden.json");
    cases = nlohmann::json::parse(stream).at("cases");
  }

  std::filesystem::path folder;
  Tokenizer tokenizer;
  nlohmann::json cases;
};

TEST_P(GoldenTokenizer, Encodes) {
  ASSERT_GE(cases.size(), 40u);
  for (const auto &example : cases) {
    const std::string text = example.at("text");
    EXPECT_EQ(tokenizer.encode(text), example.at("ids").get<Ids>()) << text;
    EXPECT_EQ(tokenizer.encode(text, false),
              example.at("ids_without_special_tokens").get<Ids>())
        << text;
  }
}

TEST_P(GoldenTokenizer, Decodes) {
  for (const auto &example : cases) {
    const Ids ids = example.at("ids");
    EXPECT_EQ(tokenizer.decode(ids), example.at("decoded").get<std::string>());
    EXPECT_EQ(tokenizer.decode(ids, /*skip_special_tokens=*/true),
              example.at("decoded_without_special_tokens").get<std::string>());
  }
}

TEST_P(GoldenTokenizer, StreamsTheSameText) {
  for (const auto &example : cases)
    for (const bool skip : {false, true}) {
      const Ids ids = example.at("ids");
      StreamDecoder decoder(tokenizer, skip);
      std::string text;
      for (const int32_t id : ids)
        text += decoder.push(id);
      text += decoder.finish();
      EXPECT_EQ(text, tokenizer.decode(ids, skip, /*at_start=*/false));
    }
}

/// Every folder with golden files.
std::vector<std::string> folders() {
  std::vector<std::string> names;
  for (const auto &entry :
       std::filesystem::directory_iterator(BATON_GOLDEN_TOKENIZERS))
    if (std::filesystem::exists(entry.path() / "golden.json"))
      names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTokenizer, testing::ValuesIn(folders()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

/// Tokenizers that neither add nor drop text give it back.
class LosslessTokenizer : public GoldenTokenizer {};

TEST_P(LosslessTokenizer, DecodesToWhatItEncoded) {
  for (const auto &example : cases) {
    const std::string text = example.at("text");
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, false)), text);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LosslessTokenizer,
                         testing::Values("gpt2-259", "gpt2-500", "llama3-300",
                                         "llama3-560"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

} // namespace
