//===- Training.h - what a training program keeps, and its update ---------===//
//
// In a training program parameters are persistent buffers that tasks read and
// update, row-major as a checkpoint stores them, and each has a gradient of the
// same shape. Both have a copy for every layer.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_TILING_TRAINING_H
#define BATON_PASSES_TILING_TRAINING_H

#include "passes/collectives/Shards.h"
#include "passes/tiling/Tiler.h"

#include "dialects/Dist/Dist.h"
#include "dialects/Update/Update.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <memory>

namespace baton::tasks {

class Optimizer;
class RankSums;

/// A parameter that training changes.
struct Trainable {
  std::string name;
  /// One layer's: [n], [n, k], or of several, experts or heads, [several, ...].
  View weight, gradient;
  int64_t layers;
  /// Whether an expert's, or a head's, part is a matrix or a vector by itself.
  bool isOfSeveral = false;

  /// Matrices, or vectors, of all layers.
  int64_t matrices() const {
    return layers * (isOfSeveral ? weight.type.getDimension(0) : 1);
  }
  /// Dimensions of each.
  int64_t rank() const { return weight.type.getRank() - isOfSeveral; }

  /// What the loader makes it of.
  mlir::DictionaryAttr description;
  /// Where a rank has a part: its shards, as they are described of a matrix, or
  /// of those of experts, and the axes over which ranks have different parts;
  /// else null.
  mlir::ArrayAttr shards, axes;
  /// Whether it has a part of each matrix, and not some of the experts' whole.
  bool cutsMatrices = false;
  /// These shards of its own dimensions.
  mlir::ArrayAttr ownShards;
  /// What describes memory of its that the step before has left as it is, also
  /// where other programs of a stage run in between; null for one program,
  /// where nothing else has it.
  mlir::DictionaryAttr between;
  /// The type in which products with it multiply: "f32", "bf16" or "f16".
  llvm::StringRef productFormat;
  /// Memory of all layers' weights and gradients, one after the other. With a
  /// shard these gradients are of the rank's own rows only.
  mlir::StringAttr weightStorage, gradientStorage;
  mlir::LocationAttr location;
  /// Whether a contribution to the gradient is there already.
  bool hasGradient = false;
  /// What of a layer is cut for norms and between ranks.
  CutUnit unit;
  /// What a rank updates of it; null for all.
  const Shard *shard = nullptr;
  /// Several layers' weights are there at once, each gathered while the layer
  /// before computes.
  bool isRing = false;
  /// The gradient is one step's, of one layer at a time: none before it.
  bool isFresh = false;
  /// Whether the norm of gradients counts it: not twice where several ranks
  /// have the same one, nor what is no gradient of a loss.
  bool isCounted = true;
};

/// What tells a parameter from all others, wherever it stands: its attributes,
/// but for whether ops find all of it there.
mlir::Attribute keyOf(model::ParameterOp parameter);

/// What parameters are called: after the model's, whatever else a plan names,
/// so that the states of optimizers have the same names on every mesh.
class ParameterNames {
public:
  /// Names one that has no name yet. Whoever comes first has the model's.
  void add(mlir::Attribute key, model::ParameterOp parameter);
  llvm::StringRef of(mlir::Attribute key) const {
    return names.find(key)->second;
  }

  auto begin() const { return names.begin(); }
  auto end() const { return names.end(); }

private:
  llvm::MapVector<mlir::Attribute, std::string> names;
  llvm::StringSet<> taken;
};

/// What rules see of a training program beside the Tiler's.
class Training {
public:
  /// `names`, by keys, are those of all programs of a model that is cut into
  /// stages, and outlive this. With `stage` ranks add up its gradients, else
  /// all of the model's.
  Training(Tiler &tiler, model::ProgramOp model,
           const ParameterNames *names = nullptr,
           mlir::Operation *stage = nullptr);
  ~Training();

  /// The buffers of a parameter, made when it is first asked for.
  Trainable &trainable(mlir::Value parameter);

  /// Begins the gradients that all iterations of a stack add to, in the present
  /// segment: the stack's own phases, run again and again, cannot tell which
  /// iteration comes first. For one rank.
  void beginShared(model::StackOp stack);

  /// Values that stacks have saved, by name.
  llvm::StringMap<View> saved;
  /// Makes room for one of the stack that is being tiled, if there is none yet;
  /// whoever computes it writes it there, if that can be.
  void keep(model::SaveOp save);

  /// Of sums of logits of which each rank has some: the rank's own, and the
  /// maximum that they are relative to, the latter first.
  llvm::DenseMap<mlir::Operation *, std::pair<View, View>> logits;

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
    /// Those of which each rank updates a part.
    llvm::DenseMap<Trainable *, update::GroupOp> parts;
  };
  mlir::FailureOr<Rules> rules(mlir::Location location);
  /// Sums of squares of all gradients, parameter by parameter: [1, parameters].
  View squares(mlir::Location location);
  /// How many losses a model's rows have: one, or several (model.router_loss,
  /// model.preference_loss), of which the first is what is minimised.
  static int64_t countLosses(model::ProgramOp model);
  /// Numbers of the summary of so many.
  static int64_t summarySize(int64_t losses) { return 3 + losses; }
  /// In a row: the first loss, the gradients' norm, the factor that clips them,
  /// whether all is finite; and the other losses. Of partial sums of squares,
  /// in one piece. Written to `into`, if that is a buffer.
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
  /// A number that is always 0, and says that nothing is added.
  View never();
  /// A row of numbers that ranks exchange, with zeros behind them up to the end
  /// of a cache line.
  View alignedNumbers(llvm::StringRef name, int64_t count,
                      mlir::Location location);
  /// What describes memory that is as the step before has left it, also where
  /// other programs of the stage run in between.
  mlir::DictionaryAttr betweenPrograms() const;

private:
  Tiler &tiler;
  const ParameterNames *names;
  /// Of a program that is the whole model: by descriptions.
  ParameterNames own;
  /// Null where there is one rank.
  dist::MeshOp mesh;
  std::unique_ptr<Optimizer> optimizer;
  /// What the optimizer reads of the run.
  View numbers;
  llvm::SmallVector<View> inputs;
  View zero;
  llvm::MapVector<mlir::Attribute, std::unique_ptr<Trainable>> trainables;
  /// Descriptions of parameters in the model's order, whoever asks for them
  /// first.
  llvm::SetVector<mlir::Attribute> parameters;
  /// By keys, parameters to which something contributes; and those of them to
  /// which losses do.
  llvm::DenseSet<mlir::Attribute> changed, ofLosses;
};

/// The parameter whose gradient a result contributes to; reports at the op
/// where it does to none.
Trainable *targetOf(mlir::Operation *op, Training &training);
/// The same of one result of several.
Trainable *targetOf(mlir::OpResult result, Training &training);

/// States that a task adds to a tile of a gradient. Returns what says whether
/// it does add: the first one of a step asks the runtime, others do.
mlir::Attribute contribute(Trainable &target, PhaseBuilder &phase,
                           const Box &tile, Training &training);

} // namespace baton::tasks

#endif // BATON_PASSES_TILING_TRAINING_H
