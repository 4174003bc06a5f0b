//===- Rewrites.h - one fusion at a time ----------------------------------===//
//
// The rules of the fusion passes, each for one op: the passes apply them
// wherever they fit, a schedule where it says.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_FUSION_REWRITES_H
#define BATON_PASSES_FUSION_REWRITES_H

#include "dialects/Model/Model.h"

#include "mlir/IR/PatternMatch.h"

#include <string>

namespace baton::fusion {

/// What became of a rule: the op that now does the work, or, when the rule does
/// not fit and everything is as before, the op that stays. `why` is one clause
/// for people, in either case.
struct Outcome {
  bool done;
  mlir::Operation *op;
  std::string why;

  /// Says it as a remark at the op.
  void remark() const;
};

/// The product of this softmax with values, and all that leads there, become
/// one attention.
Outcome fuseAttention(mlir::RewriterBase &rewriter, model::SoftmaxOp softmax);

/// A gate becomes the epilogue of the attention that makes its input.
Outcome fuseGate(mlir::RewriterBase &rewriter, model::GateOp gate);

/// mul(activate(linear), linear) becomes one gated linear.
Outcome fuseGated(mlir::RewriterBase &rewriter, model::MulOp product);

/// Those of the linears that read the same rows and may be stored side by side
/// become one, each set in its own block. One outcome for each set.
llvm::SmallVector<Outcome>
groupLinears(mlir::RewriterBase &rewriter,
             llvm::ArrayRef<model::LinearOp> linears);

/// A norm (rms_norm or layer_norm) moves into all linears that read it; each of
/// their tasks computes it again.
Outcome recomputeNorm(mlir::RewriterBase &rewriter, mlir::Operation *norm);

/// The division of an rms_norm follows the narrow products that read it.
Outcome deferNorm(mlir::RewriterBase &rewriter, model::RmsNormOp norm);

/// An activation becomes the epilogue of the linear that makes its input.
Outcome fuseActivation(mlir::RewriterBase &rewriter, model::ActivateOp op);

/// A sum becomes the residual of a linear that makes one of its terms.
Outcome fuseSum(mlir::RewriterBase &rewriter, model::AddOp sum);

/// What a sublayer reads of its streams is computed with their maps, and where
/// it can be with the end of the sublayer before.
Outcome fuseHyper(mlir::RewriterBase &rewriter, model::HyperPreOp pre);

} // namespace baton::fusion

#endif // BATON_PASSES_FUSION_REWRITES_H
