//===- embedding_gradient.cpp - the adjoint of an embedding ---------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addEmbeddingGradient(RuleTable &rules) {
  rules.add<EmbeddingGradientOp>("R k, R -> v k", "", "R");
}
