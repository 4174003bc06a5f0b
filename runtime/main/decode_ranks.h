//===- decode_ranks.h - a program that decodes, on all of its ranks -------===//
//
// Ranks are threads of one process, or processes under mpirun, each with its
// part of the weights and with workers of its own. One driver decides for all:
// it feeds the rank that has the logits, and the others make the same steps.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_MAIN_DECODE_RANKS_H
#define BATON_RUNTIME_MAIN_DECODE_RANKS_H

#include "runtime/execute/execution.h"
#include "runtime/main/run_options.h"

#include <functional>
#include <memory>
#include <vector>

namespace baton {

/// Of each rank of this process, in their order; one for a program of one rank.
using RankParameters = std::vector<Parameters>;

/// The ranks of a program that this process has, one of which has the logits.
class DecodeRanks {
public:
  /// All of them, as threads.
  DecodeRanks(const Metadata &metadata, const RankOptions &options);
  /// One of several processes, of a rank with so many workers.
  DecodeRanks(const Metadata &metadata, const RankOptions &options,
              Communicator &communicator, unsigned workers);

  /// Reads what --weights names.
  RankParameters
  load_weights(const RunOptions &run,
               const std::optional<LayerLoading> &layers = {}) const;
  /// Random ones.
  RankParameters
  random_weights(unsigned threads,
                 const std::optional<LayerLoading> &layers = {}) const;
  /// The program on all ranks. `workers` are divided among those that are
  /// threads; `parameters` outlives the execution. Each has so many `pages`, of
  /// which `layer_pages` may say that some do not stay in memory.
  std::unique_ptr<Execution>
  make_execution(const RankParameters &parameters, const RunOptions &run,
                 unsigned workers, uint64_t pages = 0,
                 const std::optional<OffloadedPages> &layer_pages = {}) const;

private:
  const Metadata &metadata;
  const RankOptions &options;
  std::vector<uint32_t> ranks;
  Communicator *communicator = nullptr;
  unsigned own_workers = 0;
};

/// Calls `drive` where the logits are: here, or in one process of those that
/// mpirun has started, while the others make the steps of its one run.
void on_decode_ranks(const Metadata &metadata, const RunOptions &run,
                     const RankOptions &options,
                     const std::function<void(const DecodeRanks &)> &drive);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_DECODE_RANKS_H
