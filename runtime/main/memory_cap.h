//===- memory_cap.h - what a training run keeps in memory under a cap -----===//

#ifndef BATON_RUNTIME_MAIN_MEMORY_CAP_H
#define BATON_RUNTIME_MAIN_MEMORY_CAP_H

#include "runtime/execute/metadata.h"
#include "runtime/execute/tiered_layers.h"
#include "runtime/main/commands.h"
#include "runtime/train/batches.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace baton {

/// How a run obeys its cap.
struct CappedRun {
  TieredRun tiered;
  uint64_t cap = 0;
  /// What is in memory whatever layers do, and of layers and states at most.
  uint64_t fixed = 0, layers = 0;
  unsigned workers = 1;
};

/// Of steps of this shape. Nothing of a program that obeys no cap. Throws
/// Error, naming what is too large, when the cap or a flag cannot hold.
std::optional<CappedRun> capped_run(const Metadata &metadata,
                                    const TrainOptions &options,
                                    const BatchShape &shape, unsigned workers);

nlohmann::ordered_json capped_run_json(const CappedRun &run);
std::string capped_run_text(const CappedRun &run);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_MEMORY_CAP_H
