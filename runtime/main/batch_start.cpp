//===- batch_start.cpp - what a program of many sequences runs on
//----------===//

#include "runtime/main/batch_start.h"

#include "runtime/main/batch_setup.h"

#include <utility>

namespace baton {

BatchStart::BatchStart(const Metadata &metadata, const RunOptions &run,
                       const OffloadFlags &offload,
                       std::optional<std::string> kv_memory,
                       const std::filesystem::path &folder, uint64_t further)
    : metadata(metadata), run(run), kv_memory(std::move(kv_memory)),
      workers(program_workers(run, metadata)),
      capacities(batch_capacities(metadata, 0)) {
  flags = with_usual_memory(metadata, offload, &this->kv_memory);
  if (flags.memory)
    choose_pages();
  setup = OffloadSetup::make(metadata, flags, workers, capacities.pages, folder,
                             further);
}

Execution &BatchStart::load(const DecodeRanks &ranks) {
  parameters.emplace(ranks.load_weights(run, setup.weights));
  if (!setup.is_wanted())
    choose_pages();
  execution = ranks.make_execution(*parameters, run, workers, capacities.pages,
                                   setup.pages);
  return *execution;
}

void BatchStart::choose_pages() {
  capacities =
      batch_capacities(metadata, baton::choose_pages(metadata, kv_memory,
                                                     flags.memory.has_value()));
}

} // namespace baton
