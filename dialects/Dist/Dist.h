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
                              kSharedHeads = "dist.shared_heads",
                              kSummed = "dist.summed",
                              kScattered = "dist.scattered",
                              kGathered = "dist.gathered";

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

/// What a send or a receive exchanges; null for other ops.
mlir::Value messageOf(mlir::Operation *op);

} // namespace baton::dist

#endif // BATON_DIALECTS_DIST_DIST_H
