//===- text_windows.h - a long text as windows of equal length ------------===//
//
// What a model is measured on, as llama.cpp's perplexity tool cuts it: a text's
// tokens in windows that follow one another, each begun anew with the tokens
// that the tokenizer puts before a text, in the place of its first ones. The
// first half of a window is context; the tokens behind it are scored.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_TEXT_WINDOWS_H
#define BATON_RUNTIME_MAIN_TEXT_WINDOWS_H

#include "runtime/main/text_tokens.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

struct TextWindows {
  /// Tokens of a window.
  uint64_t context;
  /// One window behind the other.
  std::vector<int32_t> tokens;

  uint64_t count() const { return tokens.size() / context; }
  /// The first position whose logits count: they are of the token behind it.
  uint64_t first() const { return context / 2; }
  /// Rows of logits that count.
  uint64_t rows() const { return context - 1 - first(); }
  std::span<const int32_t> window(uint64_t index) const {
    return {tokens.data() + index * context, context};
  }
  /// What is computed on: the last token of a window is only foretold.
  std::vector<std::vector<int32_t>> texts() const;
};

/// The fewest tokens of a window: two of them have context.
inline constexpr uint64_t least_window = 4;

/// Cuts the text that `flag` gives into windows of `context` tokens, `most` at
/// most; what is left over is not used. Throws Error for an empty text, and one
/// of fewer tokens.
TextWindows cut_windows(const TextTokens &tokens, const std::string &text,
                        const std::string &flag, uint64_t context,
                        std::optional<uint64_t> most);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TEXT_WINDOWS_H
