//===- Norms.h - what norms and their adjoints have in common -------------===//

#ifndef BATON_PASSES_TILING_NORMS_H
#define BATON_PASSES_TILING_NORMS_H

#include "passes/tiling/TilingPieces.h"

namespace baton::tasks {

/// A grid over tiles of rows, and over heads where a row has a norm for each.
struct NormTiles {
  RowTiles rows;
  int64_t heads;

  NormTiles(mlir::Operation *op, model::StepTensorType type, Tiler &tiler);

  PhaseBuilder phase(PlanBuilder &plan, const std::string &name,
                     mlir::Location location) const;
  Box tile(PhaseBuilder &phase, const View &view) const;
};

/// What a norm's body writes to and takes of the op.
struct NormCall {
  mlir::Attribute out, outStride;
  mlir::Attribute rows, weight, bias;
  const llvm::APFloat &epsilon;
};
/// Adds a call that normalises a tile of rows of x, or of one head of them.
void callNorm(PhaseBuilder &phase, model::Norm norm, const View &x,
              const Box &tile, const NormCall &call, bool invariant = false);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_NORMS_H
