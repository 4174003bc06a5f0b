//===- ImporterTest.cpp - what importers build from good configs ----------===//

#include "ModelFolder.h"
#include "dialects/Model/Model.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ScopedPrinter.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::models;
using namespace baton::models::test;
using nlohmann::json;

namespace {

class Importer : public testing::Test {
protected:
  OwningOpRef<ModuleOp> importFrom(StringRef folder,
                                   const ImportOptions &options = {}) {
    std::string error;
    OwningOpRef<ModuleOp> module =
        importFolder(context, folder, options, error);
    EXPECT_TRUE(module) << error;
    EXPECT_EQ(error, "");
    return module;
  }
  OwningOpRef<ModuleOp> importModel(const json &config,
                                    const ImportOptions &options = {}) {
    return importFrom(ModelFolder(config).getPath(), options);
  }

  /// A valid config with other fields.
  static json with(const char *family, json patch) {
    json config = validConfig(family);
    config.update(patch);
    return config;
  }

  MLIRContext context;
};

} // namespace

static std::string spelledTypeOf(Value value) {
  return llvm::to_string(value.getType());
}

static ProgramOp programOf(ModuleOp module) {
  return *module.getOps<ProgramOp>().begin();
}

template <typename OpType> static SmallVector<OpType> all(ModuleOp module) {
  SmallVector<OpType> found;
  module.walk([&](OpType op) { found.push_back(op); });
  return found;
}

/// The op of this type at this location.
template <typename OpType> static OpType at(ModuleOp module, StringRef name) {
  for (OpType op : all<OpType>(module))
    if (auto location = dyn_cast<NameLoc>(op.getLoc());
        location && location.getName() == name)
      return op;
  ADD_FAILURE() << "no " << OpType::getOperationName().str() << " named "
                << name.str();
  return {};
}

/// All sources of all parameters, as "a|b".
static std::vector<std::string> sourcesOf(ModuleOp module) {
  std::vector<std::string> found;
  for (ParameterOp parameter : all<ParameterOp>(module)) {
    std::string alternatives;
    for (auto source : parameter.getSources().getAsRange<StringAttr>())
      alternatives +=
          (alternatives.empty() ? "" : "|") + source.getValue().str();
    found.push_back(alternatives);
  }
  return found;
}

TEST(Families, AreSorted) {
  EXPECT_EQ(families(),
            (std::vector<std::string>{"deepseek_v2", "deepseek_v3", "gemma2",
                                      "gemma3_text", "gpt2", "gpt_oss", "llama",
                                      "mistral", "mixtral", "olmo2", "olmoe",
                                      "phi3", "qwen2", "qwen2_moe", "qwen3",
                                      "qwen3_moe", "qwen3_next"}));
}

TEST_F(Importer, LlamaHasGroupedQueryAttention) {
  auto module = importModel(validConfig("llama"));
  EXPECT_EQ(programOf(*module).getMaxSeq(), 64u);
  EXPECT_EQ(programOf(*module).getFamily(), "llama");
  auto stack = at<StackOp>(*module, "layers");
  EXPECT_EQ(stack.getRepeat(), 2u);
  EXPECT_EQ(spelledTypeOf(stack.getResult(0)),
            "!model.tensor<rows x 24 x f32>");

  auto scores = at<MatmulOp>(*module, "layers.self_attn.scores");
  EXPECT_EQ(spelledTypeOf(scores.getLhs()),
            "!model.tensor<6 x rows x 4 x f32>");
  EXPECT_EQ(spelledTypeOf(scores.getRhs()), "!model.tensor<6 x 4 x kv x f32>");
  for (BroadcastOp broadcast : all<BroadcastOp>(*module)) {
    EXPECT_EQ(broadcast.getAxis(), 0u);
    EXPECT_EQ(broadcast.getTimes(), 3u);
  }
  EXPECT_EQ(all<BroadcastOp>(*module).size(), 2u);
  auto scale = at<ScaleOp>(*module, "layers.self_attn.scale");
  EXPECT_EQ(scale.getFactor().convertToFloat(), 0.5f);
  EXPECT_EQ(at<MaskOp>(*module, "layers.self_attn.mask").getWindow(), 0u);
  EXPECT_TRUE(all<AttentionOp>(*module).empty());
  EXPECT_TRUE(all<GatedLinearOp>(*module).empty());
}

