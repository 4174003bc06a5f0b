//===- training_run.h - what decides about a training run -----------------===//

#ifndef BATON_RUNTIME_MAIN_TRAINING_RUN_H
#define BATON_RUNTIME_MAIN_TRAINING_RUN_H

#include "runtime/comm/communicator.h"
#include "runtime/execute/paged_region.h"
#include "runtime/main/commands.h"
#include "runtime/main/memory_cap.h"
#include "runtime/main/training_data.h"
#include "runtime/train/batches.h"
#include "runtime/train/learning_rate.h"
#include "runtime/train/loss_scale.h"
#include "runtime/train/optimizer_numbers.h"
#include "runtime/train/run_folder.h"
#include "runtime/train/teacher.h"

#include <filesystem>
#include <optional>
#include <span>

namespace baton {

/// What decides about a run, the same on all ranks.
struct TrainingRun {
  const Metadata &metadata;
  const TrainOptions &options;
  /// With the config and the tokenizer of the model.
  const std::filesystem::path &folder;
  /// Of a run of an adapter: what it is, and the checkpoint of the model beside
  /// which it trains, none for a random one.
  const std::optional<Adapter> &adapter;
  const std::optional<std::filesystem::path> &base;
  const LearningRateSchedule &schedule;
  const OptimizerNumbers &optimizer;
  /// What --state-memory says; without it no storages.
  const PagedStorages &paged;
  /// Of a program that obeys a cap: how.
  const std::optional<CappedRun> &capped;
  const LossScale &scale;
  const Batches &batches;
  /// Where losses are of pairs of answers: all of them, each once, and how much
  /// they count against the reference.
  std::span<const TrainingData::Part> pairs;
  std::optional<double> beta;
  /// Where losses have a teacher: what it is, and how much it counts.
  const std::optional<Distillation> &distillation;
  /// Where it begins, and with which checkpoint of its own.
  const TrainingState &state;
  const std::optional<ResumePoint> &point;
};

/// Which part of each microbatch a rank has.
inline Place batch_place(const Communicator *communicator) {
  return communicator ? communicator->mesh().batch_place(communicator->rank())
                      : Place{};
}

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TRAINING_RUN_H
