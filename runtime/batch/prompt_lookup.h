//===- prompt_lookup.h - what may come next, as it did before -------------===//
//
// Texts repeat themselves, and the prompts they answer: names, code,
// quotations, the shape of a list. Prompt lookup guesses that a text goes on as
// it did behind the earlier place before which most of its last tokens stood,
// too. A step then computes rows of the guesses beside the row that is due, and
// draws a token of each: as far as guesses are what is drawn, these rows are
// those that later steps would have computed, and their tokens the same.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_PROMPT_LOOKUP_H
#define BATON_RUNTIME_BATCH_PROMPT_LOOKUP_H

#include <cstdint>
#include <span>
#include <vector>

namespace baton {

/// Finds how a text went on before. Entering a token takes constant time, as
/// finding does; nothing is allocated after construction.
class PromptLookup {
public:
  /// Guesses nothing.
  PromptLookup() = default;
  /// Of a text that grows to at most so many tokens.
  explicit PromptLookup(uint64_t most_tokens);

  /// What follows where the longest end of the text stood before, the latest
  /// such place; `length` of its tokens are alike, at least least_length, or 0
  /// for none. The text is that of the calls before, and maybe more tokens.
  struct Match {
    std::span<const int32_t> next;
    uint32_t length = 0;
  };
  Match find(std::span<const int32_t> text);

  static constexpr uint32_t least_length = 2, most_length = 16;

private:
  uint32_t &bucket(std::span<const int32_t> text, uint64_t end);

  /// The latest place behind two tokens, by a hash of them, and of each place
  /// the one before it; 0: none. A power of two of the former.
  std::vector<uint32_t> latest, earlier;
  /// Places up to here have been entered.
  uint64_t entered = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_PROMPT_LOOKUP_H
