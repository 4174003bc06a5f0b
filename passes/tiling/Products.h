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

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_PRODUCTS_H