TEST_F(Importer, LlamaNamesItsTensors) {
  auto module = importModel(validConfig("llama"));
  std::vector<std::string> expected = {
      "model.embed_tokens.weight|embed_tokens.weight"};
  for (const char *name :
       {"input_layernorm", "self_attn.q_proj", "self_attn.k_proj",
        "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
        "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    std::string bare = std::string("layers.{layer}.") + name + ".weight";
    expected.push_back("model." + bare + "|" + bare);
  }
  expected.push_back("model.norm.weight|norm.weight");
  expected.push_back("lm_head.weight");
  EXPECT_EQ(sourcesOf(*module), expected);
}

TEST_F(Importer, LlamaDefaultsFollowTransformers) {
  json config = validConfig("llama");
  config.erase("num_key_value_heads");
  auto module = importModel(config);
  EXPECT_TRUE(all<BroadcastOp>(*module).empty());
  EXPECT_EQ(at<RmsNormOp>(*module, "norm").getEpsilon().convertToFloat(),
            1e-6f);
  EXPECT_EQ(at<ActivateOp>(*module, "layers.mlp.act_fn").getActivation(),
            Activation::silu);
  for (LinearOp linear : all<LinearOp>(*module))
    EXPECT_FALSE(linear.getBias());
}

TEST_F(Importer, LlamaReadsItsSwitches) {
  auto module = importModel(with("llama", {{"head_dim", 10},
                                           {"attention_bias", true},
                                           {"mlp_bias", true},
                                           {"tie_word_embeddings", true},
                                           {"hidden_act", "gelu_new"},
                                           {"rms_norm_eps", 0.125}}));
  EXPECT_EQ(spelledTypeOf(at<LinearOp>(*module, "layers.self_attn.q_proj")),
            "!model.tensor<rows x 60 x f32>");
  EXPECT_EQ(at<ActivateOp>(*module, "layers.mlp.act_fn").getActivation(),
            Activation::gelu_tanh);
  EXPECT_EQ(at<RmsNormOp>(*module, "layers.input_layernorm")
                .getEpsilon()
                .convertToFloat(),
            0.125f);
  auto head = at<LinearOp>(*module, "lm_head");
  EXPECT_EQ(head.getWeight(),
            at<EmbeddingOp>(*module, "embed_tokens").getTable());
  for (LinearOp linear : all<LinearOp>(*module))
    EXPECT_EQ(!linear.getBias(), linear == head);
}

TEST_F(Importer, Gpt2StoresWeightsTransposedAndTiesTheHead) {
  auto module = importModel(validConfig("gpt2"));
  EXPECT_EQ(programOf(*module).getMaxSeq(), 32u);
  auto head = at<LinearOp>(*module, "lm_head");
  EXPECT_EQ(head.getWeight(), at<EmbeddingOp>(*module, "wte").getTable());
  for (LinearOp linear : all<LinearOp>(*module)) {
    EXPECT_EQ(linear.getWeight().getDefiningOp<ParameterOp>().getTransposed(),
              linear != head);
    EXPECT_EQ(!linear.getBias(), linear == head);
  }
  EXPECT_EQ(spelledTypeOf(at<LinearOp>(*module, "h.mlp.c_fc")),
            "!model.tensor<rows x 48 x f32>");
  EXPECT_EQ(at<ActivateOp>(*module, "h.mlp.act").getActivation(),
            Activation::gelu_tanh);
  EXPECT_EQ(at<LayerNormOp>(*module, "ln_f").getEpsilon().convertToFloat(),
            1e-5f);
  std::vector<uint64_t> offsets;
  for (SliceOp slice : all<SliceOp>(*module))
    offsets.push_back(slice.getOffset());
  EXPECT_EQ(offsets, (std::vector<uint64_t>{0, 12, 24}));
}

TEST_F(Importer, Gpt2NamesItsTensors) {
  auto module = importModel(
      with("gpt2", {{"tie_word_embeddings", false}, {"n_layer", 1}}));
  std::vector<std::string> expected;
  auto expect = [&](const std::string &module, bool hasBias) {
    for (const char *part : {".weight", ".bias"})
      if (hasBias || part == std::string(".weight"))
        expected.push_back("transformer." + module + part + "|" + module +
                           part);
  };
  expect("wte", false);
  expect("wpe", false);
  for (const char *name :
       {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"})
    expect(std::string("h.{layer}.") + name, true);
  expect("ln_f", true);
  expected.push_back("lm_head.weight");
  EXPECT_EQ(sourcesOf(*module), expected);
}

TEST_F(Importer, Gpt2ReadsItsSwitches) {
  auto module = importModel(with("gpt2", {{"n_inner", 7},
                                          {"activation_function", "relu"},
                                          {"scale_attn_weights", false},
                                          {"reorder_and_upcast_attn", true}}));
  EXPECT_EQ(spelledTypeOf(at<LinearOp>(*module, "h.mlp.c_fc")),
            "!model.tensor<rows x 7 x f32>");
  EXPECT_EQ(at<ActivateOp>(*module, "h.mlp.act").getActivation(),
            Activation::relu);
  EXPECT_TRUE(all<ScaleOp>(*module).empty());
}

TEST_F(Importer, Olmo2NormsAllHeadsAtOnceAndWhatIsAdded) {
  auto module = importModel(validConfig("olmo2"));
  for (auto [part, width] : {std::pair("q", "24"), {"k", "8"}}) {
    auto norm = at<RmsNormOp>(*module, std::string("layers.self_attn.") + part +
                                           "_norm");
    EXPECT_EQ(spelledTypeOf(norm),
              std::string("!model.tensor<rows x ") + width + " x f32>");
    EXPECT_EQ(norm.getX().getDefiningOp<LinearOp>(),
              at<LinearOp>(*module,
                           std::string("layers.self_attn.") + part + "_proj"));
  }
  for (auto [name, normed] :
       {std::pair("post_attention_layernorm", "self_attn.o_proj"),
        {"post_feedforward_layernorm", "mlp.down_proj"}}) {
    auto norm = at<RmsNormOp>(*module, std::string("layers.") + name);
    EXPECT_EQ(norm.getX().getDefiningOp<LinearOp>(),
              at<LinearOp>(*module, std::string("layers.") + normed));
    EXPECT_EQ(norm.getEpsilon().convertToFloat(), 1e-5f);
  }
  EXPECT_EQ(all<RmsNormOp>(*module).size(), 5u);
  for (LinearOp linear : all<LinearOp>(*module))
    EXPECT_FALSE(linear.getBias());
}

TEST_F(Importer, Olmo2HasBiasesOfAttentionOnly) {
  auto module = importModel(with("olmo2", {{"attention_bias", true}}));
  for (LinearOp linear : all<LinearOp>(*module)) {
    const StringRef name = cast<NameLoc>(linear.getLoc()).getName();
    EXPECT_EQ(bool(linear.getBias()), name.contains("self_attn."))
        << name.str();
  }
}

TEST_F(Importer, MaxSeqShortensTheSequenceButNoTable) {
  auto module = importModel(validConfig("gpt2"), {20, std::nullopt});
  EXPECT_EQ(programOf(*module).getMaxSeq(), 20u);
  EXPECT_EQ(spelledTypeOf(at<PositionEmbeddingOp>(*module, "wpe").getTable()),
            "!model.tensor<32 x 12 x f32>");
}

TEST_F(Importer, DtypeIsThatOfWeightsAndTablesOnly) {
  struct Case {
    json patch;
    std::optional<std::string> option;
    const char *element;
  };
  for (const Case &c : std::vector<Case>{
           {json::object(), std::nullopt, "f32"},
           {{{"torch_dtype", "bfloat16"}}, std::nullopt, "bf16"},
           {{{"dtype", "float16"}}, "auto", "f16"},
           {{{"dtype", "bfloat16"}, {"torch_dtype", "float16"}}, {}, "bf16"},
           {{{"torch_dtype", "bfloat16"}}, "f32", "f32"},
           {{{"torch_dtype", "int8"}}, "bf16", "bf16"},
           {json::object(), "f16", "f16"}}) {
    auto module = importModel(with("gpt2", c.patch), {std::nullopt, c.option});
    for (ParameterOp parameter : all<ParameterOp>(*module)) {
      auto type = cast<StepTensorType>(parameter.getType());
      std::string element;
      llvm::raw_string_ostream(element) << type.getElementType();
      EXPECT_EQ(element, type.getRank() == 2 ? c.element : "f32");
    }
  }
}

/// "first:layers x repeat" of every stack, and the windows in its pattern.
static std::string stacksOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (StackOp stack : all<StackOp>(module)) {
    out << stack.getFirstLayer() << ':' << stack.getLayersPerIteration()
        << " x " << stack.getRepeat() << " (";
    stack.walk([&](MaskOp mask) { out << ' ' << mask.getWindow(); });
    out << " ) ";
  }
  return text;
}

TEST_F(Importer, MistralSeesAWindow) {
  EXPECT_EQ(stacksOf(*importModel(with("mistral", {{"sliding_window", 9}}))),
            "0:1 x 2 ( 9 ) ");
  // Absent, it is the published model's; null turns it off.
  EXPECT_EQ(stacksOf(*importModel(validConfig("mistral"))),
            "0:1 x 2 ( 4096 ) ");
  EXPECT_EQ(
      stacksOf(*importModel(with("mistral", {{"sliding_window", nullptr}}))),
      "0:1 x 2 ( 0 ) ");
}

TEST_F(Importer, QwenWindowsBeginAtALayer) {
  for (const char *family : {"qwen2", "qwen3"}) {
    json config = with(family, {{"num_hidden_layers", 7},
                                {"use_sliding_window", true},
                                {"sliding_window", 9},
                                {"max_window_layers", 3}});
    EXPECT_EQ(stacksOf(*importModel(config)), "0:1 x 3 ( 0 ) 3:1 x 4 ( 9 ) ");
    config["use_sliding_window"] = false;
    EXPECT_EQ(stacksOf(*importModel(config)), "0:1 x 7 ( 0 ) ");
  }
}

TEST_F(Importer, LayersAreRolledIntoTheShortestPatterns) {
  auto typed = [&](const char *types) {
    json list = json::array();
    for (const char *type = types; *type; ++type)
      list.push_back(*type == 's' ? "sliding_attention" : "full_attention");
    size_t layers = list.size();
    return stacksOf(*importModel(with("gemma2", {{"num_hidden_layers", layers},
                                                 {"layer_types", list},
                                                 {"sliding_window", 5}})));
  };
  EXPECT_EQ(typed("sfsfsf"), "0:2 x 3 ( 5 0 ) ");
  EXPECT_EQ(typed("sfsfs"), "0:2 x 2 ( 5 0 ) 4:1 x 1 ( 5 ) ");
  EXPECT_EQ(typed("sssssfsssssfsssssfsssssfss"),
            "0:6 x 4 ( 5 5 5 5 5 0 ) 24:1 x 2 ( 5 ) ");
  EXPECT_EQ(typed("ffffssss"), "0:1 x 4 ( 0 ) 4:1 x 4 ( 5 ) ");
  EXPECT_EQ(typed("f"), "0:1 x 1 ( 0 ) ");
  // The default of the family.
  EXPECT_EQ(stacksOf(*importModel(with(
                "gemma2", {{"num_hidden_layers", 4}, {"sliding_window", 5}}))),
            "0:2 x 2 ( 5 0 ) ");
}

TEST_F(Importer, OfSixLayersOfGemma3OneSeesEverything) {
  auto stacks = [&](int layers, json patch = {}) {
    patch.update({{"num_hidden_layers", layers}, {"sliding_window", 5}});
    return stacksOf(*importModel(with("gemma3_text", patch)));
  };
  EXPECT_EQ(stacks(18), "0:6 x 3 ( 5 5 5 5 5 0 ) ");
  EXPECT_EQ(stacks(26), "0:6 x 4 ( 5 5 5 5 5 0 ) 24:1 x 2 ( 5 ) ");
  EXPECT_EQ(stacks(6, {{"sliding_window_pattern", 3}}), "0:3 x 2 ( 5 5 0 ) ");
  EXPECT_EQ(stacks(3, {{"sliding_window_pattern", 1}}), "0:1 x 3 ( 0 ) ");
  EXPECT_EQ(stacks(2, {{"layer_types", {"full_attention", "full_attention"}}}),
            "0:1 x 2 ( 0 ) ");
  EXPECT_EQ(stacksOf(*importModel(validConfig("gemma3_text"))),
            "0:1 x 2 ( 4096 ) ");
}

/// The second frequency of the table by which an op turns.
static float turnOf(RopeOp rope) {
  return rope.getTable().getDefiningOp<RopeTableOp>().getFrequencies()[1];
}

TEST_F(Importer, LayersOfGemma3ThatSeeAWindowHaveAnglesOfTheirOwn) {
  // Of the second of a head's two pairs: by the base's root, and the factor.
  auto expectTurns = [&](const json &config, float window, float all) {
    auto module = importModel(config);
    for (const char *part : {"q", "k"}) {
      std::string name = std::string(".self_attn.") + part + "_rope";
      EXPECT_FLOAT_EQ(turnOf(at<RopeOp>(*module, "layers" + name)), window);
      EXPECT_FLOAT_EQ(turnOf(at<RopeOp>(*module, "layers+1" + name)), all);
    }
  };
  json config =
      with("gemma3_text",
           {{"head_dim", 4},
            {"layer_types", {"sliding_attention", "full_attention"}}});
  expectTurns(config, 0.01f, 0.001f);
  json older = config;
  older.update({{"rope_theta", 2500},
                {"rope_local_base_freq", 400},
                {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8}}}});
  expectTurns(older, 0.05f, 0.0025f);
  // As transformers 5 writes it; what it leaves out stands beside it.
  json newer = config;
  newer["rope_parameters"] = {
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 400}}},
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8}}}};
  newer["rope_theta"] = 2500;
  expectTurns(newer, 0.05f, 0.0025f);
  newer["rope_parameters"].erase("sliding_attention");
  expectTurns(newer, 0.01f, 0.0025f);

  // A table that no layer reads is not there.
  config.erase("layer_types");
  auto windows = importModel(config);
  ASSERT_EQ(all<RopeTableOp>(*windows).size(), 1u);
  EXPECT_FLOAT_EQ(turnOf(all<RopeOp>(*windows).front()), 0.01f);
  config["sliding_window_pattern"] = 1;
  auto full = importModel(config);
  ASSERT_EQ(all<RopeTableOp>(*full).size(), 1u);
  EXPECT_FLOAT_EQ(turnOf(all<RopeOp>(*full).front()), 0.001f);
}

