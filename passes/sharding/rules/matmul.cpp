//===- matmul.cpp - a product of matrices for each head -------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addMatmul(RuleTable &rules) {
  rules.add<MatmulOp>([](MatmulOp op, RuleWriter &writer) {
    // Of the three letters any may be kv, which is never sharded.
    auto lhs = cast<StepTensorType>(op.getLhs().getType());
    auto result = cast<StepTensorType>(op.getResult().getType());
    std::string k = isSymbol(lhs.getDimension(2)) ? "R" : "k";
    std::string n = isSymbol(result.getDimension(2)) ? "R" : "n";
    writer.equation("h R " + k + ", h " + k + " " + n + " -> h R " + n)
        .sum(lhs.getDimension(2) == kRows ? "R" : "k")
        .replicated("t");
  });
}
