//===- deferred_norm.cpp - norms in two halves ----------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addDeferredNorm(RuleTable &rules) {
  // Over ranks that have parts of a row, what begins a norm is local, and the
  // squares are a partial sum, as products of what is scaled are.
  rules.add<NormBeginOp>("R k, k -> R k, R z", "z", "k");
  rules.add<NormEndOp>("R n, R z -> R n", "z");
}
