//===- norm.cpp - norms of rows -------------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addNorm(RuleTable &rules) {
  rules.add<RmsNormOp>([](RmsNormOp op, RuleWriter &writer) {
    std::string x = rowsOf(op.getX());
    writer.equation(x + ", k -> " + x).replicated("k");
  });
  rules.add<LayerNormOp>([](LayerNormOp op, RuleWriter &writer) {
    writer.equation(op.getBias() ? "R k, k, k -> R k" : "R k, k -> R k")
        .replicated("k");
  });
}
