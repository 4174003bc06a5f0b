//===- offload_setup.h - a program that starts in bounded memory ----------===//

#ifndef BATON_RUNTIME_MAIN_OFFLOAD_SETUP_H
#define BATON_RUNTIME_MAIN_OFFLOAD_SETUP_H

#include "runtime/execute/execution.h"
#include "runtime/main/offload_memory.h"
#include "runtime/main/run_options.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace baton {

/// The flags of a program that was compiled with --offload and --memory, where
/// the user does not say --memory: those that it was compiled with. So too
/// --kv-memory, if it is given.
OffloadFlags with_usual_memory(const Metadata &metadata, OffloadFlags flags,
                               std::optional<std::string> *kv_memory = nullptr);

/// What --memory comes to; nothing of it without the flag.
struct OffloadSetup {
  std::optional<LayerLoading> weights;
  std::optional<OffloadedPages> pages;
  /// Bytes, and of them what weights and keys and values have that stays.
  uint64_t limit = 0, memory = 0;
  OffloadNeeds needs;

  /// Throws Error, naming the flag, for a program of --offload that cannot, and
  /// for flags that mean nothing. `folder` has files unless --offload-dir says
  /// otherwise. Called when all but the weights is there, and `further` bytes.
  static OffloadSetup make(const Metadata &metadata, const OffloadFlags &flags,
                           unsigned workers, uint64_t pages,
                           const std::filesystem::path &folder,
                           uint64_t further = 0);

  bool is_wanted() const { return weights.has_value(); }
  /// For --dry-run, and of --json: what stays.
  nlohmann::ordered_json planned_json() const;
  std::string planned_text() const;
  /// For --json: what stays, and what was moved.
  nlohmann::ordered_json json(const Execution &execution) const;
  /// For people, a line.
  std::string text(const Execution &execution) const;
};

} // namespace baton

#endif // BATON_RUNTIME_MAIN_OFFLOAD_SETUP_H
