//===- offloading.h - which layers' weights stay in memory ----------------===//
//
// A program that was compiled with --offload says of each of its stacks of
// layers which parameters and states the layers have of their own, and waits
// for each layer before it reads them. So only some of the weights have to be
// in memory all the time: the others come from a file, layer by layer, and take
// turns in a ring of places. While one layer computes, the next one's weights
// come into the next place.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_OFFLOADING_H
#define BATON_RUNTIME_WEIGHTS_OFFLOADING_H

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// The description's "offloading":
///
///   {"storage": 31, "stacks": [
///     {"segment": "layers", "layers": 30, "parameters": ["layers.mlp...."],
///      "states": [{"storage": 11, "layer_bytes": 49152,
///                  "page_bytes": 1474560}, ...]}],
///    "usual": {"memory": "4GiB", "kv_memory": "", "kv_in_memory": ""}}
struct OffloadingDescription {
  /// Keys or values of a stack's layers: layer i of page p lies
  /// p * page_bytes + i * layer_bytes into the storage.
  struct State {
    size_t storage;
    uint64_t layer_bytes, page_bytes;
  };
  struct Stack {
    uint64_t layers;
    std::vector<std::string> parameters;
    std::vector<State> states;
  };

  /// What a run has in memory unless it is told otherwise, as flags say it;
  /// the last two may be empty.
  struct Usual {
    std::string memory, kv_memory, kv_in_memory;
  };

  /// Where the runtime writes a BatonLayerArrival.
  size_t storage;
  /// In the order in which a step comes to them.
  std::vector<Stack> stacks;
  std::optional<Usual> usual = std::nullopt;

  /// Of a program's description; nothing if its layers stay in memory. Throws
  /// Error when it is damaged.
  static std::optional<OffloadingDescription>
  parse(const nlohmann::json &description);

  /// Layers of all stacks.
  uint64_t layers() const;
};

/// What one layer has of one parameter.
struct LayerPiece {
  /// Among the layers of all stacks, and the parameters of these.
  uint64_t layer;
  size_t parameter;
  uint64_t bytes;
};

struct LayerPlacement {
  /// Of each piece: whether it is in memory all the time.
  std::vector<bool> stays;
  /// Bytes of these, each on pages of its own.
  uint64_t staying_bytes = 0;
  /// Bytes of each place of the ring, of which layer i takes place_of(i).
  std::vector<uint64_t> places;
  /// Bytes that come from the file in each step.
  uint64_t moved_bytes = 0;

  uint64_t memory() const;
};

/// Two layers behind one another, the last one and the first one too, have
/// different places: of an odd number of layers the last one has a third.
uint64_t place_of(uint64_t layer, uint64_t layers);

/// As many pieces stay as there is room for beside the ring, in `budget` bytes.
/// Of a parameter all layers stay, of the next one some that lie evenly apart,
/// of further ones none: so layers have about as much to wait for, and the
/// places are small. Nothing if the budget is too small for a ring of all; then
/// `least`, if given, is what would do.
std::optional<LayerPlacement> place_layers(std::span<const LayerPiece> pieces,
                                           uint64_t layers, uint64_t budget,
                                           uint64_t *least = nullptr);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_OFFLOADING_H
