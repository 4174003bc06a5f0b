//===- LossRules.h - task grids of the loss and its gradients -------------===//

#ifndef BATON_PASSES_TILING_LOSSRULES_H
#define BATON_PASSES_TILING_LOSSRULES_H

#include "passes/tiling/Training.h"

namespace baton::tasks {

/// Adds the phases of a cross-entropy: for each part of the step's rows that
/// may have logits at one time, those logits, the loss, and the gradients that
/// are read.
mlir::LogicalResult tileLoss(model::CrossEntropyOp op, Tiler &tiler,
                             Training &training);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_LOSSRULES_H
