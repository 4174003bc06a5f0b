//===- RankPlaces.h - what a rank's tasks know of its place ---------------===//
//
// All ranks run one plan. Where a task depends on which rank it is of (whose
// tokens a part of the vocabulary has, who adds a term that all have, which of
// the experts are there), it reads two numbers that the runtime writes before
// the first step: which index the rank's part begins with, and how many it has.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_COLLECTIVES_RANKPLACES_H
#define BATON_PASSES_COLLECTIVES_RANKPLACES_H

#include "passes/tiling/PlanBuilder.h"

#include "dialects/Dist/Dist.h"

#include "llvm/ADT/SetVector.h"

namespace baton::tasks {

class RankPlaces {
public:
  /// Finds out what the program's tasks will ask for, and calls the numbers
  /// `name`, which nobody else has. All programs that a model is cut into have
  /// the same ones.
  RankPlaces(PlanBuilder &plan, model::ProgramOp model, dist::MeshOp mesh,
             llvm::StringRef name);

  /// The shard of a table's rows, that is, of its tokens; null if all ranks
  /// have all.
  static model::ShardAttr tokensOf(mlir::Value table);

  /// The shard of a mixture's experts; null if all ranks have all.
  model::ShardAttr expertsOf(model::DispatchOp dispatch) const;

  /// States that tasks read where a rank's part begins, and its size: the
  /// pointer to both.
  mlir::Attribute read(PhaseBuilder &phase, model::ShardAttr shard) const;

  /// The same of its place among the ranks of these axes: {place, 1}.
  mlir::Attribute read(PhaseBuilder &phase, mlir::ArrayAttr axes) const {
    return read(phase, ranksOf(axes));
  }

private:
  model::ShardAttr ranksOf(mlir::ArrayAttr axes) const;

  /// Mutable because accessors of ops are not const.
  mutable dist::MeshOp mesh;
  llvm::SetVector<model::ShardAttr> shards;
  View numbers;
};

} // namespace baton::tasks

#endif // BATON_PASSES_COLLECTIVES_RANKPLACES_H
