//===- TextStreamTest.cpp - tokens to text that may end with a string -----===//

#include "runtime/serve/text_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace baton {
namespace {

/// Each byte is a token.
std::vector<std::string> pieces_of(TextStream &stream, std::string_view text) {
  std::vector<std::string> pieces;
  for (unsigned char byte : text)
    pieces.push_back(stream.push(byte));
  pieces.push_back(stream.finish());
  return pieces;
}

std::string joined(const std::vector<std::string> &pieces) {
  std::string text;
  for (const std::string &piece : pieces)
    text += piece;
  return text;
}

TextStream stream_until(std::vector<std::string> stops) {
  return TextStream(Tokenizer::of_bytes(), std::move(stops));
}

TEST(TextStream, TextComesWithItsTokens) {
  TextStream stream = stream_until({});
  EXPECT_EQ(pieces_of(stream, "ab\xc3\xa9"),
            (std::vector<std::string>{"a", "b", "", "\xc3\xa9", ""}));
  EXPECT_EQ(stream.stopped_by(), nullptr);
}

TEST(TextStream, ABeginningOfAStopStringIsHeldBack) {
  TextStream stream = stream_until({"END"});
  EXPECT_EQ(pieces_of(stream, "aEbEN"),
            (std::vector<std::string>{"a", "", "Eb", "", "", "EN"}));
  EXPECT_EQ(stream.stopped_by(), nullptr);
}

TEST(TextStream, TheTextEndsBeforeTheFirstStopString) {
  TextStream stream = stream_until({"END", "NDX", "Q"});
  EXPECT_EQ(joined(pieces_of(stream, "oneENDXtwo")), "one");
  ASSERT_NE(stream.stopped_by(), nullptr);
  EXPECT_EQ(*stream.stopped_by(), "END");
}

TEST(TextStream, AStopStringThatBeginsWithItself) {
  TextStream stream = stream_until({"aab"});
  EXPECT_EQ(joined(pieces_of(stream, "xaaab")), "xa");
  EXPECT_NE(stream.stopped_by(), nullptr);
}

TEST(TextStream, WithoutATokenizerThereIsNoText) {
  TextStream stream(std::nullopt, {});
  EXPECT_EQ(joined(pieces_of(stream, "abc")), "");
}

} // namespace
} // namespace baton
