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
// own rows. Where a rank updates only a part of the parameter (dist.scattered,
// Shards.h), there is no gather: the new weights are gathered instead. Where
// the sum is over more axes than those that cut it (dist.scattered_over), sums
// of the parts are added up over these, in buckets of the same three phases,
// behind all others.
//
// What is exchanged lies in one place in all iterations and on all ranks, and
// sums are added where they were received: maps do not depend on the rank.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_COLLECTIVES_RANKSUMS_H
#define BATON_PASSES_COLLECTIVES_RANKSUMS_H

#include "passes/collectives/Shards.h"
#include "passes/tiling/Training.h"

#include "dialects/Dist/Placement.h"

#include <functional>

namespace baton::tasks {

class RankSums {
public:
  /// Of the gradients in `scope`, a program or a stage of one. `mesh` is not
  /// null. `splits` says whether a parameter's update can be one of parts.
  RankSums(Tiler &tiler, mlir::Operation *scope, dist::MeshOp mesh,
           int64_t bucketBytes, std::function<bool(const Trainable &)> splits);

  /// Which gradients a program of several for one stage adds up over ranks:
  /// those of which ranks keep parts, in each phase that contributes to them;
  /// all others at the step's end; and it may be that sums are there, of which
  /// it only updates parameters.
  enum class Sums { All, Kept, AtEnd, AreThere };
  void only(Sums which) { sums = which; }

  /// What ranks have only parts of, of a parameter whose buffers are to be
  /// made: nothing, or of the optimizer's states at least. It has a name, a
  /// description and the weight's type.
  std::optional<Kept> partsOf(const Trainable &trainable) const;

  /// Makes the parts.
  void split(Trainable &trainable, Kept parts);

  /// Before these ops of a block: gathers parameters of which ranks keep parts.
  /// What lies in a ring is the next iteration's.
  void gatherParameters(llvm::ArrayRef<mlir::Operation *> ops);

  /// Before the segment of a stack: gathers what lies in a ring for its first
  /// iteration, in the present segment.
  void gatherFirst(model::StackOp stack);

  /// Notes that a contribution to a gradient was tiled. Reports at the op if
  /// contributions are sums over different ranks.
  mlir::LogicalResult contributed(model::GradientOp op, Trainable &trainable);

  /// Exchanges what is complete, in the present segment: at the end of a
  /// stack's pattern, and before another segment begins.
  void flush();

  /// Adds the segments that finish all sums.
  void finish(mlir::Location location);

  /// Parameters of which each rank has a part to update.
  const std::deque<Shard> &sharded() const { return shards.all(); }

  /// Numbers that each rank of some axes has of a parameter of this name, and
  /// what all of these ranks have.
  struct Gathered {
    std::string name;
    mlir::ArrayAttr axes;
    View numbers;
  };
  /// Gathers the numbers of each, in the present segment: [1, numbers].
  void gatherNumbers(llvm::ArrayRef<Gathered *> list, mlir::Location location);

  /// Adds the segments that update parts: `update` adds the phases of one
  /// parameter, for each layer. What is new of all is gathered behind it.
  mlir::LogicalResult
  updateShards(llvm::function_ref<mlir::LogicalResult(Trainable &)> update,
               mlir::Location location);

  /// [ranks]: the sum of all losses of each rank, in the present segment; the
  /// loss itself where rows are of one rank.
  View gatherLoss(const View &loss, mlir::Location location);

private:
  /// A gradient, and where parts of it are received: [ranks, part], of which a
  /// task of the sum has `width` columns.
  struct Tensor {
    Trainable *trainable;
    /// What is summed up.
    View gradient;
    View received = {};
    int64_t elements = 0, width = 0, part = 0;
    const Shard *shard = nullptr;
  };
  struct Bucket {
    std::string name;
    mlir::ArrayAttr axes;
    int64_t ranks, layers, tiles;
    bool reverse, isSharded;
    llvm::SmallVector<Tensor> tensors;
  };
  /// Axes of a sum, and 1 where a rank needs only a part of it.
  using Form = std::pair<mlir::ArrayAttr, int>;
  using Segments = llvm::MapVector<std::pair<int64_t, int>,
                                   llvm::SmallVector<const Bucket *>>;

  /// Parameters of which ranks keep parts, as a block's ops read them first, in
  /// lists that are gathered at once.
  using Gathers = llvm::SmallVector<
      std::pair<mlir::ArrayAttr, llvm::SmallVector<const Shard *>>>;
  Gathers gathersFor(llvm::ArrayRef<mlir::Operation *> ops, bool inRings);
  /// Gathers parts, which lie in the first one of each pair, into the second.
  PhaseBuilder gather(llvm::StringRef name, mlir::ArrayAttr axes,
                      llvm::ArrayRef<const Shard *> list,
                      llvm::ArrayRef<std::pair<View, View>> views,
                      mlir::Location location);

  /// Some of these buckets, by the segments that repeat as often.
  static Segments segments(llvm::ArrayRef<Bucket> buckets,
                           llvm::function_ref<bool(const Bucket &)> has);
  /// A bucket of gradients, of which each rank sums up a part.
  void divide(Bucket &bucket, llvm::StringRef received);
  /// The phase that begins a bucket, in steps with so many outputs or all.
  void send(const Bucket &bucket, mlir::AffineExpr grid,
            llvm::StringRef purpose);
  void exchange(const Form &form, llvm::ArrayRef<Trainable *> trainables);
  /// Adds the segments that add up what groups of ranks have summed up.
  void sumGroups(mlir::Location location);
  void sum(const Bucket &bucket);
  void gather(const Bucket &bucket);

  Tiler &tiler;
  PlanBuilder &plan;
  /// Mutable because accessors of ops are not const.
  mutable dist::MeshOp mesh;
  int64_t bucketBytes;
  std::function<bool(const Trainable &)> splits;
  Shards shards;
  Sums sums = Sums::All;
  /// The last contribution to each parameter's gradient.
  llvm::DenseMap<mlir::Attribute, mlir::Operation *> last;
  /// Parameters that are gathered.
  llvm::DenseSet<mlir::Attribute> gathered;
  /// Sharded gradients that were exchanged, and are to be summed up in the
  /// present segment.
  llvm::SmallVector<const Shard *> unsummed;
  /// Complete gradients that were not exchanged, by their axes: of the present
  /// stack's iteration, or outside of stacks; and those of a stack that all
  /// iterations add to.
  llvm::MapVector<Form, llvm::SmallVector<Trainable *>> pending, shared;
  llvm::SmallVector<Bucket> buckets;
  /// Parts whose sums are a group's, and whether their layers were reversed.
  llvm::SmallVector<std::pair<const Shard *, bool>> grouped;
};

} // namespace baton::tasks

#endif // BATON_PASSES_COLLECTIVES_RANKSUMS_H
