//===- cross_entropy.cpp - the loss and its gradients ---------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addCrossEntropy(RuleTable &rules) {
  rules.add<CrossEntropyOp>([](CrossEntropyOp op, RuleWriter &writer) {
    // A teacher's tokens are of all of the vocabulary, a bias is not.
    const bool hasTeacher = !op.getTeacher().empty();
    const std::string bias = op.getBias() ? ", v" : "";
    writer
        .equation(hasTeacher
                      ? "R k, v k, R, R, R n, R m" + bias +
                            " -> R l, R k, v k" + bias
                      : "R k, v k, R, R" + bias + " -> R, R k, v k" + bias)
        .sum("R")
        .replicated(hasTeacher ? "knml" : "k")
        .expanded("v");
  });
}
