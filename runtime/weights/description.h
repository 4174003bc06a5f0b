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
// is meant, `offset` outputs into the stride, and a fourth number "pairs" (see
// packing.h); and a vector's part "plus", a number that is added to each
// element. With "inputs": [first, count] only these inputs of a matrix are
// meant, of those that a rank has. Of several ranks each may have a part
// of it: "shards" (comm/shards.h) of its outputs, dimension 0, and inputs.
// Sizes of the parameter are those of the parts. With "experts", a shard of
// their number, `{expert+2}` stands for the third of those that a rank has.
//
// Where ranks are stages (the description's "stages", whose "axis" says along
// which axis of the mesh), "stages" of a parameter are those that read it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_DESCRIPTION_H
#define BATON_RUNTIME_WEIGHTS_DESCRIPTION_H

#include "runtime/weights/form.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace baton {

struct ParameterDescription {
  std::string name;
  /// Of its elements; I8 of blocks.
  DataType type;
  uint64_t layers;
  uint64_t first_layer;
  uint64_t layer_step;
  std::vector<ParameterPart> parts;
  std::shared_ptr<const WeightForm> form;
  /// Whether only ranks of other stages read it.
  bool is_elsewhere = false;
};

/// Reads and checks a part of what has this name, for one of the mesh's ranks.
/// Throws Error as below.
ParameterPart parse_part(const std::string &name, const nlohmann::json &part,
                         const Mesh &mesh, uint32_t rank);

/// Reads and checks a description, for one of the program's ranks. Throws
/// Error, naming the parameter, when it breaks a rule above; the program is
/// then damaged or from another version.
std::vector<ParameterDescription>
parse_parameters(const nlohmann::json &description, uint32_t rank = 0);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_DESCRIPTION_H
