//===- Gemma2.cpp - importer of the Gemma 2 family ------------------------===//
//
// transformers' Gemma2ForCausalLM: norms before and after each half of a block,
// layers whose attention sees a window and all positions in turn, scores and
// logits capped by tanh, embeddings scaled by the root of the width. Norms
// store their weight less one.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

#include <cmath>

using namespace mlir;
using namespace baton;
using namespace baton::models;

/// A cap of logits; null turns it off.
static float readCap(const Config &config, const char *name, double absent) {
  if (config.isNull(name))
    return 0;
  return static_cast<float>(config.number(name, 1e-3, 1e6, absent));
}

static OwningOpRef<ModuleOp> buildGemma2(MLIRContext &context,
                                         const Config &config,
                                         const ImportOptions &options) {
  DecoderDefaults defaults;
  // Older configs name it twice, and mean the other one.
  defaults.activationField = "hidden_activation";
  defaults.activation = "gelu_pytorch_tanh";
  defaults.tiedEmbeddings = true;
  defaults.headDim = 256;
  DecoderShape shape = readDecoderShape(config, options, defaults);
  if (config.boolean("use_bidirectional_attention", false))
    config.fail("use_bidirectional_attention", "false");
  bool bias = config.boolean("attention_bias", false);
  int64_t window = uniformWindows(config, shape, /*absent=*/4096).front();
  Windows windows = windowsByType(config, shape, window,
                                  [](int64_t layer) { return layer % 2 == 0; });
  float logitsCap = readCap(config, "final_logit_softcapping", 30);
  AttentionForm form;
  form.softcap = readCap(config, "attn_logit_softcapping", 50);
  form.scale =
      static_cast<float>(1 / std::sqrt(config.number("query_pre_attn_scalar", 1,
                                                     kMaxDimension, 256)));

  Decoder decoder(context, config, options, "gemma2", shape);
  ProgramBuilder &builder = decoder.builder;
  auto block = [&](Value x, const Layer &layer) {
    return decoder.sandwichBlock(
        layer, x,
        [&](Value normed) {
          return decoder.attention(layer, normed, bias, bias, form);
        },
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

const Family baton::models::Gemma2Family = {"gemma2", "Gemma2ForCausalLM",
                                            buildGemma2};
