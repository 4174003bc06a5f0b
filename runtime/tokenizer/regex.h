//===- regex.h - Unicode regular expressions over UTF-8 ------------------===//
//
// PCRE2 behind the syntax that tokenizer.json files are written in, Oniguruma's
// (https://github.com/kkos/oniguruma/blob/master/doc/RE). Where the two read
// the same characters differently, the pattern is rewritten (\s, \w, \h, \b,
// [:name:], scripts) or refused (set operations in classes, the option m).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_REGEX_H
#define BATON_RUNTIME_TOKENIZER_REGEX_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;

namespace baton {

/// A compiled pattern; copies share it, and threads may match at once.
class Regex {
public:
  /// Throws Error when the pattern is malformed or not supported.
  explicit Regex(const std::string &pattern);
  /// A pattern that matches exactly this text.
  static Regex literal(const std::string &text);

  /// Cuts well-formed UTF-8 into matches and the text between them, in order.
  /// Matches may be empty, the text between them is not.
  void cut(std::string_view text,
           const std::function<void(std::string_view piece, bool match)> &sink)
      const;

  /// Whether it matches anywhere in well-formed UTF-8.
  bool found_in(std::string_view text) const;

private:
  Regex(const std::string &pattern, uint32_t options);

  std::shared_ptr<const pcre2_real_code_8> code;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_REGEX_H
