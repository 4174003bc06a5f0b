//===- panels_form.cpp - weights in panels, and vectors -------------------===//
//
// A vector is panels of depth 1, whose parts have one dimension.
//
//===----------------------------------------------------------------------===//

#include "runtime/weights/form.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/message.h"
#include "runtime/weights/random.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace baton {

namespace {

class PanelsForm : public WeightForm {
public:
  PanelsForm(const FormDescription &description, bool is_vector);

  uint64_t layer_bytes() const override {
    return units() * panel_lanes * k * bytes_of(type);
  }
  uint64_t units() const override { return panel_count(n, interleave); }
  void pack(const std::vector<StoredTensor> &tensors, uint64_t first,
            uint64_t last, std::byte *layer) const override;
  void fill_randomly(uint64_t first, uint64_t last,
                     std::span<const uint64_t> seeds,
                     std::byte *layer) const override;

private:
  void check(const FormDescription &description) const;
  std::vector<PanelSegment> segments(uint64_t panel) const;
  void clear_padding(uint64_t panel, std::byte *panel_base) const;
  bool is_bias() const {
    return std::any_of(parts.begin(), parts.end(),
                       [](const ParameterPart &part) {
                         return part.sources[0].ends_with("bias");
                       });
  }

  std::vector<ParameterPart> parts;
  DataType type;
  bool is_vector;
  /// The inner dimension and the sum of the parts' outputs.
  uint64_t k, n;
  bool interleave;
};

} // namespace

PanelsForm::PanelsForm(const FormDescription &description, bool is_vector)
    : parts(description.parts), type(description.type), is_vector(is_vector),
      k(is_vector ? 1 : description.size("k")), n(description.size("n")),
      interleave(description.object.value("interleave", false)) {
  if (type == DataType::I8)
    description.fail("is of dtype i8, which only blocks have");
  if (is_vector)
    description.require_real();
  // Twice the lanes: two interleaved parts are each padded by themselves.
  description.check_product({description.layers, k, n, 2 * panel_lanes, 8});
  check(description);
}

void PanelsForm::check(const FormDescription &description) const {
  uint64_t outputs = 0;
  for (const ParameterPart &part : parts) {
    bool fits = is_vector ? part.shape.size() == 1 && !part.transposed
                          : part.shape.size() == 2 && part.room_inputs == k;
    if (!fits || part.outputs() > n - outputs)
      description.fail("has a part of shape " + shape_text(part.shape) +
                       " that does not fit k = " + std::to_string(k) +
                       ", n = " + std::to_string(n));
    outputs += part.outputs();
  }
  if (outputs != n)
    description.fail("has parts of " + std::to_string(outputs) +
                     " outputs, but n = " + std::to_string(n));
  if (interleave && !are_equal_halves(outputs_of(parts)))
    description.fail("interleaves something else than two equal halves");
}

void PanelsForm::pack(const std::vector<StoredTensor> &tensors, uint64_t first,
                      uint64_t last, std::byte *layer) const {
  PanelLayout layout{{}, k, interleave, type};
  for (size_t i = 0; i < tensors.size(); ++i)
    layout.parts.push_back(panel_part(parts[i], *tensors[i].tensor));
  pack_panels(layout, first, last, layer);
}

std::vector<PanelSegment> PanelsForm::segments(uint64_t panel) const {
  return panel_segments(outputs_of(parts), interleave, panel);
}

/// Zeroes the lanes of a panel that belong to no output.
void PanelsForm::clear_padding(uint64_t panel, std::byte *panel_base) const {
  uint64_t used = 0;
  for (const PanelSegment &segment : segments(panel))
    used += segment.count;
  uint64_t bytes = bytes_of(type);
  if (used < panel_lanes)
    for (uint64_t depth = 0; depth < k; ++depth)
      std::memset(panel_base + (depth * panel_lanes + used) * bytes, 0,
                  (panel_lanes - used) * bytes);
}

void PanelsForm::fill_randomly(uint64_t first, uint64_t last,
                               std::span<const uint64_t> seeds,
                               std::byte *layer) const {
  float mean = is_vector && !is_bias() ? 1.0f : 0.0f;
  float deviation = is_vector ? 0.02f : 1.0f / std::sqrt(static_cast<float>(k));
  uint64_t panel_elements = panel_lanes * k;
  for (uint64_t panel = first; panel < last; ++panel) {
    std::byte *panel_base = layer + panel * panel_elements * bytes_of(type);
    // An output has the same numbers wherever it lies: linears that share a
    // parameter in one program and not in another compute the same.
    RandomSeeds lanes = {};
    static_assert(std::tuple_size_v<RandomSeeds> == panel_lanes);
    for (const PanelSegment &segment : segments(panel))
      for (uint64_t i = 0; i < segment.count; ++i)
        lanes[segment.lane + i] =
            mix(seeds[segment.part] + parts[segment.part].own_outputs.begin +
                segment.output + i);
    fill_random(type, panel_base, panel_elements, mean, deviation, lanes);
    clear_padding(panel, panel_base);
  }
}

std::shared_ptr<const WeightForm>
parse_panels(const FormDescription &description) {
  return std::make_shared<PanelsForm>(description, /*is_vector=*/false);
}

std::shared_ptr<const WeightForm>
parse_vector(const FormDescription &description) {
  return std::make_shared<PanelsForm>(description, /*is_vector=*/true);
}

} // namespace baton
