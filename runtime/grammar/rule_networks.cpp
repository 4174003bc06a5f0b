//===- rule_networks.cpp - rules before they are deterministic -----------===//

#include "runtime/grammar/rule_networks.h"

#include "runtime/error.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace baton {

namespace {

/// Edges of a rule that is copied into each of its users.
constexpr uint64_t small_rule = 48;
/// Edges that a rule may grow to by copies.
constexpr uint64_t large_rule = 20'000;
/// Rules copied into rules that are copied; each takes frames of the stack.
constexpr uint32_t deepest_copy = 12;
/// Edges of repetitions that are written one behind the other.
constexpr uint64_t longest_repetition = 8'192;
/// Repetitions that become one rule where there are more of them.
constexpr uint32_t longest_block = 64;
/// Of all edges: they take 24 bytes each, and their states more.
constexpr size_t most_edges = 4'000'000;

constexpr uint64_t saturated(uint64_t size) {
  return std::min<uint64_t>(size, 1ull << 40);
}

/// A rule of the grammar, or part of one that is repeated often.
struct PlannedRule {
  const GrammarNode *body;
  /// The number of rule 0 of the Rules it is in.
  size_t scope;
  bool shared = false;
  bool recursive = false;
  bool copied = false;
  uint64_t size = 0;
  uint64_t uses = 0;
  uint32_t depth = 0;
  /// Rules that it refers to.
  std::vector<size_t> callees = {};
};

/// Gives each rule a number, and decides which are copied.
class RulePlan {
public:
  explicit RulePlan(const GrammarPart &grammar) {
    rules.push_back({grammar.get(), 0});
    for (size_t rule = 0; rule < rules.size(); ++rule) {
      seen.clear();
      collect(*rules[rule].body, rule, rules[rule].scope);
    }
    sort_components();
    rules[0].uses = 1;
    for (const size_t rule : callees_first) {
      PlannedRule &planned = rules[rule];
      for (const size_t callee : planned.callees)
        if (rules[callee].copied)
          planned.depth = std::max(planned.depth, rules[callee].depth + 1);
      sizes.clear();
      planned.size = size(*planned.body, planned.scope);
      planned.copied = rule != 0 && !planned.recursive && !planned.shared &&
                       planned.depth < deepest_copy &&
                       (planned.size <= small_rule ||
                        (planned.uses <= 1 && planned.size <= large_rule));
    }
  }

  const std::vector<PlannedRule> &planned() const { return rules; }
  size_t scope_of(const GrammarNode::Rules &scope) const {
    return scopes.at(&scope);
  }

  uint64_t size(const GrammarNode &node, size_t scope) {
    const auto found = sizes.find(&node);
    if (found != sizes.end())
      return found->second;
    const uint64_t result = saturated(compute_size(node, scope));
    sizes.emplace(&node, result);
    return result;
  }

private:
  static uint64_t size_of(const CharacterSet &set, Spelling spelling) {
    const uint64_t ranges = set.ranges().size();
    return spelling == Spelling::Raw
               ? std::min<uint64_t>(1 + 4 * ranges, 2000)
               : std::min<uint64_t>(16 + 8 * ranges, 4000);
  }

  uint64_t compute_size(const GrammarNode &node, size_t scope) {
    const auto sum = [&](const std::vector<GrammarPart> &parts) {
      uint64_t total = 1;
      for (const GrammarPart &part : parts)
        total = saturated(total + size(*part, scope));
      return total;
    };
    const auto of_rule = [&](size_t rule) {
      return rules[rule].copied ? rules[rule].size : 1;
    };
    if (const auto *bytes = std::get_if<GrammarNode::Bytes>(&node.content))
      return bytes->bytes.size();
    if (const auto *one = std::get_if<GrammarNode::Characters>(&node.content))
      return size_of(one->set, one->spelling);
    if (const auto *text = std::get_if<GrammarNode::Text>(&node.content)) {
      uint64_t total = 1;
      for (const auto &state : text->automaton.states())
        total += state.transitions.size() *
                 (text->spelling == Spelling::Raw ? 3 : 12);
      return total;
    }
    if (const auto *row = std::get_if<GrammarNode::Sequence>(&node.content))
      return sum(row->parts);
    if (const auto *one = std::get_if<GrammarNode::Choice>(&node.content))
      return sum(one->alternatives);
    if (const auto *repeat = std::get_if<GrammarNode::Repeat>(&node.content))
      return 2 +
             size(*repeat->part, scope) *
                 std::min<uint64_t>(1'000'000, repeat->most == unbounded
                                                   ? uint64_t(repeat->least) + 1
                                                   : repeat->most);
    if (const auto *net = std::get_if<GrammarNode::Network>(&node.content)) {
      uint64_t total = 1;
      for (const auto &edge : net->edges)
        total =
            saturated(total + 1 + (edge.part ? size(*edge.part, scope) : 0));
      return total;
    }
    if (const auto *use = std::get_if<GrammarNode::Reference>(&node.content))
      return of_rule(scope + use->rule);
    if (const auto *inner = std::get_if<GrammarNode::Rules>(&node.content))
      return of_rule(scopes.at(inner) + inner->root);
    return 1;
  }