TEST_F(Importer, Gemma3ReadsItsSwitches) {
  auto scaleOf = [&](ModuleOp module) {
    return at<ScaleOp>(module, "layers.self_attn.scale")
        .getFactor()
        .convertToFloat();
  };
  auto plain = importModel(validConfig("gemma3_text"));
  EXPECT_EQ(scaleOf(*plain), 0.0625f);
  EXPECT_EQ(spelledTypeOf(at<RmsNormOp>(*plain, "layers.self_attn.q_norm")),
            "!model.tensor<rows x 6 x 256 x f32>");
  EXPECT_TRUE(all<TanhOp>(*plain).empty());
  auto capped =
      importModel(with("gemma3_text", {{"query_pre_attn_scalar", 64},
                                       {"final_logit_softcapping", 30}}));
  EXPECT_EQ(scaleOf(*capped), 0.125f);
  EXPECT_EQ(all<TanhOp>(*capped).size(), 1u);
}

TEST_F(Importer, FusedProjectionsAreRowsOfOneTensor) {
  auto blocks = [](LinearOp linear) {
    auto parameter = linear.getWeight().getDefiningOp<ParameterOp>();
    return std::vector<int64_t>(*parameter.getBlocks());
  };
  auto phi = importModel(validConfig("phi3"));
  // 6 query and 2 + 2 key/value heads of 4.
  using Blocks = std::vector<int64_t>;
  EXPECT_EQ(blocks(at<LinearOp>(*phi, "layers.self_attn.q_proj")),
            (Blocks{24, 40, 0}));
  EXPECT_EQ(blocks(at<LinearOp>(*phi, "layers.self_attn.k_proj")),
            (Blocks{8, 40, 24}));
  EXPECT_EQ(blocks(at<LinearOp>(*phi, "layers.self_attn.v_proj")),
            (Blocks{8, 40, 32}));
  EXPECT_EQ(blocks(at<LinearOp>(*phi, "layers.mlp.up_proj")),
            (Blocks{40, 80, 40}));
  // A gate for each of the 3 heads behind a group's 12 outputs.
  auto headwise = importModel(
      with("qwen3", {{"head_dim", 4}, {"headwise_attn_output_gate", true}}));
  EXPECT_EQ(blocks(at<LinearOp>(*headwise, "layers.self_attn.q_proj")),
            (Blocks{12, 15, 0}));
  EXPECT_EQ(blocks(at<LinearOp>(*headwise, "layers.self_attn.q_gate")),
            (Blocks{3, 15, 12}));
  // Queries and gates of each head in turn.
  auto next = importModel(with("qwen3_next", {{"head_dim", 8}}));
  EXPECT_EQ(blocks(at<LinearOp>(*next, "layers.self_attn.q_gate")),
            (Blocks{8, 16, 8}));
}

