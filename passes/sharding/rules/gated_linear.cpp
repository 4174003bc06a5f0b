//===- gated_linear.cpp - gated linears -----------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addGatedLinear(RuleTable &rules) {
  rules.add<GatedLinearOp>([](GatedLinearOp op, RuleWriter &writer) {
    std::string text = "R k, n k, n k";
    for (Value bias : {op.getGateBias(), op.getUpBias()})
      text += bias ? ", n" : "";
    for (Value norm : {op.getNormWeight(), op.getNormBias()})
      text += norm ? ", k" : "";
    writer.equation(text + " -> R n").replicated("k");
  });
}
