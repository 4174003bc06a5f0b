//===- Gemma3.cpp - importer of the Gemma 3 family's text models ----------===//
//
// transformers' Gemma3ForCausalLM: Gemma 2's block, but every head of the
// queries and keys is normalised before it turns, and of six layers five see a
// window, in which they turn by a base of their own.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

#include <cmath>

using namespace mlir;
using namespace baton;
using namespace baton::models;

/// Every `sliding_window_pattern`-th layer sees all positions.
static Windows readWindows(const Config &config, const DecoderShape &shape) {
  int64_t window = uniformWindows(config, shape, /*absent=*/4096).front();
  if (window == 0)
    config.fail("sliding_window",
                "an integer from 1 to " + std::to_string(kMaxPositions));
  int64_t pattern =
      config.optionalInteger("sliding_window_pattern", 1, kMaxLayers)
          .value_or(6);
  return windowsByType(config, shape, window, [&](int64_t layer) {
    return (layer + 1) % pattern != 0;
  });
}

static OwningOpRef<ModuleOp> buildGemma3(MLIRContext &context,
                                         const Config &config,
                                         const ImportOptions &options) {
  DecoderDefaults defaults;
  defaults.activationField = "hidden_activation";
  defaults.activation = "gelu_pytorch_tanh";
  defaults.tiedEmbeddings = true;
  defaults.headDim = 256;
  defaults.rope = {.base = 1e6, .layerType = "full_attention"};
  defaults.windowRope = {.baseField = "rope_local_base_freq",
                         .scalingField = nullptr,
                         .layerType = "sliding_attention"};
  DecoderShape shape = readDecoderShape(config, options, defaults);
  if (config.boolean("use_bidirectional_attention", false))
    config.fail("use_bidirectional_attention", "false");
  // A field left over from Gemma 2, which transformers reads but does not use.
  if (config.has("attn_logit_softcapping"))
    config.fail("attn_logit_softcapping", "null");
  bool bias = config.boolean("attention_bias", false);
  Windows windows = readWindows(config, shape);
  auto logitsCap = static_cast<float>(
      config.number("final_logit_softcapping", 1e-3, 1e6, /*absent=*/0));
  AttentionForm form;
  form.scale =
      static_cast<float>(1 / std::sqrt(config.number("query_pre_attn_scalar", 1,
                                                     kMaxDimension, 256)));

  Decoder decoder(context, config, options, "gemma3_text", shape);
  ProgramBuilder &builder = decoder.builder;
  auto attention = [&](const Layer &layer, Value normed) {
    std::string module = layer.name + ".self_attn";
    Value q = decoder.project(layer, "q", normed, shape.heads, bias);
    Value k = decoder.project(layer, "k", normed, shape.keyValueHeads, bias);
    Value v = decoder.project(layer, "v", normed, shape.keyValueHeads, bias);
    q = builder.rmsNorm(module + ".q_norm", q, shape.epsilon,
                        NormWeight::lessOne);
    k = builder.rmsNorm(module + ".k_norm", k, shape.epsilon,
                        NormWeight::lessOne);
    q = decoder.rotate(layer, "q", q);
    k = decoder.rotate(layer, "k", k);
    return decoder.attend(layer, q, k, v, form, bias);
  };
  auto block = [&](Value x, const Layer &layer) {
    return decoder.sandwichBlock(
        layer, x, [&](Value normed) { return attention(layer, normed); },
        [&](Value normed) { return decoder.feedForward(layer, normed); },
        NormWeight::lessOne);
  };
  Value x = decoder.embed(std::sqrt(static_cast<float>(shape.width)));
  x = decoder.blocks(x, windows, block);
  Value logits = decoder.head(x, NormWeight::lessOne);
  if (logitsCap != 0)
    logits = builder.softcap("lm_head.softcap", logits, logitsCap);
  return builder.finish(logits);
}

const Family baton::models::Gemma3Family = {"gemma3_text", "Gemma3ForCausalLM",
                                            buildGemma3, /*wrapper=*/"gemma3"};
