//===- byte_pair_encoding.h - words to tokens by learned merges ----------===//
//
// Byte-level byte-pair encoding (Sennrich et al., Neural Machine Translation of
// Rare Words with Subword Units, 2016): a word starts as its bytes, and the
// neighbours whose merge was learned first are joined until no pair has a
// merge. Pairs wait in a heap, so that a word of n bytes costs O(n log n).
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
  /// Reads a "model" of type BPE. Throws Error when it uses what is not
  /// supported (dropout, prefixes and suffixes of words, byte fallback), when
  /// ids or merges contradict one another, and when a byte that occurs in UTF-8
  /// has no token.
  explicit BytePairEncoding(const JsonView &description);

  /// Appends the tokens of a word, any bytes, to `tokens`. Throws Error for a
  /// byte without a token, which only ill-formed UTF-8 can contain.
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
  void read_merges(const JsonView &merges);

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
