//===- ModelFolds.cpp - canonical forms of model ops ---------------------===//
//
// Ops that do nothing vanish, and chains of one kind become one op.
//
//===----------------------------------------------------------------------===//

#include "dialects/Model/Model.h"

using namespace mlir;
using namespace baton::model;

/// The operand, when the op gives it back unchanged.
static OpFoldResult foldIfSameType(Value operand, Value result) {
  return operand.getType() == result.getType() ? OpFoldResult(operand)
                                               : OpFoldResult();
}

OpFoldResult ActivateOp::fold(FoldAdaptor) {
  return getActivation() == Activation::identity ? OpFoldResult(getX())
                                                 : OpFoldResult();
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  // Products of factors are not folded: rounding once is not rounding twice.
  return getFactor().isExactlyValue(1.0) ? OpFoldResult(getX())
                                         : OpFoldResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (OpFoldResult same = foldIfSameType(getX(), getResult()))
    return same;
  auto inner = getX().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  getXMutable().assign(inner.getX());
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(),
                  llvm::seq<int64_t>(0, getPermutation().size())))
    return getX();
  auto inner = getX().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> combined;
  for (int64_t axis : getPermutation())
    combined.push_back(inner.getPermutation()[axis]);
  setPermutation(combined);
  getXMutable().assign(inner.getX());
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (OpFoldResult same = foldIfSameType(getX(), getResult()))
    return same;
  auto inner = getX().getDefiningOp<SliceOp>();
  if (!inner || inner.getAxis() != getAxis())
    return {};
  setOffset(getOffset() + inner.getOffset());
  getXMutable().assign(inner.getX());
  return getResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return foldIfSameType(getX(), getResult());
}
