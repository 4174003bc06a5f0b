//===- attention_gradient.cpp - adjoints of attention ---------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addAttentionGradient(RuleTable &rules) {
  rules.add<AttentionDeltaOp>("R h e, R h e -> R h", "e");
  rules.add<AttentionSinkGradientOp>("R h, R h z, h -> R h", "z");
  auto operands = [](Operation *op) {
    auto [h, g] = headsOf(op);
    return "R " + h + " e, R " + h + " d, R " + g + " d, R " + g + " e, R " +
           h + ", R " + h + " z, R -> ";
  };
  rules.add<AttentionQueryGradientOp>(
      [=](AttentionQueryGradientOp op, RuleWriter &writer) {
        writer.equation(operands(op) + "R " + headsOf(op).first + " d")
            .replicated(sharesHeads(op) ? "sdezg" : "sdez");
      });
  // Gradients of a key/value head are sums over the query heads that read it.
  rules.add<AttentionKeyValueGradientOp>(
      [=](AttentionKeyValueGradientOp op, RuleWriter &writer) {
        writer.equation(operands(op) + "R g d, R g e");
        if (sharesHeads(op))
          writer.replicated("sdezg").sum("h");
        else
          writer.replicated("sdez").sum("r");
      });
}