TEST_F(Importer, NormsMayStoreTheirWeightLessOne) {
  for (const char *family : {"gemma2", "gemma3_text", "qwen3_next", "qwen3"}) {
    auto module = importModel(validConfig(family));
    for (RmsNormOp norm : all<RmsNormOp>(*module))
      EXPECT_EQ(norm.getWeight()
                    .getDefiningOp<ParameterOp>()
                    .getPlus()
                    .convertToFloat(),
                family == std::string("qwen3") ? 0.0f : 1.0f);
  }
}

TEST_F(Importer, MixturesOfExperts) {
  struct Case {
    const char *family;
    json patch;
    bool normalizes;
    const char *module, *gate;
  };
  const Case cases[] = {
      {"mixtral", json::object(), true, "layers.{layer}.block_sparse_moe",
       "w1"},
      {"olmoe", json::object(), false, "layers.{layer}.mlp", "gate_proj"},
      {"olmoe",
       {{"norm_topk_prob", true}},
       true,
       "layers.{layer}.mlp",
       "gate_proj"},
      {"qwen2_moe", json::object(), false, "layers.{layer}.mlp", "gate_proj"},
      {"qwen3_moe",
       {{"norm_topk_prob", true}, {"decoder_sparse_step", 1}},
       true,
       "layers.{layer}.mlp",
       "gate_proj"}};
  for (const Case &each : cases) {
    SCOPED_TRACE(each.family);
    auto module = importModel(with(each.family, each.patch));
    RouteOp route = all<RouteOp>(*module).front();
    EXPECT_EQ(route.getScoring(), Scoring::softmax);
    EXPECT_EQ(route.getNormalize(), each.normalizes);
    EXPECT_EQ(spelledTypeOf(route.getExperts()),
              "!model.tensor<rows x 2 x i32>");
    GroupedGatedLinearOp product = all<GroupedGatedLinearOp>(*module).front();
    EXPECT_EQ(product.getActivation(), Activation::silu);
    auto gate = product.getGate().getDefiningOp<ParameterOp>();
    EXPECT_EQ(cast<StringAttr>(gate.getSources()[0]).getValue(),
              "model." + std::string(each.module) + ".experts.{expert}." +
                  each.gate + ".weight");
    const bool isMixtral = each.family == std::string("mixtral");
    EXPECT_EQ(spelledTypeOf(gate),
              isMixtral || each.family == std::string("olmoe")
                  ? "!model.tensor<5 x 32 x 48 x f32>"
                  : "!model.tensor<5 x 16 x 48 x f32>");
  }
}

