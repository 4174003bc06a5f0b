//===- Qwen2.cpp - importer of the Qwen2 family ---------------------------===//
//
// transformers' Qwen2ForCausalLM: Llama's block with biases on queries, keys
// and values; late layers may see a window of the last positions only.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildQwen2(MLIRContext &context,
                                        const Config &config,
                                        const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(config, options);
  Windows windows = qwenWindows(config, shape);

  Decoder decoder(context, config, options, "qwen2", shape);
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) {
          return decoder.attention(layer, normed, /*inputBias=*/true,
                                   /*outputBias=*/false,
                                   {.scale = shape.scale()});
        },
        [&](Value normed) { return decoder.feedForward(layer, normed); });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block);
  return decoder.builder.finish(decoder.head(x));
}

const Family baton::models::Qwen2Family = {"qwen2", "Qwen2ForCausalLM",
                                           buildQwen2};
