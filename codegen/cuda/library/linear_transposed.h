//===- linear_transposed.h - packed weights from their other side ---------===//
//
// The gradient of a linear's inputs by the panels of its weight. An element is
// one chain of fused multiply-adds in ascending depth, as in microkernel.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_LINEAR_TRANSPOSED_H
#define BATON_CODEGEN_CUDA_LIBRARY_LINEAR_TRANSPOSED_H

#include "codegen/cuda/library/panel_inputs.h"

namespace baton::cuda {

/// Steps of four depths that have their loads under way at once. What decodes
/// any format has no registers for several.
template <typename Weight> constexpr int steps_ahead = 4;
template <> constexpr int steps_ahead<MixedPanel> = 1;

template <typename Weight>
BATON_DEVICE void
linear_transposed(float *out, int64_t out_stride, const float *a,
                  int64_t a_stride, const Weight *panels, const float *residual,
                  int64_t residual_stride, int64_t first, int64_t rows,
                  int64_t columns, int64_t depth, int64_t inputs) {
  multiply_tiles<4, 1, steps_ahead<Weight>>(
      a, a_stride, rows, columns, depth,
      [&](int64_t column, int64_t d, int) {
        return weight_of(panels, d, first + column, inputs);
      },
      [&](int64_t row, int64_t column, const float(&sum)[1]) {
        float value = sum[0];
        if (residual)
          value += residual[row * residual_stride + column];
        out[row * out_stride + column] = value;
      });
}

} // namespace baton::cuda

#define BATON_LINEAR_TRANSPOSED(NAME, STORED, WEIGHT)                          \
  BATON_DEVICE void baton_task_linear_transposed_##NAME(                       \
      float *out, int64_t out_stride, const float *a, int64_t a_stride,        \
      const STORED *panels, const float *residual, int64_t residual_stride,    \
      int64_t first, int64_t rows, int64_t columns, int64_t depth,             \
      int64_t inputs, float *) {                                               \
    baton::cuda::linear_transposed(out, out_stride, a, a_stride,               \
                                   reinterpret_cast<const WEIGHT *>(panels),   \
                                   residual, residual_stride, first, rows,     \
                                   columns, depth, inputs);                    \
  }
#define BATON_LINEAR_TRANSPOSED_OF_BLOCKS(NAME, BLOCK)                         \
  BATON_LINEAR_TRANSPOSED(NAME, int8_t,                                        \
                          baton::cuda::Quantised<baton::blocks::BLOCK>)

BATON_LINEAR_TRANSPOSED(f32, float, float)
BATON_LINEAR_TRANSPOSED(bf16, uint16_t, baton::cuda::BFloat16)
BATON_LINEAR_TRANSPOSED(f16, uint16_t, baton::cuda::Float16)
BATON_FOR_EACH_BLOCK(BATON_LINEAR_TRANSPOSED_OF_BLOCKS)
BATON_LINEAR_TRANSPOSED(mixed, int8_t, baton::cuda::MixedPanel)

#undef BATON_LINEAR_TRANSPOSED_OF_BLOCKS
#undef BATON_LINEAR_TRANSPOSED

#endif // BATON_CODEGEN_CUDA_LIBRARY_LINEAR_TRANSPOSED_H
