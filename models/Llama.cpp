//===- Llama.cpp - importer of the Llama family ---------------------------===//
//
// transformers' LlamaForCausalLM: pre-norm blocks with RMS norm, rotary
// grouped-query attention and a gated feed-forward layer.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildLlama(MLIRContext &context,
                                        const Config &config,
                                        const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(config, options);
  bool attentionBias = config.boolean("attention_bias", false);
  bool feedForwardBias = config.boolean("mlp_bias", false);

  Decoder decoder(context, config, options, "llama", shape);
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) {
          return decoder.attention(layer, normed, attentionBias, attentionBias,
                                   {.scale = shape.scale()});
        },
        [&](Value normed) {
          return decoder.feedForward(layer, normed, feedForwardBias);
        });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, Windows(shape.layers, 0), block);
  return decoder.builder.finish(decoder.head(x));
}

const Family baton::models::LlamaFamily = {"llama", "LlamaForCausalLM",
                                           buildLlama};
