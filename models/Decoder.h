//===- Decoder.h - what decoder-only families share -----------------------===//
//
// Most families are variations of one model: pre-norm blocks of rotary
// grouped-query attention and a gated feed-forward layer. A family's file says
// what its block is; dimensions, embeddings, the layers' order and the head are
// here.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_MODELS_DECODER_H
#define BATON_MODELS_DECODER_H

#include "models/Config.h"
#include "models/ImportOptions.h"
#include "models/ProgramBuilder.h"
#include "models/Residual.h"
#include "models/RopeFrequencies.h"

#include <string>
#include <vector>

namespace baton::models {

/// The fields of config.json that every family has, checked.
struct DecoderShape {
  int64_t width, feedForwardWidth, layers, heads, keyValueHeads, headDim,
      vocabulary, maxSeq;
  float epsilon;
  model::Activation activation;
  bool tiedEmbeddings;
  RopeAngles angles;
  /// Of the layers that see a window, where they turn otherwise.
  std::optional<RopeAngles> windowAngles;
  std::optional<HyperConnections> hyper;

  int64_t queryWidth() const { return heads * headDim; }
  int64_t keyValueWidth() const { return keyValueHeads * headDim; }
  /// 1 / sqrt(headDim)
  float scale() const;
};

/// What a family's config means where it is silent, and how it spells things.
struct DecoderDefaults {
  const char *activationField = "hidden_act";
  const char *activation = "silu";
  double epsilon = 1e-6;
  bool tiedEmbeddings = false;
  /// Without it, hidden_size / num_attention_heads.
  std::optional<int64_t> headDim = {};
  RopeDefaults rope = {};
  /// Where layers that see a window turn otherwise.
  std::optional<RopeDefaults> windowRope = {};
};

/// Throws ConfigError.
DecoderShape readDecoderShape(const Config &config,
                              const ImportOptions &options,
                              const DecoderDefaults &defaults = {});

/// Positions that each layer's attention sees: the last N, or with 0 all.
using Windows = std::vector<int64_t>;

/// Every layer with the window of the field `sliding_window`, if there is one.
Windows uniformWindows(const Config &config, const DecoderShape &shape,
                       std::optional<int64_t> absent);
/// By the field `layer_types` ("full_attention" or "sliding_attention"); where
/// there is none, layers for which `slides` holds have the window `window`.
Windows windowsByType(const Config &config, const DecoderShape &shape,
                      int64_t window,
                      llvm::function_ref<bool(int64_t layer)> slides);
/// The layers of Qwen2 and Qwen3: with `use_sliding_window`, those from
/// `max_window_layers` on see a window.
Windows qwenWindows(const Config &config, const DecoderShape &shape);

/// The experts of layers that have some. `balanceLoss` is the factor of the
/// loss that balances them where the config asks for it and names none. Throws
/// ConfigError.
MixtureForm readMixture(const Config &config, const DecoderShape &shape,
                        const char *expertsField, const char *widthField,
                        bool normalizes, double balanceLoss = 0.001);

/// Whether each layer has a mixture of experts, by `mlp_only_layers` and
/// `decoder_sparse_step`.
std::vector<bool> layersWithExperts(const Config &config,
                                    const DecoderShape &shape);

/// One layer inside the pattern of a stack.
struct Layer {
  /// "layers.{layer}", or "layers.{layer+1}" for the pattern's second.
  std::string name;
  int64_t window;
  /// Of a model with experts: whether this layer has them.
  bool hasExperts = false;
};

/// Embedding, blocks and head. Layers are rolled up: a run of equal ones, or of
/// equal groups, is one stack. `block` maps x to the next layer's x.
class Decoder {
public:
  Decoder(mlir::MLIRContext &context, const Config &config,
          const ImportOptions &options, llvm::StringRef family,
          const DecoderShape &shape);

  ProgramBuilder builder;
  const DecoderShape &shape;

  mlir::Value embed(float multiplier = 1.0f);
  mlir::Value
  blocks(mlir::Value x, const Windows &windows,
         llvm::function_ref<mlir::Value(mlir::Value x, const Layer &)> block,
         const std::vector<bool> &withExperts = {});
  /// The last rows, normalised, by the head's weight or the embedding's.
  mlir::Value head(mlir::Value x, NormWeight weight = NormWeight::asStored);

  // Pieces of blocks. Each `module` is below the layer's name.

  /// x and attention(norm x), joined, and that and what the feed-forward layer
  /// makes of its norm.
  mlir::Value
  preNormBlock(const Layer &layer, mlir::Value x,
               llvm::function_ref<mlir::Value(mlir::Value normed)> attention,
               llvm::function_ref<mlir::Value(mlir::Value normed)> feedForward,
               NormWeight weight = NormWeight::asStored);
  /// The same with norms behind both halves, too.
  mlir::Value
  sandwichBlock(const Layer &layer, mlir::Value x,
                llvm::function_ref<mlir::Value(mlir::Value normed)> attention,
                llvm::function_ref<mlir::Value(mlir::Value normed)> feedForward,
                NormWeight weight);
  /// x and norm(attention(x)), joined, and that and the norm of what the
  /// feed-forward layer makes of it: no norm stands before a half.
  mlir::Value
  postNormBlock(const Layer &layer, mlir::Value x,
                llvm::function_ref<mlir::Value(mlir::Value read)> attention,
                llvm::function_ref<mlir::Value(mlir::Value read)> feedForward);
  /// Rotary attention as Llama has it, with its projections.
  mlir::Value attention(const Layer &layer, mlir::Value normed, bool inputBias,
                        bool outputBias, AttentionForm form);
  /// The same with norms of each head's queries and keys.
  mlir::Value headNormAttention(const Layer &layer, mlir::Value normed,
                                bool hasBias);
  /// The same with a norm of all heads' queries together, and one of all keys.
  mlir::Value rowNormAttention(const Layer &layer, mlir::Value x, bool hasBias);
  /// activation(gate_proj x) * (up_proj x), then down_proj.
  mlir::Value feedForward(const Layer &layer, mlir::Value normed,
                          bool hasBias = false) {
    return feedForward(layer.name + ".mlp", normed, shape.feedForwardWidth,
                       hasBias);
  }
  /// Of any module and width.
  mlir::Value feedForward(const std::string &module, mlir::Value normed,
                          int64_t width, bool hasBias = false);

  /// What the mixture of experts of a layer's `module` makes of it, whose
  /// router is there, too.
  mlir::Value mixture(const Layer &layer, mlir::Value normed,
                      llvm::StringRef module, const MixtureForm &form);

  /// `part`_proj, split into heads.
  mlir::Value project(const Layer &layer, llvm::StringRef part,
                      mlir::Value normed, int64_t heads, bool hasBias);
  mlir::Value rotate(const Layer &layer, llvm::StringRef part, mlir::Value x);
  /// What queries, keys and values attend to, and its output projection.
  mlir::Value attend(const Layer &layer, mlir::Value q, mlir::Value k,
                     mlir::Value v, AttentionForm form, bool outputBias);
  /// x after half of a block: attention, whose last linear is
  /// `self_attn.o_proj`, or the feed-forward layer.
  mlir::Value attentionHalf(const Layer &layer, mlir::Value x,
                            llvm::function_ref<mlir::Value(mlir::Value)> make);
  mlir::Value
  feedForwardHalf(const Layer &layer, mlir::Value x,
                  llvm::function_ref<mlir::Value(mlir::Value)> make);

private:
  mlir::Value table, angles, windowAngles;
  Residual residual;
};

} // namespace baton::models

#endif // BATON_MODELS_DECODER_H
