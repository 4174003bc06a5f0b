//===- ConfigErrorsTest.cpp - every bad config gets one clear line --------===//

#include "ModelFolder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

using namespace baton::models;
using namespace baton::models::test;
using nlohmann::json;

namespace {

/// A config that is valid but for `patch` (an object; "absent" removes).
struct BadConfig {
  const char *family;
  const char *patch;
  /// What the line says after "<folder>/config.json: ".
  const char *message;
};

void PrintTo(const BadConfig &bad, std::ostream *stream) {
  *stream << bad.family << " " << bad.patch;
}

class BadConfigTest : public testing::TestWithParam<BadConfig> {};

} // namespace

TEST_P(BadConfigTest, GivesOneLine) {
  json config = validConfig(GetParam().family);
  json patch = json::parse(GetParam().patch);
  for (auto &[name, value] : patch.items()) {
    if (value == "absent")
      config.erase(name);
    else
      config[name] = value;
  }
  ModelFolder folder(config);
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": " + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Integers, BadConfigTest,
    testing::Values(
        BadConfig{
            "llama", R"({"hidden_size": "absent"})",
            "'hidden_size' is missing, expected an integer from 1 to 1048576"},
        BadConfig{
            "llama", R"({"hidden_size": null})",
            "'hidden_size' is null, expected an integer from 1 to 1048576"},
        BadConfig{"llama", R"({"hidden_size": -3})",
                  "'hidden_size' is -3, expected 1 to 1048576"},
        BadConfig{"llama", R"({"hidden_size": 0})",
                  "'hidden_size' is 0, expected 1 to 1048576"},
        BadConfig{
            "llama", R"({"hidden_size": "24"})",
            "'hidden_size' is \"24\", expected an integer from 1 to 1048576"},
        BadConfig{
            "llama", R"({"hidden_size": 24.0})",
            "'hidden_size' is 24.0, expected an integer from 1 to 1048576"},
        BadConfig{
            "llama", R"({"hidden_size": true})",
            "'hidden_size' is true, expected an integer from 1 to 1048576"},
        BadConfig{
            "llama", R"({"hidden_size": [24]})",
            "'hidden_size' is a list, expected an integer from 1 to 1048576"},
        BadConfig{"llama", R"({"hidden_size": {"a": 1}})",
                  "'hidden_size' is an object, expected an integer from 1 to "
                  "1048576"},
        BadConfig{"llama", R"({"hidden_size": 1099511627776})",
                  "'hidden_size' is 1099511627776, expected 1 to 1048576"},
        BadConfig{
            "llama", R"({"hidden_size": 18446744073709551615})",
            "'hidden_size' is 18446744073709551615, expected 1 to 1048576"},
        BadConfig{"llama", R"({"intermediate_size": 0})",
                  "'intermediate_size' is 0, expected 1 to 1048576"},
        BadConfig{"llama", R"({"num_hidden_layers": 65537})",
                  "'num_hidden_layers' is 65537, expected 1 to 65536"},
        BadConfig{"llama", R"({"num_attention_heads": -1})",
                  "'num_attention_heads' is -1, expected 1 to 1048576"},
        BadConfig{"llama", R"({"num_key_value_heads": 0})",
                  "'num_key_value_heads' is 0, expected 1 to 1048576"},
        BadConfig{"llama", R"({"head_dim": 0})",
                  "'head_dim' is 0, expected 1 to 1048576"},
        BadConfig{"llama", R"({"vocab_size": 16777217})",
                  "'vocab_size' is 16777217, expected 1 to 16777216"},
        BadConfig{"llama", R"({"max_position_embeddings": "absent"})",
                  "'max_position_embeddings' is missing, expected an integer "
                  "from 1 to 16777216"},
        BadConfig{"gpt2", R"({"n_embd": 262145})",
                  "'n_embd' is 262145, expected 1 to 262144"},
        BadConfig{"gpt2", R"({"n_inner": -1})",
                  "'n_inner' is -1, expected 1 to 1048576"},
        BadConfig{"gpt2", R"({"n_layer": 0})",
                  "'n_layer' is 0, expected 1 to 65536"},
        BadConfig{"gpt2", R"({"n_head": "absent"})",
                  "'n_head' is missing, expected an integer from 1 to 1048576"},
        BadConfig{"gpt2", R"({"n_positions": 0})",
                  "'n_positions' is 0, expected 1 to 16777216"},
        BadConfig{"gpt2", R"({"vocab_size": "many"})",
                  "'vocab_size' is \"many\", expected an integer from 1 to "
                  "16777216"}));

