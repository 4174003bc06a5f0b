//===- added_tokens.h - tokens that are matched in the text as they are --===//
//
// The "added_tokens" of a tokenizer.json: special tokens and others that are
// found before the text is split, wherever their content occurs. At each place
// the longest one wins.
//
// Their ids are those that the reference gives them, which does not read the
// file's: an added token that the vocabulary has keeps its id there, every
// other one gets the next id behind the vocabulary and the added tokens before
// it. The two differ where a file leaves ids out.
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
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace baton {

struct AddedToken {
  int32_t id;
  /// What it is matched by, and what it is decoded from.
  std::string matched;
  std::string spelling;
  /// Matches only where no word character touches it.
  bool single_word;
  /// The match takes the white space on its left, on its right.
  bool left_strip;
  bool right_strip;
  /// Matched in a second pass, between the matches of those that are not: in
  /// normalized text, and normalized itself.
  bool normalized;
};

class AddedTokens {
public:
  using Vocabulary = std::unordered_map<std::string, int32_t>;

  AddedTokens() = default;
  /// Reads "added_tokens". Of a content that repeats, the last options count.
  AddedTokens(const JsonView &description, const Normalizer &normalizer,
              const Vocabulary &vocabulary);

  /// Those that are matched; no two of them have the same id.
  const std::vector<AddedToken> &all() const { return tokens; }

  /// The id of a content.
  std::optional<int32_t> find(const std::string &content) const;

  /// Whether tokens that are spelled like this are left out of text without
  /// special ones. A normalized token is only if its spelling is its content.
  bool is_special(const std::string &spelling) const {
    return special.contains(spelling);
  }

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

  int32_t assign_id(const std::string &content, const Vocabulary &vocabulary);

  std::vector<AddedToken> tokens;
  Vocabulary ids;
  /// How many of them the vocabulary does not have.
  size_t beyond = 0;
  std::unordered_set<std::string> special;
  Tree literal;
  Tree normalized;
  Regex space{"\\s"};
  /// Joiners are part of words here, as Unicode has it (UTS 18, annex C).
  Regex word{R"([\w\x{200C}\x{200D}])"};
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_ADDED_TOKENS_H
