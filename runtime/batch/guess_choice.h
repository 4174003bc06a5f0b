//===- guess_choice.h - how many tokens of which text to guess ------------===//
//
// A row of a guess costs time, and is worth a token if it is right. Both are
// learnt: how often guesses are right, behind matches of each length, and how
// long a step takes with so many rows. Where memory bounds a step, rows are
// nearly free; where products are of blocks of rows, some cost much and others
// nothing. What is chosen makes the most tokens a second by what is known.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_GUESS_CHOICE_H
#define BATON_RUNTIME_BATCH_GUESS_CHOICE_H

#include <array>
#include <cstdint>
#include <span>

namespace baton {

class GuessChoice {
public:
  /// A text that has a match so long, at least PromptLookup::least_length, and
  /// for which so many tokens may be guessed.
  struct Text {
    uint32_t length = 0;
    uint32_t most = 0;
    /// How many to guess.
    uint32_t guesses = 0;
    /// Of the next guess, that it and all before it are right.
    double right = 0;
  };
  /// Chooses the guesses of each text, at most `room` together, in a step that
  /// has so many rows without them, each of which makes a token.
  void choose(std::span<Text> texts, uint32_t rows, uint32_t room);

  /// Of guesses behind a match so long so many were right, the first ones.
  void learn_guesses(uint32_t length, uint32_t right, uint32_t guessed);
  /// A step of so many rows, none of a prompt, took so long.
  void learn_time(uint32_t rows, double seconds);

  /// What is known: that a guess is right where those before it are, and how
  /// long a step takes. Between numbers of rows that were seen times ascend
  /// evenly, and behind them little.
  double rate(uint32_t length) const { return rates[place(length)]; }
  double time(uint32_t rows) const;

private:
  static size_t place(uint32_t length);

  /// By ranges of lengths.
  std::array<double, 6> rates = {0.7, 0.7, 0.7, 0.7, 0.7, 0.7};
  /// Seconds by rows; 0: not seen.
  std::array<double, 65> times = {};
  /// Steps in which guesses were possible, and none was made, since the last
  /// one in which some were.
  uint32_t passed = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_GUESS_CHOICE_H
