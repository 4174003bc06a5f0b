//===- deferred_norm_gradient.h - adjoints of an RMS norm's two halves ----===//
//
// In the arithmetic of codegen/cpu/library/deferred_norm_gradient.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_DEFERRED_NORM_GRADIENT_H
#define BATON_CODEGEN_CUDA_LIBRARY_DEFERRED_NORM_GRADIENT_H

#include "codegen/cuda/library/deferred_norm.h"

BATON_DEVICE void baton_task_norm_begin_gradient(
    float *dx, int64_t dx_stride, const float *x, int64_t x_stride,
    const float *weight, const float *scaled_gradient, int64_t scaled_stride,
    const float *squares_gradient, int64_t squares_stride, int64_t rows,
    int64_t width) {
  baton::cuda::fill_rows(
      dx, dx_stride, rows, width, [&](int64_t row, int64_t column) {
        float sum = 0.0f;
        if (squares_gradient)
          sum = x[row * x_stride + column] *
                (2.0f * squares_gradient[row * squares_stride]);
        if (scaled_gradient)
          sum = fmaf(scaled_gradient[row * scaled_stride + column],
                     weight[column], sum);
        return sum;
      });
}

BATON_DEVICE void
baton_task_norm_end_gradient(float *dsquares, int64_t dsquares_stride,
                             const float *dy, int64_t dy_stride, const float *x,
                             int64_t x_stride, const float *squares,
                             int64_t squares_stride, int64_t rows,
                             int64_t columns, int64_t width, float epsilon) {
  baton::cuda::for_each_team(rows, [&](int64_t row, int64_t lane, bool is_own) {
    float sum = 0.0f;
#pragma unroll(baton::cuda::norm_loads)
    for (int64_t i = lane; i < columns; i += baton::cuda::lanes)
      sum = fmaf(dy[row * dy_stride + i], x[row * x_stride + i], sum);
    sum = baton::cuda::sum_of_lanes(sum);
    if (!is_own || lane != 0)
      return;
    const float inverse = baton::cuda::inverse_root(
        squares[row * squares_stride], width, epsilon);
    dsquares[row * dsquares_stride] =
        -0.5f * sum / static_cast<float>(width) * inverse * inverse * inverse;
  });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_DEFERRED_NORM_GRADIENT_H
