//===- embedding.cpp - rows of tables -------------------------------------===//

#include "passes/sharding/rules/RuleTable.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addEmbedding(RuleTable &rules) {
  rules.add<EmbeddingOp>("R, v k -> R k", "", "v");
  rules.add<PositionEmbeddingOp>("p k -> R k", "Rp");
}
