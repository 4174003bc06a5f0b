//===- StepSums.h - sums over ranks within a step -------------------------===//
//
// What ranks have of a value is a sum, or a maximum, of numbers of every row,
// or of a vector of a fixed size, which is as one row. As gradients are
// (RankSums.h) it is made in three phases, which follow one another:
//
//   exchange   all_to_all: a rank gets its part of the rows in use from all
//   sum        the n parts, in ascending order of ranks
//   gather     all_gather: all ranks get all parts
//
// Sums that are joined (dist.joined) have one exchange and one gather, of a
// tensor for each.
//
// Where ranks have parts of the rows, one of these is enough: sums of the own
// rows are scattered by the exchange (dist.reduce_scatter), and rows are put
// together by a gather (dist.all_gather). So are columns, which lie in the
// order of ranks first, and are copied to their rows.
//
// All values of one width go through the same memory, in which the op that
// makes one leaves it, and the ops behind find it, wherever no other sum comes
// in between. What is joined has memory of its own.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_COLLECTIVES_STEPSUMS_H
#define BATON_PASSES_COLLECTIVES_STEPSUMS_H

#include "passes/collectives/RankPlaces.h"
#include "passes/tiling/Tiler.h"

#include <map>

namespace baton::tasks {

class StepSums {
public:
  StepSums(Tiler &tiler, dist::MeshOp mesh, const RankPlaces &places)
      : tiler(tiler), plan(tiler.plan), mesh(mesh), places(places) {}

  /// Before ops of a block that run as one program: whoever makes a term of a
  /// sum writes it to where it is exchanged, if that can be.
  void begin(llvm::ArrayRef<mlir::Operation *> ops);

  /// A dist.all_reduce, which is tiled with those joined to it,
  /// dist.reduce_scatter, dist.all_gather or dist.slice.
  mlir::LogicalResult tile(mlir::Operation *op);
  mlir::LogicalResult tile(dist::FirstRankOp op);

private:
  /// What a part is of: so many numbers, wherever rows begin, or numbers of a
  /// vector, or rows, or columns of all rows.
  enum class Cut { Numbers, Vector, Rows, Columns };
  /// Of a width and a group's size: all of a rank's rows, and the parts of
  /// them that a rank receives, or has. Columns are those of one rank behind
  /// the other's, in rows of whole cache lines.
  struct Memory {
    View rows, parts;
    mlir::AffineExpr elements, part;
    int64_t most;
    int64_t ranks;

    /// Whether the last ranks may have less than a part.
    bool endsEarly() const { return elements != part * ranks; }
  };
  /// `place` counts those of one width that are joined.
  struct Key {
    int64_t width, ranks;
    Cut cut;
    int64_t place;
    auto operator<=>(const Key &) const = default;
  };

  Key keyOf(mlir::Operation *op);
  /// Whether the op is a sum or gather in this memory, or a stack of them.
  bool overwrites(mlir::Operation *op, Key key);
  static bool hasGaps(const Key &key);
  Memory &memory(Key key, mlir::Location location);
  /// The rows as a value of this type.
  static View shaped(const Memory &memory, model::StepTensorType type);
  bool mayStay(mlir::Operation *op);
  /// What was summed up or gathered becomes the result, where it is or copied.
  mlir::LogicalResult finish(mlir::Operation *op, const std::string &name,
                             Memory &memory);
  /// The parts of some ops' memory are exchanged and added up, in one place or
  /// as the result, and gathered.
  void exchange(llvm::ArrayRef<mlir::Operation *> ops, const std::string &name);
  void sum(dist::AllReduceOp op, const std::string &name, Memory &memory);
  mlir::LogicalResult sum(dist::ReduceScatterOp op, const std::string &name,
                          Memory &memory);
  void gather(llvm::ArrayRef<mlir::Operation *> ops, const std::string &name);
  mlir::LogicalResult tileSums(llvm::ArrayRef<mlir::Operation *> ops,
                               const std::string &name);
  mlir::LogicalResult copy(mlir::Operation *op, const std::string &name,
                           const View &from, const View &to);
  mlir::LogicalResult tileApart(dist::AllGatherOp op, const std::string &name,
                                const View &x, const View &part);
  mlir::LogicalResult tileGather(dist::AllGatherOp op, const std::string &name);
  mlir::LogicalResult tileSlice(dist::SliceOp op);

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

#endif // BATON_PASSES_COLLECTIVES_STEPSUMS_H
