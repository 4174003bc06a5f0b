//===- token_vocabulary.h - the bytes of all tokens as a trie ------------===//

#ifndef BATON_RUNTIME_GRAMMAR_TOKEN_VOCABULARY_H
#define BATON_RUNTIME_GRAMMAR_TOKEN_VOCABULARY_H

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace baton {

class Tokenizer;

/// Immutable; shared by the constraints of a model.
class TokenVocabulary {
public:
  /// A node of the trie. Nodes are in depth-first order, the root first: the
  /// nodes below one follow it.
  struct Node {
    uint8_t byte;
    /// If from here on all tokens are whole characters that strings of JSON do
    /// not escape, or begin one at their end, the most of them in a token;
    /// else not_plain.
    uint8_t plain_characters;
    uint16_t depth;
    /// One behind the last node below.
    uint32_t end;
    /// Tokens that end here come first in order(), then those below.
    uint32_t first_token;
  };
  static constexpr uint8_t not_plain = 255;

  /// Numbers below `count`; `bytes` of a number that no token has are empty.
  /// Special tokens, and those without bytes, are not in the trie.
  TokenVocabulary(size_t count,
                  const std::function<std::string_view(int32_t)> &bytes,
                  const std::function<bool(int32_t)> &is_special);
  /// A tokenizer's; models may have more rows than it has tokens.
  static std::shared_ptr<const TokenVocabulary> of(const Tokenizer &tokenizer,
                                                   size_t vocabulary);

  size_t size() const { return tokens.size(); }
  /// Empty for special tokens, too.
  std::string_view text_of(int32_t token) const;
  /// The token of this spelling, special or not.
  std::optional<int32_t> find(std::string_view spelling) const;

  /// With a last one that stands behind all nodes.
  std::span<const Node> nodes() const { return trie; }
  std::span<const int32_t> order() const { return sorted; }
  /// Bytes that occur in tokens.
  const std::bitset<256> &bytes() const { return present; }

private:
  struct Token {
    size_t begin = 0, length = 0;
    bool special = false;
  };

  void build_trie();
  void count_plain_characters();
  std::string_view spelling_of(int32_t token) const;

  std::vector<Token> tokens;
  std::vector<char> text;
  std::vector<Node> trie;
  std::vector<int32_t> sorted, specials;
  std::bitset<256> present;
};

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_TOKEN_VOCABULARY_H
