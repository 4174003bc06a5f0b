//===- magnitude.h - rows of adapted weights with trained lengths ---------===//
//
// In the arithmetic of codegen/cpu/library/magnitude.cpp. A thread has one of
// the eight chains of an output's squares, of which neighbours read neighbours'
// weights.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MAGNITUDE_H
#define BATON_CODEGEN_CUDA_LIBRARY_MAGNITUDE_H

#include "codegen/cuda/library/panel_inputs.h"
#include "codegen/cuda/library/row_sums.h"

namespace baton::cuda {

constexpr int64_t square_chains = 8;

/// Elements of a chain that are made at once, so that a rank's number is read
/// once for all. What decodes Q6_K, or any format, has registers for one.
template <typename Weight> constexpr int elements_together = 4;
template <> constexpr int elements_together<Quantised<baton::blocks::Q6_K>> = 1;
template <> constexpr int elements_together<MixedPanel> = 1;

/// `squares` with those of some of a chain's elements, from input `d` on.
template <int Count, typename Weight>
BATON_DEVICE float add_squares(float squares, const Weight *panels,
                               int64_t output, int64_t d, const float *down,
                               int64_t down_stride, const float *up,
                               float factor, int64_t rank, int64_t depth) {
  float elements[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i)
    elements[i] = weight_of(panels, output, d + i * square_chains, depth);
  for (int64_t r = 0; r < rank; ++r) {
    const float scaled = factor * up[r];
#pragma unroll
    for (int i = 0; i < Count; ++i)
      elements[i] = fmaf(scaled, down[r * down_stride + d + i * square_chains],
                         elements[i]);
  }
#pragma unroll
  for (int i = 0; i < Count; ++i)
    squares = fmaf(elements[i], elements[i], squares);
  return squares;
}

template <typename Weight>
BATON_DEVICE void adapted_squares(float *out, const Weight *panels,
                                  const float *down, int64_t down_stride,
                                  const float *up, int64_t up_stride,
                                  float factor, int64_t columns, int64_t rank,
                                  int64_t depth, float *sums) {
  constexpr int together = elements_together<Weight>;
  for (int64_t item = baton_thread(); item < columns * square_chains;
       item += baton_threads()) {
    const int64_t column = item % columns;
    const float *row = up + column * up_stride;
    float squares = 0.0f;
    int64_t d = item / columns;
    for (; d + (together - 1) * square_chains < depth;
         d += together * square_chains)
      squares = add_squares<together>(squares, panels, column, d, down,
                                      down_stride, row, factor, rank, depth);
    for (; d < depth; d += square_chains)
      squares = add_squares<1>(squares, panels, column, d, down, down_stride,
                               row, factor, rank, depth);
    sums[item] = squares;
  }
  __syncthreads();
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    auto pair = [&](int64_t chain) {
      return sums[chain * columns + column] +
             sums[(chain + 1) * columns + column];
    };
    out[column] = (pair(0) + pair(2)) + (pair(4) + pair(6));
  }
}

} // namespace baton::cuda

#define BATON_ADAPTED_SQUARES(NAME, STORED, WEIGHT)                            \
  BATON_DEVICE void baton_task_adapted_squares_##NAME(                         \
      float *out, const STORED *panels, const float *down,                     \
      int64_t down_stride, const float *up, int64_t up_stride, float factor,   \
      int64_t columns, int64_t rank, int64_t depth, float *scratch) {          \
    baton::cuda::adapted_squares(                                              \
        out, reinterpret_cast<const WEIGHT *>(panels), down, down_stride, up,  \
        up_stride, factor, columns, rank, depth, scratch);                     \
  }
#define BATON_ADAPTED_SQUARES_OF_BLOCKS(NAME, BLOCK)                           \
  BATON_ADAPTED_SQUARES(NAME, int8_t,                                          \
                        baton::cuda::Quantised<baton::blocks::BLOCK>)

BATON_ADAPTED_SQUARES(f32, float, float)
BATON_ADAPTED_SQUARES(bf16, uint16_t, baton::cuda::BFloat16)
BATON_ADAPTED_SQUARES(f16, uint16_t, baton::cuda::Float16)
BATON_FOR_EACH_BLOCK(BATON_ADAPTED_SQUARES_OF_BLOCKS)
BATON_ADAPTED_SQUARES(mixed, int8_t, baton::cuda::MixedPanel)

#undef BATON_ADAPTED_SQUARES_OF_BLOCKS
#undef BATON_ADAPTED_SQUARES

/// A thread has columns, of which it takes the root once.
BATON_DEVICE void baton_task_magnitude(float *out, int64_t out_stride,
                                       const float *x, int64_t x_stride,
                                       const float *magnitude,
                                       const float *squares, const float *bias,
                                       int64_t rows, int64_t columns) {
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    const float scale = magnitude[column] / sqrtf(squares[column]);
    const float added = bias ? bias[column] : 0.0f;
#pragma unroll(8)
    for (int64_t row = 0; row < rows; ++row) {
      const float value = x[row * x_stride + column] * scale;
      out[row * out_stride + column] = bias ? value + added : value;
    }
  }
}

BATON_DEVICE void
baton_task_magnitude_gradient(float *out, const float *dy, int64_t dy_stride,
                              const float *x, int64_t x_stride,
                              const float *squares, int64_t rows,
                              int64_t columns, const int32_t *accumulate) {
  baton::cuda::sum_over_rows(
      out, rows, columns, accumulate,
      [&](float sum, int64_t row, int64_t column) {
        return fmaf(dy[row * dy_stride + column], x[row * x_stride + column],
                    sum);
      },
      [&](float sum, int64_t column) { return sum / sqrtf(squares[column]); });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_MAGNITUDE_H
