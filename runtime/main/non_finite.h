//===- non_finite.h - where infinities and NaNs of a step begin -----------===//
//
// A step whose loss or gradients are not finite ends the run. What is at fault
// is a parameter, or else the first phase whose output is not finite: the step
// runs again, on one worker, which looks at the output of every phase.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_NON_FINITE_H
#define BATON_RUNTIME_MAIN_NON_FINITE_H

#include "runtime/comm/communicator.h"
#include "runtime/error.h"
#include "runtime/main/training_run.h"
#include "runtime/train/references.h"
#include "runtime/train/training_tensors.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton {

/// Thrown where a run meets one.
struct NonFiniteStep : Error {
  enum class Number { Loss, GradientNorm, ValidationLoss };
  /// `step` counts from 1.
  NonFiniteStep(uint64_t step, Number number);

  uint64_t step;
  Number number;
  /// What every parameter held, by copy_parameters().
  std::vector<std::vector<std::byte>> parameters;
  /// Where losses are of pairs.
  std::optional<Preferences> preferences;
  /// Where losses have a teacher; the run's.
  const Distillation *distillation = nullptr;
};

/// Says which tensor of parameters, under the name that `like` has for it, or
/// of the optimizer's states, holds an infinity or a NaN, where, and how many;
/// nothing when all are finite.
std::optional<std::string> find_non_finite(const TrainingTensors &tensors,
                                           const Checkpoint *like);

/// All layers of each parameter.
std::vector<std::vector<std::byte>>
copy_parameters(const TrainingTensors &tensors);

/// Runs the step again, in memory of its own, and says where it went wrong;
/// with a communicator, on all ranks, of which each says what the first one of
/// them found.
std::string explain_non_finite(const TrainingRun &run,
                               const NonFiniteStep &failure,
                               Communicator *communicator);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_NON_FINITE_H
