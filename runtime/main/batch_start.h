//===- batch_start.h - what a program of many sequences runs on
//------------===//

#ifndef BATON_RUNTIME_MAIN_BATCH_START_H
#define BATON_RUNTIME_MAIN_BATCH_START_H

#include "runtime/execute/batch_inputs.h"
#include "runtime/execute/execution.h"
#include "runtime/main/decode_ranks.h"
#include "runtime/main/offload_setup.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace baton {

/// Pages of keys and values, what stays of --memory, weights and the execution,
/// chosen in this order with --memory; without it pages are chosen last, of
/// what weights have left.
class BatchStart {
public:
  /// --kv-memory and --memory are those that the program was compiled with,
  /// where the user does not say them. `folder` has files of --memory, and
  /// `further` bytes are needed beside. Called when all but the weights is
  /// there; reads none. Throws Error as OffloadSetup::make does.
  BatchStart(const Metadata &metadata, const RunOptions &run,
             const OffloadFlags &offload, std::optional<std::string> kv_memory,
             const std::filesystem::path &folder, uint64_t further = 0);

  const OffloadSetup &offload() const { return setup; }
  /// Reads weights, and makes the execution. Called once; `ranks` outlives it.
  Execution &load(const DecodeRanks &ranks);
  /// With the pages that were chosen, once weights are read.
  const BatchCapacities &shape() const { return capacities; }

private:
  void choose_pages();

  const Metadata &metadata;
  const RunOptions &run;
  OffloadFlags flags;
  std::optional<std::string> kv_memory;
  unsigned workers;
  BatchCapacities capacities;
  OffloadSetup setup;
  std::optional<RankParameters> parameters;
  /// Reads the parameters.
  std::unique_ptr<Execution> execution;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_BATCH_START_H
