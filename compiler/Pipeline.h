//===- Pipeline.h - the passes between a model and its plan --------------===//

#ifndef BATON_COMPILER_PIPELINE_H
#define BATON_COMPILER_PIPELINE_H

#include "compiler/TargetDescription.h"

#include "mlir/Pass/PassManager.h"

#include <set>
#include <string>

namespace baton::compiler {

/// Passes that a plan can do without, by name: those of --disable-pass.
const std::set<std::string> &optionalPasses();

/// All passes by name, in order.
std::vector<std::string> allPasses();

/// Model to model: fusion and its clean-up.
void addModelPasses(mlir::PassManager &manager,
                    const std::set<std::string> &disabled);

/// A plan that is there already: only its proof.
void addVerification(mlir::PassManager &manager);

/// Model to a proved plan.
void addTaskPasses(mlir::PassManager &manager, const TargetDescription &target);

} // namespace baton::compiler

#endif // BATON_COMPILER_PIPELINE_H
