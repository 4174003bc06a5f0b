//===- Views.h - how a value's indices become a buffer's ------------------===//
//
// Reshapes, transposes, slices and broadcasts move no data: a value is a view,
// an affine map from its own indices to those of the buffer that holds it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_VIEWS_H
#define BATON_PASSES_TILING_VIEWS_H

#include "dialects/Event/Event.h"
#include "dialects/Model/Model.h"

#include <optional>

namespace baton::tasks {

/// Half-open bounds of a tile, one expression pair for each dimension of a
/// value, over a phase's coordinates and the step's symbols.
struct Box {
  llvm::SmallVector<mlir::AffineExpr> low, high;
};

/// Which dimension of a value holds the step's rows (or outputs), or else
/// positions.
std::optional<unsigned> rowDimension(model::StepTensorType type);

struct View {
  /// Mutable because accessors of ops are not const.
  mutable event::BufferOp buffer;
  model::StepTensorType type;
  /// (value indices)[rows, past, outputs] -> (buffer indices). Results are sums
  /// of value indices, possibly divided, with coefficients that are not
  /// negative, and symbols.
  mlir::AffineMap map;

  /// The part of the buffer that `tile` touches; at least that part where a
  /// dimension was split unevenly.
  Box boxOf(const Box &tile) const;

  /// The buffer's index of the element at `index`.
  llvm::SmallVector<mlir::AffineExpr>
  indexOf(llvm::ArrayRef<mlir::AffineExpr> index) const;

  /// How far each index of the buffer moves with one dimension of the value;
  /// none when that is not the same everywhere.
  std::optional<llvm::SmallVector<int64_t>> stepsOf(unsigned dimension) const;

  /// The distance in elements between neighbours along one dimension of the
  /// value, as long as that does not depend on where plan-memory puts rows:
  /// none for the dimension of rows.
  std::optional<int64_t> fixedStrideOf(unsigned dimension) const;
};

/// The views that ops without work of their own make of `x`; null when the
/// elements of a reshape do not lie evenly enough for a view.
std::optional<View> viewThrough(mlir::Operation *op, const View &x);

/// Whether the op is one of those.
bool isViewOp(mlir::Operation *op);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_VIEWS_H
