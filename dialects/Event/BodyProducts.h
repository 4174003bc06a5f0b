//===- BodyProducts.h - structured ops that multiply two matrices ---------===//
//
// Task bodies say `y[i, j] += f(x[i, k]) * g(w[j, k])` as one op of linalg,
// whichever way round its matrices lie. Tiling gives those whose right side is
// a stored matrix to the task library, code generation makes vectors of others.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_EVENT_BODYPRODUCTS_H
#define BATON_DIALECTS_EVENT_BODYPRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace baton::event {

/// An op that adds a product of two matrices to a third one.
struct BodyProduct {
  /// Loops: of the result's rows, of its columns, and what is summed over.
  unsigned row, column, depth;
  /// Factors of an element's product, values of the op's region: of inputs that
  /// have rows, and of inputs that have columns.
  mlir::Value left, right;
};

/// What an op of memrefs multiplies, if that is what it does, and if elements
/// of a row are known to lie side by side in all of its operands.
std::optional<BodyProduct> productOf(mlir::linalg::LinalgOp op);

/// Whether the elements of a memref's row are known to lie side by side:
/// vectors of others would be read one by one.
bool isContiguous(mlir::Value value);

/// Whether a value of an op's region is one number for all elements.
bool isFromOutside(mlir::linalg::LinalgOp op, mlir::Value value);

} // namespace baton::event

#endif // BATON_DIALECTS_EVENT_BODYPRODUCTS_H
