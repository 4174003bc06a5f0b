//===- character_set.cpp - sets of Unicode characters --------------------===//

#include "runtime/grammar/character_set.h"

#include "runtime/error.h"
#include "runtime/tokenizer/utf8.h"

#include <algorithm>

namespace baton {

namespace {

constexpr CharacterRange surrogates{0xD800, 0xDFFF};

} // namespace

CharacterSet::CharacterSet(std::vector<CharacterRange> any) {
  std::vector<CharacterRange> ranges;
  for (CharacterRange range : any) {
    range.last = std::min(range.last, last_character);
    if (range.first > range.last)
      continue;
    if (range.first < surrogates.first)
      ranges.push_back(
          {range.first, std::min(range.last, surrogates.first - 1)});
    if (range.last > surrogates.last)
      ranges.push_back(
          {std::max(range.first, surrogates.last + 1), range.last});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](CharacterRange left, CharacterRange right) {
              return left.first < right.first;
            });
  for (const CharacterRange range : ranges) {
    if (!sorted.empty() && range.first <= sorted.back().last + 1)
      sorted.back().last = std::max(sorted.back().last, range.last);
    else
      sorted.push_back(range);
  }
}

CharacterSet CharacterSet::all() { return CharacterSet({{0, last_character}}); }

CharacterSet CharacterSet::of(uint32_t character) {
  return CharacterSet({{character, character}});
}

bool CharacterSet::contains(uint32_t character) const {
  return std::any_of(sorted.begin(), sorted.end(), [&](CharacterRange range) {
    return range.first <= character && character <= range.last;
  });
}

CharacterSet CharacterSet::complement() const {
  std::vector<CharacterRange> rest;
  uint32_t next = 0;
  for (const CharacterRange range : sorted) {
    if (range.first > next)
      rest.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= last_character)
    rest.push_back({next, last_character});
  return CharacterSet(std::move(rest));
}

CharacterSet CharacterSet::united(const CharacterSet &other) const {
  std::vector<CharacterRange> both = sorted;
  both.insert(both.end(), other.sorted.begin(), other.sorted.end());
  return CharacterSet(std::move(both));
}

std::vector<uint32_t> characters_of(std::string_view utf8,
                                    const std::string &name) {
  std::vector<uint32_t> characters;
  while (!utf8.empty()) {
    const Utf8Sequence sequence = first_sequence(utf8);
    if (sequence.kind != Utf8Sequence::Character)
      throw Error(name + " is not well-formed UTF-8");
    const auto lead = static_cast<uint8_t>(utf8[0]);
    uint32_t value = sequence.bytes == 1   ? lead
                     : sequence.bytes == 2 ? lead & 0x1Fu
                     : sequence.bytes == 3 ? lead & 0x0Fu
                                           : lead & 0x07u;
    for (size_t at = 1; at < sequence.bytes; ++at)
      value = value << 6 | (static_cast<uint8_t>(utf8[at]) & 0x3Fu);
    characters.push_back(value);
    utf8.remove_prefix(sequence.bytes);
  }
  return characters;
}

void append_utf8(std::string &text, uint32_t character) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  const auto put_continuation = [&](uint32_t bits) {
    put(0x80 | (bits & 0x3F));
  };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6);
    put_continuation(character);
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12);
    put_continuation(character >> 6);
    put_continuation(character);
  } else {
    put(0xF0 | character >> 18);
    put_continuation(character >> 12);
    put_continuation(character >> 6);
    put_continuation(character);
  }
}

} // namespace baton
