//===- norm_gradient.cpp - adjoints of norms ------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addNormGradient(RuleTable &rules) {
  rules.add<NormStatisticsOp>([](NormStatisticsOp op, RuleWriter &writer) {
    bool heads = rankOf(op.getX()) == 3;
    writer.equation(heads ? "R h k -> R h z" : "R k -> R z").replicated("kz");
  });
  rules.add<NormInputGradientOp>(
      [](NormInputGradientOp op, RuleWriter &writer) {
        std::string x = rowsOf(op.getX());
        writer
            .equation(x + ", " + x + ", k, " + (x == "R k" ? "R z" : "R h z") +
                      " -> " + x)
            .replicated("kz");
      });
  rules.add<NormWeightGradientOp>([](NormWeightGradientOp op,
                                     RuleWriter &writer) {
    std::string x = rowsOf(op.getX());
    writer.equation(x + ", " + x + (x == "R k" ? ", R z -> k" : ", R h z -> k"))
        .sum("Rh")
        .replicated("kz");
  });
}