  void use(size_t rule, size_t user, uint64_t times) {
    rules[rule].uses = saturated(rules[rule].uses + times);
    rules[user].callees.push_back(rule);
  }

  void collect(const GrammarNode &node, size_t rule, size_t scope,
               uint64_t times = 1) {
    const auto each = [&](const std::vector<GrammarPart> &parts) {
      for (const GrammarPart &part : parts)
        collect(*part, rule, scope, times);
    };
    if (const auto *used = std::get_if<GrammarNode::Reference>(&node.content))
      return use(scope + used->rule, rule, times);
    if (const auto *inner = std::get_if<GrammarNode::Rules>(&node.content)) {
      const auto [entry, added] = scopes.try_emplace(inner, rules.size());
      if (added)
        for (size_t body = 0; body < inner->bodies.size(); ++body) {
          rules.push_back({inner->bodies[body].get(), entry->second});
          rules.back().shared =
              body < inner->shared.size() && inner->shared[body];
        }
      return use(entry->second + inner->root, rule, times);
    }
    // A part that is shared many times over is looked at twice only: it is used
    // more than once.
    if (seen[&node]++ > 1)
      return;
    if (const auto *row = std::get_if<GrammarNode::Sequence>(&node.content))
      each(row->parts);
    else if (const auto *one = std::get_if<GrammarNode::Choice>(&node.content))
      each(one->alternatives);
    else if (const auto *repeat =
                 std::get_if<GrammarNode::Repeat>(&node.content))
      collect(*repeat->part, rule, scope,
              saturated(times *
                        std::max<uint64_t>(1, repeat->most == unbounded
                                                  ? uint64_t(repeat->least) + 1
                                                  : repeat->most)));
    else if (const auto *net = std::get_if<GrammarNode::Network>(&node.content))
      for (const auto &edge : net->edges)
        if (edge.part)
          collect(*edge.part, rule, scope, times);
  }

  /// Tarjan's algorithm, with a stack of its own: finds which rules are
  /// recursive, and puts callees before their callers.
  void sort_components() {
    constexpr size_t none = ~size_t(0);
    std::vector<size_t> index(rules.size(), none), low(rules.size());
    std::vector<bool> open(rules.size());
    std::vector<size_t> stack;
    struct Frame {
      size_t rule, next;
    };
    std::vector<Frame> frames{{0, 0}};
    size_t count = 0;
    const auto enter = [&](size_t rule) {
      index[rule] = low[rule] = count++;
      open[rule] = true;
      stack.push_back(rule);
    };
    enter(0);
    while (!frames.empty()) {
      const size_t rule = frames.back().rule;
      if (frames.back().next < rules[rule].callees.size()) {
        const size_t callee = rules[rule].callees[frames.back().next++];
        if (callee == rule)
          rules[rule].recursive = true;
        if (index[callee] == none) {
          enter(callee);
          frames.push_back({callee, 0});
        } else if (open[callee]) {
          low[rule] = std::min(low[rule], index[callee]);
        }
        continue;
      }
      if (low[rule] == index[rule]) {
        const bool alone = stack.back() == rule;
        for (;;) {
          const size_t member = stack.back();
          stack.pop_back();
          open[member] = false;
          callees_first.push_back(member);
          if (!alone)
            rules[member].recursive = true;
          if (member == rule)
            break;
        }
      }
      frames.pop_back();
      if (!frames.empty())
        low[frames.back().rule] = std::min(low[frames.back().rule], low[rule]);
    }
  }

  std::vector<PlannedRule> rules;
  std::vector<size_t> callees_first;
  std::unordered_map<const GrammarNode::Rules *, size_t> scopes;
  std::unordered_map<const GrammarNode *, uint32_t> seen;
  std::unordered_map<const GrammarNode *, uint64_t> sizes;
};

class NetworkWriter {
public:
  explicit NetworkWriter(const GrammarPart &grammar) : plan(grammar) {
    result.root = call(0);
    for (size_t at = 0; at < pending.size(); ++at) {
      const Pending todo = pending[at];
      number = static_cast<uint32_t>(at);
      suffixes.clear();
      if (todo.least == 1 && todo.most == 1)
        add(*todo.node, 0, 1, todo.scope);
      else
        add_row(*todo.node, 0, 1, todo.scope, todo.least, todo.most);
    }
  }

