//===- StreamDecoderTest.cpp - tokens to text, as they come --------------===//

#include "runtime/tokenizer/stream_decoder.h"
#include "runtime/tokenizer/utf8.h"

#include <gtest/gtest.h>

#include <random>

using namespace baton;

namespace {

class StreamDecoderTest : public testing::Test {
protected:
  /// The token of every byte.
  int32_t token(int byte) const {
    for (int32_t id = 0; id < 300; ++id)
      if (tokenizer.token_bytes(id) == std::string(1, static_cast<char>(byte)))
        return id;
    ADD_FAILURE() << "no token for byte " << byte;
    return -1;
  }

  Tokenizer tokenizer = Tokenizer::load(
      std::string(BATON_GOLDEN_TOKENIZERS "/llama3-300/tokenizer.json"));
};

TEST_F(StreamDecoderTest, HoldsBackIncompleteCharacters) {
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(token('a')), "a");
  EXPECT_EQ(decoder.push(token(0xF0)), "");
  EXPECT_EQ(decoder.push(token(0x9F)), "");
  EXPECT_EQ(decoder.push(token(0x98)), "");
  EXPECT_EQ(decoder.push(token(0x80)), "😀");
  EXPECT_EQ(decoder.finish(), "");
}

TEST_F(StreamDecoderTest, ReplacesWhatCannotBecomeACharacter) {
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(token(0xE2)), "");
  EXPECT_EQ(decoder.push(token(0x82)), "");
  EXPECT_EQ(decoder.push(token('a')), "\uFFFD"
                                      "a");
  EXPECT_EQ(decoder.push(token(0xFF)), "\uFFFD");
  EXPECT_EQ(decoder.push(token(0xC3)), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.push(token(0xA9)), "\uFFFD"); // Nothing was left behind.
}

TEST_F(StreamDecoderTest, SkipsSpecialTokensInsideACharacter) {
  const int32_t special = *tokenizer.token_id("<|eot_id|>");
  StreamDecoder decoder(tokenizer, /*skip_special_tokens=*/true);
  EXPECT_EQ(decoder.push(token(0xC3)), "");
  EXPECT_EQ(decoder.push(special), "");
  EXPECT_EQ(decoder.push(token(0xA9)), "é");
}

TEST_F(StreamDecoderTest, EqualsWholeDecodingForAnyTokens) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> tokens(50);
    for (int32_t &token : tokens)
      token = static_cast<int32_t>(random() % 305); // Some ids have no token.
    StreamDecoder decoder(tokenizer);
    std::string text;
    for (const int32_t token : tokens) {
      const std::string piece = decoder.push(token);
      EXPECT_EQ(piece, replace_ill_formed(piece));
      text += piece;
    }
    EXPECT_EQ(text + decoder.finish(), tokenizer.decode(tokens));
  }
}

} // namespace
