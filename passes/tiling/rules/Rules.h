//===- Rules.h - the table of tiling rules --------------------------------===//
//
// An op has one rule, whether its program decodes or trains: the grid of its
// tiles, what a tile reads and writes, and the library body that computes it.
// Rules stand in files by operator, under the names that codegen/bodies and the
// task libraries have for it. To add an op, add its rule and its body: order,
// memory and proof are derived from the accesses.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_RULES_RULES_H
#define BATON_PASSES_TILING_RULES_RULES_H

#include "passes/tiling/Tiler.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

namespace baton::tasks {

/// Adds the phases of an op and the views of its results.
struct TilingRule {
  std::function<mlir::LogicalResult(mlir::Operation *, Tiler &)> tile;
  /// As tasks::mayWriteOver; null for an op that writes over nothing.
  std::function<bool(mlir::Operation *, mlir::OpOperand &)> mayWriteOver;
};

/// Rules by the names of ops, and by an interface for those without their own.
class TilingRules {
public:
  template <typename OpT> void add(mlir::LogicalResult (*tile)(OpT, Tiler &)) {
    ruleOf<OpT>().tile = [tile](mlir::Operation *op, Tiler &tiler) {
      return tile(mlir::cast<OpT>(op), tiler);
    };
  }
  /// A rule for programs that train, and no others.
  template <typename OpT>
  void add(mlir::LogicalResult (*tile)(OpT, Tiler &, Training &)) {
    ruleOf<OpT>().tile = [tile](mlir::Operation *op, Tiler &tiler) {
      if (!tiler.training)
        return doesNotTrain(op);
      return tile(mlir::cast<OpT>(op), tiler, *tiler.training);
    };
  }
  template <typename... Ops>
  void addFor(mlir::LogicalResult (*tile)(mlir::Operation *, Tiler &)) {
    ((ruleOf<Ops>().tile = tile), ...);
  }
  template <typename OpT>
  void mayWriteOver(bool (*decide)(OpT, mlir::OpOperand &)) {
    ruleOf<OpT>().mayWriteOver = [decide](mlir::Operation *op,
                                          mlir::OpOperand &operand) {
      return decide(mlir::cast<OpT>(op), operand);
    };
  }

  /// Null for an op that nothing is known of.
  const TilingRule *find(mlir::Operation *op) const;

private:
  static mlir::LogicalResult doesNotTrain(mlir::Operation *op);

  template <typename T> TilingRule &ruleOf() {
    if constexpr (std::is_same_v<T, model::Elementwise>)
      return elementwise;
    else
      return rules[T::getOperationName()];
  }

  llvm::StringMap<TilingRule> rules;
  /// Of ops that are element-wise.
  TilingRule elementwise;
};

// Those of each operator.
void addAdapter(TilingRules &rules);
void addAttention(TilingRules &rules);
void addAttentionGradient(TilingRules &rules);
void addCrossEntropy(TilingRules &rules);
void addDeferredNorm(TilingRules &rules);
void addDeferredNormGradient(TilingRules &rules);
void addElementwise(TilingRules &rules);
void addElementwiseGradient(TilingRules &rules);
void addEmbedding(TilingRules &rules);
void addEmbeddingGradient(TilingRules &rules);
void addExperts(TilingRules &rules);
void addExpertsGradient(TilingRules &rules);
void addGatedLinear(TilingRules &rules);
void addHyper(TilingRules &rules);
void addHyperGradient(TilingRules &rules);
void addLinear(TilingRules &rules);
void addMagnitude(TilingRules &rules);
void addMatmul(TilingRules &rules);
void addNorm(TilingRules &rules);
void addNormGradient(TilingRules &rules);
void addPagedAttention(TilingRules &rules);
void addPreferenceLoss(TilingRules &rules);
void addProduct(TilingRules &rules);
void addRope(TilingRules &rules);
void addRouterLoss(TilingRules &rules);
void addSample(TilingRules &rules);
void addSequenceAttention(TilingRules &rules);
void addSoftmax(TilingRules &rules);
void addSumRows(TilingRules &rules);
void addTokenMask(TilingRules &rules);
void addVocabularyParts(TilingRules &rules);

/// Those of ops that move, name or exchange values, and of bodies that users
/// wrote.
void addStructure(TilingRules &rules);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_RULES_RULES_H