TEST_F(Importer, MixturesSayHowExpertsAreBalanced) {
  auto factorOf = [&](const char *family, json patch) {
    auto module = importModel(with(family, patch));
    ProgramOp program = *module->getOps<ProgramOp>().begin();
    auto factor = program->getAttrOfType<FloatAttr>(kBalanceLoss);
    return factor ? std::optional(factor.getValueAsDouble()) : std::nullopt;
  };
  for (const char *family : {"mixtral", "olmoe", "qwen2_moe", "qwen3_moe"}) {
    SCOPED_TRACE(family);
    const json asks = {{"output_router_logits", true}};
    EXPECT_EQ(factorOf(family, {{"output_router_logits", false},
                                {"router_aux_loss_coef", 0.5}}),
              std::nullopt);
    // As Transformers' configuration classes have it.
    EXPECT_EQ(factorOf(family, asks),
              family == std::string("olmoe") ? 0.01f : 0.001f);
    EXPECT_EQ(factorOf(family, {{"output_router_logits", true},
                                {"router_aux_loss_coef", 0.5}}),
              0.5);
    EXPECT_EQ(factorOf(family, {{"output_router_logits", true},
                                {"router_aux_loss_coef", 0}}),
              std::nullopt);
  }
}

TEST_F(Importer, LayersWithoutExpertsStandBesideOthers) {
  auto module = importModel(with("qwen3_moe", {{"num_hidden_layers", 6},
                                               {"decoder_sparse_step", 2},
                                               {"mlp_only_layers", {5}}}));
  // Without and with, twice, and twice without.
  SmallVector<StackOp> stacks = all<StackOp>(*module);
  ASSERT_EQ(stacks.size(), 2u);
  EXPECT_EQ(stacks[0].getRepeat(), 2u);
  EXPECT_EQ(stacks[0].getLayersPerIteration(), 2u);
  EXPECT_EQ(stacks[1].getRepeat(), 2u);
  EXPECT_EQ(stacks[1].getLayersPerIteration(), 1u);
  EXPECT_EQ(all<RouteOp>(*module).size(), 1u);
  EXPECT_EQ(llvm::count_if(sourcesOf(*module),
                           [](const std::string &names) {
                             return StringRef(names).contains(
                                 ".mlp.gate_proj.weight");
                           }),
            2);
}

