//===- automaton_compiler.cpp - grammars to pushdown automata ------------===//

#include "runtime/grammar/automaton_compiler.h"

#include "runtime/error.h"
#include "runtime/grammar/determinization.h"
#include "runtime/grammar/rule_networks.h"

#include <algorithm>
#include <array>
#include <optional>

namespace baton {

namespace {

constexpr uint32_t nowhere = PushdownAutomaton::nowhere;
/// Rows take 1 KiB each.
constexpr size_t most_rows = 16'384;
/// States of fewer edges are searched as fast as a row is read.
constexpr size_t edges_without_row = 4;

/// States and rules from which a rule's end can be reached: if `by_letters` by
/// anything, else by nothing at all.
struct Completions {
  std::vector<bool> states, rules;

  Completions(const std::vector<LooseState> &loose,
              const std::vector<uint32_t> &starts, bool by_letters)
      : states(loose.size()), rules(starts.size()) {
    struct Caller {
      uint32_t state, rule;
    };
    std::vector<std::vector<uint32_t>> sources(loose.size());
    std::vector<std::vector<Caller>> callers(loose.size());
    std::vector<std::vector<uint32_t>> begins(loose.size()),
        waiting(starts.size());
    std::vector<uint32_t> queue;
    const auto reach = [&](uint32_t state) {
      if (!states[state]) {
        states[state] = true;
        queue.push_back(state);
      }
    };
    for (uint32_t rule = 0; rule < starts.size(); ++rule)
      begins[starts[rule]].push_back(rule);
    for (uint32_t state = 0; state < loose.size(); ++state) {
      if (by_letters) {
        for (const auto &edge : loose[state].bytes)
          sources[edge.target].push_back(state);
        for (const auto &edge : loose[state].tokens)
          sources[edge.target].push_back(state);
      }
      for (const auto &call : loose[state].calls)
        callers[call.target].push_back({state, call.rule});
      if (loose[state].accepting)
        reach(state);
    }
    while (!queue.empty()) {
      const uint32_t state = queue.back();
      queue.pop_back();
      for (const uint32_t source : sources[state])
        reach(source);
      for (const Caller caller : callers[state])
        if (rules[caller.rule])
          reach(caller.state);
        else
          waiting[caller.rule].push_back(caller.state);
      for (const uint32_t rule : begins[state])
        if (!rules[rule]) {
          rules[rule] = true;
          for (const uint32_t caller : waiting[rule])
            reach(caller);
        }
    }
  }
};

/// Leaves out what no complete text needs, and numbers the rest.
class Trimmed {
public:
  Trimmed(std::vector<LooseState> loose, std::vector<uint32_t> starts,
          uint32_t root)
      : loose(std::move(loose)), starts(std::move(starts)) {
    const Completions complete(this->loose, this->starts, true);
    if (!complete.rules[root])
      return;
    for (LooseState &state : this->loose) {
      const auto lost = [&](const auto &edge) {
        return !complete.states[edge.target];
      };
      std::erase_if(state.bytes, lost);
      std::erase_if(state.tokens, lost);
      std::erase_if(state.calls, [&](const auto &call) {
        return lost(call) || !complete.rules[call.rule];
      });
    }
    result.emplace();
    number_states(root);
    const Completions empty(this->loose, this->starts, false);
    for (uint32_t rule = 0; rule < this->starts.size(); ++rule)
      result->rules.push_back({numbers[this->starts[rule]], empty.rules[rule]});
    result->start = numbers[this->starts[root]];
    for (const uint32_t state : order)
      append(this->loose[state]);
  }

  std::optional<PushdownAutomaton> take() { return std::move(result); }

private:
  void number_states(uint32_t root) {
    numbers.assign(loose.size(), nowhere);
    const auto visit = [&](uint32_t state) {
      if (numbers[state] == nowhere) {
        numbers[state] = static_cast<uint32_t>(order.size());
        order.push_back(state);
      }
    };
    visit(starts[root]);
    for (size_t at = 0; at < order.size(); ++at) {
      const LooseState &state = loose[order[at]];
      for (const auto &edge : state.bytes)
        visit(edge.target);
      for (const auto &edge : state.tokens)
        visit(edge.target);
      for (const auto &call : state.calls) {
        visit(starts[call.rule]);
        visit(call.target);
      }
    }
  }

  template <typename Edge>
  PushdownAutomaton::Range<Edge> append(std::vector<Edge> &all,
                                        std::vector<Edge> &own) {
    const PushdownAutomaton::Range<Edge> range{
        static_cast<uint32_t>(all.size()), static_cast<uint32_t>(own.size())};
    for (Edge &edge : own) {
      if constexpr (std::is_same_v<Edge, PushdownAutomaton::Call>) {
        const LooseState &target = loose[edge.target];
        edge.is_last = target.bytes.empty() && target.tokens.empty() &&
                       target.calls.empty();
      }
      Edge numbered = edge;
      numbered.target = numbers[edge.target];
      all.push_back(numbered);
    }
    return range;
  }

  void append(LooseState &state) {
    PushdownAutomaton &to = *result;
    bool deterministic = true;
    for (size_t edge = 1; edge < state.bytes.size(); ++edge)
      deterministic &= state.bytes[edge - 1].last < state.bytes[edge].first;
    uint32_t row = PushdownAutomaton::no_row;
    if (deterministic && state.bytes.size() > edges_without_row &&
        to.rows.size() < most_rows) {
      row = static_cast<uint32_t>(to.rows.size());
      to.rows.emplace_back().fill(nowhere);
      for (const auto &edge : state.bytes)
        for (unsigned byte = edge.first; byte <= edge.last; ++byte)
          to.rows.back()[byte] = numbers[edge.target];
    }
    to.states.push_back({append(to.byte_edges, state.bytes),
                         append(to.token_edges, state.tokens),
                         append(to.calls, state.calls), state.accepting,
                         deterministic, row, 0});
  }

