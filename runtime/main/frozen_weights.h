//===- frozen_weights.h - what training reads and does not change ---------===//

#ifndef BATON_RUNTIME_MAIN_FROZEN_WEIGHTS_H
#define BATON_RUNTIME_MAIN_FROZEN_WEIGHTS_H

#include "runtime/main/training_run.h"
#include "runtime/weights/parameters.h"

namespace baton {

/// The weights that a rank's program has packed, as the checkpoint of its model
/// stores them, or without one random ones; none where all of a model trains.
Parameters frozen_weights(const Metadata &metadata,
                          const std::optional<std::filesystem::path> &model,
                          uint64_t seed, const RunOptions &options,
                          const Communicator *communicator);
/// Of a run.
Parameters frozen_weights(const TrainingRun &run,
                          const Communicator *communicator);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_FROZEN_WEIGHTS_H
