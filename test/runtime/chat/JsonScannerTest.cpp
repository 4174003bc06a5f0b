//===- JsonScannerTest.cpp - where JSON values end ------------------------===//

#include "runtime/chat/json_scanner.h"
#include "runtime/chat/json_strings.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <string>
#include <string_view>

namespace baton {
namespace {

TEST(JsonScanner, TakesWhatIsJson) {
  for (const char *text :
       {"{}", "[]", " {\"a\": [1, -2.5e+3, true, false, null, {\"b\": \"\"}]}",
        R"("\"\\\/\b\f\n\r\té")", "0", "-0.5", "1E5", "[[], {}]", "\"ü\""})
    EXPECT_TRUE(is_json(text)) << text;
}

TEST(JsonScanner, RefusesWhatIsNot) {
  for (const char *text :
       {"",        " ",        "{",      "{]",          "[1,]",
        "{\"a\"}", "{\"a\":}", "{a: 1}", "{\"a\": 1,}", "'a'",
        "\"\\x\"", "\"\n\"",   "01",     "1.",          ".5",
        "1e",      "+1",       "--1",    "nul",         "nulll",
        "True",    "{} {}",    "[1 2]",  "1 2",         R"("\u12g4")",
        "\"a"})
    EXPECT_FALSE(is_json(text)) << text;
}

TEST(JsonScanner, SaysWhereAValueEnds) {
  JsonScanner scanner;
  const std::string_view text = R"({"a": "}"})";
  for (const char byte : text.substr(0, text.size() - 1))
    EXPECT_EQ(scanner.push(byte), JsonScanner::More);
  EXPECT_EQ(scanner.push('}'), JsonScanner::Last);

  JsonScanner number;
  EXPECT_EQ(number.push('1'), JsonScanner::More);
  EXPECT_EQ(number.push('2'), JsonScanner::More);
  EXPECT_EQ(number.push(','), JsonScanner::Before);
}

TEST(JsonScanner, DepthHasALimit) {
  EXPECT_TRUE(is_json(std::string(256, '[') + std::string(256, ']')));
  EXPECT_FALSE(is_json(std::string(257, '[') + std::string(257, ']')));
  EXPECT_FALSE(is_json(std::string(1000000, '[')));
}

/// A library is the oracle, for texts that are nearly JSON.
TEST(JsonScanner, AgreesWithALibrary) {
  std::mt19937 random(1);
  const std::string pieces[] = {
      "{",    "}",    "[", "]",  ",",  ":", "\"", "\"a\"", "1",     "-2.5",
      "true", "null", " ", "\\", "\n", "e", "0",  "\\n",   "\"k\":"};
  size_t accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    for (size_t length = random() % 8; length-- > 0;)
      text += pieces[random() % std::size(pieces)];
    // The library refuses what is too large for a double.
    if (text.find("e1") != std::string::npos)
      continue;
    const bool expected = nlohmann::json::accept(text);
    ASSERT_EQ(is_json(text), expected) << text;
    accepted += expected;
  }
  EXPECT_GT(accepted, 1000u);
}

TEST(JsonStrings, EscapedTextIsJson) {
  std::string text;
  for (int code = 0; code < 128; ++code)
    text += static_cast<char>(code);
  text += "ü🌍";
  EXPECT_EQ(nlohmann::json::parse(json_quoted(text)), text);
  EXPECT_EQ(json_quoted("ü"), "\"ü\"");
  EXPECT_EQ(json_escaped(std::string_view("\0\x1f", 2)), "\\u0000\\u001f");
}

} // namespace
} // namespace baton
