//===- attention_gradient_sums.h - what a warp adds up --------------------===//
//
// The results of attention_gradient_matrix.h on their way, in a warp's
// registers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_SUMS_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_SUMS_H

#include "codegen/cuda/library/attention_shape.h"
#include "codegen/cuda/library/operand_types.h"

namespace baton::cuda {

/// Sums of the columns that a warp has of [own rows, Dim]: sixteens, of which
/// the warps that share the rows take turns.
template <int Dim, int Across> struct GradientSums {
  static constexpr int stride = Dim + BatonAttentionGradientShape::gap;
  static constexpr int count = (Dim / 16 + Across - 1) / Across;
  float sum[count][2][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < count; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j)
        sum[i][j / 4][j % 4] = 0.0f;
  }

  /// Adds sixteen rows of a block, times their weights, which are [16, 16].
  template <typename Type>
  __device__ __forceinline__ void add(const uint16_t *weights,
                                      int weight_stride, const uint16_t *rows,
                                      int column, uint32_t lane) {
    uint32_t left[4];
    baton_load_matrices(left,
                        weights + lane % 16 * weight_stride + lane / 16 * 8);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int first = (i * Across + column) * 16;
      if (Dim / 16 % Across != 0 && first >= Dim)
        continue;
      uint32_t right[4];
      baton_load_matrices_transposed(right, rows + lane % 16 * stride + first +
                                                lane / 16 * 8);
      Type::multiply(sum[i][0], left, {right[0], right[1]});
      Type::multiply(sum[i][1], left, {right[2], right[3]});
    }
  }

  /// The warp's rows below `rows`, times `factor`.
  __device__ __forceinline__ void store(float *out, int64_t out_stride,
                                        int rows, int column, float factor,
                                        uint32_t lane) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = static_cast<int>(lane / 4) + half * 8;
      if (row >= rows)
        continue;
      float *target = out + row * out_stride + lane % 4 * 2;
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const int first = (i * Across + column) * 16;
        if (Dim / 16 % Across != 0 && first >= Dim)
          continue;
#pragma unroll
        for (int j = 0; j < 4; ++j)
          target[first + j / 2 * 8 + j % 2] =
              sum[i][j / 2][half * 2 + j % 2] * factor;
      }
    }
  }
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_SUMS_H
