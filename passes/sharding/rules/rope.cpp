//===- rope.cpp - rotary position embedding -------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addRope(RuleTable &rules) {
  rules.add<RopeTableOp>([](RopeTableOp op, RuleWriter &writer) {
    if (op.getPositions())
      writer.equation("R -> R z").replicated("z");
    else
      writer.equation(" -> R z").replicated("Rz");
  });
  rules.add<RopeOp>("R h d, R z -> R h d", "dz");
  rules.add<RopeGradientOp>("R h d, R z -> R h d", "dz");
}
