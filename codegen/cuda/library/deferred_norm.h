//===- deferred_norm.h - the two halves of an RMS norm --------------------===//
//
// In the arithmetic of codegen/cpu/library/deferred_norm.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_DEFERRED_NORM_H
#define BATON_CODEGEN_CUDA_LIBRARY_DEFERRED_NORM_H

#include "codegen/cuda/library/norm.h"

namespace baton::cuda {

/// 1 / sqrt(mean of squares + epsilon).
BATON_DEVICE float inverse_root(float squares, int64_t width, float epsilon) {
  return 1.0f / sqrtf(squares / static_cast<float>(width) + epsilon);
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_norm_begin(float *scaled, int64_t scaled_stride,
                                        float *squares, int64_t squares_stride,
                                        const float *x, int64_t x_stride,
                                        const float *weight, int64_t rows,
                                        int64_t width) {
  baton::cuda::for_each_team(rows, [&](int64_t row, int64_t lane, bool is_own) {
    const float *source = x + row * x_stride;
    float sum = 0.0f;
#pragma unroll(baton::cuda::norm_loads)
    for (int64_t i = lane; i < width; i += baton::cuda::lanes)
      sum = fmaf(source[i], source[i], sum);
    sum = baton::cuda::sum_of_lanes(sum);
    if (is_own && lane == 0)
      squares[row * squares_stride] = sum;
  });
  // In place, nobody may write before all have read.
  __syncthreads();
  baton::cuda::fill_rows(scaled, scaled_stride, rows, width,
                         [&](int64_t row, int64_t column) {
                           return x[row * x_stride + column] * weight[column];
                         });
}

BATON_DEVICE void baton_task_norm_end(float *out, int64_t out_stride,
                                      const float *x, int64_t x_stride,
                                      const float *squares,
                                      int64_t squares_stride, int64_t rows,
                                      int64_t columns, int64_t width,
                                      float epsilon) {
  baton::cuda::for_each_row(
      out, out_stride, rows, columns,
      // The same in all sixteen lanes.
      [&](int64_t row, int64_t) {
        return baton::cuda::inverse_root(squares[row * squares_stride], width,
                                         epsilon);
      },
      [&](int64_t row, int64_t column, float inverse) {
        return x[row * x_stride + column] * inverse;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_DEFERRED_NORM_H
