//===- ReshardSteps.h - a value's way from one placement to another -------===//

#ifndef BATON_PASSES_SHARDING_RESHARDSTEPS_H
#define BATON_PASSES_SHARDING_RESHARDSTEPS_H

#include "dialects/Dist/Placement.h"

namespace baton::sharding {

/// One collective, or what a rank does with its part alone.
struct ReshardStep {
  enum Kind { allReduce, reduceScatter, allGather, allToAll, slice, firstRank };

  Kind kind;
  llvm::SmallVector<mlir::StringAttr, 2> axes;
  /// Of reduceScatter, allGather and slice; of allToAll, the one that axes
  /// leave for `other`.
  unsigned dimension = 0, other = 0;
  dist::PlacementAttr from, to;

  bool communicates() const { return kind != slice && kind != firstRank; }
  /// Where the tensor lies whose bytes on a rank are the payload.
  dist::PlacementAttr payload() const { return kind == allGather ? to : from; }
};

/// Sums come first, then what moves from one dimension to another, then slices
/// and gathers. Every placement is reached from every other; no step is needed
/// between equal ones.
llvm::SmallVector<ReshardStep, 2> stepsOf(dist::PlacementAttr from,
                                          dist::PlacementAttr to);

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_RESHARDSTEPS_H
