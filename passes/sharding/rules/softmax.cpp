//===- softmax.cpp - softmax and masks ------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addSoftmax(RuleTable &rules) {
  rules.add<MaskOp>([](MaskOp op, RuleWriter &writer) {
    std::string x = letters(op.getX());
    writer.equation(x + (op.getPositions() ? ", R -> " : " -> ") + x)
        .replicated("Rt");
  });
  rules.add<MaskGradientOp>([](MaskGradientOp op, RuleWriter &writer) {
    std::string x = letters(op.getDy());
    writer.equation(x + ", R -> " + x).replicated("Rt");
  });
  rules.add<SoftmaxOp>([](SoftmaxOp op, RuleWriter &writer) {
    std::string x = letters(op.getX());
    writer
        .equation(op.getSinks()
                      ? x + ", " + lettersOf(op.getX()).front() + " -> " + x
                      : alike(op))
        .replicated(lettersOf(op.getX()).back());
  });
}
