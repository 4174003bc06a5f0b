//===- Pipeline.h - the passes between a model and its plan --------------===//

#ifndef BATON_COMPILER_PIPELINE_H
#define BATON_COMPILER_PIPELINE_H

#include "compiler/Options.h"
#include "compiler/TargetDescription.h"
#include "compiler/schedule/Schedule.h"

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace baton::compiler {

/// All passes by name, in order.
std::vector<std::string> allPasses();

/// An imported model's own clean-up.
void addImportPasses(mlir::PassManager &manager);

/// Model to model: what the schedule says of one of an executable's programs,
/// and its clean-up.
void addModelPasses(mlir::PassManager &manager, const CompileOptions &options,
                    const schedule::Schedule &schedule, size_t program);

/// The same for a program that trains: its loss, the gradients, and what is
/// kept for them. Of the schedule what somebody gave for the model.
void addTrainingPasses(mlir::PassManager &manager,
                       const CompileOptions &options,
                       const schedule::Schedule &schedule);

/// Finds where every value lies over the axes of a mesh, which the module has,
/// cuts the step into stages, where there are some, and makes the program that
/// of one rank if `localizes`; of one that decodes, attention is fused before.
void addShardingPasses(mlir::PassManager &manager,
                       const CompileOptions &options, bool localizes,
                       bool fusesAttention = false);

/// A plan that is there already: only its proof.
void addVerification(mlir::PassManager &manager, const CompileOptions &options);

/// Model to a proved plan, or to its phases. The schedule outlives the manager.
void addTaskPasses(mlir::PassManager &manager, const CompileOptions &options,
                   const TargetDescription &target,
                   const schedule::Schedule &schedule, size_t program);

} // namespace baton::compiler

#endif // BATON_COMPILER_PIPELINE_H
