//===- frozen_weights.cpp - what training reads and does not change -------===//

#include "runtime/main/frozen_weights.h"

#include "runtime/main/progress.h"
#include "runtime/main/run_options.h"

namespace baton {

Parameters frozen_weights(const Metadata &metadata,
                          const std::optional<std::filesystem::path> &model,
                          uint64_t seed, const RunOptions &options,
                          const Communicator *communicator) {
  const uint32_t rank = communicator ? communicator->rank() : 0;
  if (!model)
    return Parameters::random(metadata.json, seed, chosen_workers(options),
                              rank);
  Progress progress("loading weights", options.quiet || rank != 0);
  LoadOptions load;
  load.rank = rank;
  load.use_cache = !options.no_cache;
  load.threads = chosen_workers(options);
  load.quiet = options.quiet;
  load.progress = [&](uint64_t done, uint64_t total) {
    progress.update(done, total);
  };
  return Parameters::load(metadata.json, Checkpoint::open(*model), load);
}

Parameters frozen_weights(const TrainingRun &run,
                          const Communicator *communicator) {
  return frozen_weights(run.metadata, run.base,
                        run.options.init_seed.value_or(0), run.options.run,
                        communicator);
}

} // namespace baton
