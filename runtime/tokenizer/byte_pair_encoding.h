//===- byte_pair_encoding.h - words to tokens by learned merges ----------===//
//
// Byte-pair encoding (Sennrich et al., Neural Machine Translation of Rare Words
// with Subword Units, 2016): a word starts as its bytes or as its characters,
// and the neighbours whose merge was learned first are joined until no pair has
// a merge. Pairs wait in a heap, so that a word of n bytes costs O(n log n).
//
// A character without a token becomes the tokens of its bytes ("<0x0A>") where
// the file says byte_fallback and has one for each of them, else the unknown
// token, else nothing. That holds for the characters that spell bytes as well.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H
#define BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H

#include "runtime/tokenizer/json_view.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton {

class BytePairEncoding {
public:
  /// What a word starts as: bytes, each spelled as a character, or characters.
  enum class Symbols { Bytes, Characters };

  /// Reads a "model" of type BPE. Throws Error when it uses what is not
  /// supported (dropout, prefixes and suffixes of words), and when ids or
  /// merges contradict one another.
  BytePairEncoding(const JsonView &description, Symbols symbols);

  /// Appends the tokens of a word, which is well-formed UTF-8 where it starts
  /// as characters. Throws Error where it needs an unknown token that the
  /// vocabulary does not have.
  void encode(std::string_view word, std::vector<int32_t> &tokens) const;

  /// Tokens by their text, spelled as in the file.
  const std::unordered_map<std::string, int32_t> &vocabulary() const {
    return ids;
  }

private:
  struct Merge {
    /// The order in which merges were learned.
    int32_t rank;
    int32_t result;
  };
  static uint64_t pair(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }

  class FirstSymbols;

  void read_vocabulary(const JsonView &vocabulary);
  void read_unknown(const JsonView &description);
  void read_merges(const JsonView &merges);
  std::optional<int32_t> find(std::string_view text) const;
  std::vector<int32_t> first_symbols(std::string_view word) const;

  Symbols symbols;
  /// The token of characters without one, or -1; a run of them may be one.
  int32_t unknown = -1;
  bool fuse_unknown = false;
  /// What is wrong where an unknown token is named that is none.
  std::string no_unknown;
  std::unordered_map<std::string, int32_t> ids;
  /// The tokens of the characters that spell bytes, and those that characters
  /// fall back on; -1 where there is none.
  std::array<int32_t, 256> byte_tokens, fallback_tokens;
  std::unordered_map<uint64_t, Merge> merges;
  /// Whole words that are tokens, by their bytes; filled when the file says
  /// that they need no merges.
  std::unordered_map<std::string, int32_t> whole_words;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H
