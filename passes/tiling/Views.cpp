//===- Views.cpp - how a value's indices become a buffer's ---------------===//

#include "passes/tiling/Views.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

std::optional<unsigned> tasks::rowDimension(model::StepTensorType type) {
  std::optional<unsigned> positions;
  for (auto [i, dimension] : llvm::enumerate(type.getShape())) {
    if (dimension == model::kRows || dimension == model::kOutputs ||
        model::countRowParts(dimension))
      return i;
    if (dimension == model::kKv)
      positions = i;
  }
  return positions;
}

//===----------------------------------------------------------------------===//
// Boxes, indices, strides
//===----------------------------------------------------------------------===//

/// Substitutes value indices into a buffer index.
static AffineExpr substitute(AffineExpr expression,
                             ArrayRef<AffineExpr> index) {
  return expression.replaceDims(index);
}

/// `expression mod n` anywhere inside: then corners do not bound the values.
static bool containsMod(AffineExpr expression) {
  bool found = false;
  expression.walk([&](AffineExpr inner) {
    found |= inner.getKind() == AffineExprKind::Mod;
  });
  return found;
}

Box View::boxOf(const Box &tile) const {
  MLIRContext *context = map.getContext();
  AffineExpr one = getAffineConstantExpr(1, context);
  SmallVector<AffineExpr> last;
  for (AffineExpr high : tile.high)
    last.push_back(high - one);
  Box box;
  for (auto [j, expression] : llvm::enumerate(map.getResults())) {
    if (containsMod(expression)) {
      box.low.push_back(getAffineConstantExpr(0, context));
      box.high.push_back(
          getAffineConstantExpr(buffer.getCapacity()[j], context));
      continue;
    }
    box.low.push_back(substitute(expression, tile.low));
    box.high.push_back(substitute(expression, last) + one);
  }
  return box;
}

SmallVector<AffineExpr> View::indexOf(ArrayRef<AffineExpr> index) const {
  SmallVector<AffineExpr> result;
  for (AffineExpr expression : map.getResults())
    result.push_back(substitute(expression, index));
  return result;
}

/// The coefficient of a dimension in a sum of multiples; none if it occurs
/// inside a division.
static std::optional<int64_t> coefficient(AffineExpr expression,
                                          unsigned dimension) {
  if (!expression.isFunctionOfDim(dimension))
    return 0;
  if (isa<AffineDimExpr>(expression))
    return 1;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add) {
    auto left = coefficient(binary.getLHS(), dimension);
    auto right = coefficient(binary.getRHS(), dimension);
    if (!left || !right)
      return std::nullopt;
    return *left + *right;
  }
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !factor)
    return std::nullopt;
  auto inner = coefficient(binary.getLHS(), dimension);
  if (!inner)
    return std::nullopt;
  return *inner * factor.getValue();
}

std::optional<SmallVector<int64_t>> View::stepsOf(unsigned dimension) const {
  SmallVector<int64_t> steps;
  for (AffineExpr expression : map.getResults()) {
    std::optional<int64_t> factor = coefficient(expression, dimension);
    if (!factor)
      return std::nullopt;
    steps.push_back(*factor);
  }
  return steps;
}

std::optional<int64_t> View::fixedStrideOf(unsigned dimension) const {
  std::optional<SmallVector<int64_t>> steps = stepsOf(dimension);
  if (!steps || steps->front() != 0)
    return std::nullopt;
  int64_t total = 0;
  for (auto [step, stride] :
       llvm::zip(*steps, ArrayRef<int64_t>(buffer.getStrides())))
    total += step * stride;
  return total;
}

//===----------------------------------------------------------------------===//
// View ops
//===----------------------------------------------------------------------===//

static SmallVector<AffineExpr> dimensions(MLIRContext *context, unsigned n) {
  SmallVector<AffineExpr> result;
  for (unsigned i = 0; i < n; ++i)
    result.push_back(getAffineDimExpr(i, context));
  return result;
}

