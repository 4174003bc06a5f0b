//===- Products.h - matrices as bodies of products take them --------------===//

#ifndef BATON_PASSES_TILING_PRODUCTS_H
#define BATON_PASSES_TILING_PRODUCTS_H

#include "passes/tiling/TilingPieces.h"

namespace baton::tasks {

/// Bytes of scratch that baton_task_product asks for (a test holds this against
/// the library's header).
int64_t productScratch(int64_t columns);

/// A matrix in memory: element (i, j) is at pointer + i * first + j * second.
struct Matrix {
  mlir::Attribute pointer, first, second;

  Matrix transposed() const { return {pointer, second, first}; }
};

/// A tile of a value of two dimensions, which the task reads.
Matrix readMatrix(PhaseBuilder &phase, const View &view, const Box &tile);

/// A grid over tiles of rows by columns.
struct ProductTiles {
  RowTiles rows;
  int64_t width, columns;

  PhaseBuilder phase(PlanBuilder &plan, const std::string &name,
                     mlir::Location location) const;
  /// The task's rows and columns of the product.
  Box tile(PhaseBuilder &phase, const View &out) const;
  /// How many columns the task has.
  mlir::Attribute count(PhaseBuilder &phase) const;
};

/// What a product's task computes: out = a b, with terms where there are any.
struct ProductCall {
  mlir::Attribute out, outStride;
  /// Of rows by depth, and of depth by columns.
  Matrix a, b;
  mlir::Attribute rows, columns, depth;
  /// The most columns that a task has.
  int64_t width;
  /// A number for each column, and one for each element; null for none.
  mlir::Attribute bias = {}, residual = {}, residualStride = {};
};
void callProduct(PhaseBuilder &phase, llvm::StringRef format,
                 const ProductCall &call);

/// The same by weights that are packed, from their other side: out = a W, of
/// which the task has the columns from `first` on. `depth` are all outputs of
/// W, and `inputs` all inputs, as its panels have them.
struct TransposedCall {
  mlir::Attribute out, outStride;
  mlir::Attribute a, aStride;
  event::ParameterOp panels;
  mlir::AffineExpr first;
  mlir::Attribute rows, columns;
  int64_t depth, inputs;
  /// The most columns that a task has.
  int64_t width;
  /// What rounds `a`; see inputRounding().
  llvm::StringRef rounding = "";
};
void callTransposed(PhaseBuilder &phase, const TransposedCall &call);

/// Bytes of scratch that this asks for (the same test holds it).
int64_t transposedScratch(int64_t columns);

/// Bytes of scratch that baton_task_adapted_squares asks for (held likewise).
int64_t squaresScratch(int64_t columns, int64_t rank);

/// The product of heads by weights that train.
mlir::LogicalResult tileTrained(model::HeadLinearOp op, Tiler &tiler);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_PRODUCTS_H
