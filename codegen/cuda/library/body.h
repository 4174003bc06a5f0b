//===- body.h - what task bodies of users are printed in ------------------===//
//
// Memrefs, and the operations of MLIR's arith dialect that C++ has no operator
// for, with the results that the CPU gives (codegen/cuda/BodyPrinter.h). F16
// and BF16 are their bits.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_BODY_H
#define BATON_CODEGEN_CUDA_LIBRARY_BODY_H

#include "codegen/cuda/library/device.h"

namespace baton::cuda {

/// A memref's descriptor. Arrays are one longer than the rank, which may be 0.
template <typename T, int Rank> struct View {
  T *base;
  int64_t offset;
  int64_t sizes[Rank + 1], strides[Rank + 1];

  template <typename... Index> __device__ T &at(Index... index) const {
    const int64_t position[] = {index..., 0};
    int64_t element = offset;
    for (int i = 0; i < Rank; ++i)
      element += position[i] * strides[i];
    return base[element];
  }
};

/// A thread's way through [rows, width]: from `first` on, every `step`-th
/// point. It has arrived when `row` is not below the number of rows.
struct Points {
  int64_t row, column;
  int64_t row_step, column_step;
  int64_t width;

  __device__ __forceinline__ Points(uint32_t first, uint32_t step, int64_t rows,
                                    int64_t width)
      : row(width > 0 ? first / width : rows),
        column(width > 0 ? first % width : 0),
        row_step(width > 0 ? step / width : 0),
        column_step(width > 0 ? step % width : 0), width(width) {}

  __device__ __forceinline__ void advance() {
    row += row_step;
    column += column_step;
    if (column >= width) {
      column -= width;
      ++row;
    }
  }
};

/// Sixteen neighbouring threads, which have a vector. The warp's other sixteen
/// may be elsewhere.
BATON_DEVICE uint32_t threads_of_vector() {
  return 0xffffu << (threadIdx.x & 16);
}

/// The sum of what these have, in ascending order, for all of them.
BATON_DEVICE float sum_of_elements(float value) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; ++i)
    sum += __shfl_sync(threads_of_vector(), value, i, 16);
  return sum;
}

/// The largest of it; what is no number is none.
BATON_DEVICE float largest_of_elements(float value) {
#pragma unroll
  for (int apart = 8; apart > 0; apart /= 2) {
    const float other = __shfl_xor_sync(threads_of_vector(), value, apart, 16);
    value = value != value || other > value ? other : value;
  }
  return value;
}

/// NaN if one is; -0 is smaller than +0.
BATON_DEVICE float maximum(float a, float b) {
  if (a != a || b != b)
    return a + b;
  return a > b || (a == b && copysignf(1.0f, a) > 0) ? a : b;
}
BATON_DEVICE float minimum(float a, float b) {
  if (a != a || b != b)
    return a + b;
  return a < b || (a == b && copysignf(1.0f, a) < 0) ? a : b;
}
/// The number if one is a NaN.
BATON_DEVICE float maximum_number(float a, float b) {
  return a != a || b > a ? b : a;
}
BATON_DEVICE float minimum_number(float a, float b) {
  return a != a || b < a ? b : a;
}

BATON_DEVICE float from_half(uint16_t bits) {
  return baton_half_to_float(bits);
}
BATON_DEVICE float from_bfloat(uint16_t bits) {
  return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}

/// To the nearest, ties to even; NaNs stay NaNs.
BATON_DEVICE uint16_t to_bfloat(float value) {
  const uint32_t bits = __float_as_uint(value);
  if (value != value)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
BATON_DEVICE uint16_t to_half(float value) {
  const uint32_t bits = __float_as_uint(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
  // From half way between the largest number and the next power of two on.
  if (magnitude >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);
  // Subnormal: adding 0.5, whose last place is that of the smallest one,
  // rounds.
  if (magnitude < 0x38800000)
    return static_cast<uint16_t>(
        sign | (__float_as_uint(__uint_as_float(magnitude) + 0.5f) -
                __float_as_uint(0.5f)));
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

BATON_DEVICE int64_t floor_divided(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
BATON_DEVICE int64_t ceil_divided(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient + (a % b != 0 && (a < 0) == (b < 0));
}

/// The same bits as another type of the size.
template <typename To, typename From>
__device__ __forceinline__ To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits are neither cut nor made up");
  union {
    From from;
    To to;
  } bits;
  bits.from = from;
  return bits.to;
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_BODY_H
