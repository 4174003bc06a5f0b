//===- json_whitespace.h - where JSON may have whitespace ----------------===//

#ifndef BATON_RUNTIME_GRAMMAR_JSON_WHITESPACE_H
#define BATON_RUNTIME_GRAMMAR_JSON_WHITESPACE_H

#include <cstdint>

namespace baton {

enum class JsonWhitespace : uint8_t {
  None,
  /// One space or none behind commas and colons, as models write it on a line.
  Single,
  /// Wherever RFC 8259 allows it inside the text, most_whitespace characters at
  /// most: a model that goes on indenting never ends.
  Any,
};

inline constexpr uint32_t most_whitespace = 40;

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_JSON_WHITESPACE_H
