//===- mask_cache.cpp - masks of tokens that were computed before --------===//

#include "runtime/grammar/mask_cache.h"

#include <algorithm>
#include <mutex>

namespace baton {

namespace {

/// Of an entry, besides what it holds.
constexpr size_t entry_bytes = 200;

} // namespace

TokenSet::TokenSet(std::vector<int32_t> tokens, size_t vocabulary) {
  const size_t words = (vocabulary + 31) / 32;
  if (tokens.size() > words) {
    bits.resize(words);
    for (const int32_t token : tokens)
      bits[static_cast<size_t>(token) / 32] |= 1u << (token % 32);
    return;
  }
  std::sort(tokens.begin(), tokens.end());
  const auto end = std::unique(tokens.begin(), tokens.end());
  list.assign(tokens.begin(), end);
}

void TokenSet::write(std::span<uint32_t> mask) const {
  for (size_t word = 0; word < bits.size(); ++word)
    mask[word] |= bits[word];
  for (const int32_t token : list)
    mask[static_cast<size_t>(token) / 32] |= 1u << (token % 32);
}

MaskCache::MaskCache(const PushdownAutomaton &automaton,
                     const TokenVocabulary &vocabulary, size_t most_bytes)
    : automaton(automaton), vocabulary(vocabulary), most_bytes(most_bytes) {}

/// Whether it is known that all tokens below a node can follow.
static bool all_follow(const PushdownAutomaton &automaton,
                       std::span<const ParseStacks::Item> items,
                       const TokenVocabulary::Node &node) {
  if (node.plain_characters == TokenVocabulary::not_plain)
    return false;
  return std::any_of(items.begin(), items.end(), [&](const auto &item) {
    return automaton.states[item.state].free_characters >=
           node.plain_characters;
  });
}

void MaskCache::walk(ParseStacks &stacks, ParseStacks::Set set, uint32_t below,
                     std::vector<int32_t> &tokens,
                     std::vector<uint32_t> *ends) const {
  const auto nodes = vocabulary.nodes();
  const auto order = vocabulary.order();
  const auto take = [&](uint32_t first, uint32_t last) {
    tokens.insert(tokens.end(), order.begin() + first, order.begin() + last);
  };
  struct Frame {
    ParseStacks::Set set;
    /// What to keep while nodes below are looked at.
    ParseStacks::Mark mark;
  };
  const size_t depth = nodes[below].depth;
  std::vector<Frame> frames{{set, stacks.mark()}};
  for (uint32_t at = below + 1; at < nodes[below].end;) {
    const TokenVocabulary::Node &node = nodes[at];
    frames.resize(node.depth - depth);
    const Frame &parent = frames.back();
    stacks.cut(parent.mark);
    const ParseStacks::Set next = stacks.step(parent.set, node.byte);
    if (next.count == 0) {
      at = node.end;
      continue;
    }
    if (node.end > at + 1 &&
        all_follow(automaton, stacks.items_of(next), node)) {
      take(node.first_token, nodes[node.end].first_token);
      at = node.end;
      continue;
    }
    take(node.first_token, nodes[at + 1].first_token);
    if (ends && node.end > at + 1 && stacks.may_end(next))
      ends->push_back(at);
    frames.push_back({next, stacks.mark()});
    ++at;
  }
  stacks.cut(frames.front().mark);
}

std::shared_ptr<const StateMask>
MaskCache::mask_of_state(uint32_t state, ParseStacks &scratch) {
  {
    const std::shared_lock lock(mutex);
    const auto found = states.find(state);
    if (found != states.end())
      return found->second;
  }
  std::vector<int32_t> tokens;
  std::vector<uint32_t> ends;
  walk(scratch, scratch.restart(state, /*closed=*/false), 0, tokens, &ends);
  ends.shrink_to_fit();
  const auto mask = std::make_shared<const StateMask>(StateMask{
      TokenSet(std::move(tokens), vocabulary.size()), std::move(ends)});
  const std::unique_lock lock(mutex);
  count(mask->tokens.bytes() + 4 * mask->ends.size());
  states.insert_or_assign(state, mask);
  return mask;
}

void MaskCache::count(size_t more) {
  bytes += more + entry_bytes;
  if (bytes <= most_bytes)
    return;
  states.clear();
  sets.clear();
  bytes = more + entry_bytes;
}

std::shared_ptr<const SetMask> MaskCache::mask_of(ParseStacks &stacks,
                                                  ParseStacks::Set set,
                                                  ParseStacks &scratch) {
  const uint64_t key = stacks.hash_of(set);
  {
    const std::shared_lock lock(mutex);
    const auto found = sets.find(key);
    if (found != sets.end())
      return found->second;
  }
  std::vector<std::shared_ptr<const StateMask>> masks;
  std::vector<int32_t> more;
  const ParseStacks::Mark mark = stacks.mark();
  bool empty = true;
  for (size_t at = 0; at < set.count; ++at) {
    const ParseStacks::Item item = stacks.items_of(set)[at];
    if (automaton.states[item.state].bytes.count == 0)
      continue;
    const auto mask = mask_of_state(item.state, scratch);
    empty = empty && mask->tokens.empty();
    if (!mask->tokens.empty() &&
        std::find(masks.begin(), masks.end(), mask) == masks.end())
      masks.push_back(mask);
    if (mask->ends.empty() || item.node == 0)
      continue;
    const ParseStacks::Set behind = stacks.returns_of(item.node);
    for (const uint32_t end : mask->ends)
      walk(stacks, behind, end, more, nullptr);
    stacks.cut(mark);
  }
  const auto result = std::make_shared<const SetMask>(SetMask{
      std::move(masks), TokenSet(std::move(more), vocabulary.size()), empty});
  const std::unique_lock lock(mutex);
  count(result->more.bytes() + 16 * result->states.size());
  sets.insert_or_assign(key, result);
  return result;
}

} // namespace baton
