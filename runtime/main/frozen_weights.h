//===- frozen_weights.h - what training reads and does not change ---------===//

#ifndef BATON_RUNTIME_MAIN_FROZEN_WEIGHTS_H
#define BATON_RUNTIME_MAIN_FROZEN_WEIGHTS_H

#include "runtime/main/training_run.h"
#include "runtime/weights/parameters.h"

namespace baton {

/// The weights that a rank's program has packed, as the checkpoint of the
/// run's base stores them, or random ones; none where all of a model trains.
Parameters frozen_weights(const TrainingRun &run,
                          const Communicator *communicator);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_FROZEN_WEIGHTS_H
