//===- layer_arrival.h - layers that come from a file while a step runs ---===//
//
// What a step's tasks ask the runtime where not all that layers read is in
// memory (offload-layers). Bodies of tasks include this header, too, which
// therefore includes no more than it needs.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_LAYER_ARRIVAL_H
#define BATON_RUNTIME_LAYER_ARRIVAL_H

#include <cstdint>

extern "C" {

/// What the runtime puts into the buffer of this name before the first step.
struct BatonLayerArrival {
  /// Returns once the next layer's weights, keys and values are in memory, in
  /// the order in which a step comes to them. Called by one task at a time,
  /// when nobody reads anything of the layer before any more: that room may be
  /// filled with what comes next. Returns the layer's place in that order. Null
  /// where everything is in memory.
  int32_t (*arrive)(void *host);
  void *host;
};

} // extern "C"

namespace baton {

inline constexpr char layer_arrival_buffer[] = "layer_arrival";
/// In i32.
inline constexpr int64_t layer_arrival_words = sizeof(BatonLayerArrival) / 4;

} // namespace baton

#endif // BATON_RUNTIME_LAYER_ARRIVAL_H
