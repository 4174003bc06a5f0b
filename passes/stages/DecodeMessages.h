//===- DecodeMessages.h - what stages that decode send one another --------===//

#ifndef BATON_PASSES_STAGES_DECODEMESSAGES_H
#define BATON_PASSES_STAGES_DECODEMESSAGES_H

#include "passes/tiling/Tiler.h"

#include "dialects/Dist/Dist.h"

namespace baton::tasks {

/// Tiles the first of a stage's receives, or of its sends, with all that follow
/// it: they are one message. For the others there is nothing left to do.
mlir::LogicalResult tileMessage(mlir::Operation *op, Tiler &tiler);

/// Says of a stage's plan which one it is.
void describeStage(model::ProgramOp model, event::ProgramOp program);

} // namespace baton::tasks

#endif // BATON_PASSES_STAGES_DECODEMESSAGES_H
