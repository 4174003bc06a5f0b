//===- PlanSharding.h - a program with placements that cost least ---------===//

#ifndef BATON_PASSES_PLANNING_PLANSHARDING_H
#define BATON_PASSES_PLANNING_PLANSHARDING_H

#include "passes/planning/PlacementProblem.h"

#include "mlir/Pass/Pass.h"

namespace baton::planning {

struct PlanRequest {
  /// One after the other: each is best where those before it are given.
  std::vector<std::string> axes;
  /// Of sharding-propagation, that come before: "data:dp".
  std::vector<std::string> tactics;
  DeviceFacts facts;
  Sizes sizes;
  Exchanges may;
};

/// Annotates the program as sharding-propagation does. Fails, with an error at
/// the program, where nothing fits the memory: it says what least takes.
llvm::FailureOr<PlacementSummary> planSharding(model::ProgramOp program,
                                               dist::MeshOp mesh,
                                               const PlanRequest &request);

/// The pass of a request; it leaves in `summary` what the last program takes.
std::unique_ptr<mlir::Pass> createPlanSharding(const PlanRequest &request,
                                               PlacementSummary &summary);

} // namespace baton::planning

#endif // BATON_PASSES_PLANNING_PLANSHARDING_H
