//===- decoder.h - the shape of a decoder, and how it is split ------------===//

#ifndef BATON_TOOLS_PLAN_DECODER_H
#define BATON_TOOLS_PLAN_DECODER_H

#include <cstdint>
#include <filesystem>
#include <string>

namespace baton::plan {

/// A stack of equal layers: attention and an MLP.
struct Decoder {
  int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_size = 0;
  int64_t mlp = 0, vocabulary = 0;
  /// A gate beside the up projection.
  bool gated = false;
  /// The head's weights are the embedding's.
  bool tied = true;
  /// Positions are a table of as many rows as the sequence is long.
  bool learned_positions = false;

  /// Numbers of one layer's matrices.
  double layer_matrices() const;
  /// Numbers of a layer, norms and (where positions are learned, as GPT-2 has
  /// them) biases too.
  double layer_parameters() const;
  /// Of all layers, embedding and head, for such sequences.
  double parameters(int64_t sequence) const;
};

/// GPT-2's form, as Megatron-LM trains it: an MLP of 4 times the width.
Decoder gpt_decoder(int64_t hidden, int64_t heads, int64_t layers,
                    int64_t vocabulary);

/// Of a config.json, or of the folder that holds it. Throws Error that names
/// the file and what is missing, and for mixtures of experts.
Decoder read_decoder(const std::filesystem::path &path);

/// Activations that the backward makes again: none, those inside of attention,
/// from scores to values, or all inside a layer.
enum class Recompute { none, selective, full };

/// "none", "selective" or "full".
const char *name(Recompute recompute);

/// How a step is split. A rank's place: tensor parallel ranks are neighbours,
/// then data parallel ones, then stages.
struct Split {
  int64_t data = 1, tensor = 1, pipeline = 1;
  /// Parts of each stage, for the interleaved schedule.
  int64_t chunks = 1;
  int64_t global_batch = 1, micro_batch = 1, sequence = 1;
  Recompute recompute = Recompute::none;
  /// Optimizer states are cut over data parallel ranks.
  bool sharded_states = false;
  /// Rows outside of attention and MLP are cut over tensor parallel ranks.
  bool sequence_parallel = false;

  int64_t devices() const { return data * tensor * pipeline; }
  int64_t microbatches() const { return global_batch / (data * micro_batch); }
};

/// Why a decoder cannot be split so; empty where it can.
std::string check_split(const Decoder &decoder, const Split &split);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_DECODER_H
