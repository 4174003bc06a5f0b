//===- Schedule.h - the decisions of a compilation, as a script -----------===//
//
// A schedule is a module of the transform dialect with two named sequences:
// @model runs on the model, before tile-tasks, and @plan on the plan, before
// derive-events. Either may be missing. Beside them may stand bodies of tasks
// (event.body) that @model uses.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_SCHEDULE_SCHEDULE_H
#define BATON_COMPILER_SCHEDULE_SCHEDULE_H

#include "compiler/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"

#include <set>
#include <string>

namespace baton::schedule {

/// The passes of which the default schedule has a part each.
const std::set<std::string> &optionalParts();

/// The text of the schedule that is used when nobody gives one, without some of
/// its parts.
std::string defaultSchedule(const compiler::TargetDescription &target,
                            const std::set<std::string> &without);

/// Parses and verifies a schedule; `name` is for errors. On failure, which has
/// been diagnosed, the result is null.
mlir::OwningOpRef<mlir::ModuleOp> parseSchedule(mlir::MLIRContext *context,
                                                llvm::StringRef text,
                                                llvm::StringRef name);

/// A pass that runs @model or @plan, if the schedule has it.
std::unique_ptr<mlir::Pass> createApplySchedule(mlir::ModuleOp schedule,
                                                llvm::StringRef sequence);

} // namespace baton::schedule

#endif // BATON_COMPILER_SCHEDULE_SCHEDULE_H
