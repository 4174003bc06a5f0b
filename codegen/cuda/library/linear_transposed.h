//===- linear_transposed.h - packed weights from their other side ---------===//
//
// The gradient of a linear's inputs by the panels of its weight. An element is
// one chain of fused multiply-adds in ascending depth, as in microkernel.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_LINEAR_TRANSPOSED_H
#define BATON_CODEGEN_CUDA_LIBRARY_LINEAR_TRANSPOSED_H

#include "codegen/cuda/library/blocks.h"

namespace baton::cuda {

template <typename Weight>
BATON_DEVICE float weight_of(const Weight *panels, int64_t output,
                             int64_t input, int64_t inputs) {
  return load_weight(panels + (output / lanes * inputs + input) * lanes +
                     output % lanes);
}

template <typename Block>
BATON_DEVICE float weight_of(const Quantised<Block> *panels, int64_t output,
                             int64_t input, int64_t inputs) {
  return weight_at(panels + output / lanes * panel_bytes<Block>(inputs), input,
                   output % lanes);
}

/// Panels that each say which format they have.
struct MixedPanel {
  int8_t byte;
};

BATON_DEVICE float weight_of(const MixedPanel *panels, int64_t output,
                             int64_t input, int64_t) {
  const int64_t stride =
      reinterpret_cast<const blocks::MixedHead *>(panels)->stride;
  const MixedPanel *panel = panels + output / lanes * stride;
  switch (reinterpret_cast<const blocks::MixedHead *>(panel)->format) {
#define BATON_WEIGHT_OF_FORMAT(NAME, BLOCK)                                    \
  case blocks::NAME:                                                           \
    return weight_at(reinterpret_cast<const Quantised<blocks::BLOCK> *>(       \
                         panel + sizeof(blocks::MixedHead)),                   \
                     input, output % lanes);
    BATON_FOR_EACH_BLOCK(BATON_WEIGHT_OF_FORMAT)
#undef BATON_WEIGHT_OF_FORMAT
  }
  return quiet_nan();
}

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
