//===- description.h - the parameters that a compiled program asks for ---===//
//
// A compiled program carries JSON that says what each of its parameters is and
// from which tensors of a checkpoint it is made:
//
//   {"parameters": [
//     {"name": "block.qkv", "kind": "panels", "dtype": "bf16", "layers": 4,
//      "first_layer": 0, "k": 64, "n": 96, "interleave": false,
//      "parts": [{"sources": ["model.layers.{layer}.self_attn.q_proj.weight"],
//                 "shape": [64, 64], "transposed": false}, ...]},
//     {"name": "block.norm", "kind": "vector", "dtype": "f32", "layers": 4,
//      "n": 64, "parts": [{"sources": ["..."], "shape": [64]}]},
//     {"name": "embedding", "kind": "table", "dtype": "bf16", "rows": 256,
//      "columns": 64, "parts": [{"sources": ["..."], "shape": [256, 64]}]},
//     {"name": "frequencies", "kind": "constant", "dtype": "f32", "n": 8,
//      "values": [...]}]}
//
// `layers` and `layer_step` default to 1, `first_layer` to 0, `interleave` and
// `transposed` to false. `sources` are alternative names for one tensor, in
// order of preference. In them `{layer}` stands for the layer's number,
// first_layer + i * layer_step for the i-th, and `{layer+2}` for two more.
//
// A part may have "blocks": [size, stride, offset], when of the tensor that the
// checkpoint holds (its "shape") only every stride-th block of `size` outputs
// is meant, `offset` outputs into the stride; and a vector's part "plus", a
// number that is added to each element. Of several ranks each may have a part
// of it: "shards" (comm/shards.h) of its outputs, dimension 0, and inputs.
// Sizes of the parameter are those of the parts.
//
// Where ranks are stages (the description's "stages", whose "axis" says along
// which axis of the mesh), "stages" of a parameter are those that read it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_DESCRIPTION_H
#define BATON_RUNTIME_WEIGHTS_DESCRIPTION_H

#include "runtime/comm/shards.h"
#include "runtime/weights/data_type.h"
#include "runtime/weights/packing.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace baton {

enum class ParameterKind { Panels, Table, Constant };

/// One tensor of the checkpoint, per layer.
struct ParameterPart {
  std::vector<std::string> sources;
  /// What the checkpoint must hold.
  std::vector<uint64_t> shape;
  /// Stored as [K, N] instead of [N, K].
  bool transposed;
  OutputBlocks blocks;
  float plus = 0;
  /// What this rank has of all outputs and inputs, and memory for.
  IndexRange own_outputs, own_inputs;
  uint64_t room_outputs = 0, room_inputs = 0;

  /// The sources' names in a given layer.
  std::vector<std::string> names(uint64_t layer) const;
  /// The extent along N: output features, or elements of a vector.
  uint64_t outputs() const { return room_outputs; }
  /// That of all ranks.
  uint64_t all_outputs() const {
    return stored_outputs() / blocks.stride * blocks.size;
  }
  /// The extent along K, of all ranks; 1 for a vector.
  uint64_t all_inputs() const {
    return shape.size() < 2 ? 1 : shape[transposed ? 0 : 1];
  }
  /// Those that the checkpoint holds.
  uint64_t stored_outputs() const { return transposed ? shape[1] : shape[0]; }
};

struct ParameterDescription {
  std::string name;
  ParameterKind kind;
  DataType type;
  uint64_t layers;
  uint64_t first_layer;
  uint64_t layer_step;
  /// Panels: the inner dimension and the sum of the parts' outputs. A vector is
  /// a panel parameter of k = 1 whose parts have rank 1. Constant: n values.
  uint64_t k = 1;
  uint64_t n = 0;
  bool interleave = false;
  /// Table.
  uint64_t rows = 0;
  uint64_t columns = 0;
  std::vector<ParameterPart> parts;
  std::vector<float> values;
  /// Whether only ranks of other stages read it.
  bool is_elsewhere = false;

  /// Bytes of one layer as the program reads it, padding included.
  uint64_t layer_bytes() const;
};

/// Reads and checks a description, for one of the program's ranks. Throws
/// Error, naming the parameter, when it breaks a rule above; the program is
/// then damaged or from another version.
std::vector<ParameterDescription>
parse_parameters(const nlohmann::json &description, uint32_t rank = 0);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_DESCRIPTION_H
