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

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace baton::tasks {

class Optimizer;
class RankSums;
struct Shard;

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
  /// Memory of all layers' weights and gradients, one after the other. With a
  /// shard these gradients are of the rank's own rows only.
  mlir::StringAttr weightStorage, gradientStorage;
  mlir::LocationAttr location;
  /// Whether a contribution to the gradient is there already.
  bool hasGradient = false;
  /// What a rank updates of it; null for all.
  const Shard *shard = nullptr;
  /// The gradient is one step's, of one layer at a time: none before it.
  bool isFresh = false;
};

/// What rules see of a training program beside the Tiler's.
class Training {
public:
  Training(Tiler &tiler, model::ProgramOp model);
  ~Training();

  /// The buffers of a parameter, made when it is first asked for.
  Trainable &trainable(mlir::Value parameter);

  /// Values that stacks have saved, by name.
  llvm::StringMap<View> saved;
  /// Makes room for one of the stack that is being tiled; whoever computes it
  /// writes it there, if that can be.
  void keep(model::SaveOp save);

  /// Sums of gradients over ranks; null where there is one rank.
  std::unique_ptr<RankSums> rankSums;

  /// Adds what follows the backward step: the gradients' norm, the updates, and
  /// the end of the step. `loss` is [rows].
  mlir::LogicalResult finish(const View &loss, mlir::Location location);

  /// A number that says whether gradients are added to those of the step
  /// before.
  View accumulate;
  /// A number that is always 0, and says that nothing is added.
  View never();

private:
  /// Sums of squares of all gradients, parameter by parameter.
  View squares(mlir::Location location);
  View summarize(const View &loss, const View &partials,
                 mlir::Location location);

  Tiler &tiler;
  std::unique_ptr<Optimizer> optimizer;
  /// What the optimizer reads of the run.
  View numbers;
  llvm::SmallVector<View> inputs;
  View zero;
  llvm::MapVector<mlir::Attribute, std::unique_ptr<Trainable>> trainables;
  /// Descriptions of parameters in the model's order, whoever asks for them
  /// first.
  llvm::SetVector<mlir::Attribute> parameters;
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
