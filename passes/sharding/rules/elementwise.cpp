//===- elementwise.cpp - element-wise ops ---------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addElementwise(RuleTable &rules) {
  rules.addElementwiseOf<
#define GET_OP_LIST
#include "dialects/Model/ModelOps.cpp.inc"
      >();
  // Those that are linear, too.
  rules.add<AddOp>([](AddOp op, RuleWriter &writer) {
    writer.equation(alike(op)).terms({0, 1});
  });
  rules.add<ScaleOp>([](ScaleOp op, RuleWriter &writer) {
    writer.equation(alike(op)).terms({0});
  });
}
