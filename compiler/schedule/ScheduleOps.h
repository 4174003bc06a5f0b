//===- ScheduleOps.h - decisions about a plan, as transform ops -----------===//

#ifndef BATON_COMPILER_SCHEDULE_SCHEDULEOPS_H
#define BATON_COMPILER_SCHEDULE_SCHEDULEOPS_H

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformTypes.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "compiler/schedule/ScheduleOps.h.inc"

namespace baton::schedule {

/// Adds the transform dialect with Baton's own ops to a registry.
void registerScheduleOps(mlir::DialectRegistry &registry);

} // namespace baton::schedule

#endif // BATON_COMPILER_SCHEDULE_SCHEDULEOPS_H
