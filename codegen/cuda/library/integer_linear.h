//===- integer_linear.h - linear layers on inputs of 8 bits ---------------===//
//
// A thread has one output of up to four rows. Units of a block are sums of
// whole numbers, four products at a time, which a scale of the weights and one
// of the inputs makes a number that is added to the product.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_INTEGER_LINEAR_H
#define BATON_CODEGEN_CUDA_LIBRARY_INTEGER_LINEAR_H

#include "codegen/cuda/library/gated_linear.h"
#include "codegen/cuda/library/linear.h"

namespace baton::cuda {

using blocks::QuantisedInputs;

/// Whether a number is added to each weight.
template <typename Block> constexpr bool has_offset = true;
template <> inline constexpr bool has_offset<blocks::Q8_0> = false;
template <> inline constexpr bool has_offset<blocks::Int8_G64> = false;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// To the nearest whole number, halves to the even one, of less than 2^22.
BATON_DEVICE float rounded(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

BATON_DEVICE void quantise(QuantisedInputs &out, const float *x) {
  // Bits of the largest |x|; those of what is not finite are larger than
  // others.
  uint32_t bits = 0;
  for (int i = 0; i < QuantisedInputs::inputs; ++i) {
    const uint32_t more = __float_as_uint(x[i]) & 0x7fffffffu;
    bits = more > bits ? more : bits;
  }
  const float scale = __uint_as_float(bits) / 127.0f;
  // 1 / scale is finite.
  const bool is_usable = scale >= 0x1p-126f && bits < 0x7f800000u;
  const float inverse = is_usable ? 1.0f / scale : 0.0f;
  int sums[2] = {0, 0};
  for (int i = 0; i < QuantisedInputs::inputs; ++i) {
    const int q = is_usable ? static_cast<int>(rounded(x[i] * inverse)) : 0;
    out.quants[i] = static_cast<int8_t>(q);
    sums[i / 16] += q;
  }
  out.scale = is_usable || bits >= 0x7f800000u ? scale : 0.0f;
  out.sums[0] = static_cast<int16_t>(sums[0]);
  out.sums[1] = static_cast<int16_t>(sums[1]);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Four numbers of a row, from `place` on.
BATON_DEVICE uint32_t four_of(const QuantisedInputs &inputs, int place) {
  return reinterpret_cast<const uint32_t *>(inputs.quants)[place / 4];
}

/// Adds a unit's product to `to`: `sum` of its numbers times the inputs', and
/// `inputs`, the sum of these, whose scale is `scale`.
template <typename Block>
BATON_DEVICE void add_unit(float &to, int sum, int inputs, UnitScales scales,
                           float scale) {
  to = fmaf(static_cast<float>(sum), scales.scale * scale, to);
  if (has_offset<Block>)
    to = fmaf(scales.offset, scale * static_cast<float>(inputs), to);
}

/// Rows are what quantise_rows has made.
struct Integers {
  template <typename Block>
  static constexpr bool multiplies = blocks::IsInteger<Block>::value;

  template <int Rows, int Sides, typename Block>
  static __device__ __forceinline__ void
  add(float (&total)[Rows][Sides], const float *const (&left)[Rows],
      const Block *const (&panels)[Sides], int64_t lane, int64_t depth) {
    typedef Reader<Block> Read;
    constexpr int units = QuantisedInputs::inputs / Read::unit;
    const int64_t blocks = depth / Block::inputs;
#pragma unroll 1
    for (int64_t block = 0; block < blocks; ++block)
#pragma unroll 1
      for (int unit = 0; unit < Block::inputs / Read::unit; ++unit) {
        const int64_t place = (block * Block::inputs + unit * Read::unit) /
                              QuantisedInputs::inputs;
        const int half = unit % units;
        int sum[Rows][Sides];
#pragma unroll
        for (int row = 0; row < Rows; ++row)
#pragma unroll
          for (int side = 0; side < Sides; ++side)
            sum[row][side] = 0;
#pragma unroll
        for (int group = 0; group < Read::unit / Read::group; ++group) {
          typename Read::Group bits[Sides];
#pragma unroll
          for (int side = 0; side < Sides; ++side)
            bits[side] = Read::load(panels[side][block], unit, group, lane);
#pragma unroll
          for (int four = 0; four < Read::group / 4; ++four)
#pragma unroll
            for (int row = 0; row < Rows; ++row) {
              const uint32_t x =
                  four_of(at(left[row])[place],
                          half * Read::unit + group * Read::group + 4 * four);
#pragma unroll
              for (int side = 0; side < Sides; ++side)
                sum[row][side] = baton_dot_bytes(
                    sum[row][side], Read::bytes(bits[side], four), x);
            }
        }
#pragma unroll
        for (int side = 0; side < Sides; ++side) {
          const UnitScales scales =
              Read::scales(panels[side][block], unit, lane);
#pragma unroll
          for (int row = 0; row < Rows; ++row) {
            const QuantisedInputs &from = at(left[row])[place];
            const int inputs =
                units > 1 ? from.sums[half] : from.sums[0] + from.sums[1];
            add_unit<Block>(total[row][side], sum[row][side], inputs, scales,
                            from.scale);
          }
        }
      }
  }

private:
  static __device__ __forceinline__ const QuantisedInputs *
  at(const float *row) {
    return reinterpret_cast<const QuantisedInputs *>(row);
  }
};

} // namespace baton::cuda

BATON_DEVICE void baton_task_quantise_rows(float *out, int64_t out_stride,
                                           const float *x, int64_t x_stride,
                                           int64_t rows, int64_t k) {
  using baton::cuda::QuantisedInputs;
  baton::cuda::for_each_element(
      rows, k / QuantisedInputs::inputs, [&](int64_t row, int64_t place) {
        baton::cuda::quantise(
            reinterpret_cast<QuantisedInputs *>(out + row * out_stride)[place],
            x + row * x_stride + place * QuantisedInputs::inputs);
      });
}

#define BATON_INTEGER_LINEARS(NAME, BLOCK)                                     \
  BATON_DEVICE void baton_task_integer_linear_##NAME(                          \
      float *out, int64_t out_stride, const float *x, int64_t x_stride,        \
      const int8_t *panels, const float *bias, const float *residual,          \
      int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,       \
      int32_t activation) {                                                    \
    baton::cuda::multiply_panels<1, baton::cuda::Integers>(                    \
        x, x_stride,                                                           \
        reinterpret_cast<                                                      \
            const baton::cuda::Quantised<baton::blocks::BLOCK> *>(panels),     \
        rows, k, columns,                                                      \
        baton::cuda::LinearEnd{out, out_stride, bias, residual,                \
                               residual_stride, activation});                  \
  }                                                                            \
  BATON_DEVICE void baton_task_integer_gated_linear_##NAME(                    \
      float *out, int64_t out_stride, const float *x, int64_t x_stride,        \
      const int8_t *panels, const float *bias_gate, const float *bias_up,      \
      int64_t rows, int64_t k, int64_t columns, int32_t activation) {          \
    baton::cuda::multiply_panels<2, baton::cuda::Integers>(                    \
        x, x_stride,                                                           \
        reinterpret_cast<                                                      \
            const baton::cuda::Quantised<baton::blocks::BLOCK> *>(panels),     \
        rows, k, columns,                                                      \
        baton::cuda::GatedEnd{out, out_stride, bias_gate, bias_up,             \
                              activation});                                    \
  }
BATON_FOR_EACH_INTEGER_BLOCK(BATON_INTEGER_LINEARS)
#undef BATON_INTEGER_LINEARS

BATON_DEVICE void baton_task_integer_linear_mixed(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const int8_t *panels, const float *bias, const float *residual,
    int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,
    int32_t activation) {
  baton::cuda::multiply_mixed<baton::cuda::Integers>(
      x, x_stride, x, x_stride, panels, rows, k, columns,
      baton::cuda::LinearEnd{out, out_stride, bias, residual, residual_stride,
                             activation});
}

BATON_DEVICE void baton_task_partly_integer_linear_mixed(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const float *exact, int64_t exact_stride, const int8_t *panels,
    const float *bias, const float *residual, int64_t residual_stride,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  baton::cuda::multiply_mixed<baton::cuda::Integers>(
      x, x_stride, exact, exact_stride, panels, rows, k, columns,
      baton::cuda::LinearEnd{out, out_stride, bias, residual, residual_stride,
                             activation});
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_INTEGER_LINEAR_H
