//===- StepSums.h - sums over ranks within a step -------------------------===//
//
// What ranks have of a value is a sum, or a maximum, of numbers of every row.
// As gradients are (RankSums.h) it is made in three phases, which follow one
// another:
//
//   exchange   all_to_all: a rank gets its part of the rows in use from all
//   sum        the n parts, in ascending order of ranks
//   gather     all_gather: all ranks get all parts
//
// All values of one width go through the same memory, in which the op that
// makes one leaves it, and the ops behind find it, wherever no other sum comes
// in between.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TASKS_STEPSUMS_H
#define BATON_PASSES_TASKS_STEPSUMS_H

#include "passes/tasks/RankPlaces.h"
#include "passes/tasks/TilingRules.h"

#include <map>

namespace baton::tasks {

class StepSums {
public:
  StepSums(Tiler &tiler, dist::MeshOp mesh, const RankPlaces &places)
      : tiler(tiler), plan(tiler.plan), mesh(mesh), places(places) {}

  /// Before ops of a block that run as one program: whoever makes a term of a
  /// sum writes it to where it is exchanged, if that can be.
  void begin(llvm::ArrayRef<mlir::Operation *> ops);

  mlir::LogicalResult tile(dist::AllReduceOp op);
  mlir::LogicalResult tile(dist::FirstRankOp op);

private:
  /// Of a width and a group's size: all of a rank's rows, and the parts of
  /// them that a rank receives.
  struct Memory {
    View rows, parts;
    mlir::AffineExpr elements, part;
    int64_t most;
  };
  using Key = std::pair<int64_t, int64_t>;

  Key keyOf(dist::AllReduceOp op);
  /// Whether the op is such a sum, or a stack of them.
  bool overwrites(mlir::Operation *op, Key key);
  Memory &memory(Key key, mlir::Location location);
  /// The rows as a value of this type.
  static View shaped(const Memory &memory, model::StepTensorType type);
  bool mayStay(dist::AllReduceOp op);

  Tiler &tiler;
  PlanBuilder &plan;
  dist::MeshOp mesh;
  const RankPlaces &places;
  std::map<Key, Memory> memories;
  /// The ops that overwrite a memory, in the order of the present block, and
  /// what they do it for.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> writers;
};

} // namespace baton::tasks

#endif // BATON_PASSES_TASKS_STEPSUMS_H
