//===- form.h - how a parameter lies in memory ----------------------------===//
//
// A form is what dialects/Event/WeightForms.cpp calls a parameter's, on this
// side: how many bytes it has, and how they are made of a checkpoint's tensors
// or of random numbers. Each is in a file of its own, and has a line in
// form.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_FORM_H
#define BATON_RUNTIME_WEIGHTS_FORM_H

#include "runtime/comm/shards.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/data_type.h"
#include "runtime/weights/packing.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

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

/// How many outputs each part has.
inline std::vector<uint64_t>
outputs_of(const std::vector<ParameterPart> &parts) {
  std::vector<uint64_t> outputs;
  for (const ParameterPart &part : parts)
    outputs.push_back(part.outputs());
  return outputs;
}

/// A part as panels are packed of it.
PanelPart panel_part(const ParameterPart &part, const Tensor &tensor);

/// What a description says of a parameter, whatever its form.
struct FormDescription {
  const std::string &name;
  DataType type;
  uint64_t layers;
  const std::vector<ParameterPart> &parts;
  /// The form's own sizes are entries of it.
  const nlohmann::json &object;

  /// Throws Error, which begins with the parameter's name.
  [[noreturn]] void fail(const std::string &what) const;
  /// A size of the form.
  uint64_t size(const char *key) const;
  /// Refuses sizes of which one is 0, or whose product is 2^48 or more, above
  /// which no machine of today has memory and sums could overflow.
  void check_product(std::initializer_list<uint64_t> sizes) const;
  /// Refuses what is neither F32 nor, in programs that compute so, F64.
  void require_real() const;
};

class WeightForm {
public:
  /// Throws Error when the kind is unknown, or its sizes and parts break a rule
  /// of description.h.
  static std::shared_ptr<const WeightForm>
  parse(const std::string &kind, const FormDescription &description);

  virtual ~WeightForm() = default;

  /// The form of one of the parameter's layers, where they differ; null where
  /// all have this one.
  virtual std::shared_ptr<const WeightForm> of_layer(uint64_t /*layer*/) const {
    return nullptr;
  }
  /// Bytes of one layer as the program reads it, padding included.
  virtual uint64_t layer_bytes() const = 0;
  /// Pieces of a layer, of equal size, that can be made by themselves.
  virtual uint64_t units() const { return 1; }
  /// Whether the program can read the checkpoint's own bytes; `tensors` are
  /// one a part.
  virtual bool
  reads_in_place(const std::vector<StoredTensor> & /*tensors*/) const {
    return false;
  }
  /// Those bytes, where it can.
  virtual std::span<const std::byte>
  bytes_in_place(const std::vector<StoredTensor> & /*tensors*/) const {
    return {};
  }
  /// Makes the units first ..= last - 1 of a layer whose memory, zeros, begins
  /// at `layer`.
  virtual void pack(const std::vector<StoredTensor> &tensors, uint64_t first,
                    uint64_t last, std::byte *layer) const = 0;
  /// The same of random numbers, for timing without a checkpoint; `seeds` are
  /// one a part.
  virtual void fill_randomly(uint64_t first, uint64_t last,
                             std::span<const uint64_t> seeds,
                             std::byte *layer) const = 0;
};

/// [ceil(n/16)][k][16], see packing.h.
std::shared_ptr<const WeightForm> parse_panels(const FormDescription &);
/// Panels of quantised weights, see runtime/weight_blocks.h.
std::shared_ptr<const WeightForm> parse_blocks(const FormDescription &);
/// n numbers, zeros up to a multiple of 16: panels of depth 1.
std::shared_ptr<const WeightForm> parse_vector(const FormDescription &);
/// [rows, columns], row-major.
std::shared_ptr<const WeightForm> parse_table(const FormDescription &);
/// n numbers that the program brings along, zeros up to a multiple of 16.
std::shared_ptr<const WeightForm> parse_constant(const FormDescription &);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_FORM_H
