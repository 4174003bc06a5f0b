//===- Utf8Test.cpp - well-formed UTF-8, and what to do with the rest ----===//

#include "runtime/tokenizer/utf8.h"

#include <gtest/gtest.h>

using namespace baton;

#define R "\xEF\xBF\xBD"

TEST(Utf8, KeepsWellFormedText) {
  using namespace std::string_literals;
  for (const std::string &text :
       {""s, "plain"s, "\0"s, "é"s, "日本語"s, "😀"s, "\u007F\u0080\u07FF"s,
        "\u0800\uD7FF\uE000\uFFFF"s, "\U00010000\U0010FFFF"s})
    EXPECT_EQ(replace_ill_formed(text), text);
}

// The expected texts are Python's bytes.decode(errors="replace").
TEST(Utf8, ReplacesMaximalSubparts) {
  EXPECT_EQ(replace_ill_formed("a\x80z"), "a" R "z");
  EXPECT_EQ(replace_ill_formed("\xC0\xAF"), R R);             // overlong
  EXPECT_EQ(replace_ill_formed("\xE0\x80\xAF"), R R R);       // overlong
  EXPECT_EQ(replace_ill_formed("\xED\xA0\x80"), R R R);       // surrogate
  EXPECT_EQ(replace_ill_formed("\xF4\x90\x80\x80"), R R R R); // too high
  EXPECT_EQ(replace_ill_formed("\xF5\xFF"), R R);
  EXPECT_EQ(replace_ill_formed("\xE2\x82"
                               "a"),
            R "a");
  EXPECT_EQ(replace_ill_formed("\xF0\x9F\x98"), R);
  EXPECT_EQ(replace_ill_formed("\xF0\x9F\xE2\x82\xC3"), R R R);
}

TEST(Utf8, TellsIncompleteFromIllFormed) {
  const auto kind = [](const char *text) { return first_sequence(text).kind; };
  EXPECT_EQ(kind("\xE2\x82"), Utf8Sequence::Incomplete);
  EXPECT_EQ(kind("\xF0"), Utf8Sequence::Incomplete);
  EXPECT_EQ(kind("\xF0\x8F"), Utf8Sequence::IllFormed);
  EXPECT_EQ(kind("\xE2\x82\xAC"), Utf8Sequence::Character);
  EXPECT_EQ(first_sequence("\xE2\x82\xAC and more").bytes, 3u);
  EXPECT_EQ(first_sequence("\xE2\x82 and more").bytes, 2u);
}
