//===- LowRankPairs.h - which linears have pairs beside them --------------===//
//
// What low-rank adapters (Hu et al., "LoRA: Low-Rank Adaptation of Large
// Language Models") are called, and which linears they are beside, whether they
// train or are loaded into a program that decodes. Tensors are called as PEFT
// calls them, which puts the whole model behind a prefix.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_LOWRANKPAIRS_H
#define BATON_DIALECTS_MODEL_LOWRANKPAIRS_H

#include "dialects/Model/Model.h"

#include <set>
#include <string>
#include <vector>

namespace baton::model {

/// Names of modules that have pairs, and what was found of them.
class PairTargets {
public:
  /// Last parts of modules' names, all of them, or all-linear.
  explicit PairTargets(llvm::ArrayRef<std::string> names)
      : names(names.begin(), names.end()) {}

  /// Whether a linear's weight has a pair beside it, and is counted among those
  /// that have one; of any other weight it is no.
  bool take(ParameterOp weight);
  /// Fails, naming the linears that there are, for a name that none has.
  mlir::LogicalResult check(ProgramOp program) const;
  /// Last parts of the modules that have a pair.
  llvm::SmallVector<llvm::StringRef> taken() const {
    return {adapted.begin(), adapted.end()};
  }

private:
  bool isTarget(llvm::StringRef module) const;

  const std::vector<std::string> names;
  std::set<std::string> adapted, known;
};

/// Whether the rows that a linear makes choose experts. It has no pair, as
/// PEFT's all-linear has none.
bool isRouter(mlir::Operation *linear);

/// A matrix of a pair, "lora_A" or "lora_B", or the lengths of the adapted
/// weight's rows, "lora_magnitude_vector", called as the linear, or its weight,
/// at this location; of its own in every layer that the weight is. Of a part of
/// a fused projection B is a part, too, and so are lengths.
ParameterOp makePairParameter(mlir::OpBuilder &builder, ParameterOp weight,
                              mlir::Location linear, llvm::StringRef name,
                              llvm::ArrayRef<int64_t> shape,
                              mlir::Type element);

} // namespace baton::model

#endif // BATON_DIALECTS_MODEL_LOWRANKPAIRS_H
