//===- Qwen3.cpp - importer of the Qwen3 family ---------------------------===//
//
// transformers' Qwen3ForCausalLM: every head of the queries and keys is
// normalised before it turns.
//
// The checkpoints of "Gated Attention for Large Language Models" (Qiu et al.,
// 2025) add gates to it, whose logits are further outputs of the query
// projection: for every key/value head its query heads' outputs, then their
// gates; one each with `headwise_attn_output_gate`, one for each element with
// `elementwise_attn_output_gate`.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

namespace {
enum class Gates { none, headwise, elementwise };
} // namespace

static Gates readGates(const Config &config) {
  bool headwise = config.boolean("headwise_attn_output_gate", false);
  bool elementwise = config.boolean("elementwise_attn_output_gate", false);
  if (headwise && elementwise)
    config.fail("'headwise_attn_output_gate' and "
                "'elementwise_attn_output_gate' are both true, expected one");
  return headwise      ? Gates::headwise
         : elementwise ? Gates::elementwise
                       : Gates::none;
}

static OwningOpRef<ModuleOp> buildQwen3(MLIRContext &context,
                                        const Config &config,
                                        const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(config, options, {.headDim = 128});
  Windows windows = qwenWindows(config, shape);
  bool bias = config.boolean("attention_bias", false);
  Gates gates = readGates(config);

  Decoder decoder(context, config, options, "qwen3", shape);
  ProgramBuilder &builder = decoder.builder;
  // Outputs of the query projection for one key/value head.
  int64_t group = shape.heads / shape.keyValueHeads;
  int64_t queries = group * shape.headDim;
  int64_t gated = gates == Gates::none       ? 0
                  : gates == Gates::headwise ? group
                                             : queries;
  auto attention = [&](Value normed, const Layer &layer) {
    std::string module = layer.name + ".self_attn";
    AttentionForm form = {.scale = shape.scale()};
    Value q;
    if (gates == Gates::none) {
      q = decoder.project(layer, "q", normed, shape.heads, bias);
    } else {
      q = builder.linear(module + ".q_proj", module + ".q_proj", normed,
                         shape.queryWidth(), {queries, queries + gated, 0},
                         bias);
      q = builder.splitHeads(module + ".q", q, shape.heads);
      form.gate = builder.linear(module + ".q_gate", module + ".q_proj", normed,
                                 shape.keyValueHeads * gated,
                                 {gated, queries + gated, queries}, bias);
      if (gates == Gates::elementwise)
        form.gate = builder.splitHeads(module + ".q_gate_heads", form.gate,
                                       shape.heads);
    }
    Value k = decoder.project(layer, "k", normed, shape.keyValueHeads, bias);
    Value v = decoder.project(layer, "v", normed, shape.keyValueHeads, bias);
    q = builder.rmsNorm(module + ".q_norm", q, shape.epsilon);
    k = builder.rmsNorm(module + ".k_norm", k, shape.epsilon);
    q = decoder.rotate(layer, "q", q);
    k = decoder.rotate(layer, "k", k);
    return decoder.attend(layer, q, k, v, form, bias);
  };
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x, [&](Value normed) { return attention(normed, layer); },
        [&](Value normed) { return decoder.feedForward(layer, normed); });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block);
  return builder.finish(decoder.head(x));
}

const Family baton::models::Qwen3Family = {"qwen3", "Qwen3ForCausalLM",
                                           buildQwen3};
