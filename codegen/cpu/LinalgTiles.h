//===- LinalgTiles.h - structured ops as tiles, and vectors of these ------===//

#ifndef BATON_CODEGEN_CPU_LINALGTILES_H
#define BATON_CODEGEN_CPU_LINALGTILES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace baton::cpu {

/// Cuts an op of memrefs into tiles of these sizes, 0 for a dimension that
/// stays whole, and peels what is left over.
void tileAndPeel(mlir::RewriterBase &rewriter, mlir::linalg::LinalgOp op,
                 llvm::ArrayRef<int64_t> sizes);

/// Transposes of vectors as shuffles.
mlir::LogicalResult lowerTransposes(mlir::Operation *function);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LINALGTILES_H
