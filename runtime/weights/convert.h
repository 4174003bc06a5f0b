//===- convert.h - conversions between floating-point formats ------------===//
//
// Element conversions in portable integer arithmetic, the same bits on every
// machine. Narrowing rounds to nearest, ties to even, once: also from F64,
// where going through F32 naively would round twice. Infinities and signed
// zeros are kept, overflow becomes infinity, subnormals are exact, and a NaN
// stays a NaN with its sign.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_CONVERT_H
#define BATON_RUNTIME_WEIGHTS_CONVERT_H

#include "runtime/weights/data_type.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace baton {

inline float f32_from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline float f32_from_f16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  // Below 2^-14 the value is a multiple of 2^-24, which F32 holds normalised.
  uint32_t subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t special = (magnitude << 13) | 0x7f800000u;
  uint32_t value = magnitude < 0x0400   ? subnormal
                   : magnitude < 0x7c00 ? normal
                                        : special;
  return std::bit_cast<float>(sign | value);
}

inline uint16_t bf16_from_f32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  // A NaN whose payload lies in the low half must not turn into infinity.
  uint32_t quiet = (bits >> 16) | 0x0040;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet
                                                                : rounded);
}

inline uint16_t f16_from_f32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  // Adding 0.5 makes the floating-point unit round at 2^-24, which is the
  // spacing of F16's subnormals and of F32 in [0.5, 1).
  uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
      0x3f000000u;
  // A carry out of the largest exponent yields infinity's bits by itself.
  uint32_t normal =
      (magnitude + 0x0fff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
  uint32_t quiet = 0x7e00 | ((magnitude >> 13) & 0x01ff);
  uint32_t result = magnitude > 0x7f800000    ? quiet
                    : magnitude >= 0x47800000 ? 0x7c00
                    : magnitude < 0x38800000  ? subnormal
                                              : normal;
  return static_cast<uint16_t>(sign | result);
}

/// Rounds to odd: of the two neighbours of an inexact value, the one whose last
/// bit is set. A second rounding to a format with at least two bits less is
/// then the same as one rounding of the original (Boldo and Melquiond, "When
/// double rounding is odd", 2005).
inline float f32_from_f64_to_odd(double value) {
  float nearest = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  double magnitude = value < 0 ? -value : value;
  double rounded = std::bit_cast<float>(bits & 0x7fffffff);
  // Both comparisons are false for a NaN.
  uint32_t even = ~bits & 1;
  uint32_t up = rounded < magnitude ? even : 0;
  uint32_t down = rounded > magnitude ? even : 0;
  return std::bit_cast<float>(bits + up - down);
}

/// Converts `count` consecutive elements. The source may lie at any address
/// (tensors in a file are not aligned); the destination is aligned to its
/// element. The two do not overlap.
using Conversion = void (*)(const void *source, void *destination,
                            size_t count);

/// The conversion from one of F32, F16, BF16 and F64 to another; null for any
/// other pair.
Conversion conversion(DataType from, DataType to);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_CONVERT_H
