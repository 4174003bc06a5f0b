//===- LatentAttention.cpp - attention to compressed states ---------------===//

#include "models/LatentAttention.h"

#include "models/Family.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace baton;
using namespace baton::models;

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value LatentAttention::attend(Decoder &decoder, const Layer &layer,
                              Value normed) const {
  ProgramBuilder &builder = decoder.builder;
  const DecoderShape &shape = decoder.shape;
  const std::string module = layer.name + ".self_attn";
  const int64_t heads = shape.heads, key = plain + rotary;
  const int64_t pairs = interleaved ? rotary : 0;

  Value source = normed;
  std::string queries = module + ".q_proj";
  if (queryRank) {
    source = builder.linear(module + ".q_a_proj", source, queryRank, hasBias);
    source = builder.rmsNorm(module + ".q_a_layernorm", source, kLatentEpsilon);
    queries = module + ".q_b_proj";
  }
  auto part = [&](const char *name, const std::string &from, Value x,
                  int64_t count, RowBlocks rows, bool bias) {
    return builder.linear(module + "." + name, from, x, count * rows.size, rows,
                          bias);
  };
  Value q = part("q_plain", queries, source, heads,
                 {.size = plain, .stride = key, .offset = 0}, false);
  Value qTurned = part(
      "q_rotary", queries, source, heads,
      {.size = rotary, .stride = key, .offset = plain, .pairs = pairs}, false);
  const std::string compress = module + ".kv_a_proj_with_mqa";
  Value row =
      part("latent", compress, normed, 1,
           {.size = rank, .stride = rank + rotary, .offset = 0}, hasBias);
  Value turned = part(
      "k_rotary", compress, normed, 1,
      {.size = rotary, .stride = rank + rotary, .offset = rank, .pairs = pairs},
      hasBias);
  row = builder.rmsNorm(module + ".kv_a_layernorm", row, kLatentEpsilon);

  q = builder.splitHeads(module + ".q_plain.heads", q, heads);
  qTurned = builder.splitHeads(module + ".q_rotary.heads", qTurned, heads);
  row = builder.splitHeads(module + ".latent.head", row, 1);
  turned = builder.splitHeads(module + ".k_rotary.head", turned, 1);
  // By a head's part of one matrix for keys and values, or of one for each,
  // whose rows are the outputs.
  auto expand = [&](const char *name, const char *own, Value x, int64_t outputs,
                    HeadRows part) {
    if (isSeparate)
      return builder.headLinear(module + name, module + own, x, rank,
                                {.size = outputs,
                                 .stride = outputs,
                                 .offset = 0,
                                 .transposed = false});
    return builder.headLinear(module + name, module + ".kv_b_proj", x, rank,
                              part);
  };
  q = expand(".q_absorbed", ".k_b_proj", q, rank,
             {.size = plain,
              .stride = plain + value,
              .offset = 0,
              .transposed = true});
  q = builder.joinHeads(module + ".q_joined", q,
                        decoder.rotate(layer, "q", qTurned));
  Value k = builder.joinHeads(module + ".k_joined", row,
                              decoder.rotate(layer, "k", turned));
  Value sums = builder.latentAttention(
      module, q, k, rank, {.scale = scale, .window = layer.window});
  Value result = expand(".v_absorbed", ".v_b_proj", sums, value,
                        {.size = value,
                         .stride = plain + value,
                         .offset = plain,
                         .transposed = false});
  result = builder.mergeHeads(module + ".merge_heads", result);
  return builder.linear(module + ".o_proj", result, shape.width, hasBias);
}

//===----------------------------------------------------------------------===//
// Configs
//===----------------------------------------------------------------------===//

/// What scores are multiplied by: YaRN's temperature stands with them, where
/// the config has it for all of a head's dimensions.
static float readScale(const Config &config, int64_t headDim) {
  double scale = 1 / std::sqrt(static_cast<double>(headDim));
  std::optional<Config> rope = config.object("rope_parameters");
  if (!rope)
    rope = config.object("rope_scaling");
  if (!rope || rope->text(rope->has("rope_type") ? "rope_type" : "type",
                          "default") == "default")
    return static_cast<float>(scale);
  const double all = rope->number("mscale_all_dim", 0, 1e6, 0);
  if (all == 0)
    return static_cast<float>(scale);
  const double factor = rope->number("factor", 0, 1e6);
  const double temperature = factor <= 1 ? 1 : 0.1 * all * std::log(factor) + 1;
  return static_cast<float>(scale * temperature * temperature);
}

static void expectMultiple(const Config &config, const char *name,
                           int64_t size) {
  if (size % model::kHeadOutputs)
    config.fail(name, "a multiple of " + std::to_string(model::kHeadOutputs) +
                          ", for heads' parts of 'kv_b_proj'");
}

