//===- dataset.h - the tokens that a model is trained with ---------------===//
//
// A path is read as one of:
//
//   FILE.u16, FILE.u32   tokens, little-endian integers of 16 or 32 bits, one
//                        after the other and nothing else
//   FILE                 text, whatever its name
//   FOLDER               all text files below it, sorted by path (bytewise).
//                        Names that begin with a dot are skipped, and files
//                        that hold a zero byte, which no text does.
//
// A tokenizer encodes each file's text by itself, without the special tokens
// that it may put around a text; between two files lies the token that ends
// one, if there is such a token. Without a tokenizer every byte is a token, and
// nothing lies between files.
//
// Files of tokens and of bytes are mapped, not read, but for small ones.
// Encoded tokens are kept in memory, in 2 bytes each for vocabularies of up to
// 65536 tokens, otherwise in 4. Encoding takes its time, a second for some
// megabytes: whoever has much text does it once, and keeps a file of tokens
// (Dataset::write).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_DATASET_H
#define BATON_RUNTIME_TRAIN_DATASET_H

#include "runtime/tokenizer/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace baton {

struct DatasetOptions {
  /// Null: every byte is a token.
  const Tokenizer *tokenizer = nullptr;
  /// Tokens that the model knows, 0 ... vocabulary - 1.
  uint64_t vocabulary = 0;
  /// Lies between two files that the tokenizer encodes. See
  /// end_of_text_token().
  std::optional<int32_t> end_of_text = {};
  /// That encode, a file each; 0: as many as the machine has cores.
  unsigned threads = 0;
  /// Called with bytes of text that have been encoded, file by file, never
  /// twice at a time but from any thread.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

/// The token that ends a text: one of `stop_tokens`, at which the model's
/// answers end (runtime/decode/stop_tokens.h), if there are any. It is the
/// first that there is, and that they have, of <|end_of_text|>, <|endoftext|>,
/// </s> and <eos>, or else the first of them.
std::optional<int32_t>
end_of_text_token(const Tokenizer &tokenizer,
                  const std::vector<int32_t> &stop_tokens = {});

/// Sequences of a data set, numbered from its beginning: the first `training`
/// ones, and behind them `validation` more.
struct SequenceSplit {
  uint64_t training;
  uint64_t validation;
};

/// Immutable; threads may use one at once. As with every mapped file,
/// truncating one while it is in use ends the process with a bus error.
class Dataset {
public:
  /// Whether a path is read as a file of tokens, which needs no tokenizer.
  static bool is_token_file(const std::filesystem::path &path);

  /// Throws Error, naming --data and the file, when one cannot be read, holds a
  /// token beyond the vocabulary or half a token, and when there are no tokens
  /// at all.
  static Dataset open(const std::filesystem::path &path,
                      const DatasetOptions &options);

  uint64_t size() const { return token_count; }
  /// Of a few thousand tokens, evenly spread: other data has, most likely,
  /// another one.
  uint64_t sampled_hash() const;
  /// Copies tokens first ... first + count - 1, which there must be. Throws
  /// Error when a mapped file has been changed and holds a token beyond the
  /// vocabulary now.
  void read(uint64_t first, uint64_t count, int32_t *destination) const;

  /// Writes all tokens as a token file, beside its place first. Throws Error,
  /// naming the file, when its name ends in neither .u16 nor .u32, a token does
  /// not fit in 16 bits, or the disk refuses.
  void write(const std::filesystem::path &path) const;

  /// Cuts the tokens into sequences of `length` + 1, which do not overlap, and
  /// sets the last ones aside for validation: `fraction` of them, rounded, but
  /// at least one when the fraction is not 0 and there are two. What is left
  /// behind the last whole sequence is not used. Throws Error, naming the flag
  /// (--data, --seq, --validation-fraction), when there is not one
  /// sequence to train with, or the fraction is not in [0, 1).
  SequenceSplit split(uint64_t length, double fraction = 0.1) const;

private:
  /// Tokens that lie one after the other in memory, little-endian.
  struct Segment {
    uint64_t begin;
    uint64_t count;
    const std::byte *data;
    /// Bytes of a token: 1, 2 or 4.
    unsigned width;
    /// Keeps `data` valid.
    std::shared_ptr<const void> owner;
  };

  Dataset() = default;
  void add(const std::byte *data, uint64_t count, unsigned width,
           std::shared_ptr<const void> owner);
  void add_token_file(const std::filesystem::path &file, unsigned width);
  void add_bytes(const std::vector<std::filesystem::path> &files);
  void add_text(const std::vector<std::filesystem::path> &files,
                const DatasetOptions &options);

  std::string name;
  uint64_t vocabulary = 0;
  uint64_t token_count = 0;
  std::vector<Segment> segments;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_DATASET_H
