//===- Olmo2.cpp - importer of the OLMo 2 family --------------------------===//
//
// transformers' Olmo2ForCausalLM: Llama's block, but a norm stands behind each
// half instead of before it, and queries and keys are normalised over all of
// their heads together.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildOlmo2(MLIRContext &context,
                                        const Config &config,
                                        const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(config, options, {.epsilon = 1e-5});
  bool bias = config.boolean("attention_bias", false);

  Decoder decoder(context, config, options, "olmo2", shape);
  auto block = [&](Value x, const Layer &layer) {
    return decoder.postNormBlock(
        layer, x,
        [&](Value read) { return decoder.rowNormAttention(layer, read, bias); },
        [&](Value read) { return decoder.feedForward(layer, read); });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, Windows(shape.layers, 0), block);
  return decoder.builder.finish(decoder.head(x));
}

const Family baton::models::Olmo2Family = {"olmo2", "Olmo2ForCausalLM",
                                           buildOlmo2};
