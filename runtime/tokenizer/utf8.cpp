//===- utf8.cpp - well-formed UTF-8, and what to do with the rest --------===//

#include "runtime/tokenizer/utf8.h"

#include <cstdint>

namespace baton {

Utf8Sequence first_sequence(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80)
    return {Utf8Sequence::Character, 1};
  if (lead < 0xC2 || lead > 0xF4)
    return {Utf8Sequence::IllFormed, 1};

  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and everything
  // above U+10FFFF (Unicode Standard, table 3-7).
  uint8_t low = 0x80, high = 0xBF;
  if (lead == 0xE0)
    low = 0xA0;
  else if (lead == 0xED)
    high = 0x9F;
  else if (lead == 0xF0)
    low = 0x90;
  else if (lead == 0xF4)
    high = 0x8F;

  for (size_t at = 1; at < length; ++at) {
    if (at == text.size())
      return {Utf8Sequence::Incomplete, at};
    if (byte(at) < low || byte(at) > high)
      return {Utf8Sequence::IllFormed, at};
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Sequence::Character, length};
}

std::string replace_ill_formed(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Sequence first = first_sequence(text);
    result += first.kind == Utf8Sequence::Character
                  ? text.substr(0, first.bytes)
                  : replacement_character;
    text.remove_prefix(first.bytes);
  }
  return result;
}

} // namespace baton
