//===- Llama.cpp - importer of the Llama family ---------------------------===//
//
// transformers' LlamaForCausalLM: pre-norm blocks with RMS norm, rotary
// grouped-query attention and a gated feed-forward layer.
//
//===----------------------------------------------------------------------===//

#include "models/Family.h"
#include "models/ProgramBuilder.h"
#include "models/RopeFrequencies.h"

#include <cmath>

using namespace mlir;
using namespace baton;
using namespace baton::models;

namespace {
/// The fields of config.json that decide what is computed, checked.
struct LlamaShape {
  int64_t width, feedForwardWidth, layers, heads, keyValueHeads, headDim,
      vocabulary, maxSeq;
  float epsilon;
  model::Activation activation;
  bool attentionBias, feedForwardBias, tiedEmbeddings;
  std::vector<float> frequencies;
};
} // namespace

static void checkTotals(const Config &config, const LlamaShape &shape) {
  ElementCount weights, state;
  int64_t queries = shape.heads * shape.headDim;
  int64_t keys = shape.keyValueHeads * shape.headDim;
  weights.add({shape.layers, shape.width, queries, 2});
  weights.add({shape.layers, shape.width, keys, 2});
  weights.add({shape.layers, shape.width, shape.feedForwardWidth, 3});
  weights.add({shape.vocabulary, shape.width, 2});
  if (weights.isAbsurd())
    config.fail("'num_hidden_layers', 'hidden_size', 'intermediate_size' and "
                "'vocab_size' together ask for more than 2^42 weights");
  state.add({shape.layers, shape.maxSeq, keys, 2});
  if (state.isAbsurd())
    config.fail("a sequence of " + std::to_string(shape.maxSeq) +
                " tokens needs more than 2^42 elements of key/value state; "
                "--max-seq shortens it");
}

static LlamaShape readShape(const Config &config,
                            const ImportOptions &options) {
  LlamaShape shape;
  shape.width = config.integer("hidden_size", 1, kMaxDimension);
  shape.feedForwardWidth =
      config.integer("intermediate_size", 1, kMaxDimension);
  shape.layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  shape.heads = config.integer("num_attention_heads", 1, kMaxDimension);
  shape.keyValueHeads =
      config.optionalInteger("num_key_value_heads", 1, kMaxDimension)
          .value_or(shape.heads);
  if (shape.heads % shape.keyValueHeads)
    config.fail("num_key_value_heads", "a divisor of 'num_attention_heads', " +
                                           std::to_string(shape.heads));
  if (std::optional<int64_t> headDim =
          config.optionalInteger("head_dim", 1, kMaxDimension))
    shape.headDim = *headDim;
  else if (shape.width % shape.heads)
    config.fail("num_attention_heads", "a divisor of 'hidden_size', " +
                                           std::to_string(shape.width) +
                                           ", as there is no 'head_dim'");
  else
    shape.headDim = shape.width / shape.heads;
  if (shape.headDim % 2)
    config.fail("'head_dim' is " + std::to_string(shape.headDim) +
                ", expected an even number for rotary positions");
  if (shape.heads * shape.headDim > kMaxDimension)
    config.fail("'num_attention_heads' times the heads' dimensions is " +
                std::to_string(shape.heads * shape.headDim) +
                ", expected at most " + std::to_string(kMaxDimension));
  shape.vocabulary = config.integer("vocab_size", 1, kMaxVocabulary);
  shape.maxSeq = maxSeqOption(config, options, "max_position_embeddings");
  shape.epsilon = static_cast<float>(config.number("rms_norm_eps", 0, 1, 1e-6));
  shape.activation = activationField(config, "hidden_act", "silu");
  shape.attentionBias = config.boolean("attention_bias", false);
  shape.feedForwardBias = config.boolean("mlp_bias", false);
  shape.tiedEmbeddings = config.boolean("tie_word_embeddings", false);
  checkTotals(config, shape);
  shape.frequencies = ropeFrequencies(config, shape.headDim);
  return shape;
}

static Value buildBlock(ProgramBuilder &builder, const LlamaShape &shape,
                        Value x, Value angles) {
  Value normed =
      builder.rmsNorm("layers.{layer}.input_layernorm", x, shape.epsilon);
  auto project = [&](const std::string &part, int64_t heads) {
    Value flat =
        builder.linear("layers.{layer}.self_attn." + part + "_proj", normed,
                       heads * shape.headDim, shape.attentionBias);
    return builder.splitHeads("layers.self_attn." + part, flat, heads);
  };
  Value q = project("q", shape.heads);
  Value k = project("k", shape.keyValueHeads);
  Value v = project("v", shape.keyValueHeads);
  q = builder.rope("layers.self_attn.q_rope", q, angles);
  k = builder.rope("layers.self_attn.k_rope", k, angles);
  auto scale = static_cast<float>(1 / std::sqrt(double(shape.headDim)));
  Value attended = builder.causalAttention("layers.self_attn", q, k, v, scale);
  Value projected = builder.linear("layers.{layer}.self_attn.o_proj", attended,
                                   shape.width, shape.attentionBias);
  x = builder.add("layers.self_attn.o_proj.residual", x, projected);

  normed = builder.rmsNorm("layers.{layer}.post_attention_layernorm", x,
                           shape.epsilon);
  Value gate = builder.linear("layers.{layer}.mlp.gate_proj", normed,
                              shape.feedForwardWidth, shape.feedForwardBias);
  Value up = builder.linear("layers.{layer}.mlp.up_proj", normed,
                            shape.feedForwardWidth, shape.feedForwardBias);
  gate = builder.activate("layers.mlp.act_fn", gate, shape.activation);
  Value product = builder.multiply("layers.mlp.gate_up", gate, up);
  Value down = builder.linear("layers.{layer}.mlp.down_proj", product,
                              shape.width, shape.feedForwardBias);
  return builder.add("layers.mlp.down_proj.residual", x, down);
}

static OwningOpRef<ModuleOp> buildLlama(MLIRContext &context,
                                        const Config &config,
                                        const ImportOptions &options) {
  LlamaShape shape = readShape(config, options);
  FloatType weightType = weightTypeOption(context, config, options);

  ProgramBuilder builder(context, "llama", shape.maxSeq, weightType, "model.");
  Value table = builder.weight("embed_tokens", {shape.vocabulary, shape.width});
  Value x = builder.embedding("embed_tokens", table);
  Value angles = builder.ropeTable("rotary_emb", shape.frequencies);
  x = builder.stack("layers", x, shape.layers, [&](Value x) {
    return buildBlock(builder, shape, x, angles);
  });
  x = builder.lastRows("last_rows", x);
  x = builder.rmsNorm("norm", x, shape.epsilon);
  Value logits =
      shape.tiedEmbeddings
          ? builder.linear("lm_head", x, table)
          : builder.linear("lm_head", x, shape.vocabulary, /*hasBias=*/false);
  return builder.finish(logits);
}

const Family baton::models::LlamaFamily = {"llama", "LlamaForCausalLM",
                                           buildLlama};
