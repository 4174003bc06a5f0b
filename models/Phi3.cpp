//===- Phi3.cpp - importer of the Phi-3 family ----------------------------===//
//
// transformers' Phi3ForCausalLM: Llama's block with one stored weight for
// queries, keys and values and one for gate and up projection; heads may turn
// in part. Each projection is a parameter of its own, made of rows of the
// stored one.
//
//===----------------------------------------------------------------------===//

#include "models/Decoder.h"
#include "models/Family.h"

using namespace mlir;
using namespace baton;
using namespace baton::models;

static OwningOpRef<ModuleOp> buildPhi3(MLIRContext &context,
                                       const Config &config,
                                       const ImportOptions &options) {
  DecoderDefaults defaults;
  defaults.epsilon = 1e-5;
  defaults.rope = {.mayBePartial = true, .mayBeLong = true};
  DecoderShape shape = readDecoderShape(config, options, defaults);
  Windows windows = uniformWindows(config, shape, /*absent=*/std::nullopt);

  Decoder decoder(context, config, options, "phi3", shape);
  ProgramBuilder &builder = decoder.builder;
  int64_t queries = shape.queryWidth(), keys = shape.keyValueWidth();
  int64_t wide = shape.feedForwardWidth;
  auto attention = [&](Value normed, const Layer &layer) {
    std::string module = layer.name + ".self_attn";
    auto project = [&](const std::string &name, int64_t offset,
                       int64_t outputs) {
      Value flat = builder.linear(
          module + "." + name + "_proj", module + ".qkv_proj", normed, outputs,
          {outputs, queries + 2 * keys, offset}, /*hasBias=*/false);
      return builder.splitHeads(module + "." + name, flat,
                                outputs / shape.headDim);
    };
    Value q = decoder.rotate(layer, "q", project("q", 0, queries));
    Value k = decoder.rotate(layer, "k", project("k", queries, keys));
    Value v = project("v", queries + keys, keys);
    return decoder.attend(layer, q, k, v, {.scale = shape.scale()}, false);
  };
  auto feedForward = [&](Value normed, const Layer &layer) {
    std::string module = layer.name + ".mlp";
    auto widen = [&](const char *name, int64_t offset) {
      return builder.linear(module + name, module + ".gate_up_proj", normed,
                            wide, {wide, 2 * wide, offset}, /*hasBias=*/false);
    };
    Value gate = builder.activate(module + ".activation_fn",
                                  widen(".gate_proj", 0), shape.activation);
    Value up = widen(".up_proj", wide);
    Value product = builder.multiply(module + ".gate_up", gate, up);
    return builder.linear(module + ".down_proj", product, shape.width,
                          /*hasBias=*/false);
  };
  auto block = [&](Value x, const Layer &layer) {
    return decoder.preNormBlock(
        layer, x, [&](Value normed) { return attention(normed, layer); },
        [&](Value normed) { return feedForward(normed, layer); });
  };
  Value x = decoder.embed();
  x = decoder.blocks(x, windows, block);
  return builder.finish(decoder.head(x));
}

const Family baton::models::Phi3Family = {"phi3", "Phi3ForCausalLM", buildPhi3};
