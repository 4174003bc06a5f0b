//===- sum_rows.cpp - sums over rows, the adjoint of a bias ---------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addSumRows(RuleTable &rules) {
  rules.add<BiasGradientOp>("R n -> n", "", "R");
}
