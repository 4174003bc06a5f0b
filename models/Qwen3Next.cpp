//===- Qwen3Next.cpp - importer of dense Qwen3-Next models ----------------===//
//
// transformers' Qwen3NextForCausalLM as far as its layers are full attention
// and dense: gated attention on queries and keys that are normalised and turn
// in part. The query projection holds, head by head, queries and their gates;
// norms store their weight less one.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

/// Linear attention and experts are other ops than this family's.
static void checkLayers(const Config &config, const DecoderShape &shape) {
  std::optional<std::vector<std::string>> types =
      config.optionalTexts("layer_types");
  if (!types && config.optionalInteger("full_attention_interval", 1, kMaxLayers)
                        .value_or(4) != 1)
    config.fail("'layer_types' is missing, which means linear attention; only "
                "full_attention is built");
  if (types)
    for (const std::string &type : *types)
      if (type != "full_attention")
        config.fail("'layer_types' has '" + type +
                    "', expected full_attention only");
  if (types && static_cast<int64_t>(types->size()) != shape.layers)
    config.fail("'layer_types' has " + std::to_string(types->size()) +
                " entries, expected " + std::to_string(shape.layers) +
                ", the 'num_hidden_layers'");
  if (config.optionalInteger("num_experts", 0, kMaxDimension).value_or(512))
    config.fail("num_experts", "0, as only dense layers are built");
}

static OwningOpRef<ModuleOp> buildQwen3Next(MLIRContext &context,
                                            const Config &config,
                                            const ImportOptions &options) {
  DecoderDefaults defaults;
  defaults.headDim = 256;
  defaults.rope = {.partialRotaryFactor = 0.25, .mayBePartial = true};
  DecoderShape shape = readDecoderShape(config, options, defaults);
  checkLayers(config, shape);
  bool bias = config.boolean("attention_bias", false);

  Decoder decoder(context, config, options, "qwen3_next", shape);
  ProgramBuilder &builder = decoder.builder;
  int64_t dim = shape.headDim;
  auto norm = [&](const std::string &module, Value x) {
    return builder.rmsNorm(module, x, shape.epsilon, NormWeight::lessOne);
  };
  auto attention = [&](Value normed, const Layer &layer) {
    std::string module = layer.name + ".self_attn";
    auto part = [&](const char *name, int64_t offset) {
      Value flat =
          builder.linear(module + name, module + ".q_proj", normed,
                         shape.queryWidth(), {dim, 2 * dim, offset}, bias);
      return builder.splitHeads(module + name + "_heads", flat, shape.heads);
    };
    Value q = part(".q_proj", 0);
    AttentionForm form = {.scale = shape.scale(), .gate = part(".q_gate", dim)};
    Value k = decoder.project(layer, "k", normed, shape.keyValueHeads, bias);
    Value v = decoder.project(layer, "v", normed, shape.keyValueHeads, bias);
    q = decoder.rotate(layer, "q", norm(module + ".q_norm", q));
    k = decoder.rotate(layer, "k", norm(module + ".k_norm", k));
    return decoder.attend(layer, q, k, v, form, bias);
  };
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x, [&](Value normed) { return attention(normed, layer); },
        [&](Value normed) { return decoder.feedForward(layer, normed); },
        NormWeight::lessOne);
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, Windows(shape.layers, 0), block);
  return builder.finish(decoder.head(x, NormWeight::lessOne));
}

const Family baton::models::Qwen3NextFamily = {
    "qwen3_next", "Qwen3NextForCausalLM", buildQwen3Next};
