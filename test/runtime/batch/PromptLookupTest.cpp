//===- PromptLookupTest.cpp - what may come next, as it did before --------===//

#include "runtime/batch/prompt_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace baton {
namespace {

/// The longest end of the text that stood before, and the latest such place.
std::pair<uint64_t, uint32_t> find_slowly(const std::vector<int32_t> &text) {
  std::pair<uint64_t, uint32_t> best = {0, 0};
  for (uint64_t place = text.size(); place-- > 1;) {
    uint32_t same = 0;
    while (same < std::min<uint64_t>(place, PromptLookup::most_length) &&
           text[place - 1 - same] == text[text.size() - 1 - same])
      ++same;
    if (same >= PromptLookup::least_length && same > best.second)
      best = {place, same};
  }
  return best;
}

TEST(PromptLookup, FindsTheLongestEnd) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    // Few places for each pair, so that all are compared.
    const size_t kinds = 7 + seed % 30, size = 200 + random() % 200;
    std::vector<int32_t> text;
    PromptLookup lookup(size);
    for (size_t i = 0; i < 1 + seed; ++i)
      text.push_back(static_cast<int32_t>(random() % kinds));
    while (text.size() < size) {
      const auto match = lookup.find(text);
      const auto [place, length] = find_slowly(text);
      ASSERT_EQ(match.length, length) << "seed " << seed;
      if (length) {
        ASSERT_EQ(match.next.data(), text.data() + place);
        ASSERT_EQ(match.next.size(), text.size() - place);
      }
      // Some repetitions, some of them at once.
      const size_t begin = random() % text.size();
      for (size_t more = 1 + (random() % 4 ? 0 : random() % 20);
           more && text.size() < size; --more)
        text.push_back(random() % 3
                           ? text[std::min(begin + more, text.size() - 1)]
                           : static_cast<int32_t>(random() % kinds));
    }
  }
}

TEST(PromptLookup, NeedsTwoTokensTwice) {
  PromptLookup none;
  const std::vector<int32_t> text = {1, 2, 3, 1, 2};
  EXPECT_EQ(none.find(text).length, 0u);
  PromptLookup lookup(5);
  for (size_t size = 0; size < 5; ++size)
    EXPECT_EQ(lookup.find(std::span(text).first(size)).length, 0u);
  EXPECT_EQ(lookup.find(text).length, 2u);
  EXPECT_EQ(lookup.find(text).next.front(), 3);
}

} // namespace
} // namespace baton
