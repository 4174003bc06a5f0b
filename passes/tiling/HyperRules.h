//===- HyperRules.h - task grids of hyper-connections ---------------------===//

#ifndef BATON_PASSES_TILING_HYPERRULES_H
#define BATON_PASSES_TILING_HYPERRULES_H

#include "passes/tiling/TilingRules.h"

#include <optional>

namespace baton::tasks {

/// Adds the phase of an op of hyper-connections, in programs of either kind;
/// nothing for other ops.
std::optional<mlir::LogicalResult> tileHyper(mlir::Operation *op, Tiler &tiler);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_HYPERRULES_H
