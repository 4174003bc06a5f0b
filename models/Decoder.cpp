//===- Decoder.cpp - what decoder-only families share ---------------------===//

#include "models/Decoder.h"

#include "models/Family.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace baton;
using namespace baton::models;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

float DecoderShape::scale() const {
  return static_cast<float>(1 / std::sqrt(double(headDim)));
}

static void checkTotals(const Config &config, const DecoderShape &shape) {
  ElementCount weights, state;
  // A gate may double the queries.
  weights.add({shape.layers, shape.width, shape.queryWidth(), 3});
  weights.add({shape.layers, shape.width, shape.keyValueWidth(), 2});
  weights.add({shape.layers, shape.width, shape.feedForwardWidth, 3});
  weights.add({shape.vocabulary, shape.width, 2});
  if (weights.isAbsurd())
    config.fail("'num_hidden_layers', 'hidden_size', 'intermediate_size' and "
                "'vocab_size' together ask for more than 2^42 weights");
  state.add({shape.layers, shape.maxSeq, shape.keyValueWidth(), 2});
  if (state.isAbsurd())
    config.fail("a sequence of " + std::to_string(shape.maxSeq) +
                " tokens needs more than 2^42 elements of key/value state; "
                "--max-seq shortens it");
}

static int64_t readHeadDim(const Config &config, const DecoderShape &shape,
                           std::optional<int64_t> absent) {
  if (std::optional<int64_t> headDim =
          config.optionalInteger("head_dim", 1, kMaxDimension))
    return *headDim;
  if (absent)
    return *absent;
  if (shape.width % shape.heads)
    config.fail("num_attention_heads", "a divisor of 'hidden_size', " +
                                           std::to_string(shape.width) +
                                           ", as there is no 'head_dim'");
  return shape.width / shape.heads;
}

