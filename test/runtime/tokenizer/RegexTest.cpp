//===- RegexTest.cpp - Unicode regular expressions over UTF-8 ------------===//

#include "runtime/tokenizer/regex.h"
#include "runtime/error.h"

#include <gtest/gtest.h>

#include <vector>

using namespace baton;
using Pieces = std::vector<std::string>;

namespace {

/// Matches in brackets, the text between them without.
Pieces cut(const Regex &regex, std::string_view text) {
  Pieces pieces;
  regex.cut(text, [&](std::string_view piece, bool match) {
    const std::string string(piece);
    pieces.push_back(match ? "[" + string + "]" : string);
  });
  return pieces;
}

std::string refusal(const std::string &pattern) {
  try {
    Regex regex(pattern);
  } catch (const Error &error) {
    return error.what();
  }
  return "accepted";
}

} // namespace

TEST(Regex, CutsEverything) {
  EXPECT_EQ(cut(Regex("b+"), "abbcb"), (Pieces{"a", "[bb]", "c", "[b]"}));
  EXPECT_EQ(cut(Regex("x"), "abc"), Pieces{"abc"});
  EXPECT_EQ(cut(Regex("x"), ""), Pieces{});
}

TEST(Regex, TakesLiteralsLiterally) {
  EXPECT_EQ(cut(Regex::literal(".*"), "a.*b"), (Pieces{"a", "[.*]", "b"}));
}

TEST(Regex, GoesOnBehindEmptyMatches) {
  EXPECT_EQ(cut(Regex("é*"), "aéb"), (Pieces{"[]", "a", "[é]", "b", "[]"}));
}

TEST(Regex, KnowsUnicode) {
  EXPECT_EQ(cut(Regex("\\p{L}+"), "1é日2"), (Pieces{"1", "[é日]", "2"}));
  EXPECT_EQ(cut(Regex("\\d"), "a٣"), (Pieces{"a", "[٣]"}));
  EXPECT_EQ(cut(Regex("(?i:'S)"), "it's"), (Pieces{"it", "['s]"}));
  EXPECT_EQ(cut(Regex("."), "é"), Pieces{"[é]"});
}

TEST(Regex, ReadsClassesAsOniguruma) {
  // White space, but not the Mongolian vowel separator.
  EXPECT_EQ(cut(Regex("\\s"), "\u180E\u0085\u3000"),
            (Pieces{"\u180E", "[\u0085]", "[\u3000]"}));
  EXPECT_EQ(cut(Regex("[^\\s]"), "\u0085a"), (Pieces{"\u0085", "[a]"}));
  EXPECT_EQ(cut(Regex("\\S"), "\u0085a"), (Pieces{"\u0085", "[a]"}));
  // A combining mark belongs to a word.
  EXPECT_EQ(cut(Regex("\\w+"), "e\u0301!"), (Pieces{"[e\u0301]", "!"}));
  EXPECT_EQ(cut(Regex("[\\w-]+"), "a-\u203F!"), (Pieces{"[a-\u203F]", "!"}));
  // Outside of a class, the superscripts and fractions of Latin-1 do as well.
  EXPECT_EQ(cut(Regex("\\w+"), "a\u00B2\u2460"),
            (Pieces{"[a\u00B2]", "\u2460"}));
  EXPECT_EQ(cut(Regex("[\\w]+"), "a\u00B2"), (Pieces{"[a]", "\u00B2"}));
  EXPECT_EQ(cut(Regex("\\b."), "!e\u0301\u00B2!"),
            (Pieces{"!", "[e]", "\u0301\u00B2", "[!]"}));
  EXPECT_EQ(cut(Regex("\\B."), "ab!"), (Pieces{"a", "[b]", "!"}));
  // Signs are punctuation.
  EXPECT_EQ(cut(Regex("[[:punct:]]+"), "a+\u20AC.b"),
            (Pieces{"a", "[+\u20AC.]", "b"}));
  EXPECT_EQ(cut(Regex("[[:word:]]+"), "e\u0301!"), (Pieces{"[e\u0301]", "!"}));
  // A full stop of several scripts is in none.
  EXPECT_EQ(cut(Regex("\\p{Han}+"), "日\u3002"), (Pieces{"[日]", "\u3002"}));
  EXPECT_EQ(cut(Regex("[^\\p{Han}]+"), "日\u3002"), (Pieces{"日", "[\u3002]"}));
  EXPECT_EQ(cut(Regex("\\p{^Han}+"), "日\u3002"), (Pieces{"日", "[\u3002]"}));
  // Hexadecimal digits, not horizontal space.
  EXPECT_EQ(cut(Regex("\\h+"), "x1F "), (Pieces{"x", "[1F]", " "}));
  EXPECT_EQ(cut(Regex("^b"), "a\nb"), (Pieces{"a\n", "[b]"}));
}

TEST(Regex, LeavesOtherEscapesAndBrackets) {
  EXPECT_EQ(cut(Regex("[\\]\\\\]"), "a]\\"), (Pieces{"a", "[]]", "[\\]"}));
  EXPECT_EQ(cut(Regex("[]a]+"), "]ab"), (Pieces{"[]a]", "b"}));
  EXPECT_EQ(cut(Regex("[[:alpha:]_]+"), "a_1"), (Pieces{"[a_]", "1"}));
  EXPECT_EQ(cut(Regex("\\\\s"), "\\s"), Pieces{"[\\s]"});
}

TEST(Regex, RefusesWhatItWouldMisread) {
  EXPECT_NE(refusal("[a-z&&[^b]]").find("not supported"), std::string::npos);
  EXPECT_NE(refusal("[a[b]]").find("class in a class"), std::string::npos);
  EXPECT_NE(refusal("[\\Sa]").find("\\S in a class"), std::string::npos);
  EXPECT_NE(refusal("[[:^word:]]").find("[:^word:]"), std::string::npos);
  EXPECT_NE(refusal("(?m:a.b)").find("option m"), std::string::npos);
  EXPECT_NE(refusal("(?im)a.b").find("option m"), std::string::npos);
}

TEST(Regex, NamesWhatIsMalformed) {
  for (const char *pattern : {"(", "[a", "a{2,1}", "\\", "\\p{Nope}", "*"})
    EXPECT_NE(refusal(pattern).find(pattern), std::string::npos) << pattern;
}

TEST(Regex, MatchesLongTexts) {
  const std::string text(1'000'000, ' ');
  EXPECT_EQ(cut(Regex("\\s+(?!\\S)|\\s+"), text + "a"),
            (Pieces{"[" + text.substr(1) + "]", "[ ]", "a"}));
  // More than the compiled code's stack holds.
  const std::string word(100'000, 'a');
  EXPECT_EQ(cut(Regex("(?:a|b)+c|(?:a|b)+"), word), Pieces{"[" + word + "]"});
}
