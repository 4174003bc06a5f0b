//===- GgufConfigTest.cpp - metadata of GGUF files as configs -------------===//

#include "ModelFolder.h"

#include "models/GgufConfig.h"
#include "test/runtime/weights/gguf_writer.h"

#include <gtest/gtest.h>

using namespace baton;
using namespace baton::models;
using namespace baton::models::test;
using baton::test::GgufWriter;
using nlohmann::json;

namespace {

/// A model of two layers, six heads and 17 tokens, as validConfig() has it.
GgufWriter decoder(const std::string &architecture, bool hasEpsilon = true) {
  GgufWriter writer;
  std::string prefix = architecture + ".";
  writer.text("general.architecture", architecture)
      .integer(prefix + "embedding_length", 24)
      .integer(prefix + "feed_forward_length", 40)
      .integer(prefix + "block_count", 2)
      .integer(prefix + "attention.head_count", 6)
      .integer(prefix + "attention.head_count_kv", 2)
      .integer(prefix + "context_length", 64)
      .zeros("token_embd.weight", {24, 17});
  if (hasEpsilon)
    writer.number(prefix + "attention.layer_norm_rms_epsilon", 1e-5f);
  return writer;
}

class GgufConfig : public testing::Test {
protected:
  GgufModel open(const GgufWriter &writer) {
    std::ofstream(path, std::ios::binary) << writer.bytes();
    return GgufModel::open(path);
  }
  Config read(const GgufWriter &writer) { return ggufConfig(open(writer)); }
  std::string error(const GgufWriter &writer) {
    std::ofstream(path, std::ios::binary) << writer.bytes();
    return importError(path);
  }
  std::string importError(const std::string &model) {
    mlir::MLIRContext context;
    std::string error;
    auto module = importFolder(context, model, {}, error);
    EXPECT_EQ(!module, !error.empty());
    return error;
  }
  void expectError(const GgufWriter &writer, const std::string &what) {
    std::string found = error(writer);
    EXPECT_EQ(found.find(path + ": "), 0u) << found;
    EXPECT_NE(found.find(what), std::string::npos) << found;
  }

  ModelFolder folder;
  std::string path = folder.getPath() + "/model.gguf";
};

} // namespace

TEST_F(GgufConfig, Llama) {
  Config config = read(decoder("llama")
                           .number("llama.rope.freq_base", 5e5f)
                           .integer("llama.rope.dimension_count", 4)
                           .integer("llama.vocab_size", 17));
  EXPECT_EQ(config.getFile(), path);
  EXPECT_EQ(config.text("model_type"), "llama");
  EXPECT_EQ(config.integer("hidden_size", 0, 99), 24);
  EXPECT_EQ(config.integer("intermediate_size", 0, 99), 40);
  EXPECT_EQ(config.integer("num_hidden_layers", 0, 99), 2);
  EXPECT_EQ(config.integer("num_attention_heads", 0, 99), 6);
  EXPECT_EQ(config.integer("num_key_value_heads", 0, 99), 2);
  EXPECT_EQ(config.integer("max_position_embeddings", 0, 99), 64);
  EXPECT_EQ(config.integer("head_dim", 0, 99), 4);
  EXPECT_EQ(config.integer("vocab_size", 0, 99), 17);
  EXPECT_EQ(float(config.number("rms_norm_eps", 0, 1)), 1e-5f);
  EXPECT_EQ(config.number("rope_theta", 0, 1e9), 5e5);
  EXPECT_TRUE(config.boolean("tie_word_embeddings", false));
  EXPECT_FALSE(config.boolean("attention_bias", true));
  EXPECT_FALSE(config.boolean("mlp_bias", true));
  EXPECT_EQ(config.text("dtype"), "float32");
  EXPECT_FALSE(config.has("rope_scaling"));
}

TEST_F(GgufConfig, LlamaWithWhatTensorsSay) {
  Config config = read(decoder("llama")
                           .zeros("output.weight", {24, 17})
                           .zeros("blk.0.attn_q.bias", {24})
                           .zeros("blk.0.ffn_up.bias", {40}));
  EXPECT_FALSE(config.boolean("tie_word_embeddings", true));
  EXPECT_TRUE(config.boolean("attention_bias", false));
  EXPECT_TRUE(config.boolean("mlp_bias", false));
}

