//===- spelling.h - how bytes spell characters ---------------------------===//
//
// Sets of characters as sequences of ranges of bytes: raw UTF-8, or any of the
// ways that a string of JSON (RFC 8259, section 7) may spell a character.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_SPELLING_H
#define BATON_RUNTIME_GRAMMAR_SPELLING_H

#include "runtime/grammar/character_set.h"

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>

namespace baton {

enum class Spelling : uint8_t {
  /// The character's UTF-8.
  Raw,
  /// Inside quotes of JSON: UTF-8 where JSON allows it, the short escapes, and
  /// \u with four hexadecimal digits or, above U+FFFF, twice that. A half of a
  /// pair alone is not spelled.
  JsonString,
};

/// One step of a spelling.
struct SpellingStep {
  enum Kind : uint8_t {
    /// A byte from `first` to `last`.
    Byte,
    /// A hexadecimal digit, in either case, of a value from `first` to `last`.
    HexDigit,
  } kind;
  uint8_t first, last;
  auto operator<=>(const SpellingStep &) const = default;
};

/// Calls `sink` with sequences of steps that together spell each character of
/// the set, and nothing else.
void for_each_spelling(
    const CharacterSet &characters, Spelling spelling,
    const std::function<void(std::span<const SpellingStep>)> &sink);

/// The shortest spelling of a text inside quotes of JSON.
std::string spell_json(std::string_view utf8);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_SPELLING_H
