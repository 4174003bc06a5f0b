//===- text_pattern.h - marks with names in them, at the end of a text ----===//
//
// Models put line breaks around their marks or leave them out as they like, so
// white space in a pattern stands for any white space, also none.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_CHAT_TEXT_PATTERN_H
#define BATON_RUNTIME_CHAT_TEXT_PATTERN_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// What the placeholders of a pattern ($NAME, $ID, $INDEX, $KEY,
/// $TYPE) stand for in a
/// text.
struct PatternCaptures {
  std::string name, id, index, key, type;
};

struct PatternMatch {
  enum Kind {
    No,
    /// The text may become a match when more of it is known.
    Partial,
    Yes
  } kind = No;
  /// Of the text, if Yes.
  size_t bytes = 0;
  PatternCaptures captures;
};

/// A pattern taken apart. White space at its ends is ignored.
class TextPattern {
public:
  explicit TextPattern(std::string_view pattern);

  /// Whether `text` begins with the pattern. Of white space at most 64 bytes
  /// in a row match, and at most 256 bytes are captured by a placeholder, so
  /// that a text is never held back for long.
  PatternMatch match(std::string_view text) const;

  bool empty() const { return parts.empty(); }

private:
  struct Part {
    /// One run of white space if empty and no placeholder.
    std::string literal;
    std::string PatternCaptures::*capture = nullptr;
  };
  size_t capture_end(std::string_view text, size_t from, size_t part) const;

  std::vector<Part> parts;
};

bool is_pattern_space(char byte);

/// A pattern as text, with its placeholders replaced.
std::string fill_pattern(std::string_view pattern,
                         const PatternCaptures &captures);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_TEXT_PATTERN_H