INSTANTIATE_TEST_SUITE_P(
    Dimensions, BadConfigTest,
    testing::Values(
        BadConfig{"llama", R"({"num_key_value_heads": 4})",
                  "'num_key_value_heads' is 4, expected a divisor of "
                  "'num_attention_heads', 6"},
        BadConfig{"llama", R"({"hidden_size": 25})",
                  "'num_attention_heads' is 6, expected a divisor of "
                  "'hidden_size', 25, "
                  "as there is no 'head_dim'"},
        BadConfig{"llama", R"({"head_dim": 5})",
                  "'head_dim' is 5, expected an even number for rotary "
                  "positions"},
        BadConfig{"llama", R"({"head_dim": 1048576})",
                  "'num_attention_heads' times the heads' dimensions is "
                  "6291456, expected at most 1048576"},
        BadConfig{
            "llama",
            R"({"hidden_size": 1048576, "head_dim": 2, "vocab_size": 16777216})",
            "'num_hidden_layers', 'hidden_size', 'intermediate_size' and "
            "'vocab_size' "
            "together ask for more than 2^42 weights"},
        BadConfig{
            "llama",
            R"({"num_hidden_layers": 65536, "head_dim": 16384, "max_position_embeddings": 16777216})",
            "a sequence of 16777216 tokens needs more than 2^42 elements of "
            "key/value "
            "state; --max-seq shortens it"},
        BadConfig{"gpt2", R"({"n_head": 5})",
                  "'n_head' is 5, expected a divisor of 'n_embd', 12"},
        BadConfig{"gpt2",
                  R"({"n_embd": 262144, "n_layer": 65536, "n_head": 1})",
                  "'n_layer', 'n_embd', 'n_inner', 'n_positions' and "
                  "'vocab_size' together "
                  "ask for more than 2^42 weights"}));

