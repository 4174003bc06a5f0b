//===- Qwen2Moe.cpp - importer of the Qwen2-MoE family --------------------===//
//
// transformers' Qwen2MoeForCausalLM: Qwen2's block with a mixture of experts,
// and beside it an expert that all rows go to, times a gate of its own.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildQwen2Moe(MLIRContext &context,
                                           const Config &config,
                                           const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(config, options);
  Windows windows = qwenWindows(config, shape);
  MixtureForm form =
      readMixture(config, shape, "num_experts", "moe_intermediate_size",
                  config.boolean("norm_topk_prob", false));
  bool bias = config.boolean("qkv_bias", true);
  const int64_t sharedWidth =
      config.integer("shared_expert_intermediate_size", 1, kMaxDimension);

  Decoder decoder(context, config, options, "qwen2_moe", shape);
  ProgramBuilder &builder = decoder.builder;
  auto feedForward = [&](Value normed, const Layer &layer) {
    if (!layer.hasExperts)
      return decoder.feedForward(layer, normed);
    std::string module = layer.name + ".mlp";
    Value routed = decoder.mixture(layer, normed, "mlp", form);
    Value all =
        decoder.feedForward(module + ".shared_expert", normed, sharedWidth);
    Value gate = builder.linear(module + ".shared_expert_gate", normed,
                                /*outputs=*/1, /*hasBias=*/false);
    all = builder.gateRows(module + ".shared_expert.gated", all, gate);
    return builder.add(module + ".experts.sum", routed, all);
  };
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) {
          return decoder.attention(layer, normed, bias, /*outputBias=*/false,
                                   {.scale = shape.scale()});
        },
        [&](Value normed) { return feedForward(normed, layer); });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block, layersWithExperts(config, shape));
  return builder.finish(decoder.head(x));
}

const Family baton::models::Qwen2MoeFamily = {
    "qwen2_moe", "Qwen2MoeForCausalLM", buildQwen2Moe};
