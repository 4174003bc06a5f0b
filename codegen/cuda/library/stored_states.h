//===- stored_states.h - keys and values as states keep them --------------===//
//
// codegen/cpu/library/stored_states.h says how rows are stored. Here a thread
// reads, or writes, an element.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_STORED_STATES_H
#define BATON_CODEGEN_CUDA_LIBRARY_STORED_STATES_H

#include "codegen/cuda/library/body.h"
#include "codegen/cuda/library/weights.h"

namespace baton::cuda {

struct Int8 {
  uint8_t bits;
};
struct Float8 {
  uint8_t bits;
};

/// Bytes of the scale behind the numbers of a row; 0 if rows have none.
template <typename Element> struct ScaleOf {
  static constexpr int64_t bytes = 0;
};
template <> struct ScaleOf<Int8> {
  static constexpr int64_t bytes = 4;
};
template <> struct ScaleOf<Float8> {
  static constexpr int64_t bytes = 4;
};

/// Rounds to nearest, ties to even, what is far below 2^22.
BATON_DEVICE uint32_t to_whole(float value) {
  const float shift = 0x1.8p23f;
  return __float_as_uint(value + shift) - __float_as_uint(shift);
}

// What elements stand for; a row without a scale is given 1.
// ---------------------

BATON_DEVICE float number_of(float element, float) { return element; }
BATON_DEVICE float number_of(BFloat16 element, float) {
  return from_bfloat(element.bits);
}
BATON_DEVICE float number_of(Int8 element, float scale) {
  return static_cast<float>(static_cast<int8_t>(element.bits)) * scale;
}
BATON_DEVICE float number_of(Float8 element, float scale) {
  const uint32_t bits = element.bits;
  const float magnitude = __uint_as_float((bits & 0x7f) << 20) * 0x1p120f;
  return __uint_as_float(__float_as_uint(magnitude) | (bits & 0x80) << 24) *
         scale;
}
BATON_DEVICE float largest_of(Int8) { return 127.0f; }
BATON_DEVICE float largest_of(Float8) { return 448.0f; }

/// The nearest element, of a number up to the largest.
BATON_DEVICE uint8_t byte_of(Int8, float number) {
  return static_cast<uint8_t>(to_whole(number));
}
BATON_DEVICE uint8_t byte_of(Float8, float number) {
  const uint32_t bits = __float_as_uint(number);
  const uint32_t sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
  // Without a leading one they are multiples of 2^-9.
  const uint32_t small = to_whole(__uint_as_float(magnitude) * 512.0f);
  const uint32_t rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
  const uint32_t normal = (rounded >> 20) - (120 << 3);
  const uint32_t code = magnitude < (121u << 23) ? small
                        : normal > 0x7e          ? 0x7e
                                                 : normal;
  return static_cast<uint8_t>(sign | code);
}

// Where an element of a row lies in a panel of 16 positions, of rows of `row`.
// ---

struct KeyPlaces {
  static __device__ __forceinline__ int64_t of(int64_t place, int64_t element,
                                               int64_t /*row*/) {
    return element * lanes + place;
  }
};
struct ValuePlaces {
  static __device__ __forceinline__ int64_t of(int64_t place, int64_t element,
                                               int64_t row) {
    const int64_t first = element / lanes * lanes;
    return first * lanes + place * smaller(row - first, lanes) + element -
           first;
  }
};

/// The scale of the row at `place`, of `width` numbers; 1 if it has none.
template <typename Places, typename Element>
BATON_DEVICE float scale_of(const Element *panel, int64_t place,
                            int64_t width) {
  uint32_t bits = 0;
  for (int64_t byte = 0; byte < ScaleOf<Element>::bytes; ++byte)
    bits |= static_cast<uint32_t>(reinterpret_cast<const uint8_t *>(
                panel)[Places::of(place, width + byte, width + 4)])
            << 8 * byte;
  return ScaleOf<Element>::bytes ? __uint_as_float(bits) : 1.0f;
}

/// Writes a row of `width` numbers to `place` of a panel, by one warp.
template <typename Places>
BATON_DEVICE void write_row(BFloat16 *panel, int64_t place, const float *x,
                            int64_t width) {
  for (int64_t d = threadIdx.x % 32; d < width; d += 32)
    panel[Places::of(place, d, width)].bits = to_bfloat(x[d]);
}
template <typename Places, typename Element>
BATON_DEVICE void write_row(Element *panel, int64_t place, const float *x,
                            int64_t width) {
  const int64_t lane = threadIdx.x % 32, row = width + ScaleOf<Element>::bytes;
  float largest = 0.0f;
  int finite = 1;
  for (int64_t d = lane; d < width; d += 32) {
    const float magnitude = fabsf(x[d]);
    finite &= __float_as_uint(magnitude) < 0x7f800000u;
    largest = magnitude > largest ? magnitude : largest;
  }
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, largest, apart);
    largest = other > largest ? other : largest;
  }
  const bool is_finite = __all_sync(0xffffffffu, finite);
  const float scale = is_finite ? largest / largest_of(Element{}) : quiet_nan();
  const bool is_zero = !is_finite || scale == 0.0f;
  for (int64_t d = lane; d < width; d += 32)
    panel[Places::of(place, d, row)].bits =
        is_zero ? 0 : byte_of(Element{}, x[d] / scale);
  if (lane < ScaleOf<Element>::bytes)
    panel[Places::of(place, width + lane, row)].bits =
        static_cast<uint8_t>(__float_as_uint(scale) >> 8 * lane);
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_STORED_STATES_H
