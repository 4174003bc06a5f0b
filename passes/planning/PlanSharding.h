//===- PlanSharding.h - a program with placements that cost least ---------===//

#ifndef BATON_PASSES_PLANNING_PLANSHARDING_H
#define BATON_PASSES_PLANNING_PLANSHARDING_H

#include "passes/planning/PlacementProblem.h"

namespace baton::planning {

struct PlanRequest {
  std::string axis;
  /// Of sharding-propagation, that come before: "data:dp".
  std::vector<std::string> tactics;
  DeviceFacts facts;
  Sizes sizes;
  bool sharesRows = false;
};

/// Annotates the program as sharding-propagation does. Fails, with an error at
/// the program, where nothing fits the memory: it says what least takes.
llvm::FailureOr<PlacementSummary> planSharding(model::ProgramOp program,
                                               dist::MeshOp mesh,
                                               const PlanRequest &request);

} // namespace baton::planning

#endif // BATON_PASSES_PLANNING_PLANSHARDING_H
