//===- adapter.h - low-rank pairs beside a model --------------------------===//
//
// They lie in a PEFT folder: adapter_config.json says what they are beside
// which model, adapter_model.safetensors holds them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_ADAPTER_H
#define BATON_RUNTIME_WEIGHTS_ADAPTER_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

inline constexpr std::string_view adapter_config_name = "adapter_config.json";
inline constexpr std::string_view adapter_weights_name =
    "adapter_model.safetensors";

/// What PEFT puts before the names of a model's modules.
inline constexpr std::string_view adapter_prefix = "base_model.model.";

/// A key of PEFT's rank_pattern or alpha_pattern, and its number.
struct ModulePattern {
  /// All of a module's name, or what is behind a point of it.
  std::regex expression;
  double value;
};

/// Low-rank pairs beside a model's linears: what a program was compiled for, or
/// what a folder has.
struct Adapter {
  uint64_t rank = 0;
  double alpha = 0;
  /// Whether alpha is divided by the rank's square root.
  bool stabilized = false;
  /// Whether rows of the adapted weights have lengths of their own (DoRA).
  bool decomposed = false;
  /// Last parts of the names of modules that have a pair.
  std::vector<std::string> targets;
  /// Modules whose pair has another rank, or another alpha: the first pattern
  /// that matches counts.
  std::vector<ModulePattern> rank_patterns, alpha_patterns;
  /// The model that it was trained beside, as its folder says; empty for none.
  std::string base;

  /// Of a program's description; none where all of a model trains.
  static std::optional<Adapter> parse(const nlohmann::json &description);
  /// Of a folder. Throws Error, naming the file and the key, for what is no
  /// such pairs.
  static Adapter read(const std::filesystem::path &folder);

  /// By which the product of a pair counts.
  double factor() const;
  /// The same, and the rank, of the pair beside a module: the name of a tensor
  /// up to what it is called behind the module.
  double factor_of(std::string_view module) const;
  uint64_t rank_of(std::string_view module) const;
  /// The text of adapter_config.json, as PEFT reads it.
  std::string config() const;
  /// Throws Error, naming the folder, where `other` has other pairs.
  void expect(const Adapter &other, const std::filesystem::path &folder) const;
};

/// Whether a tensor of this name is an adapter's.
bool is_of_adapter(std::string_view name);

/// What an adapter's tensors are called behind the name of a module.
inline constexpr std::string_view adapter_down = ".lora_A.weight",
                                  adapter_up = ".lora_B.weight",
                                  adapter_magnitude = ".lora_magnitude_vector";

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_ADAPTER_H
