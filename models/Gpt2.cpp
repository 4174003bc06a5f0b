//===- Gpt2.cpp - importer of the GPT-2 family ----------------------------===//
//
// transformers' GPT2LMHeadModel: pre-norm blocks with layer norm, learned
// positions, one projection for queries, keys and values, and weights stored
// transposed (Conv1D).
//
//===----------------------------------------------------------------------===//

#include "models/Family.h"
#include "models/ProgramBuilder.h"
#include "models/Residual.h"

#include <cmath>

using namespace mlir;
using namespace baton;
using namespace baton::models;

namespace {
/// The fields of config.json that decide what is computed, checked.
struct Gpt2Shape {
  int64_t width, feedForwardWidth, layers, heads, vocabulary, positions, maxSeq;
  float epsilon;
  model::Activation activation;
  bool scaledScores, tiedEmbeddings;
  std::optional<HyperConnections> hyper;
};
} // namespace

static void checkTotals(const Config &config, const Gpt2Shape &shape) {
  ElementCount weights, state;
  weights.add({shape.layers, shape.width, shape.width, 4});
  weights.add({shape.layers, shape.width, shape.feedForwardWidth, 2});
  weights.add({shape.vocabulary, shape.width, 2});
  weights.add({shape.positions, shape.width});
  if (weights.isAbsurd())
    config.fail("'n_layer', 'n_embd', 'n_inner', 'n_positions' and "
                "'vocab_size' together ask for more than 2^42 weights");
  state.add({shape.layers, shape.maxSeq, shape.width, 2});
  if (state.isAbsurd())
    config.fail("a sequence of " + std::to_string(shape.maxSeq) +
                " tokens needs more than 2^42 elements of key/value state; "
                "--max-seq shortens it");
}

static Gpt2Shape readShape(const Config &config, const ImportOptions &options) {
  Gpt2Shape shape;
  shape.width = config.integer("n_embd", 1, kMaxDimension / 4);
  shape.feedForwardWidth = config.optionalInteger("n_inner", 1, kMaxDimension)
                               .value_or(4 * shape.width);
  shape.layers = config.integer("n_layer", 1, kMaxLayers);
  shape.heads = config.integer("n_head", 1, kMaxDimension);
  if (shape.width % shape.heads)
    config.fail("n_head",
                "a divisor of 'n_embd', " + std::to_string(shape.width));
  shape.vocabulary = config.integer("vocab_size", 1, kMaxVocabulary);
  shape.maxSeq = maxSeqOption(config, options, "n_positions");
  shape.positions = config.integer("n_positions", 1, kMaxPositions);
  shape.epsilon =
      static_cast<float>(config.number("layer_norm_epsilon", 0, 1, 1e-5));
  shape.activation = activationField(config, "activation_function", "gelu_new");
  shape.scaledScores = config.boolean("scale_attn_weights", true);
  shape.tiedEmbeddings = config.boolean("tie_word_embeddings", true);
  // Its factor would differ from layer to layer of a stack.
  if (config.boolean("scale_attn_by_inverse_layer_idx", false))
    config.fail("scale_attn_by_inverse_layer_idx", "false");
  if (config.boolean("add_cross_attention", false))
    config.fail("add_cross_attention", "false");
  // Changes rounding in F16 only; attention is F32 here.
  config.boolean("reorder_and_upcast_attn", false);
  shape.hyper = readHyperConnections(config, shape.width, shape.epsilon);
  checkTotals(config, shape);
  return shape;
}

/// Weights are stored transposed.
static Value linear(ProgramBuilder &builder, StringRef module, Value x,
                    int64_t outputs) {
  return builder.linear(module, x, outputs, /*hasBias=*/true,
                        /*transposed=*/true);
}

static Value buildAttention(ProgramBuilder &builder, const Gpt2Shape &shape,
                            Value x) {
  Value normed = builder.layerNorm("h.{layer}.ln_1", x, shape.epsilon);
  Value qkv = linear(builder, "h.{layer}.attn.c_attn", normed, 3 * shape.width);
  auto part = [&](const std::string &name, int64_t index) {
    Value flat = builder.columns("h.attn." + name + "_columns", qkv,
                                 index * shape.width, shape.width);
    return builder.splitHeads("h.attn." + name, flat, shape.heads);
  };
  Value q = part("q", 0), k = part("k", 1), v = part("v", 2);
  std::optional<float> scale;
  const int64_t headWidth = shape.width / shape.heads;
  if (shape.scaledScores)
    scale = static_cast<float>(1 / std::sqrt(double(headWidth)));
  Value attended = builder.causalAttention("h.attn", q, k, v, {.scale = scale});
  return linear(builder, "h.{layer}.attn.c_proj", attended, shape.width);
}

static Value buildFeedForward(ProgramBuilder &builder, const Gpt2Shape &shape,
                              Value x) {
  Value normed = builder.layerNorm("h.{layer}.ln_2", x, shape.epsilon);
  Value wide =
      linear(builder, "h.{layer}.mlp.c_fc", normed, shape.feedForwardWidth);
  wide = builder.activate("h.mlp.act", wide, shape.activation);
  return linear(builder, "h.{layer}.mlp.c_proj", wide, shape.width);
}

static OwningOpRef<ModuleOp> buildGpt2(MLIRContext &context,
                                       const Config &config,
                                       const ImportOptions &options) {
  Gpt2Shape shape = readShape(config, options);
  FloatType weightType = weightTypeOption(context, config, options);

  ProgramBuilder builder(context, "gpt2", shape.maxSeq, weightType,
                         "transformer.");
  Value table = builder.weight("wte", {shape.vocabulary, shape.width});
  Value x = builder.embedding("wte", table);
  Value positions =
      builder.positionEmbedding("wpe", shape.positions, shape.width);
  x = builder.add("embeddings", x, positions);
  Residual residual(builder, shape.hyper);
  x = builder.stack("h", residual.begin(x), shape.layers, [&](Value x) {
    x = residual.sublayer(
        "h.attn.c_proj.residual", "h.{layer}.attn_hc", x,
        [&](Value read) { return buildAttention(builder, shape, read); });
    return residual.sublayer(
        "h.mlp.c_proj.residual", "h.{layer}.mlp_hc", x,
        [&](Value read) { return buildFeedForward(builder, shape, read); });
  });
  x = residual.end(x);
  x = builder.layerNorm("ln_f", x, shape.epsilon);
  Value logits =
      shape.tiedEmbeddings
          ? builder.linear("lm_head", x, table)
          : builder.linear("lm_head", x, shape.vocabulary, /*hasBias=*/false);
  return builder.finish(logits);
}

const Family baton::models::Gpt2Family = {"gpt2", "GPT2LMHeadModel", buildGpt2};
