//===- rank_health.h - warns of ranks that are slow -----------------------===//

#ifndef BATON_RUNTIME_MAIN_RANK_HEALTH_H
#define BATON_RUNTIME_MAIN_RANK_HEALTH_H

#include "runtime/health/health_log.h"
#include "runtime/health/rank_judge.h"
#include "runtime/main/training_run.h"
#include "runtime/train/rank_times.h"
#include "runtime/train/step_log.h"
#include "runtime/train/training_tensors.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// Throws Error where the options say something of ranks and there is one.
void check_health_options(const Metadata &metadata,
                          const TrainOptions &options);

/// Of one rank of a run: measures its part of each step; on rank 0 it hears
/// those of all, compares them, and says which rank is slow.
class RankHealth {
public:
  /// All ranks make one at the same place. `log` and `folder` are of rank 0,
  /// and null on others; all outlive it. Throws Error when the log of times
  /// that the options ask for cannot be written.
  RankHealth(const TrainingRun &run, Communicator &communicator,
             const TrainingTensors &tensors, StepLog *log,
             const std::filesystem::path *folder);

  RankTimes times;
  /// What the ranks have told.
  void hear(std::span<const std::string> told);
  /// That was all of the step.
  void finished(uint64_t step);

private:
  void say(const RankEvent &event);

  const TrainOptions &options;
  StepLog *step_log;
  std::vector<RankIdentity> ranks;
  /// Whether what ranks compute depends on the tokens.
  bool has_experts = false;
  std::optional<RankJudge> judge;
  std::optional<HealthLogWriter> log;
  std::vector<double> seconds;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_RANK_HEALTH_H