TEST_F(GgufConfig, LlamaWithFrequencyFactors) {
  GgufWriter writer = decoder("llama");
  writer.tensor("rope_freqs.weight", {2}, 0,
                GgufWriter::little(1.0f) + GgufWriter::little(8.0f));
  std::optional<Config> scaling = read(writer).object("rope_scaling");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->text("rope_type"), "factors");
  EXPECT_EQ(scaling->numbers("factors", 0, 99), (std::vector<double>{1, 8}));
  EXPECT_EQ(error(writer), "");

  expectError(decoder("llama").zeros("rope_freqs.weight", {3}),
              "expected a list of numbers from 0.001");
  GgufWriter odd = decoder("llama");
  odd.tensor("rope_freqs.weight", {1}, 0, GgufWriter::little(1.0f));
  expectError(odd, "'factors' has 1 numbers, expected 2");
  expectError(decoder("llama").tensor("rope_freqs.weight", {2}, 1, "    "),
              "\"rope_freqs.weight\" has the type F16");
  writer.text("llama.rope.scaling.type", "linear");
  expectError(writer, "is there beside the tensor \"rope_freqs.weight\"");
}

TEST_F(GgufConfig, LlamaWithLinearScaling) {
  std::optional<Config> scaling =
      read(decoder("llama")
               .text("llama.rope.scaling.type", "linear")
               .number("llama.rope.scaling.factor", 4))
          .object("rope_scaling");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->text("rope_type"), "linear");
  EXPECT_EQ(scaling->number("factor", 0, 9), 4);
  scaling = read(decoder("llama").number("llama.rope.scale_linear", 2))
                .object("rope_scaling");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->number("factor", 0, 9), 2);
  scaling = read(decoder("llama")
                     .text("llama.rope.scaling.type", "yarn")
                     .number("llama.rope.scaling.factor", 4)
                     .integer("llama.rope.scaling.original_context_length", 32))
                .object("rope_scaling");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->text("rope_type"), "yarn");
  EXPECT_EQ(scaling->integer("original_max_position_embeddings", 0, 99), 32);
  expectError(decoder("llama").text("llama.rope.scaling.type", "ntk"),
              "\"llama.rope.scaling.type\" is \"ntk\", expected none, ");
  expectError(decoder("llama").text("llama.rope.scaling.type", "linear"),
              "'llama.rope.scaling.factor' is missing");
}

TEST_F(GgufConfig, Qwen) {
  Config config = read(decoder("qwen2"));
  EXPECT_EQ(config.text("model_type"), "qwen2");
  EXPECT_EQ(config.number("rope_theta", 0, 1e9), 10000);
  EXPECT_EQ(error(decoder("qwen2")), "");
  config = read(decoder("qwen3")
                    .integer("qwen3.attention.key_length", 8)
                    .integer("qwen3.attention.value_length", 8));
  EXPECT_EQ(config.text("model_type"), "qwen3");
  EXPECT_EQ(config.integer("head_dim", 0, 99), 8);
  EXPECT_EQ(error(decoder("qwen3")), "");
}

TEST_F(GgufConfig, Mixtral) {
  Config config = read(decoder("llama")
                           .integer("llama.expert_count", 8)
                           .integer("llama.expert_used_count", 2));
  EXPECT_EQ(config.text("model_type"), "mixtral");
  EXPECT_EQ(config.integer("num_local_experts", 0, 99), 8);
  EXPECT_EQ(config.integer("num_experts_per_tok", 0, 99), 2);
}

TEST_F(GgufConfig, GptOss) {
  Config config =
      read(decoder("gpt-oss")
               .integer("gpt-oss.expert_count", 4)
               .integer("gpt-oss.expert_used_count", 2)
               .integer("gpt-oss.attention.sliding_window", 16)
               .text("gpt-oss.rope.scaling.type", "yarn")
               .number("gpt-oss.rope.scaling.factor", 4)
               .integer("gpt-oss.rope.scaling.original_context_length", 32));
  EXPECT_EQ(config.text("model_type"), "gpt_oss");
  EXPECT_EQ(config.integer("num_local_experts", 0, 99), 4);
  EXPECT_EQ(config.integer("sliding_window", 0, 99), 16);
  EXPECT_TRUE(config.boolean("separate_experts", false));
  EXPECT_FALSE(config.object("rope_scaling")->boolean("truncate", true));
}

TEST_F(GgufConfig, Olmo2) {
  GgufWriter writer = decoder("olmo2");
  writer.zeros("blk.0.attn_q.bias", {24});
  Config config = read(writer);
  EXPECT_EQ(config.text("model_type"), "olmo2");
  EXPECT_TRUE(config.boolean("attention_bias", false));
  EXPECT_EQ(error(writer), "");
  expectError(decoder("olmo2").integer("olmo2.attention.sliding_window", 16),
              "\"olmo2.attention.sliding_window\" is not known");
}

