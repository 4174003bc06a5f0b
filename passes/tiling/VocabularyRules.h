//===- VocabularyRules.h - task grids over a part of the vocabulary -------===//

#ifndef BATON_PASSES_TILING_VOCABULARYRULES_H
#define BATON_PASSES_TILING_VOCABULARYRULES_H

#include "passes/tiling/Training.h"

#include "dialects/Dist/Dist.h"

namespace baton::tasks {

/// Adds the phases of an op of a loss whose ranks have a part of the logits
/// each; nothing for other ops.
std::optional<mlir::LogicalResult>
tileVocabularyOp(mlir::Operation *op, Tiler &tiler, Training &training);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_VOCABULARYRULES_H
