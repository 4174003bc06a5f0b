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
  ProgramBuilder &builder = decoder.builder;
  auto block = [&](Value x, const Layer &layer) {
    Value normed =
        builder.rmsNorm(layer.name + ".input_layernorm", x, shape.epsilon);
    Value q = decoder.project(layer, "q", normed, shape.heads, true);
    Value k = decoder.project(layer, "k", normed, shape.keyValueHeads, true);
    Value v = decoder.project(layer, "v", normed, shape.keyValueHeads, true);
    q = decoder.rotate(layer, "q", q);
    k = decoder.rotate(layer, "k", k);
    Value projected =
        decoder.attend(layer, q, k, v, {.scale = shape.scale()}, false);
    x = decoder.residual(layer, "self_attn.o_proj", x, projected);

    normed = builder.rmsNorm(layer.name + ".post_attention_layernorm", x,
                             shape.epsilon);
    Value down = decoder.feedForward(layer, normed);
    return decoder.residual(layer, "mlp.down_proj", x, down);
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block);
  return builder.finish(decoder.head(x));
}

const Family baton::models::Qwen2Family = {"qwen2", "Qwen2ForCausalLM",
                                           buildQwen2};
