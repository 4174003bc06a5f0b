//===- DeferredNormRules.h - task grids of norms in two halves ------------===//

#ifndef BATON_PASSES_TILING_DEFERREDNORMRULES_H
#define BATON_PASSES_TILING_DEFERREDNORMRULES_H

#include "passes/tiling/TilingRules.h"

#include <optional>

namespace baton::tasks {

/// Adds the phase of a half of a norm or of its adjoint, in programs of either
/// kind; nothing for other ops.
std::optional<mlir::LogicalResult> tileDeferredNorm(mlir::Operation *op,
                                                    Tiler &tiler);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_DEFERREDNORMRULES_H
