//===- packing.cpp - weights in panels of 16 output columns --------------===//

#include "runtime/weights/packing.h"

#include "runtime/weights/convert.h"
#include "runtime/weights/stored_blocks.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace baton {

namespace {

// Converted pieces of 16 rows fit the first-level cache: 16 * 128 * 4 bytes.
constexpr uint64_t block_k = 128;

/// destination[k][lane] = rows[lane][k] for `count` lanes; with all 16 known at
/// compile time, a panel's line is assembled in registers.
template <typename Element>
void interleave_rows(const Element *rows, uint64_t count, uint64_t depth,
                     Element *destination) {
  if (count == panel_lanes) {
    for (uint64_t k = 0; k < depth; ++k)
      for (uint64_t lane = 0; lane < panel_lanes; ++lane)
        destination[k * panel_lanes + lane] = rows[lane * block_k + k];
    return;
  }
  for (uint64_t k = 0; k < depth; ++k)
    for (uint64_t lane = 0; lane < count; ++lane)
      destination[k * panel_lanes + lane] = rows[lane * block_k + k];
}

/// Inputs of one output; `row` counts those that are stored.
template <typename Element>
void read_row(const PanelPart &part, uint64_t row, uint64_t stored_inputs,
              uint64_t first, uint64_t count, Conversion convert,
              Element *elements) {
  row = paired_row(row, part.paired_rows);
  if (!is_quantised(part.type)) {
    convert(part.data + (row * stored_inputs + first) * bytes_of(part.type),
            elements, count);
    return;
  }
  float numbers[block_k];
  dequantise(*part.quantised, stored_inputs, row, first, count, numbers);
  convert(numbers, elements, count);
}

template <typename Element>
void pack_segment(const PanelPart &part, const PanelSegment &segment,
                  uint64_t k, Conversion convert, Element *panel) {
  const PanelCut cut = part.cut.value_or(PanelCut{0, part.outputs, 0, k, k});
  k = cut.inputs;
  // What there is not is padding.
  const uint64_t lanes = std::min(
      segment.count, cut.outputs - std::min(cut.outputs, segment.output));
  if (part.transposed) {
    for (uint64_t row = 0; row < k; ++row)
      for (uint64_t i = 0, run; i < lanes; i += run) {
        uint64_t output = cut.first_output + segment.output + i;
        run = std::min(lanes - i, part.blocks.adjacent(output));
        Element *place = panel + row * panel_lanes + segment.lane + i;
        const uint64_t input = cut.first_input + row,
                       stored = part.blocks.stored(output);
        if (!is_quantised(part.type)) {
          convert(part.data + (input * part.stored_outputs + stored) *
                                  bytes_of(part.type),
                  place, run);
          continue;
        }
        float numbers[panel_lanes];
        dequantise(*part.quantised, part.stored_outputs, input, stored, run,
                   numbers);
        convert(numbers, place, run);
      }
    return;
  }
  alignas(64) Element rows[panel_lanes * block_k];
  for (uint64_t start = 0; start < k; start += block_k) {
    uint64_t depth = std::min(block_k, k - start);
    for (uint64_t i = 0; i < lanes; ++i)
      read_row(part, part.blocks.stored(cut.first_output + segment.output + i),
               cut.stored_inputs, cut.first_input + start, depth, convert,
               rows + i * block_k);
    interleave_rows(rows, lanes, depth,
                    panel + start * panel_lanes + segment.lane);
  }
}

/// Adds `part.plus` to what a segment has filled with the bits of `Real`s.
template <typename Real, typename Element>
void add_constant(const PanelPart &part, const PanelSegment &segment,
                  uint64_t k, Element *panel) {
  if (part.plus == 0)
    return;
  for (uint64_t row = 0; row < k; ++row)
    for (uint64_t i = 0; i < segment.count; ++i) {
      Element &bits = panel[row * panel_lanes + segment.lane + i];
      bits = std::bit_cast<Element>(std::bit_cast<Real>(bits) + part.plus);
    }
}

template <typename Element>
void pack(const PanelLayout &layout, const std::vector<uint64_t> &outputs,
          uint64_t panel, Element *target) {
  for (const PanelSegment &segment :
       panel_segments(outputs, layout.interleave, panel)) {
    const PanelPart &part = layout.parts[segment.part];
    pack_segment(part, segment, layout.k,
                 conversion(is_quantised(part.type) ? DataType::F32 : part.type,
                            layout.type),
                 target);
    if constexpr (sizeof(Element) == sizeof(float))
      add_constant<float>(part, segment, layout.k, target);
    if constexpr (sizeof(Element) == sizeof(double))
      add_constant<double>(part, segment, layout.k, target);
  }
}

std::vector<uint64_t> outputs_of(const PanelLayout &layout) {
  std::vector<uint64_t> outputs;
  for (const PanelPart &part : layout.parts)
    outputs.push_back(part.outputs);
  return outputs;
}

void pack(const PanelLayout &layout, const std::vector<uint64_t> &outputs,
          uint64_t panel, std::byte *place) {
  switch (bytes_of(layout.type)) {
  case 8:
    return pack(layout, outputs, panel, reinterpret_cast<uint64_t *>(place));
  case 4:
    return pack(layout, outputs, panel, reinterpret_cast<uint32_t *>(place));
  default:
    return pack(layout, outputs, panel, reinterpret_cast<uint16_t *>(place));
  }
}

} // namespace

bool are_equal_halves(const std::vector<uint64_t> &outputs) {
  const auto middle =
      outputs.begin() + static_cast<ptrdiff_t>(outputs.size() / 2);
  return outputs.size() % 2 == 0 &&
         std::accumulate(outputs.begin(), middle, uint64_t(0)) ==
             std::accumulate(middle, outputs.end(), uint64_t(0));
}

std::vector<PanelSegment> panel_segments(const std::vector<uint64_t> &outputs,
                                         bool interleave, uint64_t panel) {
  if (interleave) {
    const size_t half = outputs.size() / 2, first = panel % 2 * half;
    const auto begin = outputs.begin() + static_cast<ptrdiff_t>(first);
    std::vector<PanelSegment> segments =
        panel_segments({begin, begin + static_cast<ptrdiff_t>(half)},
                       /*interleave=*/false, panel / 2);
    for (PanelSegment &segment : segments)
      segment.part += first;
    return segments;
  }
  std::vector<PanelSegment> segments;
  uint64_t begin = panel * panel_lanes, end = begin + panel_lanes;
  uint64_t part_begin = 0;
  for (size_t part = 0; part < outputs.size() && part_begin < end; ++part) {
    uint64_t part_end = part_begin + outputs[part];
    uint64_t from = std::max(begin, part_begin), to = std::min(end, part_end);
    if (from < to)
      segments.push_back({part, from - part_begin, from - begin, to - from});
    part_begin = part_end;
  }
  return segments;
}

void pack_panels(const PanelLayout &layout, uint64_t first, uint64_t last,
                 std::byte *destination) {
  const std::vector<uint64_t> outputs = outputs_of(layout);
  const uint64_t bytes = panel_lanes * layout.k * bytes_of(layout.type);
  for (uint64_t panel = first; panel < last; ++panel)
    pack(layout, outputs, panel, destination + panel * bytes);
}

void pack_panel(const PanelLayout &layout, uint64_t panel, std::byte *place) {
  pack(layout, outputs_of(layout), panel, place);
}

} // namespace baton
