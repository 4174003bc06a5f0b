//===- prune.h - a model with fewer neurons and layers --------------------===//

#ifndef BATON_TOOLS_PRUNE_PRUNE_H
#define BATON_TOOLS_PRUNE_PRUNE_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace baton {

enum class NeuronChoice { Magnitude, LeastSquares };

struct PruneOptions {
  std::filesystem::path model;
  /// A folder that there is not yet.
  std::filesystem::path output;
  /// Neurons of each MLP that stay: "2048", or "50%".
  std::optional<std::string> neurons;
  NeuronChoice by = NeuronChoice::Magnitude;
  /// Layers that go: "last:8", or "3,5,7-9".
  std::optional<std::string> layers;

  // Of least squares.
  /// The compiler's path, and the text that its program reads.
  std::string batonc;
  std::filesystem::path text;
  /// The most windows of 512 tokens.
  uint64_t windows = 32;
  double damping = 1e-6;
  /// Most neurons of a layer that come back for others.
  uint64_t exchanges = 256;
  /// Bytes that second moments of one run may take.
  uint64_t memory = uint64_t(4) << 30;

  bool quiet = false;
  /// Called as bytes of weights are written; an exception ends it.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

struct PruneSummary {
  uint64_t neurons = 0, kept_neurons = 0;
  uint64_t layers = 0, kept_layers = 0;
  /// Of least squares: of each layer that stays, in no order, the part of its
  /// MLP's outputs' squares that is lost.
  std::vector<double> losses;
};

/// The numbers that stay, ascending, of so many layers. Throws Error, naming
/// --drop-layers, for what says nothing that there is, or all of it.
std::vector<uint64_t> kept_layers(const std::string &dropped, uint64_t layers);

/// How many neurons stay of so many. Throws Error, naming --mlp-neurons.
uint64_t kept_neurons(const std::string &text, uint64_t neurons);

/// Writes a checkpoint folder of fewer layers, and of fewer neurons chosen by
/// what the model with those layers computes. Types of weights stay; other
/// files are copied. Throws Error or AlreadySaid; what there is of the folder
/// is removed then.
PruneSummary prune(const PruneOptions &options);

} // namespace baton

#endif // BATON_TOOLS_PRUNE_PRUNE_H
