//===- pre_tokenizer.h - cuts text into the words that are encoded -------===//
//
// The "pre_tokenizer" of a tokenizer.json: a chain of splits that ends with
// ByteLevel. Tokens never reach across a border that it makes.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_PRE_TOKENIZER_H
#define BATON_RUNTIME_TOKENIZER_PRE_TOKENIZER_H

#include "runtime/tokenizer/json_view.h"
#include "runtime/tokenizer/regex.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace baton {

class PreTokenizer {
public:
  /// Reads a "pre_tokenizer". Supported are ByteLevel, and Sequences of Split
  /// (behaviors Isolated and Removed) and Digits that end with ByteLevel;
  /// throws Error for everything else.
  explicit PreTokenizer(const JsonView &description);

  /// Calls the sink with every word of well-formed UTF-8 text, in order. A word
  /// lives as long as the call, and is never empty.
  void split(std::string_view text,
             const std::function<void(std::string_view word)> &sink) const;

private:
  struct Split {
    Regex regex;
    /// Which pieces are dropped: none, the matches, or those between.
    enum { Nothing, Matches, Rest } dropped;
  };

  void read(const JsonView &description);
  void read_byte_level(const JsonView &description);
  void split_from(size_t step, std::string_view text,
                  const std::function<void(std::string_view)> &sink) const;

  std::vector<Split> splits;
  /// ByteLevel begins words with a space before its own split, the last one.
  bool add_prefix_space = false;
  size_t prefixed_split = 0;
  bool has_byte_level = false;
};

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_PRE_TOKENIZER_H