INSTANTIATE_TEST_SUITE_P(
    OtherFields, BadConfigTest,
    testing::Values(
        BadConfig{"llama", R"({"rms_norm_eps": -1})",
                  "'rms_norm_eps' is -1, expected 0 to 1"},
        BadConfig{"llama", R"({"rms_norm_eps": "1e-5"})",
                  "'rms_norm_eps' is \"1e-5\", expected a number from 0 to 1"},
        BadConfig{"llama", R"({"attention_bias": 1})",
                  "'attention_bias' is 1, expected true or false"},
        BadConfig{"llama", R"({"mlp_bias": "yes"})",
                  "'mlp_bias' is \"yes\", expected true or false"},
        BadConfig{"llama", R"({"tie_word_embeddings": 0})",
                  "'tie_word_embeddings' is 0, expected true or false"},
        BadConfig{
            "llama", R"({"hidden_act": "mish"})",
            "'hidden_act' is \"mish\", expected silu, swish, gelu, gelu_new, "
            "gelu_pytorch_tanh or relu"},
        BadConfig{"llama", R"({"hidden_act": 7})",
                  "'hidden_act' is 7, expected a text"},
        BadConfig{"llama", R"({"torch_dtype": "float8_e4m3fn"})",
                  "'torch_dtype' is \"float8_e4m3fn\", expected float32, "
                  "bfloat16 or float16 "
                  "(--dtype chooses another)"},
        BadConfig{"llama", R"({"dtype": 16})",
                  "'dtype' is 16, expected a text"},
        BadConfig{"llama", R"({"quantization_config": {"bits": 4}})",
                  "'quantization_config.quant_method' is missing, expected one "
                  "of awq, bitsandbytes, compressed-tensors, fp8, gptq, mxfp4"},
        BadConfig{"llama",
                  R"({"quantization_config": {"quant_method": "gptq",
                                              "bits": 3}})",
                  "'quantization_config.bits' is 3, expected 4"},
        BadConfig{"llama",
                  R"({"architectures": ["LlamaForSequenceClassification"]})",
                  "'architectures' is a list, expected a list with "
                  "\"LlamaForCausalLM\""},
        BadConfig{"llama", R"({"architectures": "LlamaForCausalLM"})",
                  "'architectures' is \"LlamaForCausalLM\", expected a list "
                  "with \"LlamaForCausalLM\""},
        BadConfig{"gpt2", R"({"activation_function": "quick_gelu"})",
                  "'activation_function' is \"quick_gelu\", expected silu, "
                  "swish, gelu, "
                  "gelu_new, gelu_pytorch_tanh or relu"},
        BadConfig{"gpt2", R"({"layer_norm_epsilon": 2})",
                  "'layer_norm_epsilon' is 2, expected 0 to 1"},
        BadConfig{"gpt2", R"({"scale_attn_by_inverse_layer_idx": true})",
                  "'scale_attn_by_inverse_layer_idx' is true, expected false"},
        BadConfig{"gpt2", R"({"add_cross_attention": true})",
                  "'add_cross_attention' is true, expected false"},
        BadConfig{"gpt2", R"({"scale_attn_weights": "no"})",
                  "'scale_attn_weights' is \"no\", expected true or false"}));

INSTANTIATE_TEST_SUITE_P(
    Rope, BadConfigTest,
    testing::Values(
        BadConfig{"llama", R"({"rope_theta": 0})",
                  "'rope_theta' is 0, expected 1 to 1e+15"},
        BadConfig{"llama", R"({"rope_scaling": "linear"})",
                  "'rope_scaling' is \"linear\", expected an object or null"},
        BadConfig{"llama",
                  R"({"rope_scaling": {"type": "dynamic", "factor": 2}})",
                  "'rope_scaling.type' is \"dynamic\", expected default, "
                  "linear, llama3 or yarn"},
        BadConfig{"llama", R"({"rope_scaling": {"rope_type": "yarn"}})",
                  "'rope_scaling.factor' is missing, expected a number from "
                  "0.001 to 1e+06"},
        BadConfig{"llama", R"({"rope_theta": 1, "rope_scaling":
                      {"rope_type": "yarn", "factor": 2}})",
                  "'rope_theta' is 1, expected more for yarn"},
        BadConfig{"llama", R"({"rope_scaling": {"rope_type": "linear"}})",
                  "'rope_scaling.factor' is missing, expected a number from "
                  "0.001 to 1e+06"},
        BadConfig{
            "llama",
            R"({"rope_parameters": {"rope_type": "linear", "factor": 0}})",
            "'rope_parameters.factor' is 0, expected 0.001 to 1e+06"},
        BadConfig{"llama",
                  R"({"rope_parameters": {"partial_rotary_factor": 0.5}})",
                  "'rope_parameters.partial_rotary_factor' is 0.5, expected 1"},
        BadConfig{
            "llama", R"({"rope_parameters": {}, "rope_scaling": {}})",
            "has both 'rope_scaling' and 'rope_parameters', expected one"},
        BadConfig{
            "llama",
            R"({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
                       "high_freq_factor": 4, "original_max_position_embeddings": 32}})",
            "'rope_scaling.high_freq_factor' is 4, expected more than "
            "'low_freq_factor'"},
        BadConfig{
            "llama",
            R"({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
                       "high_freq_factor": 4}})",
            "'rope_scaling.original_max_position_embeddings' is missing, "
            "expected an "
            "integer from 1 to 16777216"}));

