//===- PruneTest.cpp - what is asked for, names and configurations --------===//

#include "tools/prune/prune.h"
#include "tools/prune/mlp_layout.h"
#include "tools/prune/pruned_config.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <fstream>

namespace baton {
namespace {

using Layers = std::vector<uint64_t>;

TEST(Prune, LayersThatStay) {
  EXPECT_EQ(kept_layers("last:2", 5), (Layers{0, 1, 2}));
  EXPECT_EQ(kept_layers("0,3-4", 6), (Layers{1, 2, 5}));
  EXPECT_EQ(kept_layers("2,2", 4), (Layers{0, 1, 3}));
  for (const char *bad : {"", "last:", "last:0", "last:4", "last:5", "4", "1-",
                          "3-1", "a", "1,,2", "0-3", "-1"})
    EXPECT_THROW(kept_layers(bad, 4), Error) << bad;
}

TEST(Prune, NeuronsThatStay) {
  EXPECT_EQ(kept_neurons("50%", 24), 12u);
  EXPECT_EQ(kept_neurons("12.5%", 64), 8u);
  EXPECT_EQ(kept_neurons("0.1%", 64), 1u);
  EXPECT_EQ(kept_neurons("100%", 64), 64u);
  EXPECT_EQ(kept_neurons("48", 64), 48u);
  for (const char *bad :
       {"", "0", "65", "0%", "101%", "%", "half", "-3", "1.5", "nan%"})
    EXPECT_THROW(kept_neurons(bad, 64), Error) << bad;
}

TEST(Prune, LayersOfNames) {
  const auto name = LayerName::parse("model.layers.12.mlp.up_proj.weight");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->layer, 12u);
  EXPECT_EQ(name->after, ".mlp.up_proj.weight");
  EXPECT_EQ(name->of(3), "model.layers.3.mlp.up_proj.weight");
  EXPECT_EQ(LayerName::parse("h.0.mlp.c_fc.bias")->before, "h.");
  EXPECT_EQ(LayerName::parse("transformer.h.7.ln_1.weight")->layer, 7u);
  for (const char *none :
       {"model.norm.weight", "model.layers.weight", "model.layers.x.weight",
        "model.mylayers.3.weight", "lm_head.weight", "layers.3", ""})
    EXPECT_FALSE(LayerName::parse(none)) << none;
}

class Config : public testing::Test {
protected:
  PrunedConfig read(const char *text) {
    const auto path =
        std::filesystem::path(testing::TempDir()) / "prune-config.json";
    std::ofstream(path) << text;
    return PrunedConfig::read(path);
  }
};

TEST_F(Config, ListsOfLayersFollow) {
  PrunedConfig config = read(
      R"({"z": 1, "num_hidden_layers": 4, "layer_types": ["a", "b", "c", "d"],
          "mlp_only_layers": [1, 3], "max_window_layers": 3,
          "eos_token_id": [1, 2, 3, 4], "full_attention_interval": 4})");
  EXPECT_EQ(config.layers(), 4u);
  config.keep_layers({0, 2, 3});
  config.set_neurons("intermediate_size", 7);
  EXPECT_EQ(config.json(), nlohmann::json::parse(
                               R"({"z": 1, "num_hidden_layers": 3,
          "layer_types": ["a", "c", "d"], "mlp_only_layers": [2],
          "max_window_layers": 2, "eos_token_id": [1, 2, 3, 4],
          "full_attention_interval": 4, "intermediate_size": 7})"));
  // In its order.
  EXPECT_LT(config.text().find("\"z\""), config.text().find("\"num_hidden"));
}

TEST_F(Config, KindsThatFollowFromNumbers) {
  for (const char *text :
       {R"({"num_hidden_layers": 4, "sliding_window_pattern": 2})",
        R"({"num_hidden_layers": 4, "model_type": "gemma2"})",
        R"({"num_hidden_layers": 4, "first_k_dense_replace": 2})"}) {
    PrunedConfig config = read(text);
    EXPECT_THROW(config.keep_layers({0, 2}), Error) << text;
    config.keep_layers({0, 1});
    EXPECT_EQ(config.layers(), 2u) << text;
  }
  EXPECT_THROW(read("[]"), Error);
  EXPECT_THROW(read("{}"), Error);
  EXPECT_THROW(read("{"), Error);
}

} // namespace
} // namespace baton
