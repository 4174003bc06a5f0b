//===- Dist.h - the dist dialect ------------------------------------------===//

#ifndef BATON_DIALECTS_DIST_DIST_H
#define BATON_DIALECTS_DIST_DIST_H

#include "dialects/Dist/Schedule.h"
#include "dialects/Model/Model.h"

#include "mlir/IR/BuiltinOps.h"

namespace baton::dist {

constexpr llvm::StringLiteral kPlacements = "dist.placements",
                              kArguments = "dist.arguments",
                              kOperands = "dist.operands",
                              kComputed = "dist.computed",
                              kGradient = "dist.gradient",
                              kJoined = "dist.joined",
                              kSharedHeads = "dist.shared_heads",
                              kSummed = "dist.summed",
                              kScattered = "dist.scattered",
                              kScatteredOver = "dist.scattered_over",
                              kGathered = "dist.gathered",
                              kPartOf = "dist.part_of",
                              kPosition = "dist.position";

} // namespace baton::dist

#include "dialects/Dist/DistDialect.h.inc"
#include "dialects/Dist/DistEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.h.inc"

namespace baton::dist {

/// Of the op's program; null if it has none.
ScheduleOp findSchedule(mlir::Operation *op);

/// Of a program that decodes on a stage of a pipeline: the mesh's axis whose
/// ranks are the stages, and which of them it is for.
struct Position {
  mlir::StringAttr axis;
  int64_t index = 0;
};
/// None for other programs.
std::optional<Position> positionOf(model::ProgramOp program);
/// The attribute that says so.
mlir::ArrayAttr describe(Position position);

/// What a send or a receive exchanges; null for other ops.
mlir::Value messageOf(mlir::Operation *op);

} // namespace baton::dist

#endif // BATON_DIALECTS_DIST_DIST_H
