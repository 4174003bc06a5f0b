//===- cross_entropy.cpp - the loss and its gradients ---------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addCrossEntropy(RuleTable &rules) {
  rules.add<CrossEntropyOp>([](CrossEntropyOp op, RuleWriter &writer) {
    writer.equation("R k, v k, R, R -> R, R k, v k")
        .sum("R")
        .replicated("k")
        .expanded("v");
  });
}
