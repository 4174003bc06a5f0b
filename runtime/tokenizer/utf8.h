//===- utf8.h - well-formed UTF-8, and what to do with the rest ----------===//
//
// Ill-formed bytes are replaced by U+FFFD once per maximal subpart, the
// practice that the Unicode Standard recommends (section 3.9, "U+FFFD
// Substitution of Maximal Subparts") and that Python's errors="replace" and the
// reference tokenizers follow.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_UTF8_H
#define BATON_RUNTIME_TOKENIZER_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace baton {

/// U+FFFD in UTF-8.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// The sequence that a non-empty text begins with.
struct Utf8Sequence {
  enum Kind {
    /// A character of `bytes` bytes.
    Character,
    /// `bytes` bytes that no continuation makes a character.
    IllFormed,
    /// All of the text, and the beginning of a character.
    Incomplete,
  } kind;
  size_t bytes;
};
Utf8Sequence first_sequence(std::string_view text);

/// The text with every ill-formed and every incomplete sequence replaced.
std::string replace_ill_formed(std::string_view text);

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_UTF8_H
