//===- ShardingPlan.h - a model with placements that cost least -----------===//

#ifndef BATON_COMPILER_SHARDINGPLAN_H
#define BATON_COMPILER_SHARDINGPLAN_H

#include "compiler/Options.h"
#include "compiler/TargetDescription.h"
#include "passes/planning/PlanSharding.h"

#include "llvm/Support/Error.h"

namespace baton::compiler {

/// Where a parameter lies: its name and its placement, as IR writes it.
struct PlannedParameter {
  std::string name, placement;
};

struct ShardingPlan {
  planning::PlacementSummary predicted;
  /// In the model's order.
  std::vector<PlannedParameter> parameters;
  /// The model with these placements: input for batonc with the same --mesh.
  std::string text;
};

/// The request for options' mesh: tensor axes are planned, rows lie along data
/// axes. Fails, naming the flag, for a mesh or a flag that plans know nothing
/// of.
llvm::Expected<planning::PlanRequest>
requestPlan(const CompileOptions &options);

/// Plans a model that is not planned yet. Fails where nothing fits the memory.
llvm::Expected<ShardingPlan>
planSharding(CompileOptions options, const planning::PlanRequest &request,
             llvm::ArrayRef<TargetDescription> targets);

/// What ranks exchange in a step of a planned model in a file, as it is
/// compiled: counted in its collectives.
llvm::Expected<planning::Communication>
countCommunication(CompileOptions options, const std::string &file,
                   const planning::Sizes &sizes,
                   llvm::ArrayRef<TargetDescription> targets);

} // namespace baton::compiler

#endif // BATON_COMPILER_SHARDINGPLAN_H
