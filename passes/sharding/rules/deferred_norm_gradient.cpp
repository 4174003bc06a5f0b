//===- deferred_norm_gradient.cpp - adjoints of norms in two halves -------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addDeferredNormGradient(RuleTable &rules) {
  rules.add<NormBeginGradientOp>(
      [](NormBeginGradientOp op, RuleWriter &writer) {
        std::string text = "R k, k";
        text += op.getScaledGradient() ? ", R k" : "";
        text += op.getSquaresGradient() ? ", R z" : "";
        writer.equation(text + " -> R k")
            .replicated(op.getSquaresGradient() ? "z" : "");
      });
  rules.add<NormEndGradientOp>("R n, R n, R z -> R z", "z", "n");
}
