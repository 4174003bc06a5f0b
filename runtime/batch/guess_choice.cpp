//===- guess_choice.cpp - how many tokens of which text to guess ----------===//

#include "runtime/batch/guess_choice.h"

#include "runtime/batch/prompt_lookup.h"

#include <algorithm>
#include <bit>

namespace baton {

namespace {

/// What a guess changes of a rate.
constexpr double share_of_guess = 0.1;
/// What a step changes of a time: less where it took longer, as it does when
/// others have the cores.
constexpr double share_of_shorter = 0.5, share_of_longer = 0.1;
/// What a row more is taken to cost where nobody has seen it.
constexpr double cost_of_unseen = 0.05;
/// Where no guess is worth its row, likely ones are made all the same in one of
/// so many steps: texts and times change.
constexpr uint32_t try_again = 32;

} // namespace

/// 2, 3, 4, 5 to 7, 8 to 15, and more.
size_t GuessChoice::place(uint32_t length) {
  const size_t place =
      length < 5 ? length - PromptLookup::least_length : std::bit_width(length);
  return std::min<size_t>(place, 5);
}

double GuessChoice::time(uint32_t rows) const {
  const auto most = static_cast<uint32_t>(times.size()) - 1;
  uint32_t below = std::min(rows, most), above = below;
  while (below && times[below] == 0)
    --below;
  while (above < most && times[above] == 0)
    ++above;
  const double low = times[below], high = times[above];
  if (low == 0)
    return high == 0 ? 1 + cost_of_unseen * rows : high;
  if (high == 0 || above == below)
    return low * (1 + cost_of_unseen * (rows - below));
  return low + (high - low) * (rows - below) / (above - below);
}

void GuessChoice::choose(std::span<Text> texts, uint32_t rows, uint32_t room) {
  auto reset = [&] {
    for (Text &text : texts) {
      text.guesses = 0;
      text.right = rate(text.length);
    }
  };
  // The likeliest next one; null where there is none.
  auto next = [&] {
    Text *best = nullptr;
    for (Text &text : texts)
      if (text.guesses < text.most && (!best || text.right > best->right))
        best = &text;
    return best;
  };
  auto take = [&](Text &text) {
    ++text.guesses;
    text.right *= rate(text.length);
  };

  reset();
  double tokens = rows, most = tokens / time(rows);
  uint32_t best = 0, possible = 0, likely = 0;
  for (; possible < room; ++possible) {
    Text *text = next();
    if (!text)
      break;
    tokens += text->right;
    likely += text->right >= 0.5;
    take(*text);
    const uint32_t guesses = possible + 1;
    if (const double rate = tokens / time(rows + guesses); rate > most) {
      most = rate;
      best = guesses;
    }
  }
  if (best == 0 && possible > 0 && ++passed >= try_again)
    best = std::max(likely, 1U);
  if (best)
    passed = 0;
  reset();
  for (uint32_t guess = 0; guess < best; ++guess)
    take(*next());
}

void GuessChoice::learn_guesses(uint32_t length, uint32_t right,
                                uint32_t guessed) {
  double &rate = rates[place(length)];
  // Behind the first that was wrong nothing is known.
  const uint32_t known = std::min(right + 1, guessed);
  for (uint32_t guess = 0; guess < known; ++guess)
    rate += share_of_guess * ((guess < right ? 1.0 : 0.0) - rate);
}

void GuessChoice::learn_time(uint32_t rows, double seconds) {
  if (rows == 0 || rows >= times.size())
    return;
  double &time = times[rows];
  if (time == 0)
    time = seconds;
  else if (seconds < time)
    time += share_of_shorter * (seconds - time);
  else
    time += share_of_longer * (std::min(seconds, 2 * time) - time);
}

} // namespace baton
