//===- determinization.h - rules made deterministic ----------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_DETERMINIZATION_H
#define BATON_RUNTIME_GRAMMAR_DETERMINIZATION_H

#include "runtime/grammar/pushdown_automaton.h"
#include "runtime/grammar/rule_networks.h"

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

namespace baton {

/// A state whose edges are still its own.
struct LooseState {
  /// Sorted by the first byte; they overlap where the state is not
  /// deterministic.
  std::vector<PushdownAutomaton::ByteEdge> bytes;
  std::vector<PushdownAutomaton::TokenEdge> tokens;
  std::vector<PushdownAutomaton::Call> calls;
  bool accepting = false;
};

/// Appends a rule's states, the first of which begins it. Where subsets are
/// too many, states are those of the network, without its empty edges.
/// `token_ids` are the numbers of the networks' tokens; bytes that are not
/// among `bytes` are left out.
void append_states(std::vector<LooseState> &states, const RuleNetwork &rule,
                   std::span<const int32_t> token_ids,
                   const std::bitset<256> &bytes);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_DETERMINIZATION_H