  RuleNetworks take() { return std::move(result); }

private:
  using Edge = RuleNetwork::Edge;

  /// A rule that is called, or a block of repetitions.
  struct Pending {
    const GrammarNode *node;
    size_t scope;
    uint32_t least, most;
  };

  uint32_t call(size_t rule) {
    const PlannedRule &planned = plan.planned()[rule];
    return block(*planned.body, planned.scope, 1, 1, rule + 1);
  }

  uint32_t block(const GrammarNode &node, size_t scope, uint32_t least,
                 uint32_t most, size_t rule = 0) {
    const auto [entry, added] =
        numbers.try_emplace(std::make_tuple(&node, scope, least, most, rule),
                            static_cast<uint32_t>(pending.size()));
    if (added) {
      pending.push_back({&node, scope, least, most});
      result.rules.emplace_back();
    }
    return entry->second;
  }

  uint32_t add_state() { return result.rules[number].states++; }

  void add_edge(Edge edge) {
    if (++edges > most_edges)
      throw Error("the grammar is too large: it takes more than " +
                  std::to_string(most_edges) +
                  " edges; make its counts smaller");
    result.rules[number].edges.push_back(edge);
  }
  void add_nothing(uint32_t from, uint32_t to) {
    add_edge({Edge::Nothing, 0, 0, 0, from, to});
  }
  void add_call(uint32_t rule, uint32_t from, uint32_t to) {
    add_edge({Edge::Call, 0, 0, rule, from, to});
  }

  void add(const GrammarNode &node, uint32_t from, uint32_t to, size_t scope) {
    std::visit([&](const auto &content) { add(content, from, to, scope); },
               node.content);
  }

  void add(const GrammarNode::Bytes &node, uint32_t from, uint32_t to, size_t) {
    if (node.bytes.empty())
      return add_nothing(from, to);
    for (size_t at = 0; at < node.bytes.size(); ++at) {
      const auto byte = static_cast<uint8_t>(node.bytes[at]);
      const uint32_t next = at + 1 == node.bytes.size() ? to : add_state();
      add_edge({Edge::Byte, byte, byte, 0, from, next});
      from = next;
    }
  }

  void add(const GrammarNode::Characters &node, uint32_t from, uint32_t to,
           size_t) {
    for_each_spelling(node.set, node.spelling,
                      [&](std::span<const SpellingStep> steps) {
                        add_steps(steps, from, to);
                      });
  }

  void add(const GrammarNode::Text &node, uint32_t from, uint32_t to, size_t) {
    const auto &states = node.automaton.states();
    std::vector<uint32_t> numbers_of(states.size());
    for (uint32_t &state : numbers_of)
      state = add_state();
    for (size_t at = 0; at < states.size(); ++at) {
      if (states[at].accepting)
        add_nothing(numbers_of[at], to);
      for (const auto &transition : states[at].transitions)
        for_each_spelling(CharacterSet({transition.range}), node.spelling,
                          [&](std::span<const SpellingStep> steps) {
                            add_steps(steps, numbers_of[at],
                                      numbers_of[transition.target]);
                          });
    }
    if (!states.empty())
      add_nothing(from, numbers_of[0]);
  }

  void add(const GrammarNode::Token &node, uint32_t from, uint32_t to, size_t) {
    add_edge({Edge::Token, 0, 0, static_cast<uint32_t>(result.tokens.size()),
              from, to});
    result.tokens.push_back(node);
  }

  void add(const GrammarNode::Sequence &node, uint32_t from, uint32_t to,
           size_t scope) {
    for (const GrammarPart &part : node.parts) {
      const uint32_t next = add_state();
      add(*part, from, next, scope);
      from = next;
    }
    add_nothing(from, to);
  }

  void add(const GrammarNode::Choice &node, uint32_t from, uint32_t to,
           size_t scope) {
    for (const GrammarPart &part : node.alternatives)
      add(*part, from, to, scope);
  }

  void add(const GrammarNode::Network &node, uint32_t from, uint32_t to,
           size_t scope) {
    std::vector<uint32_t> numbers_of(node.states);
    for (uint32_t &state : numbers_of)
      state = add_state();
    add_nothing(from, numbers_of[0]);
    add_nothing(numbers_of[node.end], to);
    for (const auto &edge : node.edges)
      if (edge.part)
        add(*edge.part, numbers_of[edge.from], numbers_of[edge.to], scope);
      else
        add_nothing(numbers_of[edge.from], numbers_of[edge.to]);
  }