/// As llama.cpp's conversion writes DeepSeek-V2-Lite today: attention of one
/// head to the state, and what the model's heads have beside it.
GgufWriter deepseek2() {
  GgufWriter writer;
  writer.text("general.architecture", "deepseek2")
      .integer("deepseek2.embedding_length", 48)
      .integer("deepseek2.feed_forward_length", 40)
      .integer("deepseek2.block_count", 3)
      .integer("deepseek2.attention.head_count", 6)
      .integer("deepseek2.attention.head_count_kv", 1)
      .integer("deepseek2.context_length", 64)
      .number("deepseek2.attention.layer_norm_rms_epsilon", 1e-6f)
      .integer("deepseek2.attention.kv_lora_rank", 32)
      .integer("deepseek2.attention.key_length", 38)
      .integer("deepseek2.attention.value_length", 32)
      .integer("deepseek2.attention.key_length_mla", 16)
      .integer("deepseek2.attention.value_length_mla", 48)
      .integer("deepseek2.rope.dimension_count", 6)
      .integer("deepseek2.expert_count", 8)
      .integer("deepseek2.expert_used_count", 2)
      .integer("deepseek2.expert_feed_forward_length", 16)
      .integer("deepseek2.expert_shared_count", 2)
      .integer("deepseek2.leading_dense_block_count", 1)
      .number("deepseek2.expert_weights_scale", 2.5f)
      .integer("deepseek2.vocab_size", 17)
      .zeros("blk.0.attn_k_b.weight", {10, 32, 6})
      .zeros("token_embd.weight", {48, 17});
  return writer;
}

TEST_F(GgufConfig, Deepseek2) {
  Config config = read(deepseek2());
  EXPECT_EQ(config.text("model_type"), "deepseek_v2");
  EXPECT_EQ(config.integer("num_key_value_heads", 0, 99), 6);
  EXPECT_TRUE(config.isNull("q_lora_rank"));
  EXPECT_EQ(config.integer("kv_lora_rank", 0, 99), 32);
  EXPECT_EQ(config.integer("qk_nope_head_dim", 0, 99), 10);
  EXPECT_EQ(config.integer("qk_rope_head_dim", 0, 99), 6);
  EXPECT_EQ(config.integer("v_head_dim", 0, 99), 48);
  EXPECT_EQ(config.integer("n_shared_experts", 0, 99), 2);
  EXPECT_EQ(config.integer("first_k_dense_replace", 0, 99), 1);
  EXPECT_EQ(config.number("routed_scaling_factor", 0, 99), 2.5);
  EXPECT_EQ(config.text("topk_method"), "greedy");
  EXPECT_TRUE(config.boolean("separate_kv_b_proj", false));
  EXPECT_EQ(error(deepseek2()), "");
  config = read(deepseek2()
                    .integer("deepseek2.expert_group_count", 4)
                    .integer("deepseek2.expert_group_used_count", 2));
  EXPECT_EQ(config.text("topk_method"), "group_limited_greedy");
  EXPECT_EQ(config.integer("n_group", 0, 99), 4);
  EXPECT_EQ(config.integer("topk_group", 0, 99), 2);
}

TEST_F(GgufConfig, Deepseek2WithSigmoids) {
  GgufWriter writer = deepseek2();
  writer.integer("deepseek2.attention.q_lora_rank", 20)
      .integer("deepseek2.expert_gating_func", 2)
      .boolean("deepseek2.expert_weights_norm", true)
      .text("deepseek2.rope.scaling.type", "yarn")
      .number("deepseek2.rope.scaling.factor", 40)
      .integer("deepseek2.rope.scaling.original_context_length", 32)
      .number("deepseek2.rope.scaling.yarn_log_multiplier", 0.1f);
  Config config = read(writer);
  EXPECT_EQ(config.text("model_type"), "deepseek_v3");
  EXPECT_EQ(config.integer("q_lora_rank", 0, 99), 20);
  EXPECT_TRUE(config.boolean("norm_topk_prob", false));
  std::optional<Config> scaling = config.object("rope_scaling");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->number("mscale", 0, 9), 1);
  EXPECT_EQ(scaling->number("mscale_all_dim", 0, 9), 1);
  EXPECT_EQ(error(writer), "");
}

