//===- GptOss.cpp - importer of the gpt-oss family ------------------------===//
//
// transformers' GptOssForCausalLM: layers that see a window and all positions
// in turn, whose softmax has a sink for each head, and a mixture of experts
// with biases and a clamped activation. Weights of a row's experts are the
// softmax of their own logits.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

/// The body has the two numbers of the activation.
static void expectActivation(const Config &config) {
  if (config.number("swiglu_alpha", 0, 1e6, 1.702) != 1.702)
    config.fail("swiglu_alpha", "1.702");
  if (config.number("swiglu_limit", 0, 1e6, 7) != 7)
    config.fail("swiglu_limit", "7");
  if (config.text("hidden_act", "silu") != "silu")
    config.fail("hidden_act", "silu");
}

/// Of a folder: matrices in MXFP4 are stored by output, others by input.
static bool isQuantized(const Config &config) {
  std::optional<Config> quantization = config.object("quantization_config");
  return quantization && quantization->text("quant_method", "") == "mxfp4";
}

static OwningOpRef<ModuleOp> buildGptOss(MLIRContext &context,
                                         const Config &config,
                                         const ImportOptions &options) {
  expectActivation(config);
  DecoderShape shape = readDecoderShape(
      config, options,
      {.epsilon = 1e-5, .headDim = 64, .rope = {.base = 150000}});
  auto window = config.optionalInteger("sliding_window", 1, kMaxPositions);
  Windows windows = windowsByType(
      config, shape, config.isNull("sliding_window") ? 0 : window.value_or(128),
      [](int64_t layer) { return layer % 2 == 0; });
  MixtureForm form = readMixture(config, shape, "num_local_experts",
                                 "intermediate_size", /*normalizes=*/true,
                                 /*balanceLoss=*/0.9);
  form.router = "router";
  form.routerHasBias = true;
  form.activation = model::Activation::clamped_swiglu;
  form.hasBias = true;
  form.isInterleaved = !config.boolean("separate_experts", false);
  form.isTransposed = form.isInterleaved && !isQuantized(config);
  bool bias = config.boolean("attention_bias", true);

  Decoder decoder(context, config, options, "gpt_oss", shape);
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) {
          return decoder.attention(layer, normed, bias, bias,
                                   {.scale = shape.scale(), .hasSinks = true});
        },
        [&](Value normed) {
          return decoder.mixture(layer, normed, "mlp", form);
        });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block);
  return decoder.builder.finish(decoder.head(x));
}

const Family baton::models::GptOssFamily = {"gpt_oss", "GptOssForCausalLM",
                                            buildGptOss};
