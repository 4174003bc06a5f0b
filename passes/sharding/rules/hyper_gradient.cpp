//===- hyper_gradient.cpp - adjoints of hyper-connections -----------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addHyperGradient(RuleTable &rules) {
  rules.add<ScaleRowsOp>("R k, R z -> R k", "z");
  rules.add<HyperProjectGradientOp>("R m, R n c, m p, R m, R z -> R n c",
                                    "mncpz");
  rules.add<HyperMapsGradientOp>("R m, R m, p, q -> R m, R m", "mpq");
  rules.add<HyperScaleGradientOp>("R m, R m -> p", "mp", "R");
  rules.add<HyperPreGradientOp>("R c, R n c, R n -> R n c, R n", "n", "c");
  rules.add<HyperPostGradientOp>("R n c, R n c, R c, R m -> R n c, R c, R m",
                                 "nm", "c");
}
