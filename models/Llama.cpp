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
  ProgramBuilder &builder = decoder.builder;
  auto block = [&](Value x, const Layer &layer) {
    Value normed =
        builder.rmsNorm(layer.name + ".input_layernorm", x, shape.epsilon);
    Value q = decoder.project(layer, "q", normed, shape.heads, attentionBias);
    Value k =
        decoder.project(layer, "k", normed, shape.keyValueHeads, attentionBias);
    Value v =
        decoder.project(layer, "v", normed, shape.keyValueHeads, attentionBias);
    q = decoder.rotate(layer, "q", q);
    k = decoder.rotate(layer, "k", k);
    Value projected =
        decoder.attend(layer, q, k, v, {.scale = shape.scale()}, attentionBias);
    x = decoder.residual(layer, "self_attn.o_proj", x, projected);

    normed = builder.rmsNorm(layer.name + ".post_attention_layernorm", x,
                             shape.epsilon);
    Value down = decoder.feedForward(layer, normed, feedForwardBias);
    return decoder.residual(layer, "mlp.down_proj", x, down);
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, Windows(shape.layers, 0), block);
  return builder.finish(decoder.head(x));
}

const Family baton::models::LlamaFamily = {"llama", "LlamaForCausalLM",
                                           buildLlama};
