//===- CublasLtProducts.cpp - products that cuBLASLt can compute ----------===//

#include "codegen/cuda/CublasLtProducts.h"

#include "codegen/bodies/TaskCalls.h"
#include "codegen/cuda/TunedBodies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;

int64_t cuda::CublasLtProduct::paddedDepth() const { return alignTo(depth, 8); }
int64_t cuda::CublasLtProduct::columns() const {
  return alignTo(resultColumns, 16) * sides;
}
int64_t cuda::CublasLtProduct::activationBytes(int64_t rows) const {
  return rows * paddedDepth() * 2;
}
int64_t cuda::CublasLtProduct::weightBytes() const {
  return paddedDepth() * columns() * 2;
}
int64_t cuda::CublasLtProduct::productBytes(int64_t rows) const {
  return rows * columns() * 4;
}

namespace {

/// Index arithmetic of a phase of rank two.
class Tile {
public:
  explicit Tile(PhaseOp phase) : context(phase.getContext()) {}

  mlir::AffineExpr simplified(mlir::AffineExpr expression) const {
    return mlir::simplifyAffineExpr(expression, /*numDims=*/2, kStepSymbols);
  }
  std::optional<int64_t> constant(mlir::AffineExpr expression) const {
    auto value =
        mlir::dyn_cast<mlir::AffineConstantExpr>(simplified(expression));
    return value ? std::optional(value.getValue()) : std::nullopt;
  }
  bool isZero(mlir::AffineExpr expression) const {
    return constant(expression) == 0;
  }
  /// `expression` at the first tile.
  mlir::AffineExpr atFirst(mlir::AffineExpr expression) const {
    mlir::AffineExpr zero = mlir::getAffineConstantExpr(0, context);
    return simplified(expression.replaceDims({zero, zero}));
  }
  mlir::AffineExpr rows() const {
    return mlir::getAffineSymbolExpr(kRows, context);
  }

private:
  mlir::MLIRContext *context;
};

/// How many rows or columns there are from a tile on; the tile's own size is
/// another bound.
bool counts(mlir::Attribute count, const Tile &tile, mlir::AffineExpr rest) {
  auto bounds = mlir::dyn_cast<CountAttr>(count);
  return bounds &&
         any_of(bounds.getMap().getResults(), [&](mlir::AffineExpr bound) {
           return tile.isZero(bound - rest);
         });
}

} // namespace

static bool isLinear(CallOp call) {
  return bodies::dynCall<bodies::LinearCall>(call) ||
         bodies::dynCall<bodies::GatedLinearCall>(call);
}

std::optional<cuda::CublasLtProduct> cuda::cublasLtProduct(PhaseOp phase,
                                                           std::string &why) {
  why.clear();
  auto calls = to_vector(phase.getBody().getOps<CallOp>());
  if (none_of(calls, isLinear))
    return std::nullopt;
  CallOp call = calls.front();
  auto refuse = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  if (phase.hasEntries())
    return refuse("its place depends on tables");
  if (calls.size() > 1)
    return refuse("its tasks compute more than the product");
  PanelsProduct linear = *PanelsProduct::of(call);
  if (!bodies::isTuned(call.getCallee(), "cuda", "cublaslt"))
    return refuse("its weights are not BF16");
  auto out = mlir::dyn_cast<AddressAttr>(linear.out);
  auto x = mlir::dyn_cast<AddressAttr>(linear.x);
  auto panels = mlir::dyn_cast<WeightAttr>(linear.panels);
  auto depth = mlir::dyn_cast<mlir::IntegerAttr>(linear.depth);
  auto count = mlir::dyn_cast<CountAttr>(linear.columns);
  if (phase.getRank() != 2 || !out || !x || !panels || !depth || !count ||
      out.getIndex().getNumResults() != 2 || x.getIndex().getNumResults() != 2)
    return refuse("its operands are no plain matrices");

  Tile tile(phase);
  mlir::AffineExpr row = tile.simplified(out.getIndex().getResult(0));
  mlir::AffineExpr place = out.getIndex().getResult(1);
  mlir::AffineExpr column = tile.simplified(place - tile.atFirst(place));
  if (!counts(linear.rows, tile, tile.rows() - row))
    return refuse("its rows are not all of a step's");
  std::optional<int64_t> columns;
  for (mlir::AffineExpr bound : count.getMap().getResults())
    if (std::optional<int64_t> all = tile.constant(bound + column))
      columns = all;
  CublasLtProduct product{
      call, depth.getInt(), columns.value_or(0), linear.sides, row, column};
  mlir::AffineExpr weights = panels.getOffset().getResult(0);
  if (!columns || !tile.isZero(tile.atFirst(row)) ||
      !tile.isZero(x.getIndex().getResult(0) - row) ||
      !tile.constant(x.getIndex().getResult(1)) ||
      !tile.isZero(weights - tile.atFirst(weights) -
                   column * (product.depth * product.sides)))
    return refuse("its tiles are no tiles of one product");
  return product;
}
