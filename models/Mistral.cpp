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
  ProgramBuilder &builder = decoder.builder;
  auto block = [&](Value x, const Layer &layer) {
    Value normed =
        builder.rmsNorm(layer.name + ".input_layernorm", x, shape.epsilon);
    Value q = decoder.project(layer, "q", normed, shape.heads, false);
    Value k = decoder.project(layer, "k", normed, shape.keyValueHeads, false);
    Value v = decoder.project(layer, "v", normed, shape.keyValueHeads, false);
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

const Family baton::models::MistralFamily = {"mistral", "MistralForCausalLM",
                                             buildMistral};
