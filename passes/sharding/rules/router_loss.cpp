//===- router_loss.cpp - losses and loads of routers ----------------------===//
//
// Nothing is cut but rows, by sequences, and shares of experts are each rank's
// own, of its rows: the loss of a rank is that of its part of the batch, and no
// part of it is a sum over ranks.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addRouterLoss(RuleTable &rules) {
  rules.add<RouterBeginOp>("R -> R a", "soa");
  rules.add<RouterSumsOp>("R a, R e, R j -> R a", "soaej");
  rules.add<RouterSumsGradientOp>("R d, R e -> R e", "sode");
  rules.add<RouterLossOp>("R, R a, R -> R l, R d", "soald");
  // But loads are of all rows there are.
  rules.add<RouterLoadsOp>("R j -> e", "soje", "b");
}
