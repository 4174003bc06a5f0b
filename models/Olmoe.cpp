//===- Olmoe.cpp - importer of the OLMoE family ---------------------------===//
//
// transformers' OlmoeForCausalLM: Llama's block, whose queries and keys are
// normalised over all of their heads together, with a mixture of experts in the
// place of its feed-forward layer.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildOlmoe(MLIRContext &context,
                                        const Config &config,
                                        const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(config, options, {.epsilon = 1e-5});
  MixtureForm form =
      readMixture(config, shape, "num_experts", "intermediate_size",
                  config.boolean("norm_topk_prob", false),
                  /*balanceLoss=*/0.01);
  bool bias = config.boolean("attention_bias", false);
  if (config.has("clip_qkv"))
    config.fail("clip_qkv", "null: clipped queries, keys and values are not "
                            "supported yet");

  Decoder decoder(context, config, options, "olmoe", shape);
  ProgramBuilder &builder = decoder.builder;
  auto attention = [&](Value normed, const Layer &layer) {
    std::string module = layer.name + ".self_attn.";
    auto heads = [&](const char *part, int64_t count, bool isNormed) {
      std::string name = module + part;
      Value x =
          builder.linear(name + "_proj", normed, count * shape.headDim, bias);
      if (isNormed)
        x = builder.rmsNorm(name + "_norm", x, shape.epsilon);
      return builder.splitHeads(name, x, count);
    };
    Value q = decoder.rotate(layer, "q", heads("q", shape.heads, true));
    Value k = decoder.rotate(layer, "k", heads("k", shape.keyValueHeads, true));
    Value v = heads("v", shape.keyValueHeads, false);
    return decoder.attend(layer, q, k, v, {.scale = shape.scale()}, bias);
  };
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x, [&](Value normed) { return attention(normed, layer); },
        [&](Value normed) {
          return decoder.mixture(layer, normed, "mlp", form);
        });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, Windows(shape.layers, 0), block);
  return builder.finish(decoder.head(x));
}

const Family baton::models::OlmoeFamily = {"olmoe", "OlmoeForCausalLM",
                                           buildOlmoe};
