//===- BodyProducts.cpp - structured ops that multiply two matrices -------===//

#include "dialects/Event/BodyProducts.h"

#include "dialects/Event/Event.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace baton::event;

bool baton::event::isFromOutside(linalg::LinalgOp op, Value value) {
  return value.getParentRegion() != &op->getRegion(0);
}

/// Marks the inputs that a value of an op's region is computed of.
static void markInputs(linalg::LinalgOp op, Value value,
                       llvm::SmallBitVector &inputs) {
  if (isFromOutside(op, value))
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    inputs.set(argument.getArgNumber());
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    markInputs(op, operand, inputs);
}

/// The factors of the product that the region adds to the element; null where
/// it does anything else.
static std::pair<Value, Value> factorsOf(linalg::LinalgOp op) {
  Block &block = op->getRegion(0).front();
  Value old = block.getArguments().back();
  auto sum =
      block.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || (sum.getLhs() != old && sum.getRhs() != old))
    return {};
  auto product = (sum.getLhs() == old ? sum.getRhs() : sum.getLhs())
                     .getDefiningOp<arith::MulFOp>();
  if (!product)
    return {};
  return {product.getLhs(), product.getRhs()};
}

/// The factors, of inputs that have rows first, if both are computed element by
/// element of such as have one or the other; else null.
static std::pair<Value, Value> sidesOf(linalg::LinalgOp op,
                                       const llvm::SmallBitVector &haveRows) {
  for (Operation &inside : op->getRegion(0).front().without_terminator())
    if (inside.getNumResults() != 1 ||
        (!OpTrait::hasElementwiseMappableTraits(&inside) &&
         !inside.hasTrait<OpTrait::ConstantLike>()))
      return {};
  auto [left, right] = factorsOf(op);
  if (!left)
    return {};
  auto isOf = [&](Value side, bool rows) {
    llvm::SmallBitVector inputs(haveRows.size() + 1);
    markInputs(op, side, inputs);
    return inputs.any() && llvm::all_of(inputs.set_bits(), [&](unsigned i) {
             return i < haveRows.size() && haveRows.test(i) == rows;
           });
  };
  if (isOf(left, true) && isOf(right, false))
    return {left, right};
  if (isOf(left, false) && isOf(right, true))
    return {right, left};
  return {};
}

bool baton::event::isContiguous(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type)
    return false;
  auto [strides, offset] = getStridesAndOffset(type);
  return !strides.empty() && strides.back() == 1;
}

std::optional<BodyProduct> baton::event::productOf(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() ||
      !llvm::all_of(op->getOperands(), isContiguous) ||
      op.getNumDpsInits() != 1 || op.getNumLoops() != 3 ||
      op.getNumReductionLoops() != 1)
    return std::nullopt;
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (out.getNumResults() != 2 || !out.isProjectedPermutation())
    return std::nullopt;
  SmallVector<unsigned> depths;
  op.getReductionDims(depths);
  BodyProduct product{
      out.getDimPosition(0), out.getDimPosition(1), depths[0], {}, {}};
  llvm::SmallBitVector haveRows(op.getNumDpsInputs());
  Value written = rootOf(op.getDpsInitOperand(0)->get());
  for (OpOperand *input : op.getDpsInputOperands()) {
    // What is written may not be read in another order.
    if (rootOf(input->get()) == written)
      return std::nullopt;
    AffineMap map = op.getMatchingIndexingMap(input);
    const bool row = map.isFunctionOfDim(product.row);
    if (map.getNumResults() != 2 || !map.isProjectedPermutation() ||
        !map.isFunctionOfDim(product.depth) ||
        row == map.isFunctionOfDim(product.column))
      return std::nullopt;
    haveRows[input->getOperandNumber()] = row;
  }
  std::tie(product.left, product.right) = sidesOf(op, haveRows);
  if (!product.left)
    return std::nullopt;
  return product;
}
