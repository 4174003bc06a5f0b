//===- Updates.h - the phases of update rules -----------------------------===//
//
// One pass of a rule over whole tensors is one phase, with a body of its own; a
// sum has a second one, which adds up what tiles left. A rule that goes through
// a tensor once, element by element, takes all layers together; in others the
// passes follow one another for each layer.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_UPDATES_UPDATES_H
#define BATON_PASSES_UPDATES_UPDATES_H

#include "passes/tiling/Training.h"

#include "dialects/Update/Update.h"

namespace baton::tasks {

/// The module's rules and groups, and the numbers that a run sets.
class Optimizer {
public:
  explicit Optimizer(mlir::ModuleOp module);

  /// The group that a parameter belongs to, or null.
  update::GroupOp groupOf(llvm::ArrayRef<std::string> names,
                          int64_t rank) const;
  /// Its place among the module's groups, from 1 on.
  unsigned numberOf(update::GroupOp group) const;
  update::RuleOp ruleOf(update::GroupOp group) const;
  /// Where its number stands in the run's, which are kFirstNumber own ones and
  /// those of all rules.
  int64_t place(update::NumberOp number) const;
  /// The first of its weights, which stand behind the numbers of all rules.
  int64_t place(update::WeightsOp weights) const;
  int64_t count() const;
  /// [{name, default}] of numbers, [{name, shape, default}] of weights, for
  /// whoever sets them.
  mlir::ArrayAttr describe() const;

  /// Of the numbers: the limit of the gradients' norm, 0 for none.
  static constexpr int64_t kClip = 2;
  /// What losses and gradients are multiplied by until they are summed up.
  static constexpr int64_t kLossScale = 3;
  /// How many are the trainer's.
  static constexpr int64_t kOwn = 4;

private:
  /// Mutable because accessors of ops are not const.
  mutable mlir::ModuleOp module;
  llvm::SmallVector<update::NumberOp> numbers;
  /// Rules may have them in common.
  llvm::SmallVector<update::WeightsOp> weights;
};

/// Elements of a tile of a parameter, about: a core's cache holds a few of
/// these.
constexpr int64_t kTileElements = 16384;

/// What all updates of a step read.
struct UpdateInputs {
  const Optimizer &optimizer;
  /// [numbers], and the step's [1, 4]: loss, norm, factor, whether all is
  /// finite.
  View numbers, summary;
};

/// Whether a rule goes through a parameter once, element by element.
bool isElementwise(update::RuleOp rule);

/// Whether all layers of a parameter can be updated as one matrix: its blocks,
/// if there are some, do not begin anew with each layer.
bool takesLayersTogether(update::RuleOp rule, const Trainable &trainable);

/// Whether ranks can update parts of it (Shards.h): no block is cut, and what
/// is behind the end of the tensor, in the last rank's part, stays zero, so
/// that no block has another scale for it.
bool canBeCut(update::RuleOp rule, const Trainable &trainable);

/// How the elements of a layer may be cut: in runs of as many as a row of
/// blocks has, if states are kept in these.
CutUnit cutUnitOf(update::RuleOp rule, const Trainable &trainable);

/// Adds the phases that update a parameter, in the present segment: of all
/// layers together, or of its iteration's.
mlir::LogicalResult tileUpdate(Trainable &trainable, update::GroupOp group,
                               const UpdateInputs &inputs, PlanBuilder &plan);

} // namespace baton::tasks

#endif // BATON_PASSES_UPDATES_UPDATES_H
