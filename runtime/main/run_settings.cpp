//===- run_settings.cpp - what decides about a run's numbers --------------===//

#include "runtime/main/run_settings.h"

#include "runtime/main/plain_text.h"

namespace baton {

nlohmann::json run_settings(const TrainOptions &options,
                            const OptimizerNumbers &optimizer,
                            const nlohmann::json &data) {
  nlohmann::json settings = {
      {"--steps", options.steps},
      {"--batch", options.batch},
      {"--seq", options.sequence},
      {"--accumulate", options.accumulate},
      {"--lr", options.learning_rate},
      {"--lr-schedule", options.schedule},
      {"--final-fraction", options.final_fraction
                               ? nlohmann::json(*options.final_fraction)
                               : "the schedule's"},
      {"--warmup", options.warm_up},
      {"--set", optimizer.text()},
      {"--clip", options.clip},
      {"--validation-fraction", options.validation_fraction}};
  if (optimizer.has_weights())
    settings["--optimizer-weights"] = optimizer.weights_hash();
  settings.update(data);
  return settings;
}

std::string changed_settings(const nlohmann::json &before,
                             const nlohmann::json &now) {
  std::string changed;
  for (const auto &[flag, value] : now.items()) {
    auto old = before.is_object() ? before.find(flag) : before.end();
    if (old == before.end() || *old == value)
      continue;
    changed += (changed.empty() ? "" : ", ") + flag + " " + plain_text(value) +
               " (was " + plain_text(*old) + ")";
  }
  return changed;
}

} // namespace baton
