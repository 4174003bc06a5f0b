//===- elementwise_gradient.h - adjoints within a row ---------------------===//
//
// In the arithmetic of codegen/cpu/library/elementwise_gradient.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ELEMENTWISE_GRADIENT_H
#define BATON_CODEGEN_CUDA_LIBRARY_ELEMENTWISE_GRADIENT_H

#include "codegen/cuda/library/elementwise.h"
#include "codegen/cuda/library/lanes.h"

namespace baton::cuda {

/// The sum over a row of a * b, given to all sixteen threads that share it.
/// Called by whole warps.
BATON_DEVICE float inner_product(const float *a, const float *b, int64_t width,
                                 int64_t lane) {
  float sum = 0.0f;
#pragma unroll(8)
  for (int64_t i = lane; i < width; i += lanes)
    sum = fmaf(a[i], b[i], sum);
  return sum_of_lanes(sum);
}

/// Of sigmoid, at x.
BATON_DEVICE float sigmoid_slope(float x) {
  const float open = sigmoid(x);
  return open * (1.0f - open);
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_activate_gradient(float *dx, int64_t dx_stride,
                                               const float *dy,
                                               int64_t dy_stride,
                                               const float *x, int64_t x_stride,
                                               int64_t rows, int64_t width,
                                               int32_t activation) {
  baton::cuda::map(dx, dx_stride, dy, dy_stride, x, x_stride, rows, width,
                   [&](float gradient, float value) {
                     return gradient * baton::cuda::slope(value, activation);
                   });
}

BATON_DEVICE void baton_task_clamped_swiglu_gate_gradient(
    float *dx, int64_t dx_stride, const float *dy, int64_t dy_stride,
    const float *gate, int64_t gate_stride, const float *up, int64_t up_stride,
    int64_t rows, int64_t width) {
  baton::cuda::fill_rows(dx, dx_stride, rows, width,
                         [&](int64_t row, int64_t column) {
                           return dy[row * dy_stride + column] *
                                  baton::cuda::clamped_swiglu_gate_slope(
                                      gate[row * gate_stride + column],
                                      up[row * up_stride + column]);
                         });
}

BATON_DEVICE void baton_task_clamped_swiglu_up_gradient(
    float *dx, int64_t dx_stride, const float *dy, int64_t dy_stride,
    const float *gate, int64_t gate_stride, const float *up, int64_t up_stride,
    int64_t rows, int64_t width) {
  baton::cuda::fill_rows(dx, dx_stride, rows, width,
                         [&](int64_t row, int64_t column) {
                           return dy[row * dy_stride + column] *
                                  baton::cuda::clamped_swiglu_up_slope(
                                      gate[row * gate_stride + column],
                                      up[row * up_stride + column]);
                         });
}

BATON_DEVICE void baton_task_tanh_gradient(float *dx, int64_t dx_stride,
                                           const float *dy, int64_t dy_stride,
                                           const float *y, int64_t y_stride,
                                           int64_t rows, int64_t width) {
  baton::cuda::map(dx, dx_stride, dy, dy_stride, y, y_stride, rows, width,
                   [](float gradient, float value) {
                     return gradient * (1.0f - value * value);
                   });
}

BATON_DEVICE void baton_task_softmax_gradient(float *dx, int64_t dx_stride,
                                              const float *dy,
                                              int64_t dy_stride, const float *y,
                                              int64_t y_stride, int64_t rows,
                                              int64_t width) {
  baton::cuda::for_each_row(
      dx, dx_stride, rows, width,
      [&](int64_t row, int64_t lane) {
        return baton::cuda::inner_product(dy + row * dy_stride,
                                          y + row * y_stride, width, lane);
      },
      [&](int64_t row, int64_t column, float sum) {
        return y[row * y_stride + column] *
               (dy[row * dy_stride + column] - sum);
      });
}

BATON_DEVICE void
baton_task_gate_gradient(float *dgate, int64_t dgate_stride, const float *dy,
                         int64_t dy_stride, const float *x, int64_t x_stride,
                         const float *gate, int64_t gate_stride, int64_t rows,
                         int64_t heads, int64_t width, int64_t gate_width) {
  if (gate_width != 1) {
    baton::cuda::fill_rows(
        dgate, dgate_stride, rows, heads * width,
        [&](int64_t row, int64_t column) {
          return dy[row * dy_stride + column] * x[row * x_stride + column] *
                 baton::cuda::sigmoid_slope(gate[row * gate_stride + column]);
        });
    return;
  }
  baton::cuda::for_each_team(
      rows * heads, [&](int64_t vector, int64_t lane, bool is_own) {
        const int64_t row =
            static_cast<uint32_t>(vector) / static_cast<uint32_t>(heads);
        const int64_t head = vector - row * heads;
        const float sum = baton::cuda::inner_product(
            dy + row * dy_stride + head * width,
            x + row * x_stride + head * width, width, lane);
        if (is_own && lane == 0)
          dgate[row * dgate_stride + head] =
              sum * baton::cuda::sigmoid_slope(gate[row * gate_stride + head]);
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ELEMENTWISE_GRADIENT_H
