//===- byte_pair_encoding.h - words to tokens by learned merges ----------===//
//
// Byte-pair encoding (Sennrich et al., Neural Machine Translation of Rare Words
// with Subword Units, 2016): a word starts as its bytes or as its characters,
// and the neighbours whose merge was learned first are joined until no pair has
// a merge. Pairs wait in a heap, so that a word of n bytes costs O(n log n).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H
#define BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H

#include "runtime/tokenizer/json_view.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton {

class BytePairEncoding {
public:
  /// What a word starts as: bytes, each spelled as a character, or characters,
  /// of which one without a token becomes its bytes' tokens ("<0x0A>") or the
  /// unknown token.
  enum class Symbols { Bytes, Characters };

  /// Reads a "model" of type BPE. Throws Error when it uses what is not
  /// supported (dropout, prefixes and suffixes of words), when ids or merges
  /// contradict one another, and when a byte or a character would have no
  /// token.
  BytePairEncoding(const JsonView &description, Symbols symbols);

  /// Appends the tokens of a word to `tokens`. Throws Error for a byte without
  /// a token, which only ill-formed UTF-8 can contain.
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

  void read_vocabulary(const JsonView &vocabulary);
  void find_byte_tokens(const JsonView &description);
  std::vector<int32_t> first_symbols(std::string_view word) const;
  void read_merges(const JsonView &merges);

  Symbols symbols;
  bool byte_fallback = false;
  /// For characters without tokens, or -1; a run of them may be one.
  int32_t unknown = -1;
  bool fuse_unknown = false;
  std::unordered_map<std::string, int32_t> ids;
  /// The token of each byte, or -1.
  std::array<int32_t, 256> byte_tokens;
  std::unordered_map<uint64_t, Merge> merges;
  /// Whole words that are tokens, by their bytes; filled when the file says
  /// that they need no merges.
  std::unordered_map<std::string, int32_t> whole_words;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H
