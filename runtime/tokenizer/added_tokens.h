//===- added_tokens.h - tokens that are matched in the text as they are --===//
//
// The "added_tokens" of a tokenizer.json: special tokens and others that are
// found before the text is split, wherever their content occurs. At each place
// the longest one wins.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_ADDED_TOKENS_H
#define BATON_RUNTIME_TOKENIZER_ADDED_TOKENS_H

#include "runtime/tokenizer/json_view.h"
#include "runtime/tokenizer/normalizer.h"
#include "runtime/tokenizer/regex.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton {

struct AddedToken {
  int32_t id;
  std::string content;
  /// Matches only where no word character touches it.
  bool single_word;
  /// The match takes the white space on its left, on its right.
  bool left_strip;
  bool right_strip;
  /// Matched in a second pass, between the matches of those that are not: in
  /// normalized text, and normalized itself.
  bool normalized;
  bool special;
};

class AddedTokens {
public:
  AddedTokens() = default;
  /// Reads "added_tokens". Throws Error when contents repeat or are empty.
  AddedTokens(const JsonView &description, const Normalizer &normalizer);

  const std::vector<AddedToken> &all() const { return tokens; }

  /// Cuts well-formed UTF-8 into added tokens and the text between them, which
  /// is normalized, in order; the token is null for text, which is never empty.
  /// `at_start`: nothing comes before it.
  using Sink = std::function<void(std::string_view piece,
                                  const AddedToken *token, bool at_start)>;
  void cut(std::string_view text, const Normalizer &normalizer,
           const Sink &sink) const;

private:
  /// The contents of some of the tokens as a tree of bytes.
  class Tree {
  public:
    void insert(const std::string &content, size_t token);
    /// The length of the longest content that the text begins with, or 0.
    size_t longest(std::string_view text, size_t &token) const;

  private:
    struct Node {
      std::unordered_map<char, size_t> next;
      /// The token that ends here, or -1.
      ptrdiff_t token = -1;
    };
    std::vector<Node> nodes{1};
    /// Bytes that a content begins with: most places of a text have none.
    std::array<bool, 256> begins{};
  };

  void cut_pass(const Tree &tree, std::string_view text, bool at_start,
                const Sink &sink) const;

  std::vector<AddedToken> tokens;
  Tree literal;
  Tree normalized;
  Regex space{"\\s"};
  Regex word{"\\w"};
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_ADDED_TOKENS_H
