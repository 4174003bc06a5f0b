//===- Schedule.h - the decisions of a compilation, as a script -----------===//
//
// A schedule is a module of the transform dialect with two named sequences:
// @model runs on the model, before tile-tasks, and @plan on the plan, before
// derive-events; two more, @few_rows_model and @few_rows_plan, do the same for
// a second program, for steps of few rows, where the target has one. Without
// them @model and @plan decide about that program, too, but for sizes of tiles.
// Where those are missing, the default schedule's are used. Beside them may
// stand bodies of tasks (event.body) that they use.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_SCHEDULE_SCHEDULE_H
#define BATON_COMPILER_SCHEDULE_SCHEDULE_H

#include "compiler/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Support/LogicalResult.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace baton::schedule {

/// The passes of which the default schedule has a part each.
const std::set<std::string> &optionalParts();

/// What comes before "model" and "plan" in the names of a program's sequences,
/// of one of an executable's programs.
llvm::StringRef sequencePrefix(size_t program);

/// The text of the schedule that is used when nobody gives one, without some of
/// its parts, for programs of these descriptions.
std::string
defaultSchedule(llvm::ArrayRef<compiler::TargetDescription> programs,
                const std::set<std::string> &without);

/// Parses a schedule of which decisions may have alternatives. Fails after
/// saying why to the context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> parseOpen(mlir::MLIRContext *context,
                                            llvm::StringRef text,
                                            llvm::StringRef name);

/// The names of the ops that each task body of the user's computes.
using OwnBodies = std::vector<std::set<std::string>>;

/// What decides about a compilation: the default schedule, or the sequences of
/// another one in its place.
class Schedule {
public:
  /// Parses the schedules; `text` may be empty, `name` is for errors. Fails
  /// after saying why to the context's diagnostics, also where a decision has
  /// alternatives.
  static mlir::FailureOr<Schedule> parse(mlir::MLIRContext *context,
                                         const std::string &defaultText,
                                         llvm::StringRef text,
                                         llvm::StringRef name);

  /// A pass that runs a sequence, "model" or "plan", of one of an executable's
  /// programs on a module, which `trains` or decodes. The schedule outlives it.
  /// Passes of "model" fail where one program has ops by a body, and another
  /// one that was made before has not.
  std::unique_ptr<mlir::Pass> createPass(llvm::StringRef sequence,
                                         size_t program = 0,
                                         bool trains = false) const;

  /// Whether somebody gave a schedule that has this sequence.
  bool isGiven(llvm::StringRef sequence) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> usual, given;
  /// Of the programs so far.
  std::unique_ptr<std::vector<OwnBodies>> bodies =
      std::make_unique<std::vector<OwnBodies>>();
};

} // namespace baton::schedule

#endif // BATON_COMPILER_SCHEDULE_SCHEDULE_H