INSTANTIATE_TEST_SUITE_P(
    Families, BadConfigTest,
    testing::Values(
        BadConfig{"llama", R"({"hyper_connections": 4})",
                  "'hyper_connections' is 4, expected an object or null"},
        BadConfig{"llama", R"({"hyper_connections": {}})",
                  "'hyper_connections.streams' is missing, expected an integer "
                  "from 1 to 8"},
        BadConfig{"llama",
                  R"({"hyper_connections": {"streams": 4, "mixing": "free"}})",
                  "'hyper_connections.mixing' is not known, expected streams, "
                  "mode, iterations, epsilon, norm_epsilon"},
        BadConfig{"gpt2", R"({"hyper_connections": {"streams": 9}})",
                  "'hyper_connections.streams' is 9, expected 1 to 8"},
        BadConfig{"qwen3",
                  R"({"hyper_connections": {"streams": 4, "mode": "tanh"}})",
                  "'hyper_connections.mode' is \"tanh\", expected sinkhorn, "
                  "identity or free"},
        BadConfig{"phi3",
                  R"({"hyper_connections": {"streams": 4, "iterations": 65}})",
                  "'hyper_connections.iterations' is 65, expected 1 to 64"},
        BadConfig{"gemma2",
                  R"({"hyper_connections": {"streams": 4, "epsilon": -1}})",
                  "'hyper_connections.epsilon' is -1, expected 0 to 1"},
        BadConfig{"llama",
                  R"({"hidden_size": 262144, "num_attention_heads": 4096,
                      "head_dim": 64, "hyper_connections": {"streams": 8}})",
                  "'hyper_connections.streams' times the width is 2097152, "
                  "expected at most 1048576"},
        BadConfig{"mistral", R"({"sliding_window": 0})",
                  "'sliding_window' is 0, expected 1 to 16777216"},
        BadConfig{"qwen2", R"({"use_sliding_window": 1})",
                  "'use_sliding_window' is 1, expected true or false"},
        BadConfig{"qwen2", R"({"layer_types": ["full_attention"]})",
                  "'layer_types' has 1 entries, expected 2, the "
                  "'num_hidden_layers'"},
        BadConfig{"qwen2", R"({"layer_types": "full_attention"})",
                  "'layer_types' is \"full_attention\", expected a list of "
                  "texts"},
        BadConfig{"qwen2",
                  R"({"layer_types": ["full_attention", "linear_attention"]})",
                  "'layer_types' has 'linear_attention', expected "
                  "full_attention or sliding_attention"},
        BadConfig{"qwen2",
                  R"({"layer_types": ["full_attention", "sliding_attention"]})",
                  "'layer_types' has 'sliding_attention', but there is no "
                  "'sliding_window'"},
        BadConfig{"qwen3",
                  R"({"headwise_attn_output_gate": true,
                      "elementwise_attn_output_gate": true})",
                  "'headwise_attn_output_gate' and "
                  "'elementwise_attn_output_gate' are both true, expected one"},
        BadConfig{"mixtral", R"({"num_local_experts": 0})",
                  "'num_local_experts' is 0, expected 1 to 4096"},
        BadConfig{"mixtral", R"({"num_experts_per_tok": 6})",
                  "'num_experts_per_tok' is 6, expected 1 to 5"},
        BadConfig{"mixtral",
                  R"({"output_router_logits": true,
                      "router_aux_loss_coef": -0.5})",
                  "'router_aux_loss_coef' is -0.5, expected 0 to 1000"},
        BadConfig{"mixtral", R"({"intermediate_size": 40})",
                  "'intermediate_size' is 40, expected a multiple of 16 in a "
                  "mixture of experts"},
        BadConfig{"olmo2", R"({"attention_bias": "all"})",
                  "'attention_bias' is \"all\", expected true or false"},
        BadConfig{"olmoe", R"({"hidden_size": 36})",
                  "'hidden_size' is 36, expected a multiple of 16 in a mixture "
                  "of experts"},
        BadConfig{"olmoe", R"({"clip_qkv": 8})",
                  "'clip_qkv' is 8, expected null: clipped queries, keys and "
                  "values are not supported yet"},
        BadConfig{"qwen2_moe", R"({"decoder_sparse_step": 0})",
                  "'decoder_sparse_step' is 0, expected 1 to 65536"},
        BadConfig{"qwen3_moe", R"({"mlp_only_layers": ["a"]})",
                  "'mlp_only_layers' is a list, expected a list of integers "
                  "from 0 to 1"},
        BadConfig{"gpt_oss", R"({"swiglu_limit": 8})",
                  "'swiglu_limit' is 8, expected 7"},
        BadConfig{"gpt_oss", R"({"swiglu_alpha": 1})",
                  "'swiglu_alpha' is 1, expected 1.702"},
        BadConfig{"gpt_oss", R"({"hidden_act": "gelu"})",
                  "'hidden_act' is \"gelu\", expected silu"},
        BadConfig{"gpt_oss", R"({"num_experts_per_tok": 6})",
                  "'num_experts_per_tok' is 6, expected 1 to 5"},
        BadConfig{"deepseek_v2", R"({"norm_topk_prob": true})",
                  "'norm_topk_prob' is true, expected false, as weights of "
                  "this family's experts are not divided by their sum"},
        BadConfig{"deepseek_v2", R"({"topk_method": "noaux_tc"})",
                  "'topk_method' is \"noaux_tc\", expected greedy or "
                  "group_limited_greedy"},
        BadConfig{"deepseek_v2", R"({"scoring_func": "sigmoid"})",
                  "'scoring_func' is \"sigmoid\", expected softmax"},
        BadConfig{"deepseek_v2", R"({"kv_lora_rank": 40})",
                  "'kv_lora_rank' is 40, expected a multiple of 16, for heads' "
                  "parts of 'kv_b_proj'"},
        BadConfig{"deepseek_v2", R"({"v_head_dim": 8})",
                  "'v_head_dim' is 8, expected a multiple of 16, for heads' "
                  "parts of 'kv_b_proj'"},
        BadConfig{"deepseek_v2", R"({"moe_layer_freq": 2})",
                  "'moe_layer_freq' is 2, expected 1"},
        BadConfig{"deepseek_v2", R"({"head_dim": 8})",
                  "'head_dim' is 8, expected that of 'qk_rope_head_dim', 6"},
        BadConfig{"deepseek_v2", R"({"num_key_value_heads": 2})",
                  "'num_key_value_heads' is 2, expected that of "
                  "'num_attention_heads', 6"},
        BadConfig{"deepseek_v3", R"({"scoring_func": "softmax"})",
                  "'scoring_func' is \"softmax\", expected sigmoid"},
        BadConfig{"deepseek_v3", R"({"topk_method": "greedy"})",
                  "'topk_method' is \"greedy\", expected noaux_tc"},
        BadConfig{"deepseek_v3", R"({"n_group": 3})",
                  "'n_group' is 3, expected a divisor of 'n_routed_experts', "
                  "8"},
        BadConfig{"deepseek_v3", R"({"n_group": 8})",
                  "'n_group' is 8, expected one that leaves two experts for "
                  "each group of 'n_routed_experts', 8"},
        BadConfig{"deepseek_v3", R"({"topk_group": 5})",
                  "'topk_group' is 5, expected 1 to 4"},
        BadConfig{"deepseek_v3", R"({"num_experts_per_tok": 5})",
                  "'num_experts_per_tok' is 5, expected at most 4, the experts "
                  "of 'topk_group' groups"},
        BadConfig{"qwen3_next", R"({"num_experts": 8})",
                  "'num_experts' is 8, expected 0, as only dense layers are "
                  "built"},
        BadConfig{"qwen3_next", R"({"full_attention_interval": 4})",
                  "'layer_types' is missing, which means linear attention; "
                  "only full_attention is built"},
        BadConfig{"gemma2", R"({"use_bidirectional_attention": true})",
                  "'use_bidirectional_attention' is true, expected false"},
        BadConfig{"gemma2", R"({"final_logit_softcapping": -1})",
                  "'final_logit_softcapping' is -1, expected 0.001 to 1e+06"},
        BadConfig{"gemma3_text", R"({"use_bidirectional_attention": true})",
                  "'use_bidirectional_attention' is true, expected false"},
        BadConfig{"gemma3_text", R"({"attn_logit_softcapping": 50.0})",
                  "'attn_logit_softcapping' is 50.0, expected null"},
        BadConfig{"gemma3_text", R"({"sliding_window": null})",
                  "'sliding_window' is null, expected an integer from 1 to "
                  "16777216"},
        BadConfig{"gemma3_text", R"({"sliding_window_pattern": 0})",
                  "'sliding_window_pattern' is 0, expected 1 to 65536"},
        BadConfig{"gemma3_text", R"({"rope_local_base_freq": 0})",
                  "'rope_local_base_freq' is 0, expected 1 to 1e+15"},
        BadConfig{"gemma3_text",
                  R"({"rope_scaling": {"rope_type": "ntk", "factor": 2}})",
                  "'rope_scaling.rope_type' is \"ntk\", expected default, "
                  "linear, llama3 or yarn"},
        BadConfig{"gemma3_text",
                  R"({"rope_parameters": {"rope_theta": 10000}})",
                  "'rope_parameters.rope_theta' is not known, expected "
                  "full_attention, sliding_attention"},
        BadConfig{"gemma3_text",
                  R"({"rope_parameters":
                      {"sliding_attention": {"rope_type": "linear"}}})",
                  "'rope_parameters.sliding_attention.factor' is missing, "
                  "expected a number from 0.001 to 1e+06"},
        BadConfig{"llama", R"({"partial_rotary_factor": 0.5})",
                  "'partial_rotary_factor' is 0.5, expected 1"},
        BadConfig{"phi3", R"({"partial_rotary_factor": 0.1})",
                  "'partial_rotary_factor' turns 0 of a head's 4 dimensions, "
                  "expected an even number of at least 2"},
        BadConfig{"phi3",
                  R"({"original_max_position_embeddings": 32, "rope_scaling":
                      {"type": "longrope", "short_factor": [1, 1]}})",
                  "sequences past 'original_max_position_embeddings', 32, take "
                  "other rotary factors than shorter ones, which is not built; "
                  "--max-seq=32 compiles for those"},
        BadConfig{"phi3",
                  R"({"original_max_position_embeddings": 64, "rope_scaling":
                      {"type": "longrope", "short_factor": [1]}})",
                  "'short_factor' has 1 numbers, expected 2, one for each pair "
                  "that turns"},
        BadConfig{"phi3",
                  R"({"original_max_position_embeddings": 64, "rope_scaling":
                      {"type": "longrope", "short_factor": [1, "a"]}})",
                  "'rope_scaling.short_factor' is a list, expected a list "
                  "of numbers from 0.001 to 1e+06"}));

