//===- ModelFolder.h - a model folder that lives as long as a test --------===//

#ifndef BATON_TEST_MODELS_MODELFOLDER_H
#define BATON_TEST_MODELS_MODELFOLDER_H

#include "models/Importer.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace baton::models::test {

/// A small valid config of the family.
inline nlohmann::json validConfig(const std::string &family) {
  if (family == "gpt2")
    return {{"model_type", "gpt2"}, {"n_embd", 12},     {"n_layer", 2},
            {"n_head", 3},          {"vocab_size", 17}, {"n_positions", 32}};
  nlohmann::json config = {
      {"model_type", family},          {"hidden_size", 24},
      {"intermediate_size", 40},       {"num_hidden_layers", 2},
      {"num_attention_heads", 6},      {"num_key_value_heads", 2},
      {"max_position_embeddings", 64}, {"vocab_size", 17}};
  if (family == "qwen3_next")
    config.update({{"num_experts", 0}, {"full_attention_interval", 1}});
  if (family == "mixtral" || family == "olmoe" || family == "gpt_oss" ||
      family.ends_with("_moe"))
    config.update({{"hidden_size", 48},
                   {"intermediate_size", 32},
                   {"moe_intermediate_size", 16},
                   {"shared_expert_intermediate_size", 40},
                   {"num_experts", 5},
                   {"num_local_experts", 5},
                   {"num_experts_per_tok", 2}});
  if (family.starts_with("deepseek_"))
    config.update({{"hidden_size", 48},
                   {"num_hidden_layers", 3},
                   {"num_key_value_heads", 6},
                   {"first_k_dense_replace", 0},
                   {"q_lora_rank", 20},
                   {"kv_lora_rank", 32},
                   {"qk_nope_head_dim", 10},
                   {"qk_rope_head_dim", 6},
                   {"v_head_dim", 16},
                   {"moe_intermediate_size", 16},
                   {"n_routed_experts", 8},
                   {"num_experts_per_tok", 2},
                   {"n_shared_experts", 2},
                   {"n_group", 4},
                   {"topk_group", 2}});
  return config;
}

class ModelFolder {
public:
  ModelFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "baton-models-XXXXXX")
            .string();
    path = mkdtemp(pattern.data());
  }
  explicit ModelFolder(const nlohmann::json &config) : ModelFolder() {
    write(config.dump());
  }
  ModelFolder(const ModelFolder &) = delete;
  ModelFolder &operator=(const ModelFolder &) = delete;
  ~ModelFolder() { std::filesystem::remove_all(path); }

  void write(const std::string &text) const {
    std::ofstream(getConfigPath(), std::ios::binary) << text;
  }
  const std::string &getPath() const { return path; }
  std::string getConfigPath() const { return path + "/config.json"; }

  /// What importing the folder says, empty when it works.
  std::string importError(const ImportOptions &options = {}) const {
    mlir::MLIRContext context;
    std::string error;
    auto module = importFolder(context, path, options, error);
    if (!module && error.empty())
      return "(null without an error)";
    return module ? "" : error;
  }

private:
  std::string path;
};

} // namespace baton::models::test

#endif // BATON_TEST_MODELS_MODELFOLDER_H