DecoderShape models::readDecoderShape(const Config &config,
                                      const ImportOptions &options,
                                      const DecoderDefaults &defaults) {
  DecoderShape shape;
  shape.width = config.integer("hidden_size", 1, kMaxDimension);
  shape.feedForwardWidth =
      config.integer("intermediate_size", 1, kMaxDimension);
  shape.layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  shape.heads = config.integer("num_attention_heads", 1, kMaxDimension);
  shape.keyValueHeads =
      config.optionalInteger("num_key_value_heads", 1, kMaxDimension)
          .value_or(shape.heads);
  if (shape.heads % shape.keyValueHeads)
    config.fail("num_key_value_heads", "a divisor of 'num_attention_heads', " +
                                           std::to_string(shape.heads));
  shape.headDim = readHeadDim(config, shape, defaults.headDim);
  if (shape.headDim % 2)
    config.fail("'head_dim' is " + std::to_string(shape.headDim) +
                ", expected an even number for rotary positions");
  if (shape.queryWidth() > kMaxDimension)
    config.fail("'num_attention_heads' times the heads' dimensions is " +
                std::to_string(shape.queryWidth()) + ", expected at most " +
                std::to_string(kMaxDimension));
  shape.vocabulary = config.integer("vocab_size", 1, kMaxVocabulary);
  shape.maxSeq = maxSeqOption(config, options, "max_position_embeddings");
  shape.epsilon =
      static_cast<float>(config.number("rms_norm_eps", 0, 1, defaults.epsilon));
  shape.activation =
      activationField(config, defaults.activationField, defaults.activation);
  shape.tiedEmbeddings =
      config.boolean("tie_word_embeddings", defaults.tiedEmbeddings);
  shape.hyper = readHyperConnections(config, shape.width, shape.epsilon);
  checkTotals(config, shape);
  shape.angles = ropeAngles(config, shape.headDim, shape.maxSeq, defaults.rope);
  if (defaults.windowRope)
    shape.windowAngles =
        ropeAngles(config, shape.headDim, shape.maxSeq, *defaults.windowRope);
  return shape;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

Windows models::uniformWindows(const Config &config, const DecoderShape &shape,
                               std::optional<int64_t> absent) {
  int64_t window = absent.value_or(0);
  if (config.has("sliding_window") || config.isNull("sliding_window"))
    window =
        config.optionalInteger("sliding_window", 1, kMaxPositions).value_or(0);
  return Windows(shape.layers, window);
}

Windows models::windowsByType(const Config &config, const DecoderShape &shape,
                              int64_t window,
                              function_ref<bool(int64_t layer)> slides) {
  Windows windows;
  std::optional<std::vector<std::string>> types =
      config.optionalTexts("layer_types");
  if (types && static_cast<int64_t>(types->size()) != shape.layers)
    config.fail("'layer_types' has " + std::to_string(types->size()) +
                " entries, expected " + std::to_string(shape.layers) +
                ", the 'num_hidden_layers'");
  for (int64_t layer : llvm::seq(shape.layers)) {
    bool sliding = slides(layer);
    if (types) {
      const std::string &type = (*types)[layer];
      sliding = type == "sliding_attention";
      if (!sliding && type != "full_attention")
        config.fail("'layer_types' has '" + type +
                    "', expected full_attention or sliding_attention");
      if (sliding && window == 0)
        config.fail("'layer_types' has 'sliding_attention', but there is no "
                    "'sliding_window'");
    }
    windows.push_back(sliding ? window : 0);
  }
  return windows;
}

Windows models::qwenWindows(const Config &config, const DecoderShape &shape) {
  int64_t window = 0;
  if (config.boolean("use_sliding_window", false) &&
      !config.isNull("sliding_window"))
    window = config.optionalInteger("sliding_window", 1, kMaxPositions)
                 .value_or(4096);
  int64_t first =
      config.optionalInteger("max_window_layers", 0, kMaxLayers).value_or(28);
  return windowsByType(config, shape, window, [&](int64_t layer) {
    return window != 0 && layer >= first;
  });
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

MixtureForm models::readMixture(const Config &config, const DecoderShape &shape,
                                const char *expertsField,
                                const char *widthField, bool normalizes,
                                double balanceLoss) {
  MixtureForm form;
  form.experts = config.integer(expertsField, 1, model::kMostExperts);
  form.expertsOfRow =
      config.integer("num_experts_per_tok", 1,
                     std::min<int64_t>(form.experts, model::kMostExpertsOfRow));
  form.width = config.integer(widthField, 1, kMaxDimension);
  form.activation = shape.activation;
  form.normalizes = normalizes;
  // Transformers adds it to the loss of a model that is asked for its routers'
  // logits.
  if (config.boolean("output_router_logits", false))
    form.balanceLoss =
        config.number("router_aux_loss_coef", 0, 1000, balanceLoss);
  for (auto [name, size] :
       {std::pair<const char *, int64_t>{widthField, form.width},
        {"hidden_size", shape.width}})
    if (size % model::kExpertOutputs)
      config.fail("'" + std::string(name) + "' is " + std::to_string(size) +
                  ", expected a multiple of " +
                  std::to_string(model::kExpertOutputs) +
                  " in a mixture of experts");
  ElementCount weights;
  weights.add({shape.layers, form.experts, form.width, shape.width, 3});
  if (weights.isAbsurd())
    config.fail("'num_hidden_layers', '" + std::string(expertsField) + "', '" +
                widthField +
                "' and 'hidden_size' together ask for more than "
                "2^42 weights");
  return form;
}

std::vector<bool> models::layersWithExperts(const Config &config,
                                            const DecoderShape &shape) {
  const int64_t step =
      config.optionalInteger("decoder_sparse_step", 1, kMaxLayers).value_or(1);
  std::vector<bool> result;
  for (int64_t layer : llvm::seq(shape.layers))
    result.push_back((layer + 1) % step == 0);
  for (int64_t layer :
       config.optionalIntegers("mlp_only_layers", 0, shape.layers - 1)
           .value_or(std::vector<int64_t>()))
    result[layer] = false;
  return result;
}

//===----------------------------------------------------------------------===//
// Rolling up
//===----------------------------------------------------------------------===//

namespace {
/// What layers of one pattern have in common.
struct LayerKind {
  int64_t window;
  bool hasExperts;

  bool operator==(const LayerKind &) const = default;
};

/// `layers` layers from `first` on, `repeat` times over.
struct Run {
  int64_t first = 0, layers = 0, repeat = 0;
};
} // namespace

/// Longer patterns than published models have.
static constexpr int64_t kMaxPattern = 16;

/// Cuts the layers into runs of a repeated pattern, such that all patterns
/// together are as short as can be: code grows with them.
static std::vector<Run> rollUp(ArrayRef<LayerKind> kinds) {
  auto count = static_cast<int64_t>(kinds.size());
  // From a layer on: the shortest sum of patterns, and its first run.
  std::vector<int64_t> cost(count + 1, 0);
  std::vector<Run> best(count + 1);
  // For each pattern length, how far layers agree with those one length on.
  std::vector<int64_t> agree(kMaxPattern + 1, 0);
  for (int64_t first = count - 1; first >= 0; --first) {
    cost[first] = INT64_MAX;
    for (int64_t layers = 1; layers <= kMaxPattern; ++layers) {
      if (first + layers > count)
        break;
      agree[layers] =
          first + layers < count && kinds[first] == kinds[first + layers]
              ? agree[layers] + 1
              : 0;
      int64_t repeat = 1 + agree[layers] / layers;
      int64_t total = layers + cost[first + layers * repeat];
      // Of two cuts alike the one whose first run is longer.
      bool isLonger = layers * repeat > best[first].layers * best[first].repeat;
      if (total < cost[first] || (total == cost[first] && isLonger)) {
        cost[first] = total;
        best[first] = {first, layers, repeat};
      }
    }
  }
  std::vector<Run> runs;
  for (int64_t first = 0; first < count;) {
    runs.push_back(best[first]);
    first += best[first].layers * best[first].repeat;
  }
  return runs;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

Decoder::Decoder(MLIRContext &context, const Config &config,
                 const ImportOptions &options, StringRef family,
                 const DecoderShape &shape)
    : builder(context, family, shape.maxSeq,
              weightTypeOption(context, config, options), "model."),
      shape(shape), residual(builder, shape.hyper) {}

Value Decoder::embed(float multiplier) {
  table = builder.weight("embed_tokens", {shape.vocabulary, shape.width});
  return builder.embedding("embed_tokens", table, multiplier);
}

Value Decoder::blocks(Value x, const Windows &windows,
                      function_ref<Value(Value x, const Layer &layer)> block,
                      const std::vector<bool> &withExperts) {
  std::vector<LayerKind> kinds;
  for (auto [i, window] : llvm::enumerate(windows))
    kinds.push_back({window, !withExperts.empty() && withExperts[i]});
  auto hasWindow = [](int64_t window) { return window != 0; };
  if (!shape.windowAngles || !llvm::all_of(windows, hasWindow))
    angles = builder.ropeTable("rotary_emb", shape.angles.frequencies,
                               shape.angles.scale);
  if (shape.windowAngles && llvm::any_of(windows, hasWindow))
    windowAngles =
        builder.ropeTable("rotary_emb_local", shape.windowAngles->frequencies,
                          shape.windowAngles->scale);
  x = residual.begin(x);
  for (const Run &run : rollUp(kinds))
    x = builder.stack(
        "layers", x, run.repeat,
        [&](Value x) {
          for (int64_t i : llvm::seq(run.layers)) {
            std::string more = i ? "+" + std::to_string(i) : "";
            const LayerKind &kind = kinds[run.first + i];
            x = block(x, {"layers.{layer" + more + "}", kind.window,
                          kind.hasExperts});
          }
          return x;
        },
        run.first, run.layers);
  return x;
}

Value Decoder::head(Value x, NormWeight weight) {
  x = residual.end(x);
  x = builder.rmsNorm("norm", x, shape.epsilon, weight);
  return shape.tiedEmbeddings ? builder.linear("lm_head", x, table)
                              : builder.linear("lm_head", x, shape.vocabulary,
                                               /*hasBias=*/false);
}

//===----------------------------------------------------------------------===//
// Pieces of blocks
//===----------------------------------------------------------------------===//

Value Decoder::preNormBlock(const Layer &layer, Value x,
                            function_ref<Value(Value normed)> attention,
                            function_ref<Value(Value normed)> feedForward,
                            NormWeight weight) {
  x = attentionHalf(layer, x, [&](Value read) {
    return attention(builder.rmsNorm(layer.name + ".input_layernorm", read,
                                     shape.epsilon, weight));
  });
  return feedForwardHalf(layer, x, [&](Value read) {
    return feedForward(builder.rmsNorm(layer.name + ".post_attention_layernorm",
                                       read, shape.epsilon, weight));
  });
}

Value Decoder::sandwichBlock(const Layer &layer, Value x,
                             function_ref<Value(Value normed)> attention,
                             function_ref<Value(Value normed)> feedForward,
                             NormWeight weight) {
  auto norm = [&](const char *name, Value x) {
    return builder.rmsNorm(layer.name + "." + name, x, shape.epsilon, weight);
  };
  x = attentionHalf(layer, x, [&](Value read) {
    return norm("post_attention_layernorm",
                attention(norm("input_layernorm", read)));
  });
  return feedForwardHalf(layer, x, [&](Value read) {
    return norm("post_feedforward_layernorm",
                feedForward(norm("pre_feedforward_layernorm", read)));
  });
}

Value Decoder::postNormBlock(const Layer &layer, Value x,
                             function_ref<Value(Value read)> attention,
                             function_ref<Value(Value read)> feedForward) {
  auto norm = [&](const char *name, Value x) {
    return builder.rmsNorm(layer.name + "." + name, x, shape.epsilon);
  };
  x = attentionHalf(layer, x, [&](Value read) {
    return norm("post_attention_layernorm", attention(read));
  });
  return feedForwardHalf(layer, x, [&](Value read) {
    return norm("post_feedforward_layernorm", feedForward(read));
  });
}

Value Decoder::attention(const Layer &layer, Value normed, bool inputBias,
                         bool outputBias, AttentionForm form) {
  Value q = project(layer, "q", normed, shape.heads, inputBias);
  Value k = project(layer, "k", normed, shape.keyValueHeads, inputBias);
  Value v = project(layer, "v", normed, shape.keyValueHeads, inputBias);
  q = rotate(layer, "q", q);
  k = rotate(layer, "k", k);
  return attend(layer, q, k, v, form, outputBias);
}

Value Decoder::project(const Layer &layer, StringRef part, Value normed,
                       int64_t heads, bool hasBias) {
  std::string module = layer.name + ".self_attn." + part.str();
  Value flat =
      builder.linear(module + "_proj", normed, heads * shape.headDim, hasBias);
  return builder.splitHeads(module, flat, heads);
}

Value Decoder::rotate(const Layer &layer, StringRef part, Value x) {
  bool isLocal = shape.windowAngles && layer.window != 0;
  return builder.rope(layer.name + ".self_attn." + part.str() + "_rope", x,
                      isLocal ? windowAngles : angles);
}

Value Decoder::attend(const Layer &layer, Value q, Value k, Value v,
                      AttentionForm form, bool outputBias) {
  form.window = layer.window;
  std::string module = layer.name + ".self_attn";
  Value attended = builder.causalAttention(module, q, k, v, form);
  return builder.linear(module + ".o_proj", attended, shape.width, outputBias);
}

Value Decoder::headNormAttention(const Layer &layer, Value normed,
                                 bool hasBias) {
  std::string module = layer.name + ".self_attn";
  Value q = project(layer, "q", normed, shape.heads, hasBias);
  Value k = project(layer, "k", normed, shape.keyValueHeads, hasBias);
  Value v = project(layer, "v", normed, shape.keyValueHeads, hasBias);
  q = rotate(layer, "q", builder.rmsNorm(module + ".q_norm", q, shape.epsilon));
  k = rotate(layer, "k", builder.rmsNorm(module + ".k_norm", k, shape.epsilon));
  return attend(layer, q, k, v, {.scale = shape.scale()}, hasBias);
}

Value Decoder::rowNormAttention(const Layer &layer, Value x, bool hasBias) {
  auto heads = [&](const char *part, int64_t count, bool isNormed) {
    std::string name = layer.name + ".self_attn." + part;
    Value flat =
        builder.linear(name + "_proj", x, count * shape.headDim, hasBias);
    if (isNormed)
      flat = builder.rmsNorm(name + "_norm", flat, shape.epsilon);
    return builder.splitHeads(name, flat, count);
  };
  Value q = rotate(layer, "q", heads("q", shape.heads, true));
  Value k = rotate(layer, "k", heads("k", shape.keyValueHeads, true));
  Value v = heads("v", shape.keyValueHeads, false);
  return attend(layer, q, k, v, {.scale = shape.scale()}, hasBias);
}

Value Decoder::feedForward(const std::string &module, Value normed,
                           int64_t width, bool hasBias) {
  Value gate = builder.linear(module + ".gate_proj", normed, width, hasBias);
  Value up = builder.linear(module + ".up_proj", normed, width, hasBias);
  gate = builder.activate(module + ".act_fn", gate, shape.activation);
  Value product = builder.multiply(module + ".gate_up", gate, up);
  return builder.linear(module + ".down_proj", product, shape.width, hasBias);
}

Value Decoder::mixture(const Layer &layer, Value normed, StringRef module,
                       const MixtureForm &form) {
  std::string name = layer.name + "." + module.str();
  Value logits = builder.linear(name + "." + form.router, normed, form.experts,
                                form.routerHasBias);
  return builder.experts(name, normed, logits, form);
}

Value Decoder::attentionHalf(const Layer &layer, Value x,
                             function_ref<Value(Value)> make) {
  return residual.sublayer(layer.name + ".self_attn.o_proj.residual",
                           layer.name + ".attn_hc", x, make);
}

Value Decoder::feedForwardHalf(const Layer &layer, Value x,
                               function_ref<Value(Value)> make) {
  return residual.sublayer(layer.name + ".mlp.down_proj.residual",
                           layer.name + ".mlp_hc", x, make);
}