TEST(ConfigErrors, UnknownArchitectureIsNamedBesideTheKnownOnes) {
  ModelFolder folder(json{{"model_type", "mamba"}});
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() +
                ": 'model_type' is \"mamba\", expected one "
                "that has an importer: deepseek_v2, deepseek_v3, gemma2, "
                "gemma3_text, gpt2, gpt_oss, "
                "llama, mistral, mixtral, olmo2, olmoe, phi3, qwen2, "
                "qwen2_moe, qwen3, qwen3_moe, qwen3_next");
}

TEST(ConfigErrors, TextModelBesideOneOfImagesIsNamed) {
  ModelFolder folder(json{{"model_type", "gemma3"}});
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() +
                ": 'model_type' is \"gemma3\", expected gemma3_text: images "
                "are not supported, only the model's 'text_config' and "
                "'language_model' by themselves");
}

TEST(ConfigErrors, ModelTypeIsAText) {
  ModelFolder folder(json{{"model_type", 3}});
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": 'model_type' is 3, expected a text");
  folder.write("{}");
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() +
                ": 'model_type' is missing, expected a text");
}

TEST(ConfigErrors, LongValuesAreCut) {
  json config = validConfig("llama");
  config["hidden_act"] = std::string(100000, 'x') + "\n";
  std::string error = ModelFolder(config).importError();
  EXPECT_LT(error.size(), 400u);
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_NE(error.find("xxx..., expected silu"), std::string::npos) << error;
}

