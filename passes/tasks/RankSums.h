//===- RankSums.h - sums over ranks in a training program -----------------===//
//
// Gradients that are sums over ranks (dist.summed) are exchanged in buckets, as
// they become complete: where the last contribution to a gradient is tiled, it
// joins the bucket of its stack, or of what stands outside of stacks. A bucket
// is
//
//   exchange   all_to_all: a rank gets its part of every gradient from all
//   sum        the n parts, in ascending order of ranks
//   gather     all_gather: all ranks get all parts
//
// The exchange is a phase of the backward step, so that workers other than the
// one that waits for the ranks go on; sums and gathers follow it, each in
// segments of their own, whose iterations nothing orders. All of them are for
// steps that end with an update: till then a gradient is the sum of a rank's
// own rows.
//
// What is exchanged lies in one place in all iterations and on all ranks, and
// sums are added where they were received: maps do not depend on the rank.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TASKS_RANKSUMS_H
#define BATON_PASSES_TASKS_RANKSUMS_H

#include "passes/tasks/Training.h"

#include "dialects/Dist/Placement.h"

namespace baton::tasks {

class RankSums {
public:
  /// Of the gradients in `scope`, a program or a stage of one. `mesh` is not
  /// null.
  RankSums(Tiler &tiler, mlir::Operation *scope, dist::MeshOp mesh,
           int64_t bucketBytes);

  /// Notes that a contribution to a gradient was tiled. Reports at the op if
  /// contributions are sums over different ranks.
  mlir::LogicalResult contributed(model::GradientOp op, Trainable &trainable);

  /// Exchanges what is complete, in the present segment: at the end of a
  /// stack's pattern, and before another segment begins.
  void flush();

  /// Adds the segments that finish all sums.
  void finish(mlir::Location location);

  /// [ranks]: the sum of all losses of each rank, in the present segment; the
  /// loss itself where rows are of one rank.
  View gatherLoss(const View &loss, mlir::Location location);

private:
  /// A gradient, and where parts of it are received: [ranks, part], of which a
  /// task of the sum has `width` columns.
  struct Tensor {
    Trainable *trainable;
    View received;
    int64_t elements, width, part;
  };
  struct Bucket {
    std::string name;
    mlir::ArrayAttr axes;
    int64_t ranks, layers, tiles;
    bool reverse;
    llvm::SmallVector<Tensor> tensors;
  };
  void exchange(mlir::ArrayAttr axes, llvm::ArrayRef<Trainable *> trainables);
  void sum(const Bucket &bucket);
  void gather(const Bucket &bucket);

  Tiler &tiler;
  PlanBuilder &plan;
  /// Mutable because accessors of ops are not const.
  mutable dist::MeshOp mesh;
  int64_t bucketBytes;
  /// The last contribution to each parameter's gradient.
  llvm::DenseMap<mlir::Attribute, mlir::Operation *> last;
  /// Complete gradients that were not exchanged, by their axes: of the present
  /// stack's iteration, or outside of stacks; and those of a stack that all
  /// iterations add to.
  llvm::MapVector<mlir::ArrayAttr, llvm::SmallVector<Trainable *>> pending,
      shared;
  llvm::SmallVector<Bucket> buckets;
};

} // namespace baton::tasks

#endif // BATON_PASSES_TASKS_RANKSUMS_H