TEST_F(Importer, GptOssReadsItsExpertsAsTheyAreStored) {
  auto module = importModel(validConfig("gpt_oss"));
  GroupedGatedLinearOp product = all<GroupedGatedLinearOp>(*module).front();
  EXPECT_EQ(product.getActivation(), Activation::clamped_swiglu);
  auto up = product.getUp().getDefiningOp<ParameterOp>();
  EXPECT_EQ(cast<StringAttr>(up.getSources()[0]),
            "model.layers.{layer}.mlp.experts.{expert}.gate_up_proj");
  EXPECT_EQ(up.getBlocks(), (ArrayRef<int64_t>{1, 2, 1}));
  EXPECT_TRUE(up.getTransposed());
  EXPECT_EQ(up.getStoredShape(), (SmallVector<int64_t>{5, 48, 64}));
  EXPECT_TRUE(all<RouteOp>(*module).front().getNormalize());
  for (SoftmaxOp softmax : all<SoftmaxOp>(*module))
    EXPECT_TRUE(softmax.getSinks());
}

TEST_F(Importer, DeepseekKeepsCompressedRows) {
  for (const char *family : {"deepseek_v2", "deepseek_v3"}) {
    auto module = importModel(with(family, {{"first_k_dense_replace", 1}}));
    // Of a dense layer, and of those with experts.
    EXPECT_EQ(all<KvAppendOp>(*module).size(), 2u);
    for (KvAppendOp state : all<KvAppendOp>(*module))
      EXPECT_EQ(spelledTypeOf(state), "!model.tensor<kv x 1 x 38 x f32>");
    auto absorbed = at<HeadLinearOp>(*module, "layers.self_attn.q_absorbed")
                        .getWeight()
                        .getDefiningOp<ParameterOp>();
    EXPECT_EQ(spelledTypeOf(absorbed), "!model.tensor<6 x 32 x 10 x f32>");
    EXPECT_TRUE(absorbed.getTransposed());
    EXPECT_EQ(absorbed.getStoredShape(), (SmallVector<int64_t>{156, 32}));
    auto values = at<HeadLinearOp>(*module, "layers.self_attn.v_absorbed")
                      .getWeight()
                      .getDefiningOp<ParameterOp>();
    EXPECT_EQ(values.getHeads(), (ArrayRef<int64_t>{26, 10}));
    EXPECT_EQ(values.getStoredShape(), (SmallVector<int64_t>{156, 32}));
    EXPECT_EQ(at<LinearOp>(*module, "layers.self_attn.q_rotary")
                  .getWeight()
                  .getDefiningOp<ParameterOp>()
                  .getBlocks(),
              (ArrayRef<int64_t>{6, 16, 10, 6}));
    EXPECT_EQ(at<ScaleOp>(*module, "layers.self_attn.scale")
                  .getFactor()
                  .convertToFloat(),
              0.25f);
  }
}

