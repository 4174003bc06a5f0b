//===- rule_networks.h - rules before they are deterministic -------------===//

#ifndef BATON_RUNTIME_GRAMMAR_RULE_NETWORKS_H
#define BATON_RUNTIME_GRAMMAR_RULE_NETWORKS_H

#include "runtime/grammar/grammar_node.h"

#include <cstdint>
#include <vector>

namespace baton {

/// Ways from state 0 to state 1 that take what the rule describes.
struct RuleNetwork {
  struct Edge {
    enum Kind : uint8_t {
      Nothing,
      /// From `first` to `last`.
      Byte,
      /// The number `index` of `tokens`.
      Token,
      /// The rule `index`.
      Call,
    } kind;
    uint8_t first, last;
    uint32_t index;
    uint32_t from, to;
  };
  uint32_t states = 2;
  std::vector<Edge> edges;
};

struct RuleNetworks {
  std::vector<RuleNetwork> rules;
  uint32_t root;
  std::vector<GrammarNode::Token> tokens;
};

/// Rules that are small, or used once, are copied into their users unless they
/// are recursive. Throws Error for a grammar that is too large.
RuleNetworks make_networks(const GrammarPart &grammar);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_RULE_NETWORKS_H
