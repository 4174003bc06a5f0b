//===- training_steps.h - all steps of a training run, on each rank -------===//

#ifndef BATON_RUNTIME_MAIN_TRAINING_STEPS_H
#define BATON_RUNTIME_MAIN_TRAINING_STEPS_H

#include "runtime/main/training_run.h"

namespace baton {

/// Of a program of one rank `communicator` is null. Rank 0 reports steps and
/// writes checkpoints. Throws Error; for what all ranks find at once,
/// AgreedError.
void run_steps(const TrainingRun &run, Communicator *communicator,
               unsigned workers);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_TRAINING_STEPS_H
