//===- packing.h - weights in panels of 16 output columns ----------------===//
//
// A linear layer reads its weight as panels [ceil(N/16)][K][16]: the 16 outputs
// of a panel lie side by side for each k, so that a vector unit streams the
// weight once, in order, whatever the number of rows it is multiplied with.
// Lanes beyond N are zero.
//
// Parts are concatenated along N before the cut into panels, so that a panel
// may hold the end of one part and the start of the next; or two equal halves
// of the parts (gates and ups) are interleaved panel by panel, each padded by
// itself, so that the panels 2p and 2p + 1 hold the same outputs of both.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_PACKING_H
#define BATON_RUNTIME_WEIGHTS_PACKING_H

#include "runtime/weights/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace baton {

inline constexpr uint64_t panel_lanes = 16;

/// Panels of `n` outputs in total; `n` is even when interleaved.
inline uint64_t panel_count(uint64_t n, bool interleave) {
  if (interleave)
    return 2 * panel_count(n / 2, false);
  return (n + panel_lanes - 1) / panel_lanes;
}

/// Where the rows of heads, of which the two halves' are stored in turn, are.
inline uint64_t paired_row(uint64_t row, uint64_t paired_rows) {
  if (paired_rows == 0)
    return row;
  const uint64_t place = row % paired_rows, half = paired_rows / 2;
  return row - place + place % half * 2 + place / half;
}

/// Which of the stored outputs are meant: of every `stride` the `size` from
/// `offset` on. By default, all. In runs of `pairs` of those, if that is not 0,
/// the two halves are stored in turn.
struct OutputBlocks {
  uint64_t size = 1;
  uint64_t stride = 1;
  uint64_t offset = 0;
  uint64_t pairs = 0;

  uint64_t stored(uint64_t output) const {
    output = paired_row(output, pairs);
    return output / size * stride + offset + output % size;
  }
  /// Outputs from this one on that are stored side by side.
  uint64_t adjacent(uint64_t output) const {
    if (pairs)
      return 1;
    return size == stride ? UINT64_MAX : size - output % size;
  }
};

/// Of a part that is larger than what is packed: where that begins, in outputs
/// and in K, and how much of it there is. Lanes and depths behind it are left.
struct PanelCut {
  uint64_t first_output, outputs;
  uint64_t first_input, inputs;
  /// All of K that is stored.
  uint64_t stored_inputs;
};

/// One part: a matrix [stored outputs, K], or [K, stored outputs] when
/// transposed.
struct PanelPart {
  const std::byte *data;
  DataType type;
  uint64_t outputs;
  uint64_t stored_outputs;
  bool transposed;
  OutputBlocks blocks;
  /// Added to every element; F32 panels only.
  float plus = 0;
  /// See Tensor::paired_rows.
  uint64_t paired_rows = 0;
  std::optional<PanelCut> cut = {};
  /// The tensor, where its type is quantised.
  const Tensor *quantised = nullptr;
};

struct PanelLayout {
  std::vector<PanelPart> parts;
  uint64_t k;
  bool interleave;
  DataType type;
};

/// A run of a panel's lanes that comes from consecutive outputs of one part.
struct PanelSegment {
  size_t part;
  uint64_t output;
  uint64_t lane;
  uint64_t count;
};

/// Whether parts with so many outputs may be interleaved.
bool are_equal_halves(const std::vector<uint64_t> &outputs);

/// Where the lanes of a panel come from; lanes in no segment are padding.
std::vector<PanelSegment> panel_segments(const std::vector<uint64_t> &outputs,
                                         bool interleave, uint64_t panel);

/// Writes the panels first ..= last - 1 into `destination`, the address of
/// panel 0. Padding lanes are left as they are: the memory starts as zeros.
void pack_panels(const PanelLayout &layout, uint64_t first, uint64_t last,
                 std::byte *destination);

/// Writes one of them to where it shall lie.
void pack_panel(const PanelLayout &layout, uint64_t panel, std::byte *place);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_PACKING_H
