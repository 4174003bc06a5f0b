//===- trainer.h - feeds a program that trains ----------------------------===//

#ifndef BATON_RUNTIME_MAIN_TRAINER_H
#define BATON_RUNTIME_MAIN_TRAINER_H

#include "runtime/comm/communicator.h"
#include "runtime/main/rank_health.h"
#include "runtime/main/training_run.h"
#include "runtime/train/event_file.h"
#include "runtime/train/loss_history.h"
#include "runtime/train/step_inputs.h"
#include "runtime/train/step_log.h"
#include "runtime/train/step_losses.h"

#include <chrono>
#include <optional>

namespace baton {

/// Operations of products that a program takes for a row, 0 where it is not
/// known.
double row_flops(const Metadata &metadata);

/// Where a rank's results go: those of rank 0, or of the only one.
struct StepResults {
  StepLog log;
  LossHistory history;
  std::optional<EventFile> events;
  /// Of the machine, in operations of F32 a second; 0: not measured.
  double peak = 0;

  void add(const StepReport &finished) {
    log.add(finished);
    history.add(finished);
    if (events)
      events->add(finished);
  }
};

/// Feeds the program with microbatches, until a step that something is due
/// after: a checkpoint, or a validation.
class Trainer : public StepDriver {
public:
  /// All outlive it. `calls`: what a stage of a pipeline runs in a step.
  /// `results`: null on ranks that report nothing. `health`: null where ranks
  /// are not compared.
  Trainer(const TrainingRun &run, TrainingTensors &tensors, LossScale &scale,
          std::span<const StageCall> calls, Communicator *communicator,
          StepResults *results, const Comparison &comparison,
          RankHealth *health = nullptr);

  /// Steps that are finished, and where the next run ends.
  uint64_t step = 0, end = 0;
  /// Of the last step, which whoever stopped there hands to add().
  StepReport report;

  void add(const StepReport &finished) {
    if (results)
      results->add(finished);
    if (health)
      health->finished(finished.step);
  }

  BatonStep begin(std::span<int32_t>) override;
  BatonStep advance(const BatonStep &current, const Logits &summary) override;
  std::string tell() override;
  void hear(std::span<const std::string> told) override;

private:
  using Clock = std::chrono::steady_clock;

  BatonStep prepare();
  BatonStep fill();
  /// What the program has computed since the last call.
  RankTimes::Part part() const;

  const TrainingRun &run;
  LossScale &scale;
  Communicator *communicator;
  StepResults *results;
  StepInputs inputs;
  const TrainingTensor &numbers;
  const std::span<const StageCall> calls;
  /// Of a stage the next call, else of a step the next microbatch.
  uint64_t microbatch = 0;
  StepLosses losses;
  Clock::time_point started;
  RankHealth *health;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TRAINER_H
