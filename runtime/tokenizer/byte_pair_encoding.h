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
// A SentencePiece model has scores instead of merges: any two neighbours whose
// texts together are a token's may be joined, those of the best score first. Of
// equal scores, the longer left side goes first, as where such a model has been
// converted to merges.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H
#define BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H

#include "runtime/tokenizer/json_view.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton {

/// A model that is no JSON. Merges and scores, of which one is empty, live as
/// long as the call that gets them.
struct BytePairModel {
  /// Stands for the file in errors.
  std::string file;
  /// By id; of a text that repeats, the last id counts.
  std::vector<std::string_view> tokens;
  /// "left right", in the order in which they were learned.
  std::vector<std::string_view> merges;
  /// By id.
  std::vector<float> scores;
  std::optional<int32_t> unknown;
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};

class BytePairEncoding {
public:
  /// What a word starts as: bytes, each spelled as a character, or characters.
  enum class Symbols { Bytes, Characters };

  /// Reads a "model" of type BPE. Throws Error when it uses what is not
  /// supported (dropout, prefixes and suffixes of words), and when ids or
  /// merges contradict one another.
  BytePairEncoding(const JsonView &description, Symbols symbols);
  /// Throws Error for a merge of what are no tokens.
  BytePairEncoding(const BytePairModel &model, Symbols symbols);

  // `spellings` refers to `ids`.
  BytePairEncoding(BytePairEncoding &&) = default;
  BytePairEncoding &operator=(BytePairEncoding &&) = default;

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
    /// The order in which merges were learned, or that of scores.
    uint64_t rank;
    int32_t result;
  };
  static uint64_t pair(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }

  class FirstSymbols;

  void read_vocabulary(const JsonView &vocabulary);
  void read_unknown(const JsonView &description);
  void read_merges(const JsonView &merges);
  void add_merge(uint64_t rank, std::string_view left, std::string_view right,
                 const std::function<void(const std::string &what)> &fail);
  void rank_scores(const BytePairModel &model);
  void find_special_tokens(bool byte_fallback, bool ignore_merges);
  /// `text` is room for theirs.
  std::optional<Merge> find_merge(int32_t left, int32_t right,
                                  std::string &text) const;
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
  /// By token, of a model with scores: its text and how many characters that
  /// has, and how many scores are better.
  struct Scored {
    std::string_view text;
    uint32_t characters;
    uint32_t rank;
  };
  std::vector<Scored> scored;
  size_t longest_token = 0;
  /// Whole words that are tokens, by their bytes; filled when the file says
  /// that they need no merges.
  std::unordered_map<std::string, int32_t> whole_words;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_BYTE_PAIR_ENCODING_H
