//===- product.cpp - products of trained weights: adjoints of linears -----===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addProduct(RuleTable &rules) {
  rules.add<LinearInputGradientOp>("R n, n k -> R k", "", "n");
  rules.add<LinearWeightGradientOp>("R n, R k -> n k", "", "R");
  rules.add<HeadLinearInputGradientOp>("R h n, h n k -> R h k", "nk");
  rules.add<HeadLinearWeightGradientOp>("R h n, R h k -> h n k", "nk", "R");
}
