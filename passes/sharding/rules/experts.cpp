//===- experts.cpp - rows to experts and back -----------------------------===//
//
// Ranks that have some of the experts each all have the same rows, and route
// them alike. Of a value of places, whose first dimension is all experts'
// places behind one another, a rank fills those of its own experts: the
// dimension is cut as experts are, and what a row's experts have made is a sum
// over ranks.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addExperts(RuleTable &rules) {
  rules.add<RouteOp>([](RouteOp op, RuleWriter &writer) {
    writer.equation(op.getBias() ? "R e, e -> R j, R j" : "R e -> R j, R j")
        .replicated("ej");
  });
  rules.add<DispatchOp>("R j -> z, R j, R j", "Rjz");
  rules.add<GatherOp>("R k, R j -> e j k", "Rj");
  rules.add<GroupedLinearOp>([](GroupedLinearOp op, RuleWriter &writer) {
    // A bias would be added by each rank.
    if (op.getBias())
      writer.equation("e j k, z, e n k, e n -> e j n").replicated("jzk");
    else
      writer.equation("e j k, z, e n k -> e j n").replicated("jz").sum("k");
  });
  rules.add<GroupedGatedLinearOp>([](GroupedGatedLinearOp op,
                                     RuleWriter &writer) {
    writer
        .equation(op.getGateBias() ? "e j k, z, e n k, e n k, e n, e n -> e j n"
                                   : "e j k, z, e n k, e n k -> e j n")
        .replicated("jzk");
  });
  rules.add<CombineOp>([](CombineOp op, RuleWriter &writer) {
    writer
        .equation(op.getBounds() ? "e j k, R j, R j, z -> R k"
                                 : "e j k, R j, R j -> R k")
        .replicated("Rjz")
        .sum("e")
        .linear({0});
  });
}
