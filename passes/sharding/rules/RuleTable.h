//===- RuleTable.h - sharding rules by the names of ops -------------------===//
//
// Rules stand in files by operator, under the names that codegen/bodies has for
// it.
//
// Rows that take their place in the step, not an operand, as their position
// cannot be sharded: a rank would not know where its rows begin.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_SHARDING_RULES_RULETABLE_H
#define BATON_PASSES_SHARDING_RULES_RULETABLE_H

#include "passes/sharding/Rules.h"

#include "dialects/Model/Model.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

namespace baton::sharding {

/// Rules by the names of ops, and reasons why others have none.
class RuleTable {
public:
  using Writer = std::function<void(mlir::Operation *, RuleWriter &)>;

  template <typename OpT>
  void add(std::function<void(OpT, RuleWriter &)> write) {
    rules[OpT::getOperationName()] = [write](mlir::Operation *op,
                                             RuleWriter &writer) {
      write(mlir::cast<OpT>(op), writer);
    };
  }
  /// An equation that depends on nothing.
  template <typename OpT>
  void add(llvm::StringRef equation, llvm::StringRef replicated = "",
           llvm::StringRef sum = "") {
    rules[OpT::getOperationName()] = [=](mlir::Operation *,
                                         RuleWriter &writer) {
      writer.equation(equation).replicated(replicated).sum(sum);
    };
  }
  /// Those of Ops that are element-wise: "A, A -> A".
  template <typename... Ops> void addElementwiseOf();
  template <typename OpT> void without(llvm::StringRef reason) {
    reasons[OpT::getOperationName()] = reason;
  }

  llvm::StringMap<Writer> rules;
  llvm::StringMap<llvm::StringRef> reasons;
};

int64_t rankOf(mlir::Value value);
std::string letters(mlir::Value value);
/// "A, A -> A": operands and results of one shape.
std::string alike(mlir::Operation *op);
/// [R, K] or, every head by itself, [R, H, K].
std::string rowsOf(mlir::Value x);
/// Letters of query and of key/value heads. Ranks that share key/value heads
/// have all of them, and of the queries' some.
std::pair<std::string, std::string> headsOf(mlir::Operation *op);
/// Whether an op's ranks share key/value heads.
bool sharesHeads(mlir::Operation *op);

template <typename... Ops> void RuleTable::addElementwiseOf() {
  auto addIfElementwise = [&]<typename OpT>(OpT *) {
    if constexpr (OpT::template hasTrait<model::Elementwise::Trait>())
      rules[OpT::getOperationName()] = [](mlir::Operation *op,
                                          RuleWriter &writer) {
        writer.equation(alike(op));
      };
  };
  (addIfElementwise(static_cast<Ops *>(nullptr)), ...);
}

/// Comes first: what an op has of its own stands behind it.
void addElementwise(RuleTable &rules);
void addAttention(RuleTable &rules);
void addAttentionGradient(RuleTable &rules);
void addCrossEntropy(RuleTable &rules);
void addDeferredNorm(RuleTable &rules);
void addDeferredNormGradient(RuleTable &rules);
void addElementwiseGradient(RuleTable &rules);
void addEmbedding(RuleTable &rules);
void addEmbeddingGradient(RuleTable &rules);
void addExperts(RuleTable &rules);
/// Behind what else ops of experts have.
void addExpertsGradient(RuleTable &rules);
void addGatedLinear(RuleTable &rules);
void addHyper(RuleTable &rules);
void addHyperGradient(RuleTable &rules);
void addLinear(RuleTable &rules);
void addMagnitude(RuleTable &rules);
void addMatmul(RuleTable &rules);
void addNorm(RuleTable &rules);
void addNormGradient(RuleTable &rules);
void addPreferenceLoss(RuleTable &rules);
void addProduct(RuleTable &rules);
void addRope(RuleTable &rules);
void addRouterLoss(RuleTable &rules);
void addSequenceAttention(RuleTable &rules);
void addSoftmax(RuleTable &rules);
void addSumRows(RuleTable &rules);
void addVocabularyParts(RuleTable &rules);
/// Those of ops that move or name values.
void addStructure(RuleTable &rules);

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_RULES_RULETABLE_H
