//===- Regions.cpp - what a call touches, by its body's declaration -------===//

#include "codegen/bodies/Regions.h"

#include "codegen/bodies/Formulas.h"

using namespace baton;
using namespace baton::bodies;

Extent Extent::rest() { return Extent(); }

Extent Extent::ofOperand(mlir::Attribute operand) {
  if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(operand))
    return number.getInt();
  Extent extent;
  auto count = mlir::dyn_cast<event::CountAttr>(operand);
  if (count && count.getMap().isSingleConstant())
    return count.getMap().getSingleConstantResult();
  if (count)
    extent.expressions.assign(count.getMap().getResults().begin(),
                              count.getMap().getResults().end());
  return extent;
}

llvm::SmallVector<mlir::AffineExpr, 2>
Extent::bounds(mlir::MLIRContext *context) const {
  if (constant)
    return {mlir::getAffineConstantExpr(*constant, context)};
  return expressions;
}

Extent Extent::with(const Extent &other, mlir::MLIRContext *context,
                    Change change) const {
  Extent result;
  if (isRest() || other.isRest())
    return result;
  for (mlir::AffineExpr left : bounds(context))
    for (mlir::AffineExpr right : other.bounds(context))
      result.expressions.push_back(change(left, right));
  return result;
}

Extent Extent::least(const Extent &left, const Extent &right) {
  if (left.isRest() ||
      (left.constant && right.constant && *right.constant <= *left.constant))
    return right;
  if (right.isRest() || (left.constant && right.constant))
    return left;
  mlir::MLIRContext *context =
      left.getContext() ? left.getContext() : right.getContext();
  Extent result;
  for (const Extent *extent : {&left, &right})
    result.expressions.append(extent->bounds(context));
  return result;
}

//===----------------------------------------------------------------------===//
// Formulas of extents
//===----------------------------------------------------------------------===//

// Overloads of Formulas.h.
namespace baton::bodies {

/// One function of constants, another one of expressions.
template <typename Numbers, typename Expressions>
static Extent combine(const Extent &left, const Extent &right, Numbers numbers,
                      Expressions expressions) {
  auto a = left.asConstant(), b = right.asConstant();
  if (a && b)
    return numbers(*a, *b);
  return left.with(right, a ? right.getContext() : left.getContext(),
                   expressions);
}

static Extent operator+(const Extent &left, const Extent &right) {
  return combine(
      left, right, [](int64_t a, int64_t b) { return a + b; },
      [](mlir::AffineExpr a, mlir::AffineExpr b) { return a + b; });
}

/// In what is taken away there is no choice of bounds: it would ascend.
static Extent operator-(const Extent &left, const Extent &right) {
  mlir::MLIRContext *context =
      right.getContext() ? right.getContext() : left.getContext();
  if (!right.asConstant() &&
      (right.isRest() || right.bounds(context).size() > 1))
    return Extent::rest();
  return combine(
      left, right, [](int64_t a, int64_t b) { return a - b; },
      [](mlir::AffineExpr a, mlir::AffineExpr b) { return a - b; });
}

static Extent least(const Extent &left, const Extent &right) {
  return Extent::least(left, right);
}

/// Only by a constant that is not negative a product ascends in its bounds, and
/// is affine.
static bool mayScale(const Extent &factor) {
  return factor.asConstant() && *factor.asConstant() >= 0;
}

static Extent operator*(const Extent &left, const Extent &right) {
  if (!mayScale(left) && !mayScale(right))
    return Extent::rest();
  return combine(
      left, right, [](int64_t a, int64_t b) { return a * b; },
      [](mlir::AffineExpr a, mlir::AffineExpr b) { return a * b; });
}

static Extent operator/(const Extent &left, const Extent &right) {
  if (!mayScale(right) || *right.asConstant() == 0)
    return Extent::rest();
  return combine(
      left, right, [](int64_t a, int64_t b) { return a / b; },
      [](mlir::AffineExpr a, mlir::AffineExpr b) { return a.floorDiv(b); });
}

static Extent ceil_div(const Extent &left, const Extent &right) {
  if (!mayScale(right) || *right.asConstant() == 0)
    return Extent::rest();
  return combine(
      left, right, [](int64_t a, int64_t b) { return bodies::ceil_div(a, b); },
      [](mlir::AffineExpr a, mlir::AffineExpr b) { return a.ceilDiv(b); });
}

static Extent whole_panels(const Extent &columns) {
  return ceil_div(columns, 16) * 16;
}

static Extent quantised_row(const Extent &k) { return ceil_div(k, 32) * 10; }

// Numbers of hyper-connections are constants of a program.

static Extent maps_of(const Extent &streams, const Extent &mixing) {
  auto a = streams.asConstant(), b = mixing.asConstant();
  return a && b ? Extent(bodies::maps_of(*a, *b)) : Extent::rest();
}

static Extent map_scales(const Extent &mixing) {
  auto a = mixing.asConstant();
  return a ? Extent(bodies::map_scales(*a)) : Extent::rest();
}

static Extent written_maps(const Extent &streams, const Extent &mixes) {
  auto a = streams.asConstant(), b = mixes.asConstant();
  return a && b ? Extent(bodies::written_maps(*a, *b)) : Extent::rest();
}

} // namespace baton::bodies

llvm::SmallVector<Region> bodies::regionsOf(event::CallOp op) {
  llvm::SmallVector<Region> regions;
  std::optional<BodyFunction> function = lookUp(op);
  if (!function)
    return regions;
  auto at = [](mlir::Attribute operand) { return Extent::ofOperand(operand); };
  auto rest = [] { return Extent::rest(); };
  auto region = [&](unsigned operand, Extent first,
                    std::initializer_list<Region::Dimension> dimensions) {
    regions.push_back({operand, first, dimensions});
  };
  switch (function->kind) {
#define GET_BODY_REGIONS
#include "codegen/bodies/Table.inc"
#undef GET_BODY_REGIONS
  }
  return regions;
}

llvm::SmallVector<WeightExtent> bodies::weightsOf(event::CallOp op) {
  llvm::SmallVector<WeightExtent> weights;
  std::optional<BodyFunction> function = lookUp(op);
  if (!function)
    return weights;
  auto at = [](mlir::Attribute operand) { return Extent::ofOperand(operand); };
  auto weight = [&](unsigned operand, Extent elements) {
    weights.push_back({operand, elements});
  };
  auto overhead = [&] { return Extent(matrixOverhead(op)); };
  switch (function->kind) {
#define GET_BODY_WEIGHTS
#include "codegen/bodies/Table.inc"
#undef GET_BODY_WEIGHTS
  }
  return weights;
}
