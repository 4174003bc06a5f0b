//===- sequence_attention.cpp - attention within sequences ----------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addSequenceAttention(RuleTable &rules) {
  rules.add<SequenceAttentionOp>(
      [](SequenceAttentionOp op, RuleWriter &writer) {
        auto [h, g] = headsOf(op);
        writer
            .equation("R " + h + " d, R " + g + " d, R " + g + " e, R" +
                      (op.getSinks() ? ", " + h : "") + " -> R " + h +
                      " e, R " + h + " z")
            .replicated(sharesHeads(op) ? "sdezg" : "sdez");
      });
}
