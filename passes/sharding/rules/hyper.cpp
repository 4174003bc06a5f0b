//===- hyper.cpp - hyper-connections --------------------------------------===//
//
// Maps of a row are made of all its elements, and read whole: c is what may be
// sharded, where nothing is summed over a row's elements but gradients of maps.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addHyper(RuleTable &rules) {
  rules.add<HyperProjectOp>("R n c, m p -> R m", "ncp");
  rules.add<HyperMapsOp>("R m, p, q -> R m", "mpq");
  rules.add<HyperPreOp>("R n c, R n -> R c", "n");
  rules.add<HyperPostOp>("R n c, R c, R m -> R n c", "nm");
  rules.add<HyperEnterOp>("R n c, l p, q, m -> R c, R m", "nclpqm");
  rules.add<HyperTurnOp>("R n c, R c, R w, l p, q, m -> R n c, R c, R m",
                         "ncwlpqm");
}
