//===- StepMutants.h - small changes of a step's programs -----------------===//

#ifndef BATON_TEST_PASSES_PROOF_STEPMUTANTS_H
#define BATON_TEST_PASSES_PROOF_STEPMUTANTS_H

#include "dialects/Event/Event.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace baton::test {

/// What PlanMutants leaves: phases and what they access, order, storage, and
/// what the programs of a step agree on.
enum class StepMutationClass {
  /// A phase goes, with its event tensor and all waits for it.
  dropPhase,
  /// A phase no longer states one of its reads or writes.
  dropAccess,
  /// A read or write may happen, or has to.
  changeMay,
  /// A segment's iterations have their copies the other way round.
  reverseSegment,
  /// A segment has an iteration more or less.
  changeRepeat,
  /// Tiles go round the workers instead of in runs, or in runs.
  otherDistribution,
  /// An event tensor is for a device's workers only, or for all ranks.
  changeScope,
  /// An exchange or a message goes, with its phase or without; or both ends of
  /// a message.
  dropMeeting,
  /// Two exchanges or messages of a segment change places.
  swapMeetings,
  /// A buffer begins elsewhere in its storage, or its copies lie elsewhere.
  shiftStorage,
  /// What outlives a step is said of another buffer, or otherwise.
  otherCarry,
  /// Two entries of a pipeline's table change places, or one goes.
  swapPrograms,
};
inline constexpr unsigned kStepMutationClasses = 12;

const char *nameOf(StepMutationClass mutationClass);

struct StepMutation {
  std::string description;
  /// Numbers of the programs that differ; none if only their order does.
  std::set<unsigned> programs;
  /// Changes a copy of the module that `mutationsOf` was asked about.
  std::function<void(mlir::ModuleOp)> apply;
};

/// All mutations of a class. They may leave the dialect's verifier
/// dissatisfied.
std::vector<StepMutation> mutationsOf(mlir::ModuleOp module,
                                      StepMutationClass mutationClass);

/// The programs of a module, in order.
llvm::SmallVector<event::ProgramOp> programsOf(mlir::ModuleOp module);

} // namespace baton::test

#endif // BATON_TEST_PASSES_PROOF_STEPMUTANTS_H
