//===- Mistral.cpp - importer of the Mistral family -----------------------===//
//
// transformers' MistralForCausalLM: Llama's block without biases, whose
// attention sees a window of the last positions.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildMistral(MLIRContext &context,
                                          const Config &config,
                                          const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(config, options);
  Windows windows = uniformWindows(config, shape, /*absent=*/4096);

  Decoder decoder(context, config, options, "mistral", shape);
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) {
          return decoder.attention(layer, normed, /*inputBias=*/false,
                                   /*outputBias=*/false,
                                   {.scale = shape.scale()});
        },
        [&](Value normed) { return decoder.feedForward(layer, normed); });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block);
  return decoder.builder.finish(decoder.head(x));
}

const Family baton::models::MistralFamily = {"mistral", "MistralForCausalLM",
                                             buildMistral};