TEST_F(Importer, DeepseekRoutesByGroups) {
  auto greedy = importModel(validConfig("deepseek_v2"));
  EXPECT_EQ(all<RouteOp>(*greedy).front().getGroups(), 1u);
  auto limited = importModel(
      with("deepseek_v2", {{"topk_method", "group_limited_greedy"}}));
  RouteOp route = all<RouteOp>(*limited).front();
  EXPECT_EQ(route.getGroups(), 4u);
  EXPECT_EQ(route.getGroupsOfRow(), 2u);
  EXPECT_FALSE(route.getBestTwo());
  EXPECT_FALSE(route.getNormalize());
  auto third = importModel(validConfig("deepseek_v3"));
  route = all<RouteOp>(*third).front();
  EXPECT_TRUE(route.getBestTwo());
  EXPECT_TRUE(route.getNormalize());
  EXPECT_EQ(route.getScoring(), Scoring::sigmoid);
  EXPECT_EQ(route.getFactor().convertToFloat(), 2.5f);
  EXPECT_EQ(cast<StringAttr>(
                route.getBias().getDefiningOp<ParameterOp>().getSources()[0]),
            "model.layers.{layer}.mlp.gate.e_score_correction_bias");
}

TEST_F(Importer, DeepseekScalesScoresByYarnsTemperature) {
  auto module = importModel(
      with("deepseek_v3",
           {{"rope_scaling",
             {{"type", "yarn"}, {"factor", 40}, {"mscale_all_dim", 1.0}}}}));
  // 0.25 (0.1 ln 40 + 1)²
  EXPECT_FLOAT_EQ(at<ScaleOp>(*module, "layers.self_attn.scale")
                      .getFactor()
                      .convertToFloat(),
                  0.46846355f);
}

TEST_F(Importer, EveryFamilyMayHaveHyperConnections) {
  for (const std::string &family : models::families()) {
    SCOPED_TRACE(family);
    auto module = importModel(
        with(family.c_str(), {{"hyper_connections", {{"streams", 3}}}}));
    StackOp stack = all<StackOp>(*module).front();
    EXPECT_EQ(cast<StepTensorType>(stack.getResult(0).getType()).getShape()[1],
              3);
    // Both halves of a block read streams and write them; the end reads them.
    int64_t layers = 0;
    for (StackOp pattern : all<StackOp>(*module))
      layers += pattern.getLayersPerIteration();
    EXPECT_EQ(all<HyperPostOp>(*module).size(), size_t(2 * layers));
    EXPECT_EQ(all<HyperPreOp>(*module).size(),
              all<HyperPostOp>(*module).size() + 1);
    // No sum is left that would pass the streams by, but for GPT-2's positions
    // and experts that all rows go to.
    const bool adds = family == "gpt2" || family == "qwen2_moe" ||
                      family.starts_with("deepseek_");
    EXPECT_EQ(all<AddOp>(*module).size(), adds ? 1u : 0u);
    for (HyperMapsOp maps : all<HyperMapsOp>(*module)) {
      bool ends = isa<ProgramOp>(maps->getParentOp());
      EXPECT_EQ(maps.getMixing(), ends ? Mixing::none : Mixing::sinkhorn);
      EXPECT_EQ(maps.getIterations(), 10);
    }
  }
}

