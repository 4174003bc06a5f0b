//===- training_forecast.h - what a training run will take ----------------===//
//
// Everything here follows from the program's description, the sizes of a step
// and the machine: nothing is loaded, and no step is run.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_TRAINING_FORECAST_H
#define BATON_RUNTIME_MAIN_TRAINING_FORECAST_H

#include "runtime/execute/metadata.h"
#include "runtime/main/machine_forecast.h"
#include "runtime/main/memory_needs.h"
#include "runtime/train/batches.h"
#include "runtime/train/step_costs.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace baton {

/// What one rank does in a step, and takes for it.
struct RankForecast {
  uint64_t tasks = 0;
  StepCosts costs;
  /// What for, in the order in which people are told, and bytes; no zeros.
  std::vector<std::pair<std::string, uint64_t>> memory;

  uint64_t bytes() const;
};

struct TrainingForecast {
  /// Of a pipeline the first rank of each place, else the first rank, which is
  /// as all others but for uneven parts of tensors.
  std::vector<RankForecast> ranks;
  /// How many ranks each of these stands for.
  uint32_t alike = 1;
  uint64_t phases = 0;
  /// The part of a step that stages are planned to idle.
  double bubble = 0;

  /// Of all ranks.
  StepCosts costs() const;
  uint64_t bytes() const;
  /// Seconds that a step takes at least where all ranks share a machine of
  /// these limits: what ranks exchange takes none.
  double seconds(double flops_per_second, double bytes_per_second) const;
};

/// `workers`: of each rank. Of a program that obeys a cap without what layers
/// have in memory. Throws Error when the description does not say.
TrainingForecast forecast_training(const Metadata &metadata,
                                   const BatchShape &shape, unsigned workers);

/// The part of a cap that is left to the program itself, its libraries, and
/// what it reads data and checkpoints with.
inline uint64_t room_of_process(uint64_t cap) {
  return (uint64_t(24) << 20) + cap / 64;
}

/// A step with an update, of as many rows as one rank has of the shape.
BatonStep largest_step(const Metadata &metadata, const BatchShape &shape);

nlohmann::ordered_json forecast_json(const Metadata &metadata,
                                     const BatchShape &shape,
                                     const TrainingForecast &forecast,
                                     const MachineForecast &machine);
std::string forecast_text(const Metadata &metadata, const BatchShape &shape,
                          const TrainingForecast &forecast,
                          const MachineForecast &machine);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TRAINING_FORECAST_H
