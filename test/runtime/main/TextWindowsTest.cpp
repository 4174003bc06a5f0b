//===- TextWindowsTest.cpp - a long text as windows -----------------------===//

#include "runtime/main/text_windows.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

/// Letters a to d are tokens 0 to 3; token 4 begins a text and 5 ends it.
TextTokens letters() {
  return {Tokenizer::parse(R"({
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3},
              "merges": []},
    "added_tokens": [
      {"id": 4, "content": "<s>", "special": true, "single_word": false,
       "lstrip": false, "rstrip": false, "normalized": false},
      {"id": 5, "content": "</s>", "special": true, "single_word": false,
       "lstrip": false, "rstrip": false, "normalized": false}],
    "post_processor": {
      "type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "special_tokens": {"<s>": {"ids": [4]}, "</s>": {"ids": [5]}}}})",
                           "letters"),
          false};
}

using Tokens = std::vector<int32_t>;

TEST(TextWindows, FollowOneAnotherAndBeginAnew) {
  // <s> a b c | d a b c | d a b c | d: of later windows the first letter gives
  // way, and </s> is no part of the text.
  const TextWindows windows =
      cut_windows(letters(), "abcdabcdabcd", "--data", 4, std::nullopt);
  EXPECT_EQ(windows.count(), 3u);
  EXPECT_EQ(windows.tokens, (Tokens{4, 0, 1, 2, 4, 0, 1, 2, 4, 0, 1, 2}));
  EXPECT_EQ(windows.first(), 2u);
  EXPECT_EQ(windows.rows(), 1u);
  EXPECT_EQ(cut_windows(letters(), "abcdabcdabcd", "--data", 4, 2).count(), 2u);
  EXPECT_EQ(cut_windows(letters(), "abcdabcdabcd", "--data", 4, 9).count(), 3u);
}

TEST(TextWindows, OfBytesHaveNothingBeforeThem) {
  const TextWindows windows =
      cut_windows({Tokenizer::of_bytes(), true}, "abcdefgh", "--data", 5, {});
  EXPECT_EQ(windows.count(), 1u);
  EXPECT_EQ(windows.tokens, (Tokens{'a', 'b', 'c', 'd', 'e'}));
  EXPECT_EQ(windows.rows(), 2u);
}

TEST(TextWindows, TakeATextOfOneWindowAtLeast) {
  auto problem = [](const std::string &text) -> std::string {
    try {
      cut_windows(letters(), text, "x.txt", 8, {});
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(problem(""), "x.txt: the text is empty");
  EXPECT_EQ(problem("abcabc"),
            "x.txt: the text has 7 tokens, fewer than the 8 of a window; give "
            "a longer text, or a smaller --context");
  EXPECT_EQ(problem("abcabca"), "");
}

} // namespace
} // namespace baton
