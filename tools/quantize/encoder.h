//===- encoder.h - weights become blocks of a quantised format ------------===//
//
// A format says what numbers a block can have; an encoder chooses which it has.
// Two ways to choose scales:
//
// - by the largest: a unit's weights that are largest in magnitude, or largest
//   and smallest, are representable, as the formats' authors define it
//   (ggml's reference for Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1, bit for bit);
// - by search: the scales that make the squared error least, found by trying
//   ranges around that one, fitting scale and offset to the numbers that each
//   gives (linear least squares), and rounding again. A block is never worse
//   than by the largest. Each weight's error counts as much as its importance.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_ENCODER_H
#define BATON_TOOLS_QUANTIZE_ENCODER_H

#include "runtime/weights/data_type.h"

#include <cstddef>
#include <cstdint>

namespace baton {

enum class ScaleChoice { Largest, Search };

/// Whether encode() knows the quantised type.
bool can_encode(DataType type);

/// Encodes `count` finite weights, whole blocks, one behind the other. A block
/// of zeros is zeros. `importance` has as many positive numbers, by which a
/// search counts.
void encode(DataType type, ScaleChoice scales, const float *weights,
            const float *importance, uint64_t count, std::byte *blocks);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_ENCODER_H
