//===- frozen_weights.cpp - what training reads and does not change -------===//

#include "runtime/main/frozen_weights.h"

#include "runtime/main/weights.h"

namespace baton {

Parameters frozen_weights(const Metadata &metadata,
                          const std::optional<std::filesystem::path> &model,
                          uint64_t seed, const RunOptions &options,
                          const Communicator *communicator) {
  const uint32_t rank = communicator ? communicator->rank() : 0;
  if (!model)
    return Parameters::random(metadata.json, seed, chosen_workers(options),
                              rank);
  // One rank says for all how far it is.
  RunOptions own = options;
  own.quiet |= rank != 0;
  return load_weights(metadata, *model, own, rank);
}

Parameters frozen_weights(const TrainingRun &run,
                          const Communicator *communicator) {
  return frozen_weights(run.metadata, run.base,
                        run.options.init_seed.value_or(0), run.options.run,
                        communicator);
}

} // namespace baton
