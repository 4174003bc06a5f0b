//===- run_settings.h - what decides about a run's numbers ----------------===//

#ifndef BATON_RUNTIME_MAIN_RUN_SETTINGS_H
#define BATON_RUNTIME_MAIN_RUN_SETTINGS_H

#include "runtime/main/commands.h"
#include "runtime/train/optimizer_numbers.h"

#include <nlohmann/json.hpp>

namespace baton {

/// Flag -> value, for a checkpoint to keep, and those of the data. A resumed
/// run is the uninterrupted one only if these are the same (the seed is the
/// checkpoint's own).
nlohmann::json run_settings(const TrainOptions &options,
                            const OptimizerNumbers &optimizer,
                            const nlohmann::json &data);

/// Those that are others than before, "--lr 0.001 (was 0.01), ...", or "". What
/// an older checkpoint does not say is not told.
std::string changed_settings(const nlohmann::json &before,
                             const nlohmann::json &now);

} // namespace baton

#endif // BATON_RUNTIME_MAIN_RUN_SETTINGS_H
