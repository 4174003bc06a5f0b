//===- normalizer.h - text as the vocabulary spells it -------------------===//
//
// The "normalizer" of a tokenizer.json: what is done to the text between added
// tokens before it is cut into words.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_NORMALIZER_H
#define BATON_RUNTIME_TOKENIZER_NORMALIZER_H

#include "runtime/tokenizer/json_view.h"
#include "runtime/tokenizer/regex.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

class Normalizer {
public:
  /// Changes nothing.
  Normalizer() = default;
  /// Reads a "normalizer": NFC, NFD, NFKC, NFKD (Unicode Standard Annex 15),
  /// Prepend, Replace and Sequences of them. Throws Error for everything else.
  explicit Normalizer(const JsonView &description);

  /// Well-formed UTF-8 to well-formed UTF-8.
  std::string apply(std::string_view text) const;

private:
  void read(const JsonView &description);

  std::vector<std::function<std::string(std::string_view)>> steps;
};

/// The "pattern" of a Replace or a Split: {"Regex": ...} or {"String": ...}.
Regex read_pattern(const JsonView &pattern);

/// The text with every match replaced by `content`.
std::string replace_all(std::string_view text, const Regex &regex,
                        std::string_view content);

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_NORMALIZER_H
