//===- RuleTable.cpp - sharding rules by the names of ops -----------------===//

#include "passes/sharding/rules/RuleTable.h"

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::sharding;

int64_t sharding::rankOf(Value value) {
  return cast<StepTensorType>(value.getType()).getRank();
}

std::string sharding::letters(Value value) { return spaced(lettersOf(value)); }

std::string sharding::alike(Operation *op) {
  std::string text, tensor = letters(op->getOperand(0));
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    text += (i ? ", " : "") + tensor;
  return text + " -> " + tensor;
}

std::string sharding::rowsOf(Value x) {
  return rankOf(x) == 3 ? "R h k" : "R k";
}

bool sharding::sharesHeads(Operation *op) {
  return op->hasAttr(dist::kSharedHeads);
}

std::pair<std::string, std::string> sharding::headsOf(Operation *op) {
  if (sharesHeads(op))
    return {"h", "g"};
  return {"gr", "g"};
}

static RuleTable makeTable() {
  RuleTable table;
  for (auto add : {addElementwise,
                   addAttention,
                   addAttentionGradient,
                   addCrossEntropy,
                   addDeferredNorm,
                   addDeferredNormGradient,
                   addElementwiseGradient,
                   addEmbedding,
                   addEmbeddingGradient,
                   addExperts,
                   addExpertsGradient,
                   addGatedLinear,
                   addHyper,
                   addHyperGradient,
                   addLinear,
                   addMagnitude,
                   addMatmul,
                   addNorm,
                   addNormGradient,
                   addPreferenceLoss,
                   addProduct,
                   addRope,
                   addRouterLoss,
                   addSequenceAttention,
                   addSoftmax,
                   addSumRows,
                   addVocabularyParts,
                   addStructure})
    add(table);
  return table;
}

static const RuleTable &table() {
  static const RuleTable instance = makeTable();
  return instance;
}

std::optional<Rule> baton::sharding::ruleOf(Operation *op) {
  auto found = table().rules.find(op->getName().getStringRef());
  if (found == table().rules.end())
    return std::nullopt;
  RuleWriter writer(op);
  found->second(op, writer);
  return writer.finish();
}

StringRef baton::sharding::whyWithoutRule(StringRef opName) {
  return table().reasons.lookup(opName);
}

bool baton::sharding::hasRule(StringRef opName) {
  return table().rules.contains(opName);
}
