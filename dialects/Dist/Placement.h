//===- Placement.h - placements of values ---------------------------------===//

#ifndef BATON_DIALECTS_DIST_PLACEMENT_H
#define BATON_DIALECTS_DIST_PLACEMENT_H

#include "dialects/Dist/Dist.h"

namespace baton::dist {

/// Of a program: axes of which a plan has decided what parameters they shard.
/// They do where the IR states it, and nowhere else.
constexpr llvm::StringLiteral kPlanned = "dist.planned";

/// The mesh of the op's module; null if it has none.
MeshOp findMesh(mlir::Operation *op);

/// All of a tensor of this rank, on every rank.
PlacementAttr replicated(mlir::MLIRContext *context, int64_t rank);

/// Where a value lies, as the op that makes it or the block's parent says; all
/// of it everywhere where neither says anything.
PlacementAttr placementOf(mlir::Value value);

/// `dimension` with further axes: equal parts of its parts.
DimensionAttr withAxes(DimensionAttr dimension,
                       llvm::ArrayRef<mlir::StringAttr> axes);

/// Bytes of what a rank has of a tensor, as a product: "4 * rows/2 * 60". Of
/// ragged dimensions the largest part counts.
std::string countBytes(model::StepTensorType type, PlacementAttr placement,
                       MeshOp mesh);

/// Whether a value of this type may be placed so.
mlir::LogicalResult
verifyPlacement(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                mlir::Type type, PlacementAttr placement, MeshOp mesh);

} // namespace baton::dist

#endif // BATON_DIALECTS_DIST_PLACEMENT_H
