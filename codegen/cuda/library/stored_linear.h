//===- stored_linear.h - linear layers on matrices as they are stored -----===//
//
// Neighbouring threads read neighbouring rows of the matrix, which the
// first-level cache gathers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_STORED_LINEAR_H
#define BATON_CODEGEN_CUDA_LIBRARY_STORED_LINEAR_H

#include "codegen/cuda/library/microkernel.h"

namespace baton::cuda {

template <typename Weight>
BATON_DEVICE void stored_linear(float *out, int64_t out_stride, const float *x,
                                int64_t x_stride, const Weight *weight,
                                int64_t weight_stride, const float *bias,
                                int64_t rows, int64_t k, int64_t columns) {
  multiply<1>(
      x, x_stride, rows, columns, k,
      [&](int64_t column, int64_t depth, int) {
        return load_weight(weight + column * weight_stride + depth);
      },
      [&](int64_t row, int64_t column, const float(&sum)[1]) {
        out[row * out_stride + column] = bias ? sum[0] + bias[column] : sum[0];
      });
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_stored_linear_f32(float *out, int64_t out_stride,
                                               const float *x, int64_t x_stride,
                                               const float *weight,
                                               int64_t weight_stride,
                                               const float *bias, int64_t rows,
                                               int64_t k, int64_t columns) {
  baton::cuda::stored_linear(out, out_stride, x, x_stride, weight,
                             weight_stride, bias, rows, k, columns);
}

BATON_DEVICE void
baton_task_stored_linear_bf16(float *out, int64_t out_stride, const float *x,
                              int64_t x_stride, const uint16_t *weight,
                              int64_t weight_stride, const float *bias,
                              int64_t rows, int64_t k, int64_t columns) {
  baton::cuda::stored_linear(out, out_stride, x, x_stride,
                             baton::cuda::as_bfloat16(weight), weight_stride,
                             bias, rows, k, columns);
}

BATON_DEVICE void baton_task_stored_linear_f16(float *out, int64_t out_stride,
                                               const float *x, int64_t x_stride,
                                               const uint16_t *weight,
                                               int64_t weight_stride,
                                               const float *bias, int64_t rows,
                                               int64_t k, int64_t columns) {
  baton::cuda::stored_linear(out, out_stride, x, x_stride,
                             baton::cuda::as_float16(weight), weight_stride,
                             bias, rows, k, columns);
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_STORED_LINEAR_H
