//===- mask_cache.h - masks of tokens that were computed before ----------===//
//
// Most tokens are decided by the state on top of a stack alone; only those that
// go on behind its rule's end ask for the stack below. So masks are kept for
// states, and, besides, the few tokens more for whole sets of stacks (the idea
// is XGrammar's: Dong et al. 2024, arXiv:2411.15100, section 3.1).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_MASK_CACHE_H
#define BATON_RUNTIME_GRAMMAR_MASK_CACHE_H

#include "runtime/grammar/parse_stacks.h"
#include "runtime/grammar/token_vocabulary.h"

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace baton {

/// Tokens, as a list or, where there are many, as a bit for each.
class TokenSet {
public:
  TokenSet(std::vector<int32_t> tokens, size_t vocabulary);

  /// Sets their bits.
  void write(std::span<uint32_t> mask) const;
  bool empty() const { return list.empty() && bits.empty(); }
  size_t bytes() const { return 4 * (list.capacity() + bits.capacity()); }

private:
  std::vector<int32_t> list;
  std::vector<uint32_t> bits;
};

/// What can follow where a stack has this state on top.
struct StateMask {
  TokenSet tokens;
  /// Nodes of the trie, with others below, whose bytes lead to the end of the
  /// state's rule.
  std::vector<uint32_t> ends;
};

/// What can follow a set of stacks: the masks of its states, and more.
struct SetMask {
  std::vector<std::shared_ptr<const StateMask>> states;
  TokenSet more;
  bool empty;
};

/// Threads may use one at once.
class MaskCache {
public:
  /// Forgets everything when it holds more than `most_bytes`.
  MaskCache(const PushdownAutomaton &automaton,
            const TokenVocabulary &vocabulary, size_t most_bytes);

  /// The mask for a set of `stacks`; `scratch` are stacks of the same
  /// automaton, to work with. Both are left as they were, but for `scratch`'s
  /// contents.
  std::shared_ptr<const SetMask>
  mask_of(ParseStacks &stacks, ParseStacks::Set set, ParseStacks &scratch);

private:
  std::shared_ptr<const StateMask> mask_of_state(uint32_t state,
                                                 ParseStacks &scratch);
  void walk(ParseStacks &stacks, ParseStacks::Set set, uint32_t below,
            std::vector<int32_t> &tokens, std::vector<uint32_t> *ends) const;
  void count(size_t more);

  const PushdownAutomaton &automaton;
  const TokenVocabulary &vocabulary;
  const size_t most_bytes;
  std::shared_mutex mutex;
  size_t bytes = 0;
  std::unordered_map<uint32_t, std::shared_ptr<const StateMask>> states;
  std::unordered_map<uint64_t, std::shared_ptr<const SetMask>> sets;
};

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_MASK_CACHE_H
