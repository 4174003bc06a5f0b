//===- GuessChoiceTest.cpp - how many tokens of which text to guess -------===//

#include "runtime/batch/guess_choice.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace baton {
namespace {

/// How many guesses texts with matches of these lengths get, 8 at most.
std::vector<uint32_t> choose(GuessChoice &choice,
                             std::initializer_list<uint32_t> lengths,
                             uint32_t rows, uint32_t room = 100) {
  std::vector<GuessChoice::Text> texts;
  for (uint32_t length : lengths)
    texts.push_back({.length = length, .most = 8});
  choice.choose(texts, rows, room);
  std::vector<uint32_t> guesses;
  for (const GuessChoice::Text &text : texts)
    guesses.push_back(text.guesses);
  return guesses;
}

void learn_times(GuessChoice &choice,
                 std::initializer_list<std::pair<uint32_t, double>> times) {
  for (int i = 0; i < 50; ++i)
    for (auto [rows, seconds] : times)
      choice.learn_time(rows, seconds);
}

void learn_rate(GuessChoice &choice, uint32_t length, bool right) {
  for (int i = 0; i < 50; ++i)
    choice.learn_guesses(length, right, 1);
}

using Guesses = std::vector<uint32_t>;

TEST(GuessChoice, TimesAreInterpolated) {
  GuessChoice choice;
  EXPECT_LT(choice.time(1), choice.time(2));
  learn_times(choice, {{2, 4}, {6, 8}});
  EXPECT_DOUBLE_EQ(choice.time(1), 4);
  EXPECT_DOUBLE_EQ(choice.time(2), 4);
  EXPECT_DOUBLE_EQ(choice.time(3), 5);
  EXPECT_DOUBLE_EQ(choice.time(6), 8);
  EXPECT_GT(choice.time(7), 8);
  EXPECT_LT(choice.time(7), 9);
  // Nobody keeps more.
  choice.learn_time(0, 1);
  choice.learn_time(1000, 1);
  EXPECT_GT(choice.time(1000), choice.time(64));
  // What takes long once changes little.
  choice.learn_time(2, 1000);
  EXPECT_LT(choice.time(2), 5);
  choice.learn_time(2, 4);
  EXPECT_LT(choice.time(2), 4.5);
}

TEST(GuessChoice, RatesFollowWhatBecameOfGuesses) {
  GuessChoice choice;
  const double before = choice.rate(3);
  learn_rate(choice, 2, true);
  EXPECT_GT(choice.rate(2), 0.95);
  learn_rate(choice, 2, false);
  EXPECT_LT(choice.rate(2), 0.05);
  EXPECT_EQ(choice.rate(3), before);
  // Behind the first that is wrong nothing is known.
  choice.learn_guesses(4, 0, 8);
  GuessChoice once;
  once.learn_guesses(4, 0, 1);
  EXPECT_EQ(choice.rate(4), once.rate(4));
  // Every length has a rate, some of them one for several.
  for (uint32_t length = 2; length <= 16; ++length)
    EXPECT_GT(choice.rate(length), 0);
  learn_rate(choice, 16, true);
  EXPECT_EQ(choice.rate(15), before);
}

TEST(GuessChoice, GuessesAreWorthTheirTime) {
  GuessChoice choice;
  learn_rate(choice, 2, true);
  // A row costs nothing.
  learn_times(choice, {{1, 1}, {9, 1}});
  EXPECT_EQ(choose(choice, {2}, 1), (Guesses{8}));
  EXPECT_EQ(choose(choice, {2}, 1, 3), (Guesses{3}));
  EXPECT_EQ(choose(choice, {2}, 1, 0), (Guesses{0}));
  EXPECT_EQ(choose(choice, {}, 0), (Guesses{}));
  // As much as a step.
  learn_times(choice, {{1, 1}, {2, 2.1}, {9, 9.5}});
  EXPECT_EQ(choose(choice, {2}, 1), (Guesses{0}));
  // Those up to a block of products are worth it, no others.
  learn_times(choice, {{1, 1}, {2, 2}, {5, 2}, {6, 2}, {7, 5}, {9, 6}});
  EXPECT_EQ(choose(choice, {2}, 1), (Guesses{5}));
  EXPECT_EQ(choose(choice, {2}, 4), (Guesses{2}));
}

TEST(GuessChoice, TheLikeliestComeFirst) {
  GuessChoice choice;
  learn_rate(choice, 2, false);
  learn_rate(choice, 8, true);
  learn_times(choice, {{2, 1}, {20, 1.8}});
  const Guesses guesses = choose(choice, {2, 8}, 2);
  EXPECT_EQ(guesses[0], 0u);
  EXPECT_EQ(guesses[1], 8u);
  const Guesses both = choose(choice, {8, 8}, 2, 10);
  EXPECT_EQ(both[0] + both[1], 10u);
  EXPECT_EQ(both[0], both[1]);
}

TEST(GuessChoice, TriesAgainNowAndThen) {
  GuessChoice choice;
  learn_rate(choice, 2, false);
  learn_times(choice, {{1, 1}, {2, 1.5}});
  int tried = 0;
  for (int i = 0; i < 320; ++i)
    if (uint32_t guesses = choose(choice, {2}, 1)[0]) {
      EXPECT_EQ(guesses, 1u);
      ++tried;
    }
  EXPECT_EQ(tried, 10);
  // Where nothing can be guessed nothing is missed.
  for (int i = 0; i < 320; ++i)
    EXPECT_EQ(choose(choice, {}, 1), (Guesses{}));
  // More where guesses are likely and times seem to be long.
  learn_rate(choice, 2, true);
  learn_times(choice, {{1, 1}, {2, 3}, {9, 50}});
  uint32_t most = 0;
  for (int i = 0; i < 40; ++i)
    most = std::max(most, choose(choice, {2}, 1)[0]);
  EXPECT_EQ(most, 8u);
}

} // namespace
} // namespace baton
