//===- matmul.h - product of two activations ------------------------------===//
//
// Where the columns of the right-hand side are not neighbours in memory, the
// first-level cache gathers what a warp reads.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATMUL_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATMUL_H

#include "codegen/cuda/library/microkernel.h"

BATON_DEVICE void baton_task_matmul(float *out, int64_t out_stride,
                                    const float *a, int64_t a_stride,
                                    const float *b, int64_t b_column_stride,
                                    int64_t b_depth_stride, int64_t rows,
                                    int64_t columns, int64_t depth) {
  baton::cuda::multiply<1>(
      a, a_stride, rows, columns, depth,
      [&](int64_t column, int64_t d, int) {
        return b[column * b_column_stride + d * b_depth_stride];
      },
      [&](int64_t row, int64_t column, const float(&sum)[1]) {
        out[row * out_stride + column] = sum[0];
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATMUL_H
