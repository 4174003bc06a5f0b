//===- ScheduleOps.h - decisions about a plan, as transform ops -----------===//

#ifndef BATON_COMPILER_SCHEDULE_SCHEDULEOPS_H
#define BATON_COMPILER_SCHEDULE_SCHEDULEOPS_H

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformTypes.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include <vector>

#define GET_OP_CLASSES
#include "compiler/schedule/ScheduleOps.h.inc"

namespace baton::schedule {

/// Attribute of a module whose program is going to be differentiated.
constexpr llvm::StringLiteral kTrainsAttribute = "schedule.trains";

/// An op or a phase that a `transform.baton.match` without kinds can find.
struct Matchable {
  mlir::Operation *op;
  /// Any of them fits its pattern.
  llvm::SmallVector<llvm::StringRef> names;
};

/// In the order of the program.
std::vector<Matchable> matchables(mlir::Operation *root);

/// Adds the transform dialect with Baton's own ops to a registry.
void registerScheduleOps(mlir::DialectRegistry &registry);

} // namespace baton::schedule

#endif // BATON_COMPILER_SCHEDULE_SCHEDULEOPS_H
