//===- Mixtral.cpp - importer of the Mixtral family -----------------------===//
//
// transformers' MixtralForCausalLM: Mistral's block with a mixture of experts
// in the place of its feed-forward layer. The weights of a row's experts add up
// to one.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildMixtral(MLIRContext &context,
                                          const Config &config,
                                          const ImportOptions &options) {
  DecoderShape shape = readDecoderShape(
      config, options, {.epsilon = 1e-5, .rope = {.base = 1e6}});
  Windows windows = uniformWindows(config, shape, /*absent=*/{});
  MixtureForm form = readMixture(config, shape, "num_local_experts",
                                 "intermediate_size", /*normalizes=*/true);
  form.gate = "w1";
  form.up = "w3";
  form.down = "w2";

  Decoder decoder(context, config, options, "mixtral", shape);
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x,
        [&](Value normed) {
          return decoder.attention(layer, normed, /*inputBias=*/false,
                                   /*outputBias=*/false,
                                   {.scale = shape.scale()});
        },
        [&](Value normed) {
          return decoder.mixture(layer, normed, "block_sparse_moe", form);
        });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block);
  return decoder.builder.finish(decoder.head(x));
}

const Family baton::models::MixtralFamily = {"mixtral", "MixtralForCausalLM",
                                             buildMixtral};
