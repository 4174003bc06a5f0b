//===- Tactics.h - which values are sharded first -------------------------===//

#ifndef BATON_PASSES_SHARDING_TACTICS_H
#define BATON_PASSES_SHARDING_TACTICS_H

#include "passes/sharding/Propagation.h"

namespace baton::sharding {

/// Seeds of a tactic by name; fails, naming what is wrong, where they do not
/// fit.
mlir::LogicalResult applyTactic(Propagation &propagation, llvm::StringRef name,
                                mlir::StringAttr axis);

/// Marks attention whose key/value heads are fewer than the ranks of a `tensor`
/// tactic; rules of ops depend on it, so that it comes before them.
void shareHeads(model::ProgramOp program, int64_t ranks);

/// The same, for a plan's axis: only one head that all queries have in common.
void shareOnlyHead(model::ProgramOp program, int64_t ranks);

/// How many key/value heads any attention has; 0 of other ops.
int64_t keyHeadsOf(mlir::Operation *op);

} // namespace baton::sharding

#endif // BATON_PASSES_SHARDING_TACTICS_H
