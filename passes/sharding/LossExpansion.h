//===- LossExpansion.h - losses over a sharded vocabulary -----------------===//

#ifndef BATON_PASSES_SHARDING_LOSS_EXPANSION_H
#define BATON_PASSES_SHARDING_LOSS_EXPANSION_H

#include "dialects/Dist/Placement.h"

namespace baton::sharding {

/// Writes the parts of `model.cross_entropy` in its place, with
/// `dist.operands`, `dist.computed` and `dist.placements`, where its vocabulary
/// is sharded.
mlir::LogicalResult expandLosses(model::ProgramOp program, dist::MeshOp mesh);

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_LOSS_EXPANSION_H