static LatentAttention readAttention(const Config &config) {
  LatentAttention form;
  // As transformers has it where the config is silent; null is none.
  if (!config.isNull("q_lora_rank"))
    form.queryRank =
        config.optionalInteger("q_lora_rank", 1, kMaxDimension).value_or(1536);
  form.rank = config.integer("kv_lora_rank", 1, kMaxDimension);
  form.rotary = config.integer("qk_rope_head_dim", 2, kMaxDimension);
  form.plain = config.integer("qk_nope_head_dim", 1, kMaxDimension);
  form.value = config.integer("v_head_dim", 1, kMaxDimension);
  expectMultiple(config, "kv_lora_rank", form.rank);
  expectMultiple(config, "v_head_dim", form.value);
  form.scale = readScale(config, form.plain + form.rotary);
  form.interleaved = true;
  form.hasBias = config.boolean("attention_bias", false);
  form.isSeparate = config.boolean("separate_kv_b_proj", false);
  return form;
}

static void checkWeights(const Config &config, const DecoderShape &shape,
                         const LatentAttention &form) {
  ElementCount weights, state;
  const int64_t key = form.plain + form.rotary;
  weights.add({shape.layers, shape.heads, key,
               form.queryRank ? form.queryRank : shape.width});
  weights.add({shape.layers, shape.heads, form.plain + form.value, form.rank});
  weights.add({shape.layers, shape.heads, form.value, shape.width});
  if (weights.isAbsurd())
    config.fail(
        "'num_hidden_layers', 'num_attention_heads', 'kv_lora_rank' and "
        "heads' dimensions together ask for more than 2^42 weights");
  state.add({shape.layers, shape.maxSeq, form.rank + form.rotary});
  if (state.isAbsurd())
    config.fail("a sequence of " + std::to_string(shape.maxSeq) +
                " tokens needs more than 2^42 elements of compressed state; "
                "--max-seq shortens it");
}

void models::readGroups(const Config &config, MixtureForm &form) {
  form.groups = config.integer("n_group", 1, model::kMostGroups);
  if (form.experts % form.groups)
    config.fail("n_group", "a divisor of 'n_routed_experts', " +
                               std::to_string(form.experts));
  form.groupsOfRow = config.integer("topk_group", 1, form.groups);
  const int64_t most = form.groupsOfRow * (form.experts / form.groups);
  if (form.expertsOfRow > most)
    config.fail("num_experts_per_tok",
                "at most " + std::to_string(most) +
                    ", the experts of 'topk_group' groups");
}

LatentModel models::readLatentModel(const Config &config,
                                    const ImportOptions &options,
                                    const LatentDefaults &defaults) {
  LatentAttention attention = readAttention(config);
  // Heads' other fields are of keys that no state keeps.
  if (auto dim = config.optionalInteger("head_dim", 1, kMaxDimension);
      dim && *dim != attention.rotary)
    config.fail("head_dim", "that of 'qk_rope_head_dim', " +
                                std::to_string(attention.rotary));
  DecoderShape shape =
      readDecoderShape(config, options, {.headDim = attention.rotary});
  if (shape.keyValueHeads != shape.heads)
    config.fail("num_key_value_heads", "that of 'num_attention_heads', " +
                                           std::to_string(shape.heads));
  checkWeights(config, shape, attention);
  MixtureForm mixture =
      readMixture(config, shape, "n_routed_experts", "moe_intermediate_size",
                  config.boolean("norm_topk_prob", defaults.normalizes));
  mixture.factor = static_cast<float>(
      config.number("routed_scaling_factor", 0, 1e6, defaults.factor));
  if (config.optionalInteger("moe_layer_freq", 1, kMaxLayers).value_or(1) != 1)
    config.fail("moe_layer_freq", "1");
  int64_t shared = 0;
  if (!config.isNull("n_shared_experts"))
    shared = config.optionalInteger("n_shared_experts", 0, kMaxDimension)
                 .value_or(defaults.sharedExperts);
  if (shared * mixture.width > kMaxDimension)
    config.fail("n_shared_experts", "at most " + std::to_string(kMaxDimension) +
                                        " in all of 'moe_intermediate_size'");
  const int64_t dense =
      config.optionalInteger("first_k_dense_replace", 0, kMaxLayers)
          .value_or(defaults.denseLayers);
  return {std::move(shape),       attention, mixture,
          shared * mixture.width, dense,     config.boolean("mlp_bias", false)};
}

OwningOpRef<ModuleOp> LatentModel::build(MLIRContext &context,
                                         const Config &config,
                                         const ImportOptions &options,
                                         StringRef family) const {
  Decoder decoder(context, config, options, family, shape);
  ProgramBuilder &builder = decoder.builder;
  auto feedForward = [&](Value normed, const Layer &layer) {
    const std::string module = layer.name + ".mlp";
    if (!layer.hasExperts)
      return decoder.feedForward(layer, normed, feedForwardHasBias);
    Value routed = decoder.mixture(layer, normed, "mlp", mixture);
    if (!sharedWidth)
      return routed;
    Value all = decoder.feedForward(module + ".shared_experts", normed,
                                    sharedWidth, feedForwardHasBias);
    return builder.add(module + ".experts.sum", routed, all);
  };
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) { return attention.attend(decoder, layer, normed); },
        [&](Value normed) { return feedForward(normed, layer); });
  };
  std::vector<bool> withExperts;
  for (int64_t layer : llvm::seq(shape.layers))
    withExperts.push_back(layer >= denseLayers);
  Value x = decoder.embed();
  x = decoder.blocks(x, Windows(shape.layers, 0), block, withExperts);
  return builder.finish(decoder.head(x));
}
