//===- TokenizerTest.cpp - text to tokens and back -----------------------===//

#include "runtime/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

using namespace baton;

namespace {

Tokenizer load(const char *name) {
  return Tokenizer::load(std::string(BATON_GOLDEN_TOKENIZERS "/") + name +
                         "/tokenizer.json");
}

} // namespace

TEST(Tokenizer, KnowsItsTokens) {
  const Tokenizer tokenizer = load("llama3-300");
  const auto begin = tokenizer.token_id("<|begin_of_text|>");
  ASSERT_TRUE(begin);
  EXPECT_TRUE(tokenizer.is_special(*begin));
  EXPECT_EQ(tokenizer.token_bytes(*begin), "<|begin_of_text|>");
  const auto space = tokenizer.token_id("Ġ");
  ASSERT_TRUE(space);
  EXPECT_FALSE(tokenizer.is_special(*space));
  EXPECT_EQ(tokenizer.token_bytes(*space), " ");
  EXPECT_EQ(tokenizer.token_id("no such token"), std::nullopt);
}

TEST(Tokenizer, IdsWithoutTokenStandForNothing) {
  const Tokenizer tokenizer = load("gpt2-259");
  EXPECT_EQ(tokenizer.token_bytes(259), "");
  EXPECT_EQ(tokenizer.token_bytes(-1), "");
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{259, -1, 1 << 30}), "");
}

TEST(Tokenizer, ReadsIllFormedTextAsReplacementCharacters) {
  const Tokenizer tokenizer = load("gpt2-500");
  EXPECT_EQ(tokenizer.encode("a\xFFz\xE2\x82"),
            tokenizer.encode("a\uFFFDz\uFFFD"));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFFz")), "a\uFFFDz");
}

TEST(Tokenizer, RandomTextComesBack) {
  std::mt19937 random(11);
  for (const char *name : {"gpt2-500", "llama3-560"}) {
    const Tokenizer tokenizer = load(name);
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (int at = 0; at < 40; ++at) {
        const uint32_t kind = random() % 4;
        const uint32_t point = kind == 0   ? random() % 0x80
                               : kind == 1 ? random() % 0x800
                               : kind == 2 ? 0x3000 + random() % 0x1000
                                           : 0x1F300 + random() % 0x400;
        if (point < 0x80) {
          text += static_cast<char>(point);
        } else if (point < 0x800) {
          text += static_cast<char>(0xC0 | point >> 6);
          text += static_cast<char>(0x80 | (point & 0x3F));
        } else if (point < 0x10000) {
          text += static_cast<char>(0xE0 | point >> 12);
          text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
          text += static_cast<char>(0x80 | (point & 0x3F));
        } else {
          text += static_cast<char>(0xF0 | point >> 18);
          text += static_cast<char>(0x80 | (point >> 12 & 0x3F));
          text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
          text += static_cast<char>(0x80 | (point & 0x3F));
        }
      }
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, false)), text);
    }
  }
}

TEST(Tokenizer, OfBytesHasNothingElse) {
  const Tokenizer tokenizer = Tokenizer::of_bytes();
  const std::string text = "a <s>\n\xC3\xA9\xF0\x9F\x99\x82";
  std::vector<int32_t> bytes;
  for (unsigned char byte : text)
    bytes.push_back(byte);
  EXPECT_EQ(tokenizer.encode(text), bytes);
  EXPECT_EQ(tokenizer.decode(bytes), text);
  for (int32_t token = 0; token < 256; ++token)
    EXPECT_EQ(tokenizer.token_bytes(token),
              std::string(1, static_cast<char>(token)));
  EXPECT_EQ(tokenizer.token_bytes(256), "");
}

// Quadratic merging or splitting would need hours here.
TEST(Tokenizer, EncodesLongTexts) {
  const Tokenizer tokenizer = load("llama3-560");
  std::ifstream stream(BATON_GOLDEN_TOKENIZERS "/mixed.txt", std::ios::binary);
  const std::string mixed(std::istreambuf_iterator<char>(stream), {});
  ASSERT_FALSE(mixed.empty());
  std::string text;
  while (text.size() < 1'000'000)
    text += mixed;
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, false)), text);
  for (const char *unit : {"a", " ", "日", "ab", "<|", "\n"}) {
    std::string repeated;
    while (repeated.size() < 1'000'000)
      repeated += unit;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(repeated, false)), repeated);
  }
}
