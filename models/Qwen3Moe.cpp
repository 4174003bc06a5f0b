//===- Qwen3Moe.cpp - importer of the Qwen3-MoE family --------------------===//
//
// transformers' Qwen3MoeForCausalLM: Qwen3's block with a mixture of experts in
// the place of its feed-forward layer.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildQwen3Moe(MLIRContext &context,
                                           const Config &config,
                                           const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(config, options);
  Windows windows(shape.layers, 0);
  if (config.boolean("use_sliding_window", false))
    windows = uniformWindows(config, shape, /*absent=*/4096);
  MixtureForm form =
      readMixture(config, shape, "num_experts", "moe_intermediate_size",
                  config.boolean("norm_topk_prob", false));
  bool bias = config.boolean("attention_bias", false);

  Decoder decoder(context, config, options, "qwen3_moe", shape);
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) {
          return decoder.headNormAttention(layer, normed, bias);
        },
        [&](Value normed) {
          return layer.hasExperts ? decoder.mixture(layer, normed, "mlp", form)
                                  : decoder.feedForward(layer, normed);
        });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block, layersWithExperts(config, shape));
  return decoder.builder.finish(decoder.head(x));
}

const Family baton::models::Qwen3MoeFamily = {
    "qwen3_moe", "Qwen3MoeForCausalLM", buildQwen3Moe};