TEST(ConfigErrors, FolderIsMissing) {
  mlir::MLIRContext context;
  std::string error;
  EXPECT_FALSE(importFolder(context, "/no/such/folder", {}, error));
  EXPECT_EQ(error, "/no/such/folder: no such folder");
}

TEST(ConfigErrors, FolderIsAFile) {
  ModelFolder folder(validConfig("llama"));
  mlir::MLIRContext context;
  std::string error;
  EXPECT_FALSE(importFolder(context, folder.getConfigPath(), {}, error));
  EXPECT_EQ(error, folder.getConfigPath() + ": not a folder");
}

TEST(ConfigErrors, ConfigIsMissing) {
  ModelFolder folder;
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() +
                ": no such file; a model folder holds one");
}

TEST(ConfigErrors, ConfigIsAFolder) {
  ModelFolder folder;
  std::filesystem::create_directory(folder.getConfigPath());
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": not a regular file");
}

TEST(ConfigErrors, ConfigIsAPipe) {
  ModelFolder folder;
  ASSERT_EQ(mkfifo(folder.getConfigPath().c_str(), 0600), 0);
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": not a regular file");
}

TEST(ConfigErrors, ConfigIsHuge) {
  ModelFolder folder;
  folder.write("{}");
  std::filesystem::resize_file(folder.getConfigPath(), (16 << 20) + 1);
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() +
                ": is larger than 16 MiB, so it is no config");
}

