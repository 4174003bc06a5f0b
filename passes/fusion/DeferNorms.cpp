//===- DeferNorms.cpp - a norm's division waits for the product -----------===//

#include "passes/fusion/Passes.h"
#include "passes/fusion/Rewrites.h"

namespace baton::fusion {
#define GEN_PASS_DEF_DEFERNORMS
#include "passes/fusion/Passes.h.inc"
} // namespace baton::fusion

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::fusion;

/// A product of the rows alone, so that rows may be divided behind it.
static bool isProduct(LinearOp linear) {
  return linear.getNorm() == Norm::identity &&
         linear.getActivation() == Activation::identity && !linear.getBias() &&
         !linear.getResidual();
}

/// Whether a row of the result has fewer elements than one of x.
static bool narrows(LinearOp linear) {
  auto weight = cast<StepTensorType>(linear.getWeight().getType());
  return weight.getDimension(0) < weight.getDimension(1);
}

Outcome fusion::deferNorm(RewriterBase &rewriter, RmsNormOp norm) {
  Value normed = norm.getResult();
  if (cast<StepTensorType>(normed.getType()).getRank() != 2)
    return {false, norm, "the norm stays: it is of every head by itself"};
  if (normed.use_empty())
    return {false, norm, "the norm stays: nothing reads it"};
  for (OpOperand &use : normed.getUses()) {
    auto linear = dyn_cast<LinearOp>(use.getOwner());
    if (!linear || linear->getBlock() != norm->getBlock() ||
        use.getOperandNumber() != linear.getXMutable().getOperandNumber())
      return {
          false, norm,
          "the norm stays: " + use.getOwner()->getName().getStringRef().str() +
              " reads it, not only linears of its block as their input"};
    if (!isProduct(linear))
      return {false, norm,
              "the norm stays: a linear that reads it does more than multiply"};
    if (!narrows(linear))
      return {false, norm,
              "the norm stays: a linear that reads it makes no fewer numbers "
              "than it reads, so there is nothing to gain"};
  }

  auto x = cast<StepTensorType>(norm.getX().getType());
  SmallVector<Operation *> linears(normed.getUsers());
  rewriter.setInsertionPoint(norm);
  auto begin = rewriter.create<NormBeginOp>(
      norm.getLoc(), TypeRange({x, x.withShape({x.getDimension(0), 1})}),
      norm.getX(), norm.getWeight());
  for (Operation *op : linears) {
    auto linear = cast<LinearOp>(op);
    linear.getXMutable().assign(begin.getScaled());
    rewriter.setInsertionPointAfter(linear);
    auto end = rewriter.create<NormEndOp>(
        norm.getLoc(), linear.getType(), linear.getResult(), begin.getSquares(),
        rewriter.getI64IntegerAttr(x.getDimension(1)), norm.getEpsilonAttr());
    rewriter.replaceAllUsesExcept(linear.getResult(), end.getResult(), end);
  }
  rewriter.eraseOp(norm);
  return {true, begin,
          "divides behind the products: ranks that have parts of the rows add "
          "the narrow products up, and the squares with them"};
}

namespace {
struct DeferNorms : baton::fusion::impl::DeferNormsBase<DeferNorms> {
  using DeferNormsBase::DeferNormsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<RmsNormOp> norms;
    getOperation().walk([&](RmsNormOp norm) { norms.push_back(norm); });
    for (RmsNormOp norm : norms) {
      Outcome outcome = deferNorm(rewriter, norm);
      numDeferred += outcome.done;
      if (explain)
        outcome.remark();
    }
  }
};
} // namespace
