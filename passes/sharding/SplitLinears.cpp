//===- SplitLinears.cpp - a linear for each part that is read -------------===//

#include "passes/sharding/Passes.h"

#include "dialects/Model/Model.h"

#include "mlir/IR/PatternMatch.h"

namespace baton::sharding {
#define GEN_PASS_DEF_SPLITLINEARS
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::model;

/// Whether rows of a parameter can be a parameter of their own.
static bool canBeCut(Value value) {
  auto parameter = value.getDefiningOp<ParameterOp>();
  return parameter && parameter->hasOneUse() && !parameter.getBlocks() &&
         !parameter.getShards();
}

static bool isReadInParts(LinearOp linear) {
  return !linear->use_empty() && !linear.getResidual() &&
         canBeCut(linear.getWeight()) &&
         (!linear.getBias() || canBeCut(linear.getBias())) &&
         llvm::all_of(linear->getUsers(), [](Operation *user) {
           auto slice = dyn_cast<model::SliceOp>(user);
           return slice && slice.getAxis() == 1;
         });
}

/// Indices [offset, offset + size) of dimension 0.
static Value cut(RewriterBase &rewriter, Value value, int64_t offset,
                 int64_t size) {
  auto whole = value.getDefiningOp<ParameterOp>();
  auto type = cast<StepTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  auto part = cast<ParameterOp>(rewriter.clone(*whole));
  part.setBlocksAttr(
      rewriter.getDenseI64ArrayAttr({size, type.getDimension(0), offset}));
  shape[0] = size;
  part.getResult().setType(type.withShape(shape));
  return part;
}

static void split(RewriterBase &rewriter, LinearOp linear) {
  SmallVector<Operation *> slices(linear->getUsers());
  // In the order of the program.
  llvm::sort(slices, [](Operation *one, Operation *other) {
    return one->isBeforeInBlock(other);
  });
  for (Operation *op : slices) {
    auto slice = cast<model::SliceOp>(op);
    auto type = cast<StepTensorType>(slice.getType());
    int64_t size = type.getDimension(1);
    rewriter.setInsertionPoint(slice);
    Value weight = cut(rewriter, linear.getWeight(), slice.getOffset(), size);
    Value bias;
    if (linear.getBias())
      bias = cut(rewriter, linear.getBias(), slice.getOffset(), size);
    auto part = cast<LinearOp>(rewriter.clone(*linear));
    part->setLoc(slice.getLoc());
    part.getWeightMutable().assign(weight);
    if (bias)
      part.getBiasMutable().assign(bias);
    part.getResult().setType(type);
    rewriter.replaceOp(slice, part.getResult());
  }
  Operation *parameters[] = {linear.getWeight().getDefiningOp(),
                             linear.getBias() ? linear.getBias().getDefiningOp()
                                              : nullptr};
  rewriter.eraseOp(linear);
  for (Operation *parameter : parameters)
    if (parameter)
      rewriter.eraseOp(parameter);
}

namespace {
struct SplitLinears : baton::sharding::impl::SplitLinearsBase<SplitLinears> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<LinearOp> linears;
    getOperation().walk([&](LinearOp linear) {
      if (isReadInParts(linear))
        linears.push_back(linear);
    });
    for (LinearOp linear : linears)
      split(rewriter, linear);
    numSplit += linears.size();
  }
};
} // namespace