TEST_F(Importer, HyperConnectionsReadTheirSwitches) {
  auto module = importModel(with("llama", {{"hyper_connections",
                                            {{"streams", 2},
                                             {"mode", "free"},
                                             {"iterations", 20},
                                             {"epsilon", 0.25},
                                             {"norm_epsilon", 0.5}}}}));
  HyperMapsOp maps = all<HyperMapsOp>(*module).front();
  EXPECT_EQ(maps.getMixing(), Mixing::free);
  EXPECT_EQ(maps.getIterations(), 20);
  EXPECT_EQ(maps.getEpsilon().convertToFloat(), 0.25f);
  HyperProjectOp project = all<HyperProjectOp>(*module).front();
  EXPECT_EQ(project.getEpsilon().convertToFloat(), 0.5f);
  auto phi = project.getPhi().getDefiningOp<ParameterOp>();
  EXPECT_EQ(cast<StringAttr>(phi.getSources()[0]),
            "model.layers.{layer}.attn_hc.fn");
  // Small numbers that everything goes through stay F32.
  EXPECT_TRUE(cast<StepTensorType>(phi.getType()).getElementType().isF32());
  module = importModel(
      with("llama",
           {{"rms_norm_eps", 0.125},
            {"hyper_connections", {{"streams", 2}, {"mode", "identity"}}}}));
  EXPECT_EQ(all<HyperProjectOp>(*module).front().getEpsilon().convertToFloat(),
            0.125f);
  EXPECT_EQ(all<HyperMapsOp>(*module).front().getMixing(), Mixing::identity);
}

TEST_F(Importer, EveryOpHasANameThatReadsLikeItsModule) {
  std::vector<json> configs = {
      with("llama", {{"hyper_connections", {{"streams", 2}}}}),
      with("gpt2", {{"hyper_connections", {{"streams", 2}}}})};
  for (const std::string &family : models::families())
    configs.push_back(validConfig(family));
  for (const json &config : configs) {
    auto module = importModel(config);
    programOf(*module).walk([](Operation *op) {
      auto location = dyn_cast<NameLoc>(op->getLoc());
      ASSERT_TRUE(location);
      EXPECT_EQ(location.getName().getValue().find('{'), StringRef::npos);
    });
    // Computed values are told apart by their names.
    llvm::StringSet<> names;
    programOf(*module).walk([&](Operation *op) {
      if (op->getNumResults() && !isa<ParameterOp>(op))
        EXPECT_TRUE(
            names.insert(cast<NameLoc>(op->getLoc()).getName().getValue())
                .second)
            << cast<NameLoc>(op->getLoc()).getName().str();
    });
  }
}

TEST_F(Importer, UnknownFieldsAreIgnored) {
  importModel(with("llama", {{"pretraining_tp", 1},
                             {"use_cache", true},
                             {"architectures", {"LlamaForCausalLM"}}}));
}

//===----------------------------------------------------------------------===//
// The checkpoints that whole programs are tested on
//===----------------------------------------------------------------------===//

TEST_F(Importer, GoldenConfigsAreImportedAndSurviveTheirText) {
  int count = 0;
  for (auto &entry : std::filesystem::directory_iterator(BATON_GOLDEN_FOLDER)) {
    if (!std::filesystem::exists(entry.path() / "config.json"))
      continue;
    SCOPED_TRACE(entry.path().string());
    ++count;
    auto module = importFrom(entry.path().string());
    ASSERT_TRUE(module);
    json config = json::parse(std::ifstream(entry.path() / "config.json"));
    bool isGpt2 = config["model_type"] == "gpt2";
    uint64_t layers = 0;
    for (StackOp stack : all<StackOp>(*module))
      layers += stack.getRepeat() * stack.getLayersPerIteration();
    EXPECT_EQ(layers, config[isGpt2 ? "n_layer" : "num_hidden_layers"]);
    EXPECT_EQ(programOf(*module).getMaxSeq(),
              config[isGpt2 ? "n_positions" : "max_position_embeddings"]);

    std::string text, again;
    llvm::raw_string_ostream(text) << *module;
    auto parsed = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(parsed);
    llvm::raw_string_ostream(again) << *parsed;
    EXPECT_EQ(text, again);
  }
  EXPECT_GT(count, 0);
}