TEST_F(GgufConfig, Deepseek2OfOlderFiles) {
  GgufWriter writer;
  writer.text("general.architecture", "deepseek2")
      .integer("deepseek2.embedding_length", 48)
      .integer("deepseek2.attention.head_count", 6)
      .integer("deepseek2.attention.head_count_kv", 6)
      .number("deepseek2.attention.layer_norm_rms_epsilon", 1e-6f)
      .integer("deepseek2.attention.key_length", 16)
      .integer("deepseek2.attention.value_length", 48)
      .integer("deepseek2.rope.dimension_count", 6)
      .zeros("token_embd.weight", {48, 17});
  Config config = read(writer);
  EXPECT_EQ(config.integer("qk_nope_head_dim", 0, 99), 10);
  EXPECT_EQ(config.integer("v_head_dim", 0, 99), 48);
  EXPECT_FALSE(config.boolean("separate_kv_b_proj", true));
}

TEST_F(GgufConfig, Deepseek2IsRefusedByItsKeys) {
  expectError(deepseek2().integer("deepseek2.expert_gating_func", 3),
              "\"deepseek2.expert_gating_func\" is 3, expected 1, a softmax, "
              "or 2, sigmoids");
  expectError(deepseek2().boolean("deepseek2.expert_weights_norm", true),
              "'deepseek2.expert_weights_norm' is true, expected false");
  expectError(deepseek2().text("deepseek2.rope.scaling.type", "yarn"),
              "\"deepseek2.rope.scaling.yarn_log_multiplier\" is missing");
  expectError(deepseek2().number("deepseek2.rope.scaling.attn_factor", 2),
              "\"deepseek2.rope.scaling.attn_factor\" is not known");
  expectError(decoder("deepseek2"),
              "\"deepseek2.attention.head_count_kv\" is 2, expected 1 or the "
              "6 of attention.head_count");
  GgufWriter narrow;
  narrow.text("general.architecture", "deepseek2")
      .number("deepseek2.attention.layer_norm_rms_epsilon", 1e-6f)
      .integer("deepseek2.attention.key_length", 6)
      .integer("deepseek2.rope.dimension_count", 6)
      .zeros("token_embd.weight", {48, 17});
  expectError(narrow, "\"deepseek2.attention.key_length\" leaves 6 columns");
}

TEST_F(GgufConfig, Gemma2) {
  GgufWriter writer = decoder("gemma2");
  writer.integer("gemma2.attention.sliding_window", 16)
      .integer("gemma2.attention.key_length", 8)
      .number("gemma2.attn_logit_softcapping", 40)
      .number("gemma2.final_logit_softcapping", 20);
  Config config = read(writer);
  EXPECT_EQ(config.text("model_type"), "gemma2");
  EXPECT_EQ(config.integer("sliding_window", 0, 99), 16);
  EXPECT_EQ(config.integer("query_pre_attn_scalar", 0, 99), 8);
  EXPECT_EQ(config.number("attn_logit_softcapping", 0, 99), 40);
  EXPECT_EQ(config.number("final_logit_softcapping", 0, 99), 20);
  EXPECT_TRUE(config.boolean("tie_word_embeddings", false));
  EXPECT_EQ(error(writer), "");
}

TEST_F(GgufConfig, Gemma3) {
  GgufWriter writer;
  writer.text("general.architecture", "gemma3")
      .integer("gemma3.embedding_length", 24)
      .integer("gemma3.feed_forward_length", 40)
      .integer("gemma3.block_count", 8)
      .integer("gemma3.attention.head_count", 6)
      .integer("gemma3.attention.key_length", 8)
      .integer("gemma3.context_length", 64)
      .integer("gemma3.attention.sliding_window", 16)
      .number("gemma3.attention.layer_norm_rms_epsilon", 1e-6f)
      .number("gemma3.rope.freq_base", 1e6f)
      .zeros("token_embd.weight", {24, 17});
  Config config = read(writer);
  EXPECT_EQ(config.text("model_type"), "gemma3_text");
  EXPECT_EQ(config.integer("head_dim", 0, 99), 8);
  EXPECT_EQ(config.integer("query_pre_attn_scalar", 0, 99), 8);
  EXPECT_EQ(config.number("rope_theta", 0, 1e9), 1e6);
  EXPECT_EQ(config.number("rope_local_base_freq", 0, 1e9), 10000);
  EXPECT_TRUE(config.isNull("final_logit_softcapping"));
  std::vector<std::string> types = *config.optionalTexts("layer_types");
  ASSERT_EQ(types.size(), 8u);
  for (size_t layer = 0; layer < 8; ++layer)
    EXPECT_EQ(types[layer],
              layer == 5 ? "full_attention" : "sliding_attention");
}