  void add(const GrammarNode::Reference &node, uint32_t from, uint32_t to,
           size_t scope) {
    add_rule(scope + node.rule, from, to);
  }

  void add(const GrammarNode::Rules &node, uint32_t from, uint32_t to, size_t) {
    add_rule(plan.scope_of(node) + node.root, from, to);
  }

  void add_rule(size_t rule, uint32_t from, uint32_t to) {
    const PlannedRule &planned = plan.planned()[rule];
    if (!planned.copied)
      return add_call(call(rule), from, to);
    // A state of its own: what leads back to `from` is the rule's.
    const uint32_t start = add_state(), end = add_state();
    add_nothing(from, start);
    add(*planned.body, start, end, planned.scope);
    add_nothing(end, to);
  }

  void add(const GrammarNode::Repeat &node, uint32_t from, uint32_t to,
           size_t scope) {
    const uint64_t each = plan.size(*node.part, scope);
    const uint64_t count =
        node.most == unbounded ? uint64_t(node.least) + 1 : node.most;
    if (count <= 1 || each * count <= longest_repetition)
      return add_row(*node.part, from, to, scope, node.least, node.most);
    // Blocks are rules that are called: a row of calls, then what is left.
    const auto length = static_cast<uint32_t>(std::clamp<uint64_t>(
        longest_repetition / 2 / std::max<uint64_t>(each, 1), 1,
        longest_block));
    for (uint32_t left = node.least; left > 0;) {
      const uint32_t taken = std::min(left, length);
      const uint32_t next = add_state();
      add_call(block(*node.part, scope, taken, taken), from, next);
      from = next;
      left -= taken;
    }
    if (node.most == unbounded)
      return add_row(*node.part, from, to, scope, 0, unbounded);
    for (uint32_t left = node.most - node.least;;) {
      if (left <= length) {
        add_call(block(*node.part, scope, 0, left), from, to);
        return;
      }
      if (length > 1)
        add_call(block(*node.part, scope, 0, length - 1), from, to);
      else
        add_nothing(from, to);
      const uint32_t next = add_state();
      add_call(block(*node.part, scope, length, length), from, next);
      from = next;
      left -= length;
    }
  }

  void add_row(const GrammarNode &part, uint32_t from, uint32_t to,
               size_t scope, uint32_t least, uint32_t most) {
    for (uint32_t count = 0; count < least; ++count) {
      const uint32_t next = add_state();
      add(part, from, next, scope);
      from = next;
    }
    if (most == unbounded) {
      const uint32_t loop = add_state();
      add_nothing(from, loop);
      add(part, loop, loop, scope);
      return add_nothing(loop, to);
    }
    add_nothing(from, to);
    for (uint32_t count = least; count < most; ++count) {
      const uint32_t next = add_state();
      add(part, from, next, scope);
      add_nothing(next, to);
      from = next;
    }
  }

  void add_step(SpellingStep step, uint32_t from, uint32_t to) {
    const auto range = [&](uint32_t first, uint32_t last, uint32_t offset) {
      const uint32_t low = std::max<uint32_t>(step.first, first);
      const uint32_t high = std::min<uint32_t>(step.last, last);
      if (low <= high)
        add_edge({Edge::Byte, static_cast<uint8_t>(low + offset),
                  static_cast<uint8_t>(high + offset), 0, from, to});
    };
    if (step.kind == SpellingStep::Byte)
      return range(0, 255, 0);
    range(0, 9, '0');
    range(10, 15, 'a' - 10);
    range(10, 15, 'A' - 10);
  }

  void add_steps(std::span<const SpellingStep> steps, uint32_t from,
                 uint32_t to) {
    // From the back: ends that are alike are one.
    uint32_t target = to;
    for (size_t at = steps.size(); at-- > 1;) {
      const auto [entry, added] =
          suffixes.try_emplace(std::make_pair(steps[at], target), 0u);
      if (added) {
        entry->second = add_state();
        add_step(steps[at], entry->second, target);
      }
      target = entry->second;
    }
    add_step(steps[0], from, target);
  }

  RulePlan plan;
  RuleNetworks result;
  std::vector<Pending> pending;
  std::map<std::tuple<const GrammarNode *, size_t, uint32_t, uint32_t, size_t>,
           uint32_t>
      numbers;
  /// States that take a step to a state and nothing else.
  std::map<std::pair<SpellingStep, uint32_t>, uint32_t> suffixes;
  uint32_t number = 0;
  size_t edges = 0;
};

} // namespace

RuleNetworks make_networks(const GrammarPart &grammar) {
  return NetworkWriter(grammar).take();
}

} // namespace baton
