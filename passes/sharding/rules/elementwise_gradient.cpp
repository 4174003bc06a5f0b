//===- elementwise_gradient.cpp - adjoints of what is element-wise --------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addElementwiseGradient(RuleTable &rules) {
  rules.add<SoftmaxGradientOp>([](SoftmaxGradientOp op, RuleWriter &writer) {
    writer.equation(alike(op)).replicated(lettersOf(op.getY()).back());
  });
  rules.add<GateGradientOp>([](GateGradientOp op, RuleWriter &writer) {
    if (rankOf(op.getGate()) == 3)
      writer.equation("R h e, R h e, R h e -> R h e");
    else
      writer.equation("R h e, R h e, R h -> R h").replicated("e");
  });
}
