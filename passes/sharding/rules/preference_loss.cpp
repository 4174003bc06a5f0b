//===- preference_loss.cpp - the loss of pairs of answers -----------------===//
//
// A pair's rows are of one sequence, so that rows may be cut by sequences, and
// nothing else.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addPreferenceLoss(RuleTable &rules) {
  rules.add<PreferenceLossOp>("R, R, R p -> R l, R", "sopl");
  rules.add<WeighRowsOp>([](WeighRowsOp op, RuleWriter &writer) {
    writer.equation(rankOf(op.getX()) == 1 ? "R, R -> R" : "R k, R -> R k");
  });
}
