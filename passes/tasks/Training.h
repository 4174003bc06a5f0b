//===- Training.h - what a training program keeps, and its update ---------===//
//
// In a training program parameters are persistent buffers that tasks read and
// update, row-major as a checkpoint stores them, and each has a gradient of the
// same shape. Both have a copy for every layer.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TASKS_TRAINING_H
#define BATON_PASSES_TASKS_TRAINING_H

#include "passes/tasks/TilingRules.h"

#include "dialects/Update/Update.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace baton::tasks {

class Optimizer;
class RankSums;

/// A parameter that training changes.
struct Trainable {
  std::string name;
  /// One layer's: [n] or [n, k].
  View weight, gradient;
  int64_t layers;
  /// What the loader makes it of.
  mlir::DictionaryAttr description;
  /// What names of the library's products end in that read it: nothing, or the
  /// 16-bit type in which they multiply.
  llvm::StringRef products;
  /// Memory of all layers' weights and gradients, one after the other.
  mlir::StringAttr weightStorage, gradientStorage;
  mlir::LocationAttr location;
  /// Whether a contribution to the gradient is there already.
  bool hasGradient = false;
  /// Whether the norm of gradients counts it: not twice where several ranks
  /// have the same one.
  bool isCounted = true;
};

/// What parameters are called, by their attributes, in the order of the model:
/// the same in all programs of one that is cut into stages.
using ParameterNames = llvm::MapVector<mlir::Attribute, std::string>;

/// What rules see of a training program beside the Tiler's.
class Training {
public:
  /// Without `names`, which outlive it, parameters are named as they come.
  Training(Tiler &tiler, model::ProgramOp model,
           const ParameterNames *names = nullptr);
  ~Training();

  /// The buffers of a parameter, made when it is first asked for.
  Trainable &trainable(mlir::Value parameter);

  /// Values that stacks have saved, by name.
  llvm::StringMap<View> saved;
  /// Makes room for one of the stack that is being tiled, if there is none yet;
  /// whoever computes it writes it there, if that can be.
  void keep(model::SaveOp save);

  /// Sums of gradients over ranks; null where there is one rank.
  std::unique_ptr<RankSums> rankSums;

  /// Adds what follows the backward step: the gradients' norm, the updates, and
  /// the end of the step. `loss` is [rows].
  mlir::LogicalResult finish(const View &loss, mlir::Location location);

  // Its pieces.

  /// A rule for each parameter that has a gradient: those whose layers change
  /// together, and the others by how many layers they have.
  struct Rules {
    using List = llvm::SmallVector<std::pair<Trainable *, update::GroupOp>>;
    List together;
    llvm::MapVector<int64_t, List> apart;
  };
  mlir::FailureOr<Rules> rules(mlir::Location location);
  /// Sums of squares of all gradients, tile by tile: [1, tiles].
  View squares(mlir::Location location);
  /// [1, 4]: loss, the gradients' norm, the factor that clips them, whether all
  /// is finite. Of partial sums of squares, in one piece. Written to `into`, if
  /// that is a buffer.
  View summarize(const View &loss, const View &partials,
                 mlir::Location location, View into = {});
  /// The updates, in the present segment and others behind it.
  mlir::LogicalResult update(const Rules &rules, const View &summary,
                             mlir::Location location);
  /// The end of the step, in the present segment.
  void advance(const View &summary, mlir::Location location);

  /// A number that says whether gradients are added to those of the step
  /// before.
  View accumulate;

private:
  Tiler &tiler;
  const ParameterNames *names;
  std::unique_ptr<Optimizer> optimizer;
  /// What the optimizer reads of the run.
  View numbers;
  llvm::SmallVector<View> inputs;
  llvm::MapVector<mlir::Attribute, std::unique_ptr<Trainable>> trainables;
};

/// The parameter whose gradient a result contributes to; reports at the op
/// where it does to none.
Trainable *targetOf(mlir::Operation *op, Training &training);

/// States that a task adds to a tile of a gradient. Returns what says whether
/// it does add: the first one of a step asks the runtime, others do.
mlir::Attribute contribute(Trainable &target, PhaseBuilder &phase,
                           const Box &tile, Training &training);

} // namespace baton::tasks

#endif // BATON_PASSES_TASKS_TRAINING_H
