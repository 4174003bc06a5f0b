//===- vocabulary_parts.cpp - the loss over parts of the vocabulary -------===//

#include "passes/sharding/rules/RuleTable.h"

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

void sharding::addVocabularyParts(RuleTable &rules) {
  rules.add<dist::LogitMaximumOp>(
      [](dist::LogitMaximumOp op, RuleWriter &writer) {
        writer.equation("R k, v k -> R").maximum("v").replicated("k");
      });
  rules.add<dist::LogitSumsOp>("R k, v k, R, R -> R z", "kz", "v");
  rules.add<dist::LossesOp>("R, R z, R -> R", "z");
  rules.add<dist::LossGradientsOp>("R k, v k, R, R, R, R z -> R k, v k", "kz",
                                   "vR");
}