static View remap(const View &x, model::StepTensorType type,
                  ArrayRef<AffineExpr> index) {
  View view = x;
  view.type = type;
  view.map =
      simplifyAffineMap(AffineMap::get(type.getRank(), event::kStepSymbols,
                                       x.indexOf(index), type.getContext()));
  return view;
}

/// Splits or joins dimensions after the first. Joining is a view when the old
/// dimensions lie behind one another without gaps in one buffer dimension.
static std::optional<View> reshapeView(const View &x,
                                       model::StepTensorType type) {
  MLIRContext *context = type.getContext();
  ArrayRef<int64_t> from = x.type.getShape(), to = type.getShape();
  // The row-major number of an element within its row, seen from the result.
  AffineExpr linear = getAffineConstantExpr(0, context);
  for (unsigned i = 1; i < to.size(); ++i)
    linear = linear * to[i] + getAffineDimExpr(i, context);

  // One old dimension: the number is its index.
  if (from.size() == 2) {
    SmallVector<AffineExpr> index = {getAffineDimExpr(0, context), linear};
    return remap(x, type, index);
  }

  // Several: all buffer dimensions but one ignore them, and that one adds them
  // up in row-major order.
  SmallVector<AffineExpr> results;
  bool found = false;
  for (AffineExpr expression : x.map.getResults()) {
    SmallVector<int64_t> factors;
    bool depends = false;
    for (unsigned i = 1; i < from.size(); ++i) {
      std::optional<int64_t> factor = coefficient(expression, i);
      if (!factor)
        return std::nullopt;
      factors.push_back(*factor);
      depends |= *factor != 0;
    }
    SmallVector<AffineExpr> zeros = dimensions(context, from.size());
    for (unsigned i = 1; i < from.size(); ++i)
      zeros[i] = getAffineConstantExpr(0, context);
    AffineExpr base = substitute(expression, zeros);
    if (!depends) {
      results.push_back(base);
      continue;
    }
    if (found)
      return std::nullopt;
    found = true;
    int64_t unit = factors.back(), expected = unit;
    for (int64_t i = static_cast<int64_t>(from.size()) - 1; i >= 1; --i) {
      if (from[i] != 1 && factors[i - 1] != expected)
        return std::nullopt;
      expected *= from[i];
    }
    results.push_back(base + linear * unit);
  }
  View view = x;
  view.type = type;
  view.map = simplifyAffineMap(
      AffineMap::get(type.getRank(), event::kStepSymbols, results, context));
  return view;
}

std::optional<View> tasks::viewThrough(Operation *op, const View &x) {
  auto type = cast<model::StepTensorType>(op->getResult(0).getType());
  MLIRContext *context = op->getContext();
  SmallVector<AffineExpr> index = dimensions(context, type.getRank());
  return llvm::TypeSwitch<Operation *, std::optional<View>>(op)
      .Case([&](model::ReshapeOp) { return reshapeView(x, type); })
      .Case([&](model::TransposeOp transpose) {
        SmallVector<AffineExpr> source(index.size());
        for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
          source[axis] = getAffineDimExpr(i, context);
        return remap(x, type, source);
      })
      .Case([&](model::SliceOp slice) {
        int64_t offset = slice.getOffset();
        index[slice.getAxis()] = index[slice.getAxis()] + offset;
        return remap(x, type, index);
      })
      .Case([&](model::BroadcastOp broadcast) {
        int64_t times = broadcast.getTimes();
        index[broadcast.getAxis()] = index[broadcast.getAxis()].floorDiv(times);
        return remap(x, type, index);
      })
      .Case([&](model::ReindexOp) { return remap(x, type, index); })
      .Case([&](model::LastRowsOp) {
        index[0] = index[0] + getAffineSymbolExpr(event::kRows, context) -
                   getAffineSymbolExpr(event::kOutputs, context);
        return remap(x, type, index);
      })
      .Default([](Operation *) { return std::nullopt; });
}

bool tasks::isViewOp(Operation *op) {
  return isa<model::ReshapeOp, model::TransposeOp, model::SliceOp,
             model::BroadcastOp, model::ReindexOp, model::LastRowsOp>(op);
}