TEST_F(GgufConfig, Phi3) {
  GgufWriter writer = decoder("phi3");
  writer.integer("phi3.rope.dimension_count", 2)
      .integer("phi3.attention.sliding_window", 0);
  Config config = read(writer);
  EXPECT_EQ(config.text("model_type"), "phi3");
  EXPECT_EQ(config.number("partial_rotary_factor", 0, 1), 0.5);
  EXPECT_TRUE(config.isNull("sliding_window"));
  EXPECT_EQ(error(writer), "");

  writer.tensor("rope_factors_short.weight", {1}, 0, GgufWriter::little(1.5f));
  expectError(writer, "expected both");
  writer.tensor("rope_factors_long.weight", {1}, 0, GgufWriter::little(3.0f))
      .integer("phi3.rope.scaling.original_context_length", 64)
      .number("phi3.rope.scaling.attn_factor", 1.25f);
  std::optional<Config> scaling = read(writer).object("rope_scaling");
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->text("rope_type"), "longrope");
  EXPECT_EQ(scaling->numbers("short_factor", 0, 9), std::vector<double>{1.5});
  EXPECT_EQ(scaling->integer("original_max_position_embeddings", 0, 99), 64);
  EXPECT_EQ(scaling->number("attention_factor", 0, 9), 1.25);
  EXPECT_EQ(error(writer), "");
}

TEST_F(GgufConfig, Gpt2) {
  GgufWriter writer;
  writer.text("general.architecture", "gpt2")
      .integer("gpt2.embedding_length", 12)
      .integer("gpt2.feed_forward_length", 48)
      .integer("gpt2.block_count", 2)
      .integer("gpt2.attention.head_count", 3)
      .integer("gpt2.context_length", 32)
      .number("gpt2.attention.layer_norm_epsilon", 1e-5f)
      .zeros("token_embd.weight", {12, 17});
  Config config = read(writer);
  EXPECT_EQ(config.text("model_type"), "gpt2");
  EXPECT_EQ(config.integer("n_embd", 0, 99), 12);
  EXPECT_EQ(config.integer("n_inner", 0, 99), 48);
  EXPECT_EQ(config.integer("n_layer", 0, 99), 2);
  EXPECT_EQ(config.integer("n_head", 0, 99), 3);
  EXPECT_EQ(config.integer("n_positions", 0, 99), 32);
  EXPECT_EQ(config.integer("vocab_size", 0, 99), 17);
  EXPECT_EQ(error(writer), "");
}

TEST_F(GgufConfig, SaysTheTypeOfPlainWeights) {
  auto type = [&](std::initializer_list<uint32_t> numbers) {
    GgufWriter writer;
    writer.text("general.architecture", "llama")
        .zeros("output_norm.weight", {32});
    int layer = 0;
    for (uint32_t number : numbers)
      writer.tensor("blk." + std::to_string(layer++) + ".ffn_up.weight",
                    {32, 1}, number, std::string(128, '\0'));
    return std::string(ggufWeightType(open(writer)));
  };
  EXPECT_EQ(type({1, 1}), "float16");
  EXPECT_EQ(type({30}), "bfloat16");
  EXPECT_EQ(type({0, 30}), "float32");
  EXPECT_EQ(type({8, 2}), "float32");
}

TEST_F(GgufConfig, RefusesKeysByName) {
  expectError(decoder("llama").number("llama.logit_scale", 2),
              "the key \"llama.logit_scale\" is not known");
  expectError(decoder("gemma3").integer("gemma3.expert_count", 8),
              "the key \"gemma3.expert_count\" is 8, expected 0");
  expectError(decoder("llama").integer("llama.rope.dimension_count", 2),
              "the key \"llama.rope.dimension_count\" is 2, expected 4");
  expectError(decoder("qwen3")
                  .integer("qwen3.attention.key_length", 8)
                  .integer("qwen3.attention.value_length", 4),
              "the key \"qwen3.attention.value_length\" is 4, expected 8");
  expectError(decoder("llama", /*hasEpsilon=*/false),
              "\"llama.attention.layer_norm_rms_epsilon\" is missing");
  GgufWriter empty;
  empty.text("general.architecture", "qwen2")
      .number("qwen2.attention.layer_norm_rms_epsilon", 1e-6f);
  expectError(empty, "has no tensor \"token_embd.weight\"");
  empty.zeros("token_embd.weight", {24, 17});
  expectError(empty, "'qwen2.embedding_length' is missing, expected an "
                     "integer from 1 to 1048576");
}

TEST_F(GgufConfig, IsFoundInAFolder) {
  error(decoder("qwen2"));
  EXPECT_EQ(importError(folder.getPath()), "");
  std::filesystem::copy_file(path, folder.getPath() + "/other.gguf");
  EXPECT_NE(importError(folder.getPath()).find("holds several models"),
            std::string::npos);
  std::ofstream(path) << "no";
  EXPECT_NE(importError(path).find("too short for a GGUF file"),
            std::string::npos);
}
