//===- small_vocabulary.h - vocabularies and masks for tests -------------===//

#ifndef BATON_TEST_RUNTIME_GRAMMAR_SMALL_VOCABULARY_H
#define BATON_TEST_RUNTIME_GRAMMAR_SMALL_VOCABULARY_H

#include "runtime/grammar/constraint.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace baton {

/// Tokens by their numbers; those that begin with "<|" are special.
inline std::shared_ptr<const TokenVocabulary>
small_vocabulary(const std::vector<std::string> &tokens) {
  return std::make_shared<const TokenVocabulary>(
      tokens.size(),
      [&](int32_t token) -> std::string_view {
        return tokens[static_cast<size_t>(token)];
      },
      [&](int32_t token) {
        return tokens[static_cast<size_t>(token)].starts_with("<|");
      });
}

/// Each byte, then a token that ends the text.
inline constexpr int32_t end_of_bytes = 256;
inline std::shared_ptr<const TokenVocabulary> byte_vocabulary() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.emplace_back(1, static_cast<char>(byte));
  tokens.emplace_back("<|end|>");
  return small_vocabulary(tokens);
}

inline std::vector<uint32_t> mask_of(TokenMatcher &matcher, size_t tokens) {
  std::vector<uint32_t> mask((tokens + 31) / 32);
  matcher.allowed(mask);
  return mask;
}

inline bool has_token(const std::vector<uint32_t> &mask, int32_t token) {
  return mask[static_cast<size_t>(token) / 32] >> (token % 32) & 1;
}

/// A compiled grammar that tells whether it takes texts.
class Language {
public:
  explicit Language(const Grammar &grammar)
      : constraint(
            compile_constraint(grammar, byte_vocabulary(), {end_of_bytes})) {}

  bool has(const std::string &text) const {
    const auto matcher = constraint->start();
    for (const char byte : text)
      if (!matcher->accept(static_cast<uint8_t>(byte)))
        return false;
    return matcher->accept(end_of_bytes);
  }
  bool has_prefix(const std::string &text) const {
    const auto matcher = constraint->start();
    for (const char byte : text)
      if (!matcher->accept(static_cast<uint8_t>(byte)))
        return false;
    return true;
  }

private:
  std::shared_ptr<const TokenConstraint> constraint;
};

} // namespace baton

#endif // BATON_TEST_RUNTIME_GRAMMAR_SMALL_VOCABULARY_H
