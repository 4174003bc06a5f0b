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
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) {
          return decoder.rowNormAttention(layer, normed, bias);
        },
        [&](Value normed) {
          return decoder.mixture(layer, normed, "mlp", form);
        });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, Windows(shape.layers, 0), block);
  return decoder.builder.finish(decoder.head(x));
}

const Family baton::models::OlmoeFamily = {"olmoe", "OlmoeForCausalLM",
                                           buildOlmoe};
