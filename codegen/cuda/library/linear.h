//===- linear.h - linear layers on packed weights -------------------------===//
//
// A matrix product, then bias, activation and residual where its sums are.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_LINEAR_H
#define BATON_CODEGEN_CUDA_LIBRARY_LINEAR_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/blocks.h"

namespace baton::cuda {

/// What becomes of a linear's sums.
struct LinearEnd {
  float *out;
  int64_t out_stride;
  const float *bias, *residual;
  int64_t residual_stride;
  int32_t activation;

  __device__ __forceinline__ void operator()(int64_t row, int64_t column,
                                             const float (&sum)[1]) const {
    float value = sum[0];
    if (bias)
      value += bias[column];
    value = activate(value, activation);
    if (residual)
      value += residual[row * residual_stride + column];
    out[row * out_stride + column] = value;
  }
};

template <typename Weight>
BATON_DEVICE void linear(float *out, int64_t out_stride, const float *x,
                         int64_t x_stride, const Weight *panels,
                         const float *bias, const float *residual,
                         int64_t residual_stride, int64_t rows, int64_t k,
                         int64_t columns, int32_t activation) {
  multiply_panels<1>(
      x, x_stride, panels, rows, k, columns,
      LinearEnd{out, out_stride, bias, residual, residual_stride, activation});
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_linear_f32(float *out, int64_t out_stride,
                                        const float *x, int64_t x_stride,
                                        const float *panels, const float *bias,
                                        const float *residual,
                                        int64_t residual_stride, int64_t rows,
                                        int64_t k, int64_t columns,
                                        int32_t activation) {
  baton::cuda::linear(out, out_stride, x, x_stride, panels, bias, residual,
                      residual_stride, rows, k, columns, activation);
}

BATON_DEVICE void
baton_task_linear_bf16(float *out, int64_t out_stride, const float *x,
                       int64_t x_stride, const uint16_t *panels,
                       const float *bias, const float *residual,
                       int64_t residual_stride, int64_t rows, int64_t k,
                       int64_t columns, int32_t activation) {
  baton::cuda::linear(out, out_stride, x, x_stride,
                      baton::cuda::as_bfloat16(panels), bias, residual,
                      residual_stride, rows, k, columns, activation);
}

BATON_DEVICE void
baton_task_linear_f16(float *out, int64_t out_stride, const float *x,
                      int64_t x_stride, const uint16_t *panels,
                      const float *bias, const float *residual,
                      int64_t residual_stride, int64_t rows, int64_t k,
                      int64_t columns, int32_t activation) {
  baton::cuda::linear(out, out_stride, x, x_stride,
                      baton::cuda::as_float16(panels), bias, residual,
                      residual_stride, rows, k, columns, activation);
}

#define BATON_LINEAR_OF_BLOCKS(NAME, BLOCK)                                    \
  BATON_DEVICE void baton_task_linear_##NAME(                                  \
      float *out, int64_t out_stride, const float *x, int64_t x_stride,        \
      const int8_t *panels, const float *bias, const float *residual,          \
      int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,       \
      int32_t activation) {                                                    \
    baton::cuda::linear(                                                       \
        out, out_stride, x, x_stride,                                          \
        reinterpret_cast<                                                      \
            const baton::cuda::Quantised<baton::blocks::BLOCK> *>(panels),     \
        bias, residual, residual_stride, rows, k, columns, activation);        \
  }
BATON_FOR_EACH_BLOCK(BATON_LINEAR_OF_BLOCKS)
#undef BATON_LINEAR_OF_BLOCKS

BATON_DEVICE void
baton_task_linear_mixed(float *out, int64_t out_stride, const float *x,
                        int64_t x_stride, const int8_t *panels,
                        const float *bias, const float *residual,
                        int64_t residual_stride, int64_t rows, int64_t k,
                        int64_t columns, int32_t activation) {
  baton::cuda::multiply_mixed(
      x, x_stride, x, x_stride, panels, rows, k, columns,
      baton::cuda::LinearEnd{out, out_stride, bias, residual, residual_stride,
                             activation});
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_LINEAR_H
