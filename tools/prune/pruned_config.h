//===- pruned_config.h - config.json of a model with less in it -----------===//

#ifndef BATON_TOOLS_PRUNE_PRUNED_CONFIG_H
#define BATON_TOOLS_PRUNE_PRUNED_CONFIG_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace baton {

/// What it does not change stays as it is, in its order.
class PrunedConfig {
public:
  /// Throws Error for a file that says no number of layers.
  static PrunedConfig read(const std::filesystem::path &path);

  uint64_t layers() const;
  nlohmann::json json() const { return config; }
  /// With these layers, ascending, numbered anew: also lists of something for
  /// each layer, and numbers of layers. Throws Error where the kind of a layer
  /// follows from its number, and other numbers would make other kinds.
  void keep_layers(const std::vector<uint64_t> &kept);
  void set_neurons(const std::string &key, uint64_t neurons) {
    config[key] = neurons;
  }
  std::string text() const { return config.dump(2) + "\n"; }

private:
  std::filesystem::path path;
  nlohmann::ordered_json config;
  std::string layers_key;
};

} // namespace baton

#endif // BATON_TOOLS_PRUNE_PRUNED_CONFIG_H