  std::vector<LooseState> loose;
  std::vector<uint32_t> starts, numbers, order;
  std::optional<PushdownAutomaton> result;
};

/// Where all the characters that strings of JSON do not escape lead.
class FreeCharacters {
public:
  explicit FreeCharacters(PushdownAutomaton &automaton)
      : automaton(automaton) {}

  /// Writes the counts into the automaton's states.
  void count() {
    const auto count = static_cast<uint32_t>(automaton.states.size());
    std::vector<std::vector<uint32_t>> sources(count);
    std::vector<uint32_t> queue;
    std::vector<uint8_t> distances(count, most);
    for (uint32_t state = 0; state < count; ++state) {
      if (!find_targets(state)) {
        distances[state] = 0;
        queue.push_back(state);
        continue;
      }
      for (const uint32_t target : targets)
        sources[target].push_back(state);
    }
    // The nearest state that does not take all of them limits a state.
    for (size_t at = 0; at < queue.size(); ++at) {
      const uint8_t distance = distances[queue[at]];
      if (distance + 1 == most)
        break;
      for (const uint32_t source : sources[queue[at]])
        if (distances[source] == most) {
          distances[source] = static_cast<uint8_t>(distance + 1);
          queue.push_back(source);
        }
    }
    for (uint32_t state = 0; state < count; ++state)
      automaton.states[state].free_characters = distances[state];
  }

private:
  static constexpr uint8_t most = 255;

  struct Bytes {
    uint8_t first, last;
  };

  /// The second and later bytes behind each range of first ones.
  bool find_targets(uint32_t state) {
    targets.clear();
    static constexpr Bytes later{0x80, 0xBF};
    return follow(state, {{0x20, 0x21}}) && follow(state, {{0x23, 0x5B}}) &&
           follow(state, {{0x5D, 0x7F}}) &&
           follow(state, {{0xC2, 0xDF}, later}) &&
           follow(state, {{0xE0, 0xE0}, {0xA0, 0xBF}, later}) &&
           follow(state, {{0xE1, 0xEC}, later, later}) &&
           follow(state, {{0xED, 0xED}, {0x80, 0x9F}, later}) &&
           follow(state, {{0xEE, 0xEF}, later, later}) &&
           follow(state, {{0xF0, 0xF0}, {0x90, 0xBF}, later, later}) &&
           follow(state, {{0xF1, 0xF3}, later, later, later}) &&
           follow(state, {{0xF4, 0xF4}, {0x80, 0x8F}, later, later});
  }

  /// Adds where the bytes lead; false where some of them lead nowhere.
  bool follow(uint32_t state, std::initializer_list<Bytes> bytes) {
    std::vector<uint32_t> from{state}, to;
    for (const Bytes range : bytes) {
      to.clear();
      for (const uint32_t each : from)
        if (!step(each, range, to))
          return false;
      std::sort(to.begin(), to.end());
      to.erase(std::unique(to.begin(), to.end()), to.end());
      from.swap(to);
    }
    targets.insert(targets.end(), from.begin(), from.end());
    return true;
  }

  bool step(uint32_t state, Bytes range, std::vector<uint32_t> &to) const {
    if (!automaton.states[state].deterministic)
      return false;
    unsigned next = range.first;
    for (const auto &edge : automaton.bytes_of(state)) {
      if (edge.last < next)
        continue;
      if (edge.first > next)
        return false;
      to.push_back(edge.target);
      next = edge.last + 1u;
      if (next > range.last)
        return true;
    }
    return false;
  }

  PushdownAutomaton &automaton;
  std::vector<uint32_t> targets;
};

/// Why no text keeps to the grammar.
[[noreturn]] void refuse_empty(const RuleNetworks &networks,
                               const std::bitset<256> &bytes) {
  for (const RuleNetwork &rule : networks.rules)
    for (const RuleNetwork::Edge &edge : rule.edges)
      if (edge.kind == RuleNetwork::Edge::Byte)
        for (unsigned byte = edge.first; byte <= edge.last; ++byte)
          if (!bytes[byte])
            throw Error("no text keeps to the grammar, or it takes byte " +
                        std::to_string(byte) +
                        ", which no token of the vocabulary has");
  throw Error("no text keeps to the grammar");
}

} // namespace

PushdownAutomaton compile_grammar(const GrammarPart &grammar,
                                  const AutomatonAlphabet &alphabet) {
  const RuleNetworks networks = make_networks(grammar);
  std::vector<int32_t> token_ids;
  for (const GrammarNode::Token &token : networks.tokens) {
    if (token.spelling.empty() && token.id >= alphabet.tokens)
      throw Error("the grammar has the token " + std::to_string(token.id) +
                  ", but the vocabulary ends before it");
    token_ids.push_back(
        token.spelling.empty() ? token.id : alphabet.token_id(token.spelling));
  }
  std::vector<LooseState> states;
  std::vector<uint32_t> starts;
  for (const RuleNetwork &rule : networks.rules) {
    starts.push_back(static_cast<uint32_t>(states.size()));
    append_states(states, rule, token_ids, alphabet.bytes);
  }
  auto automaton =
      Trimmed(std::move(states), std::move(starts), networks.root).take();
  if (!automaton)
    refuse_empty(networks, alphabet.bytes);
  FreeCharacters(*automaton).count();
  return std::move(*automaton);
}

} // namespace baton
