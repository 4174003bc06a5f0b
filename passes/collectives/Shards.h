//===- Shards.h - what a rank keeps of a parameter's state ----------------===//
//
// ZeRO. Of a parameter whose rule goes through it once, element by element, a
// rank updates only a part, and has the optimizer's states of that part alone.
// A part is of every layer, a run of whole blocks (Blocks): all layers'
// elements are cut in the same places, and norms have blocks of one rank each.
//
//   exchange   all_to_all: a rank gets its part of the gradient from all
//   sum        the n parts, in ascending order of ranks
//   squares    of the part's blocks; all_gather: all ranks get all blocks'
//   update     of the part
//   gather     all_gather: all ranks get all parts of the new weights
//
// Where ranks are in groups, each of which has all parts, those of a group do
// this; between the sum and the squares, ranks that have the same part in other
// groups add up their sums as RankSums adds up gradients.
//
// Rules that need whole tensors (products, sums) keep whole states, and their
// gradients are gathered.
//
// States that are kept in blocks of a matrix (update.format) have a scale for
// each of these, which is computed of all of it. So the Blocks of such a
// parameter are whole rows of its rule's blocks: no rank has a part of one, and
// codes and scales are those of a single rank.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_COLLECTIVES_SHARDS_H
#define BATON_PASSES_COLLECTIVES_SHARDS_H

#include "passes/tiling/PlanBuilder.h"

#include <deque>
#include <optional>

namespace baton::tasks {

/// What ranks exchange begins on a cache line.
constexpr int64_t kPartElements = 16;

struct Trainable;

/// Elements that are not parted, and those of a row: of the matrix, or, where
/// nothing says otherwise, 0.
struct CutUnit {
  int64_t elements = 1, columns = 0;
};

/// How the elements of one layer of a tensor are cut for norms: in blocks of
/// `size` elements, the last one shorter, which are rows of `columns`. It
/// depends on the tensor and its rule alone, so that norms have the same bits
/// however many ranks have it.
struct Blocks {
  int64_t elements, size, columns, count;

  Blocks(int64_t elements, CutUnit unit);
};

/// Of what ranks have only parts, beside the optimizer's states.
struct Kept {
  /// Gradients, which ranks exchange in every step then, and weights, which
  /// they gather for the ops of a block.
  bool gradient = false, weight = false;
};

/// A parameter's part on every rank.
struct Shard {
  Trainable *trainable;
  /// Whose ranks have different parts, and those over which the gradient is a
  /// sum besides: null for none.
  mlir::ArrayAttr axes, groups;
  int64_t ranks;
  Blocks blocks;
  /// Blocks of a rank.
  int64_t count;
  Kept parts;
  /// One layer's: [ranks, part] of gradients that ranks send, whose first row
  /// has the rank's weights during the update, unless it keeps these.
  View received;
  /// [count, block]
  View weight, gradient;
  /// All of the part's sum, in a buffer of its own.
  View sum;
  /// What says which part it is: {place, 1}.
  View place;

  /// Elements of a part, those behind the end of the tensor included.
  int64_t part() const { return count * blocks.size; }
  /// How the runtime is told which elements of a layer, of this shape, ranks
  /// have (runtime/comm/shards.h). Where the parameter is a part of one
  /// already, they are cut of that.
  void describe(mlir::NamedAttrList &description,
                llvm::ArrayRef<int64_t> shape) const;
  /// The same of what has so many elements for each block; `outer`, which may
  /// be null, says how the parameter's part is cut, in these.
  void describe(mlir::NamedAttrList &description, llvm::ArrayRef<int64_t> shape,
                int64_t granularity, mlir::ArrayAttr outer) const;

  /// The weight and the gradient as a matrix, with rows of so many columns.
  View inRows(const View &view, int64_t columns) const;
};

/// A program's.
class Shards {
public:
  explicit Shards(PlanBuilder &plan) : plan(plan) {}

  /// Makes the parts of a parameter, whose whole gradient there is.
  void add(Trainable &trainable, mlir::ArrayAttr axes, mlir::ArrayAttr groups,
           int64_t ranks, Kept parts);

  /// Adds the phase that sums up what was received, in the present segment,
  /// which has an iteration for each layer. What a rank keeps of a gradient it
  /// is added to if `accumulate` is not 0.
  void sum(const Shard &shard, const View &accumulate);

  const std::deque<Shard> &all() const { return shards; }

private:
  View place(mlir::ArrayAttr axes, int64_t ranks, mlir::Location location);

  PlanBuilder &plan;
  /// They stay where they are.
  std::deque<Shard> shards;
  llvm::DenseMap<mlir::Attribute, View> places;
};

} // namespace baton::tasks

#endif // BATON_PASSES_COLLECTIVES_SHARDS_H