TEST(ConfigErrors, ConfigIsNoJson) {
  ModelFolder folder;
  folder.write("{\"model_type\": \"llama\",");
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": is not valid JSON, at byte 24");
  folder.write("");
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": is not valid JSON, at byte 1");
  folder.write("{\"model_type\": \"\xff\"}");
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": is not valid JSON, at byte 17");
}

TEST(ConfigErrors, ConfigIsNoObject) {
  ModelFolder folder;
  folder.write("[1]");
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": is a list, expected a JSON object");
  folder.write("null");
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": is null, expected a JSON object");
}

TEST(ConfigErrors, NumberIsOutOfRange) {
  ModelFolder folder;
  folder.write("{\"model_type\": \"llama\", \"hidden_size\": 1e999}");
  EXPECT_EQ(folder.importError(),
            folder.getConfigPath() + ": holds a number that is out of range");
}

TEST(ConfigErrors, ConfigNestsTooDeeply) {
  ModelFolder folder;
  for (size_t depth : {size_t(65), size_t(1000000)}) {
    folder.write("{\"a\":" + std::string(depth, '[') + std::string(depth, ']') +
                 "}");
    EXPECT_EQ(folder.importError(),
              folder.getConfigPath() + ": nests deeper than 64 levels");
  }
}

TEST(ConfigErrors, MaxSeqOptionIsOutOfRange) {
  ModelFolder folder(validConfig("llama"));
  std::string rest = ", expected 1 to 64, the 'max_position_embeddings' of " +
                     folder.getConfigPath();
  for (int64_t maxSeq : {int64_t(65), int64_t(0), int64_t(-1), INT64_MAX})
    EXPECT_EQ(folder.importError({maxSeq, std::nullopt}),
              "--max-seq is " + std::to_string(maxSeq) + rest);
}

TEST(ConfigErrors, DtypeOptionIsUnknown) {
  ModelFolder folder(validConfig("gpt2"));
  EXPECT_EQ(folder.importError({std::nullopt, "int8"}),
            "--dtype is 'int8', expected auto, f32, bf16, f16 or f64");
}
