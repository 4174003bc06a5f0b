//===- training_run.h - all steps of a training run, on each rank ---------===//

#ifndef BATON_RUNTIME_MAIN_TRAINING_RUN_H
#define BATON_RUNTIME_MAIN_TRAINING_RUN_H

#include "runtime/comm/communicator.h"
#include "runtime/main/commands.h"
#include "runtime/train/batches.h"
#include "runtime/train/learning_rate.h"
#include "runtime/train/loss_scale.h"
#include "runtime/train/optimizer_numbers.h"
#include "runtime/train/run_folder.h"

#include <filesystem>
#include <optional>

namespace baton {

/// What decides about a run, the same on all ranks.
struct TrainingRun {
  const Metadata &metadata;
  const TrainOptions &options;
  /// With the config and the tokenizer of the model.
  const std::filesystem::path &folder;
  const LearningRateSchedule &schedule;
  const OptimizerNumbers &optimizer;
  const LossScale &scale;
  const Batches &batches;
  /// Where it begins, and with which checkpoint of its own.
  const TrainingState &state;
  const std::optional<ResumePoint> &point;
};

/// Of a program of one rank `communicator` is null. Rank 0 reports steps and
/// writes checkpoints. Throws Error; for what all ranks find at once,
/// AgreedError.
void run_steps(const TrainingRun &run, Communicator *communicator,
               unsigned workers);

/// Which part of each microbatch a rank has.
inline Place batch_place(const Communicator *communicator) {
  return communicator ? communicator->mesh().batch_place(communicator->rank())
                      : Place{};
}

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TRAINING_RUN_H
