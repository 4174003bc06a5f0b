//===- GradientNorm.h - the sum of squares of all gradients ---------------===//
//
// Gradients are squared and summed tile by tile. Of those that ranks have parts
// of, each rank sums its own, and gets the sums of all: every element counts
// once, in the order of ranks.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TASKS_GRADIENTNORM_H
#define BATON_PASSES_TASKS_GRADIENTNORM_H

#include "passes/tasks/Training.h"

#include "dialects/Dist/Dist.h"

namespace baton::tasks {

/// Adds the phases, in the present segment. The result is [1, sums]; `mesh` may
/// be null.
View sumSquares(llvm::ArrayRef<Trainable *> trainables, dist::MeshOp mesh,
                PlanBuilder &plan, mlir::Location location);

} // namespace baton::tasks

#endif // BATON_PASSES_TASKS_GRADIENTNORM_H
