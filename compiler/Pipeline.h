//===- Pipeline.h - the passes between a model and its plan --------------===//

#ifndef BATON_COMPILER_PIPELINE_H
#define BATON_COMPILER_PIPELINE_H

#include "compiler/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace baton::compiler {

/// All passes by name, in order.
std::vector<std::string> allPasses();

/// Model to model: what the schedule says, and its clean-up.
void addModelPasses(mlir::PassManager &manager, mlir::ModuleOp schedule);

/// A plan that is there already: only its proof.
void addVerification(mlir::PassManager &manager);

/// Model to a proved plan, by a schedule.
void addTaskPasses(mlir::PassManager &manager, const TargetDescription &target,
                   mlir::ModuleOp schedule);

} // namespace baton::compiler

#endif // BATON_COMPILER_PIPELINE_H
