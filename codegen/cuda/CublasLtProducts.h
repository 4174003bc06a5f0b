//===- CublasLtProducts.h - products that cuBLASLt can compute ------------===//
//
// A linear over all rows of a step is a phase whose tasks each compute a tile
// of one product of two matrices. cuBLASLt multiplies plain matrices: its
// product takes a kernel that lays out both sides (library/cublaslt.h), the
// call, and the phase itself, whose tasks then take what is multiplied instead
// of multiplying. Which phases are such follows from their calls' operands.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_CUBLASLTPRODUCTS_H
#define BATON_CODEGEN_CUDA_CUBLASLTPRODUCTS_H

#include "dialects/Event/Event.h"

#include <optional>
#include <string>

namespace baton::cuda {

/// [rows, columns] = [rows, depth] * [depth, columns], where rows are a step's.
struct CublasLtProduct {
  event::CallOp call;
  int64_t depth;
  /// Of the phase's result; gate and up are two sides.
  int64_t resultColumns;
  unsigned sides;
  /// The row and the column of the result that a tile begins with.
  mlir::AffineExpr row, column;

  /// As cuBLASLt gets them: rows of both sides begin at multiples of 16 bytes,
  /// and columns are those of all panels, in their order.
  int64_t paddedDepth() const;
  int64_t columns() const;

  // Bytes of a step of so many rows: what the kernel before the call writes,
  // and what the call does.
  int64_t activationBytes(int64_t rows) const;
  int64_t weightBytes() const;
  int64_t productBytes(int64_t rows) const;
};

/// The phase's product, or nothing and why there is none: `why` is empty for
/// phases that are no linear.
std::optional<CublasLtProduct> cublasLtProduct(event::PhaseOp phase,
                                               std::string &why);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_CUBLASLTPRODUCTS_H
