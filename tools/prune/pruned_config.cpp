//===- pruned_config.cpp - config.json of a model with less in it ---------===//

#include "tools/prune/pruned_config.h"

#include "runtime/error.h"

#include <algorithm>
#include <fstream>

namespace baton {

PrunedConfig PrunedConfig::read(const std::filesystem::path &path) {
  PrunedConfig result;
  result.path = path;
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw Error(path.string() + ": cannot be read");
  result.config = nlohmann::ordered_json::parse(stream, nullptr, false);
  if (!result.config.is_object())
    throw Error(path.string() + ": is no JSON object");
  for (const char *key : {"num_hidden_layers", "n_layer"})
    if (auto found = result.config.find(key); found != result.config.end() &&
                                              found->is_number_unsigned() &&
                                              *found > 0) {
      result.layers_key = key;
      return result;
    }
  throw Error(path.string() +
              ": neither num_hidden_layers nor n_layer is a number of layers");
}

uint64_t PrunedConfig::layers() const {
  return config.at(layers_key).get<uint64_t>();
}

void PrunedConfig::keep_layers(const std::vector<uint64_t> &kept) {
  const uint64_t before = layers();
  const bool is_prefix = kept.back() + 1 == kept.size();
  const bool says_types = config.contains("layer_types");
  // Kinds that follow from numbers of layers, unless a list says them.
  for (const char *pattern :
       {"sliding_window_pattern", "full_attention_interval",
        "decoder_sparse_step", "first_k_dense_replace", "moe_layer_freq",
        "no_rope_layer_interval"}) {
    const auto found = config.find(pattern);
    const bool is_set = found != config.end() && !found->is_null() &&
                        *found != 0 && *found != 1;
    const bool is_listed =
        says_types && (pattern == std::string("sliding_window_pattern") ||
                       pattern == std::string("full_attention_interval"));
    if (is_set && !is_prefix && !is_listed)
      throw Error(path.string() + ": by '" + pattern +
                  "' a layer's kind follows from its number, which changes; "
                  "--drop-layers=last:N changes none");
  }
  if (config.value("model_type", "") == "gemma2" && !is_prefix && !says_types)
    throw Error(path.string() +
                ": gemma2's layers are of two kinds in turn, which would "
                "change; --drop-layers=last:N changes none");
  for (auto &[name, value] : config.items()) {
    if (!value.is_array() || name.find("layer") == name.npos)
      continue;
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    if (name == "mlp_only_layers") {
      for (const auto &number : value)
        if (auto at =
                std::find(kept.begin(), kept.end(), number.get<uint64_t>());
            at != kept.end())
          list.push_back(at - kept.begin());
    } else if (value.size() == before) {
      for (uint64_t layer : kept)
        list.push_back(value[layer]);
    } else {
      continue;
    }
    value = std::move(list);
  }
  // Layers from this number on have a window.
  if (auto windows = config.find("max_window_layers");
      windows != config.end() && windows->is_number_unsigned())
    *windows = std::count_if(kept.begin(), kept.end(), [&](uint64_t layer) {
      return layer < windows->get<uint64_t>();
    });
  config[layers_key] = kept.size();
}

} // namespace baton
