//===- pushdown_automaton.h - a grammar as states and calls --------------===//
//
// Each rule that is not copied into its users is a finite automaton whose edges
// take a byte or a special token, or call a rule and go on where it returns.
// Rules are deterministic, calls being letters, unless that would take too many
// states. Every state can be reached, and every text that has got to a state
// can be completed.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_PUSHDOWN_AUTOMATON_H
#define BATON_RUNTIME_GRAMMAR_PUSHDOWN_AUTOMATON_H

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace baton {

struct PushdownAutomaton {
  struct ByteEdge {
    uint8_t first, last;
    uint32_t target;
    bool operator==(const ByteEdge &) const = default;
  };
  struct TokenEdge {
    int32_t token;
    uint32_t target;
    bool operator==(const TokenEdge &) const = default;
  };
  struct Call {
    uint32_t rule;
    /// Where the rule returns to.
    uint32_t target;
    /// Nothing but the caller's own return is left to do there.
    bool is_last;
    bool operator==(const Call &) const = default;
  };
  template <typename Edge> struct Range {
    uint32_t first, count;
  };
  struct State {
    Range<ByteEdge> bytes;
    Range<TokenEdge> tokens;
    Range<Call> calls;
    bool accepting;
    /// At most one edge for each byte.
    bool deterministic;
    /// Its row of `rows`, or no_row.
    uint32_t row;
    /// So many of the characters that strings of JSON do not escape can follow,
    /// whatever they are; 255 means any number.
    uint8_t free_characters;
  };
  struct Rule {
    uint32_t start;
    bool nullable;
  };

  static constexpr uint32_t no_row = ~0u;
  static constexpr uint32_t nowhere = ~0u;

  std::vector<State> states;
  std::vector<ByteEdge> byte_edges;
  std::vector<TokenEdge> token_edges;
  std::vector<Call> calls;
  std::vector<Rule> rules;
  /// Targets by byte of the states that have many edges.
  std::vector<std::array<uint32_t, 256>> rows;
  /// Where texts begin.
  uint32_t start = 0;

  std::span<const ByteEdge> bytes_of(uint32_t state) const {
    return {byte_edges.data() + states[state].bytes.first,
            states[state].bytes.count};
  }
  std::span<const TokenEdge> tokens_of(uint32_t state) const {
    return {token_edges.data() + states[state].tokens.first,
            states[state].tokens.count};
  }
  std::span<const Call> calls_of(uint32_t state) const {
    return {calls.data() + states[state].calls.first,
            states[state].calls.count};
  }

  /// Of a deterministic state.
  uint32_t next(uint32_t state, uint8_t byte) const {
    const State &from = states[state];
    if (from.row != no_row)
      return rows[from.row][byte];
    for (const ByteEdge &edge : bytes_of(state))
      if (byte <= edge.last)
        return byte >= edge.first ? edge.target : nowhere;
    return nowhere;
  }
};

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_PUSHDOWN_AUTOMATON_H
