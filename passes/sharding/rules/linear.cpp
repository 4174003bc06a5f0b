//===- linear.cpp - linear maps of rows -----------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addLinear(RuleTable &rules) {
  // A bias and a residual are terms: over ranks that have parts of the sum over
  // k, one of them adds them. What follows the sum keeps k whole.
  rules.add<LinearOp>([](LinearOp op, RuleWriter &writer) {
    std::string text = "R k, n k";
    SmallVector<unsigned> terms;
    unsigned index = 2;
    if (op.getBias()) {
      text += ", n";
      terms.push_back(index++);
    }
    for (Value norm : {op.getNormWeight(), op.getNormBias()})
      if (norm) {
        text += ", k";
        ++index;
      }
    if (op.getResidual()) {
      text += ", R n";
      terms.push_back(index++);
    }
    writer.equation(text + " -> R n");
    bool plain = op.getNorm() == Norm::identity &&
                 op.getActivation() == Activation::identity;
    if (plain)
      writer.sum("k").terms(terms);
    else
      writer.replicated("k");
  });
  rules.add<HeadLinearOp>("R h k, h n k -> R h n", "nk");
}
