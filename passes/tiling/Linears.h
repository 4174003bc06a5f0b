//===- Linears.h - what linears and gated linears have in common ----------===//

#ifndef BATON_PASSES_TILING_LINEARS_H
#define BATON_PASSES_TILING_LINEARS_H

#include "passes/tiling/Norms.h"
#include "passes/tiling/Weights.h"

namespace baton::tasks {

/// The input of a linear's tile: x itself, or x normalised into scratch.
struct LinearInput {
  mlir::Attribute pointer, stride;
};

/// Reads a tile of rows of x, through the linear's norm if it has one. The norm
/// is computed again by every worker: that costs less than handing it on.
template <typename OpT>
LinearInput readLinearInput(OpT op, PhaseBuilder &phase, const View &x,
                            const RowTiles &tiles, const std::string &name,
                            Tiler &tiler) {
  Box in = rowsOfTask(phase, x, tiles.size);
  phase.reads(x, in);
  if (op.getNorm() == model::Norm::identity)
    return {phase.address(x, in), phase.stride(x, 0)};
  int64_t stride = ceilDiv(x.type.getDimension(1), kPanel) * kPanel;
  phase.needsScratch(tiles.size * stride * sizeof(float));
  Weight weight =
             vectorWeight(name + ".norm_weight", op.getNormWeight(), tiler),
         bias = vectorWeight(name + ".norm_bias", op.getNormBias(), tiler);
  llvm::APFloat epsilon = op.getEpsilon();
  callNorm(phase, op.getNorm(), x, in,
           {phase.scratch(0), phase.integer(stride), tiles.count(phase),
            weight.all(phase), bias.all(phase), epsilon},
           /*invariant=*/true);
  return {phase.scratch(0), phase.integer(stride)};
}

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_LINEARS_H
