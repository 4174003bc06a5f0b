//===- determinization.cpp - rules made deterministic --------------------===//

#include "runtime/grammar/determinization.h"

#include "runtime/error.h"

#include <algorithm>
#include <map>

namespace baton {

namespace {

using ByteEdge = PushdownAutomaton::ByteEdge;
using Set = std::vector<uint32_t>;

/// Of all rules.
constexpr size_t most_states = 1'000'000;
/// Where subsets outgrow the network so much, it stays as it is.
constexpr size_t most_growth = 4;
/// Members of all subsets of a rule.
constexpr size_t most_members = 8'000'000;

class SubsetConstruction {
public:
  SubsetConstruction(std::vector<LooseState> &states, const RuleNetwork &rule,
                     std::span<const int32_t> token_ids,
                     const std::bitset<256> &bytes, bool deterministic)
      : states(states), rule(rule), token_ids(token_ids), bytes(bytes),
        deterministic(deterministic), first(states.size()),
        first_edge(rule.states + 1), mark(rule.states) {
    for (const Edge &edge : rule.edges)
      ++first_edge[edge.from + 1];
    for (uint32_t state = 0; state < rule.states; ++state)
      first_edge[state + 1] += first_edge[state];
    order.resize(rule.edges.size());
    std::vector<uint32_t> next(first_edge.begin(), first_edge.end() - 1);
    for (uint32_t edge = 0; edge < rule.edges.size(); ++edge)
      order[next[rule.edges[edge].from]++] = edge;
  }

  /// False, and nothing is appended, where there are too many subsets.
  bool run() {
    number({0});
    for (size_t at = 0; at < sets.size(); ++at) {
      const size_t grown = most_growth * rule.states + 2'000;
      if (deterministic && (sets.size() > grown || members > most_members)) {
        states.resize(first);
        return false;
      }
      if (states.size() > most_states)
        throw Error("the grammar is too large: it takes more than " +
                    std::to_string(most_states) +
                    " states; make its counts smaller");
      LooseState state = make_state(*sets[at]);
      states[first + at] = std::move(state);
    }
    return true;
  }

private:
  using Edge = RuleNetwork::Edge;

  /// What a set reaches without taking anything, as far as it matters: states
  /// with other edges, and the end.
  Set closure(const Set &set) {
    ++generation;
    Set queue = set, result;
    for (const uint32_t state : set)
      mark[state] = generation;
    while (!queue.empty()) {
      const uint32_t state = queue.back();
      queue.pop_back();
      bool matters = state == 1;
      for (uint32_t at = first_edge[state]; at < first_edge[state + 1]; ++at) {
        const Edge &edge = rule.edges[order[at]];
        if (edge.kind != Edge::Nothing) {
          matters = true;
        } else if (mark[edge.to] != generation) {
          mark[edge.to] = generation;
          queue.push_back(edge.to);
        }
      }
      if (matters)
        result.push_back(state);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  uint32_t number(const Set &set) {
    const auto [entry, added] =
        numbers.try_emplace(closure(set), static_cast<uint32_t>(sets.size()));
    if (added) {
      sets.push_back(&entry->first);
      members += entry->first.size();
      states.emplace_back();
    }
    return static_cast<uint32_t>(first) + entry->second;
  }

  /// Calls `sink` with where a letter leads.
  template <typename Sink> void each_target(Set &targets, const Sink &sink) {
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    if (deterministic)
      return sink(number(targets));
    for (const uint32_t target : targets)
      sink(number({target}));
  }

  LooseState make_state(const Set &set) {
    LooseState state;
    std::vector<Edge> byte_edges;
    std::map<int32_t, Set> by_token;
    std::map<uint32_t, Set> by_rule;
    for (const uint32_t member : set) {
      state.accepting |= member == 1;
      for (uint32_t at = first_edge[member]; at < first_edge[member + 1];
           ++at) {
        const Edge &edge = rule.edges[order[at]];
        if (edge.kind == Edge::Byte)
          byte_edges.push_back(edge);
        else if (edge.kind == Edge::Token)
          by_token[token_ids[edge.index]].push_back(edge.to);
        else if (edge.kind == Edge::Call)
          by_rule[edge.index].push_back(edge.to);
      }
    }
    for (auto &[token, targets] : by_token)
      each_target(targets, [&](uint32_t target) {
        state.tokens.push_back({token, target});
      });
    for (auto &[callee, targets] : by_rule)
      each_target(targets, [&](uint32_t target) {
        state.calls.push_back({callee, target, false});
      });
    make_byte_edges(state, byte_edges);
    return state;
  }

  void make_byte_edges(LooseState &state, const std::vector<Edge> &edges) {
    if (edges.empty())
      return;
    std::bitset<257> bounds;
    for (const Edge &edge : edges) {
      bounds.set(edge.first);
      bounds.set(edge.last + 1u);
    }
    for (unsigned byte = 0; byte < 256; ++byte)
      if (bytes[byte] != (byte > 0 && bytes[byte - 1]))
        bounds.set(byte);
    for (unsigned begin = 0; begin < 256;) {
      unsigned end = begin + 1;
      while (end < 256 && !bounds[end])
        ++end;
      Set targets;
      if (bytes[begin])
        for (const Edge &edge : edges)
          if (edge.first <= begin && begin <= edge.last)
            targets.push_back(edge.to);
      if (!targets.empty())
        each_target(targets, [&](uint32_t target) {
          append_edge(state.bytes, {static_cast<uint8_t>(begin),
                                    static_cast<uint8_t>(end - 1), target});
        });
      begin = end;
    }
  }

  static void append_edge(std::vector<ByteEdge> &edges, ByteEdge edge) {
    if (!edges.empty() && edges.back().target == edge.target &&
        edges.back().last + 1 == edge.first)
      edges.back().last = edge.last;
    else
      edges.push_back(edge);
  }

  std::vector<LooseState> &states;
  const RuleNetwork &rule;
  std::span<const int32_t> token_ids;
  const std::bitset<256> &bytes;
  const bool deterministic;
  const size_t first;
  /// Edges by the state they leave.
  std::vector<uint32_t> first_edge, order;
  std::vector<uint32_t> mark;
  uint32_t generation = 0;
  std::map<Set, uint32_t> numbers;
  std::vector<const Set *> sets;
  size_t members = 0;
};

} // namespace

void append_states(std::vector<LooseState> &states, const RuleNetwork &rule,
                   std::span<const int32_t> token_ids,
                   const std::bitset<256> &bytes) {
  if (SubsetConstruction(states, rule, token_ids, bytes, true).run())
    return;
  SubsetConstruction(states, rule, token_ids, bytes, false).run();
}

} // namespace baton
