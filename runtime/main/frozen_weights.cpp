//===- frozen_weights.cpp - what training reads and does not change -------===//

#include "runtime/main/frozen_weights.h"

#include "runtime/main/progress.h"
#include "runtime/main/run_options.h"

namespace baton {

Parameters frozen_weights(const TrainingRun &run,
                          const Communicator *communicator) {
  const nlohmann::json &description = run.metadata.json;
  const uint32_t rank = communicator ? communicator->rank() : 0;
  if (!run.base)
    return Parameters::random(description, run.options.init_seed.value_or(0),
                              chosen_workers(run.options.run), rank);
  Progress progress("loading weights", run.options.run.quiet || rank != 0);
  LoadOptions load;
  load.rank = rank;
  load.use_cache = !run.options.run.no_cache;
  load.threads = chosen_workers(run.options.run);
  load.quiet = run.options.run.quiet;
  load.progress = [&](uint64_t done, uint64_t total) {
    progress.update(done, total);
  };
  return Parameters::load(description, Checkpoint::open(*run.base), load);
}

} // namespace baton
