//===- spelling.cpp - how bytes spell characters -------------------------===//

#include "runtime/grammar/spelling.h"

#include <algorithm>

namespace baton {

namespace {

using Sink = std::function<void(std::span<const SpellingStep>)>;

/// Letters of short escapes, and what they stand for.
constexpr std::pair<char, uint32_t> short_escapes[] = {
    {'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 8},
    {'f', 12},  {'n', 10},    {'r', 13},  {'t', 9}};

/// Appends a step per digit of a range of numbers whose digits have `bits`
/// bits, most significant first, and calls `done` for each box of digits.
/// `spell` makes a step of a range of digits.
void split_digits(uint32_t first, uint32_t last, unsigned digits, unsigned bits,
                  const std::function<SpellingStep(
                      unsigned digit, uint32_t first, uint32_t last)> &spell,
                  std::vector<SpellingStep> &steps,
                  const std::function<void()> &done) {
  if (digits == 0)
    return done();
  const unsigned shift = bits * (digits - 1);
  const uint32_t low_mask = (1u << shift) - 1;
  const auto rest = [&](uint32_t from, uint32_t to, uint32_t low,
                        uint32_t high) {
    steps.push_back(spell(digits - 1, from, to));
    split_digits(low, high, digits - 1, bits, spell, steps, done);
    steps.pop_back();
  };
  uint32_t from = first >> shift, to = last >> shift;
  const uint32_t low = first & low_mask, high = last & low_mask;
  if (from == to)
    return rest(from, to, low, high);
  if (low != 0) {
    rest(from, from, low, low_mask);
    ++from;
  }
  if (high != low_mask) {
    if (from < to)
      rest(from, to - 1, 0, low_mask);
    rest(to, to, 0, high);
    return;
  }
  rest(from, to, 0, low_mask);
}

void spell_utf8(CharacterRange range, std::vector<SpellingStep> &steps,
                const Sink &sink) {
  static constexpr struct {
    uint32_t last;
    unsigned length;
    uint8_t lead;
  } forms[] = {
      {0x7F, 1, 0}, {0x7FF, 2, 0xC0}, {0xFFFF, 3, 0xE0}, {0x10FFFF, 4, 0xF0}};
  uint32_t first = 0;
  for (const auto &form : forms) {
    const uint32_t low = std::max(range.first, first);
    const uint32_t high = std::min(range.last, form.last);
    first = form.last + 1;
    if (low > high)
      continue;
    if (form.length == 1) {
      steps.push_back({SpellingStep::Byte, static_cast<uint8_t>(low),
                       static_cast<uint8_t>(high)});
      sink(steps);
      steps.pop_back();
      continue;
    }
    split_digits(
        low, high, form.length, 6,
        [&](unsigned digit, uint32_t from, uint32_t to) {
          const uint32_t mark = digit + 1 == form.length ? form.lead : 0x80;
          return SpellingStep{SpellingStep::Byte,
                              static_cast<uint8_t>(mark | from),
                              static_cast<uint8_t>(mark | to)};
        },
        steps, [&] { sink(steps); });
  }
}

SpellingStep exactly(char byte) {
  return {SpellingStep::Byte, static_cast<uint8_t>(byte),
          static_cast<uint8_t>(byte)};
}

/// \uXXXX for a range of 16-bit numbers; appended to `steps` until `done`.
void spell_unit(uint32_t first, uint32_t last, std::vector<SpellingStep> &steps,
                const std::function<void()> &done) {
  steps.push_back(exactly('\\'));
  steps.push_back(exactly('u'));
  split_digits(
      first, last, 4, 4,
      [](unsigned, uint32_t from, uint32_t to) {
        return SpellingStep{SpellingStep::HexDigit, static_cast<uint8_t>(from),
                            static_cast<uint8_t>(to)};
      },
      steps, done);
  steps.resize(steps.size() - 2);
}

/// Two units for a range above U+FFFF.
void spell_pair(uint32_t first, uint32_t last, std::vector<SpellingStep> &steps,
                const Sink &sink) {
  const auto pair = [&](uint32_t high_first, uint32_t high_last,
                        uint32_t low_first, uint32_t low_last) {
    spell_unit(0xD800 + high_first, 0xD800 + high_last, steps, [&] {
      spell_unit(0xDC00 + low_first, 0xDC00 + low_last, steps,
                 [&] { sink(steps); });
    });
  };
  uint32_t from = (first - 0x10000) >> 10, to = (last - 0x10000) >> 10;
  const uint32_t low = first & 0x3FF, high = last & 0x3FF;
  if (from == to)
    return pair(from, to, low, high);
  if (low != 0) {
    pair(from, from, low, 0x3FF);
    ++from;
  }
  if (high != 0x3FF) {
    if (from < to)
      pair(from, to - 1, 0, 0x3FF);
    pair(to, to, 0, high);
    return;
  }
  pair(from, to, 0, 0x3FF);
}

/// What JSON lets stand for itself in a string.
const std::vector<CharacterRange> unescaped = {
    {0x20, 0x21}, {0x23, 0x5B}, {0x5D, last_character}};

} // namespace

void for_each_spelling(
    const CharacterSet &characters, Spelling spelling,
    const std::function<void(std::span<const SpellingStep>)> &sink) {
  std::vector<SpellingStep> steps;
  for (const CharacterRange range : characters.ranges()) {
    if (spelling == Spelling::Raw) {
      spell_utf8(range, steps, sink);
      continue;
    }
    for (const CharacterRange plain : unescaped) {
      const CharacterRange both{std::max(range.first, plain.first),
                                std::min(range.last, plain.last)};
      if (both.first <= both.last)
        spell_utf8(both, steps, sink);
    }
    if (range.first <= 0xFFFF)
      spell_unit(range.first, std::min(range.last, 0xFFFFu), steps,
                 [&] { sink(steps); });
    if (range.last > 0xFFFF)
      spell_pair(std::max(range.first, 0x10000u), range.last, steps, sink);
  }
  if (spelling == Spelling::JsonString)
    for (const auto &[letter, character] : short_escapes)
      if (characters.contains(character)) {
        const SpellingStep escape[] = {exactly('\\'), exactly(letter)};
        sink(escape);
      }
}

std::string spell_json(std::string_view utf8) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : utf8) {
    const auto value = static_cast<uint8_t>(byte);
    const auto escape = std::find_if(
        std::begin(short_escapes), std::end(short_escapes),
        [&](const auto &each) { return each.second == value && byte != '/'; });
    if (escape != std::end(short_escapes))
      (text += '\\') += escape->first;
    else if (value < 0x20)
      ((text += "\\u00") += digits[value >> 4]) += digits[value & 15];
    else
      text += byte;
  }
  return text;
}

} // namespace baton
