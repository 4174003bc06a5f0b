//===- TrainingRules.h - task grids of training's ops ---------------------===//

#ifndef BATON_PASSES_TILING_TRAININGRULES_H
#define BATON_PASSES_TILING_TRAININGRULES_H

#include "passes/tiling/Training.h"

#include <optional>

namespace baton::tasks {

/// Adds the phases of an op in a training program; nothing for ops that have
/// the same rule as elsewhere.
std::optional<mlir::LogicalResult>
tileTrainingOp(mlir::Operation *op, Tiler &tiler, Training &training);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_TRAININGRULES_H
