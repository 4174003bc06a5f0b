//===- elementwise.h - element-wise bodies --------------------------------===//
//
// One pattern: a function of the elements at the same place of its inputs.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ELEMENTWISE_H
#define BATON_CODEGEN_CUDA_LIBRARY_ELEMENTWISE_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/elements.h"

namespace baton::cuda {

template <typename Function>
BATON_DEVICE void map(float *out, int64_t out_stride, const float *x,
                      int64_t x_stride, int64_t rows, int64_t width,
                      Function function) {
  fill_rows(out, out_stride, rows, width, [&](int64_t row, int64_t column) {
    return function(x[row * x_stride + column]);
  });
}

template <typename Function>
BATON_DEVICE void map(float *out, int64_t out_stride, const float *a,
                      int64_t a_stride, const float *b, int64_t b_stride,
                      int64_t rows, int64_t width, Function function) {
  fill_rows(out, out_stride, rows, width, [&](int64_t row, int64_t column) {
    return function(a[row * a_stride + column], b[row * b_stride + column]);
  });
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_copy(float *out, int64_t out_stride,
                                  const float *x, int64_t x_stride,
                                  int64_t rows, int64_t width) {
  baton::cuda::map(out, out_stride, x, x_stride, rows, width,
                   [](float value) { return value; });
}

BATON_DEVICE void baton_task_scale(float *out, int64_t out_stride,
                                   const float *x, int64_t x_stride,
                                   int64_t rows, int64_t width, float factor) {
  baton::cuda::map(out, out_stride, x, x_stride, rows, width,
                   [&](float value) { return value * factor; });
}

BATON_DEVICE void baton_task_add(float *out, int64_t out_stride, const float *a,
                                 int64_t a_stride, const float *b,
                                 int64_t b_stride, int64_t rows,
                                 int64_t width) {
  baton::cuda::map(out, out_stride, a, a_stride, b, b_stride, rows, width,
                   [](float left, float right) { return left + right; });
}

BATON_DEVICE void baton_task_mul(float *out, int64_t out_stride, const float *a,
                                 int64_t a_stride, const float *b,
                                 int64_t b_stride, int64_t rows,
                                 int64_t width) {
  baton::cuda::map(out, out_stride, a, a_stride, b, b_stride, rows, width,
                   [](float left, float right) { return left * right; });
}

BATON_DEVICE void baton_task_clamped_swiglu(float *out, int64_t out_stride,
                                            const float *gate,
                                            int64_t gate_stride,
                                            const float *up, int64_t up_stride,
                                            int64_t rows, int64_t width) {
  baton::cuda::map(out, out_stride, gate, gate_stride, up, up_stride, rows,
                   width, [](float left, float right) {
                     return baton::cuda::clamped_swiglu(left, right);
                   });
}

BATON_DEVICE void baton_task_tanh(float *out, int64_t out_stride,
                                  const float *x, int64_t x_stride,
                                  int64_t rows, int64_t width) {
  baton::cuda::map(out, out_stride, x, x_stride, rows, width,
                   [](float value) { return baton::cuda::tanh(value); });
}

BATON_DEVICE void baton_task_silu(float *out, int64_t out_stride,
                                  const float *x, int64_t x_stride,
                                  int64_t rows, int64_t width) {
  baton::cuda::map(out, out_stride, x, x_stride, rows, width,
                   [](float value) { return baton::cuda::silu(value); });
}

BATON_DEVICE void baton_task_gelu(float *out, int64_t out_stride,
                                  const float *x, int64_t x_stride,
                                  int64_t rows, int64_t width) {
  baton::cuda::map(out, out_stride, x, x_stride, rows, width,
                   [](float value) { return baton::cuda::gelu(value); });
}

BATON_DEVICE void baton_task_gelu_tanh(float *out, int64_t out_stride,
                                       const float *x, int64_t x_stride,
                                       int64_t rows, int64_t width) {
  baton::cuda::map(out, out_stride, x, x_stride, rows, width,
                   [](float value) { return baton::cuda::gelu_tanh(value); });
}

BATON_DEVICE void baton_task_relu(float *out, int64_t out_stride,
                                  const float *x, int64_t x_stride,
                                  int64_t rows, int64_t width) {
  baton::cuda::map(out, out_stride, x, x_stride, rows, width,
                   [](float value) { return baton::cuda::relu(value); });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ELEMENTWISE_H
