//===- mlp_layout.h - where a checkpoint has the neurons of an MLP --------===//

#ifndef BATON_TOOLS_PRUNE_MLP_LAYOUT_H
#define BATON_TOOLS_PRUNE_MLP_LAYOUT_H

#include "runtime/weights/checkpoint.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// A name that has a layer's number: "model.layers.", 3, ".mlp.up_proj.weight".
struct LayerName {
  std::string before;
  uint64_t layer;
  std::string after;

  /// Nothing for a name without one.
  static std::optional<LayerName> parse(std::string_view name);
  std::string of(uint64_t other) const {
    return before + std::to_string(other) + after;
  }
};

/// What a tensor of an MLP has along one of its dimensions: its neurons,
/// `parts` times one behind the other.
struct NeuronDimension {
  size_t dimension;
  uint64_t parts = 1;
  /// The matrix that neurons are multiplied by: the outputs of the MLP.
  bool is_down = false;
};

/// Of a family's MLPs, by how checkpoints call their tensors.
class MlpLayout {
public:
  /// Finds how this checkpoint has them. Throws Error for one whose MLPs are
  /// mixtures of experts, or called otherwise.
  MlpLayout(const Checkpoint &model, const nlohmann::json &config);

  /// Of a tensor's name behind the layer's number; nothing for a tensor without
  /// neurons.
  std::optional<NeuronDimension> find(std::string_view after) const;

  /// Of the matrix that neurons are multiplied by.
  const std::string &down() const { return down_name; }
  /// What of config.json is the number of neurons.
  const char *config_key() const { return key; }
  uint64_t neurons() const { return count; }

private:
  std::vector<std::pair<std::string, NeuronDimension>> tensors;
  std::string down_name;
  const char *key = "intermediate_size";
  uint64_t count = 0;
};

} // namespace baton

#endif // BATON_TOOLS_PRUNE_MLP_LAYOUT_H
