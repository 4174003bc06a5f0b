//===- grammar_values.cpp - whether a grammar has a text -----------------===//

#include "runtime/grammar/grammar_values.h"

#include <algorithm>

namespace baton {

namespace {

/// Whether a part has a text made of rules that are known to have one.
bool has_text(const GrammarNode &node, const std::vector<bool> &rules) {
  const auto part_has_text = [&](const GrammarPart &part) {
    return has_text(*part, rules);
  };
  if (const auto *used = std::get_if<GrammarNode::Reference>(&node.content))
    return rules[used->rule];
  if (const auto *row = std::get_if<GrammarNode::Sequence>(&node.content))
    return std::all_of(row->parts.begin(), row->parts.end(), part_has_text);
  if (const auto *one = std::get_if<GrammarNode::Choice>(&node.content))
    return std::any_of(one->alternatives.begin(), one->alternatives.end(),
                       part_has_text);
  if (const auto *repeat = std::get_if<GrammarNode::Repeat>(&node.content))
    return repeat->least == 0 || has_text(*repeat->part, rules);
  if (const auto *text = std::get_if<GrammarNode::Text>(&node.content))
    return !text->automaton.empty();
  const auto *net = std::get_if<GrammarNode::Network>(&node.content);
  if (!net)
    return true;
  std::vector<std::vector<uint32_t>> targets(net->states);
  for (const auto &edge : net->edges)
    if (!edge.part || has_text(*edge.part, rules))
      targets[edge.from].push_back(edge.to);
  std::vector<bool> reached(net->states);
  std::vector<uint32_t> queue{0};
  reached[0] = true;
  while (!queue.empty()) {
    const uint32_t state = queue.back();
    queue.pop_back();
    for (const uint32_t target : targets[state])
      if (!reached[target]) {
        reached[target] = true;
        queue.push_back(target);
      }
  }
  return reached[net->end];
}

} // namespace

bool has_finite_text(const GrammarNode &grammar) {
  const auto &rules = std::get<GrammarNode::Rules>(grammar.content);
  std::vector<bool> known(rules.bodies.size());
  for (bool changed = true; changed && !known[rules.root];) {
    changed = false;
    // Rules come before those that they refer to.
    for (size_t rule = known.size(); rule-- > 0;)
      if (!known[rule] && has_text(*rules.bodies[rule], known))
        known[rule] = changed = true;
  }
  return known[rules.root];
}

} // namespace baton
