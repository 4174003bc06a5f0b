//===- Rules.cpp - the table of tiling rules ------------------------------===//

#include "passes/tiling/rules/Rules.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static TilingRules makeRules() {
  TilingRules rules;
  for (auto add : {addAdapter,
                   addAttention,
                   addAttentionGradient,
                   addCrossEntropy,
                   addDeferredNorm,
                   addDeferredNormGradient,
                   addElementwise,
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
                   addPagedAttention,
                   addPreferenceLoss,
                   addProduct,
                   addRope,
                   addRouterLoss,
                   addSample,
                   addSequenceAttention,
                   addSoftmax,
                   addSumRows,
                   addTokenMask,
                   addVocabularyParts,
                   addStructure})
    add(rules);
  return rules;
}

static const TilingRules &allRules() {
  static const TilingRules rules = makeRules();
  return rules;
}

const TilingRule *TilingRules::find(Operation *op) const {
  auto found = rules.find(op->getName().getStringRef());
  if (found != rules.end())
    return &found->second;
  return isa<model::Elementwise>(op) ? &elementwise : nullptr;
}

LogicalResult TilingRules::doesNotTrain(Operation *op) {
  return op->emitOpError() << "cannot be tiled: its program does not train";
}

LogicalResult tasks::tileOp(Operation *op, Tiler &tiler) {
  const TilingRule *rule = allRules().find(op);
  if (!rule)
    return op->emitOpError() << "has no tiling rule";
  return rule->tile(op, tiler);
}

bool tasks::mayWriteOver(Operation *op, OpOperand &operand) {
  const TilingRule *rule = allRules().find(op);
  return rule && rule->mayWriteOver && rule->mayWriteOver(op, operand);
}
