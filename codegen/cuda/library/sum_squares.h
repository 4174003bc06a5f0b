//===- sum_squares.h - norms of gradients ---------------------------------===//
//
// Rows are summed side by side, and their sums in ascending order.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SUM_SQUARES_H
#define BATON_CODEGEN_CUDA_LIBRARY_SUM_SQUARES_H

#include "codegen/cuda/library/elementwise_gradient.h"

BATON_DEVICE void baton_task_sum_squares(float *out, const float *x,
                                         int64_t elements, int64_t columns) {
  // Of as many rows as there are sixteens of threads, at most.
  __shared__ float sums[1024 / baton::cuda::lanes];
  const uint32_t teams = baton_threads() / baton::cuda::lanes;
  const int64_t rows = (elements + columns - 1) / columns;
  float sum = 0.0f;
  for (int64_t first = 0; first < rows; first += teams) {
    const int64_t count = baton::cuda::smaller(rows - first, teams);
    __syncthreads();
    baton::cuda::for_each_team(
        count, [&](int64_t row, int64_t lane, bool is_own) {
          const int64_t begin = (first + row) * columns;
          const float *source = x + begin;
          const float squares = baton::cuda::inner_product(
              source, source, baton::cuda::smaller(elements - begin, columns),
              lane);
          if (is_own && lane == 0)
            sums[row] = squares;
        });
    __syncthreads();
    if (baton_thread() == 0)
      for (int64_t row = 0; row < count; ++row)
        sum += sums[row];
  }
  if (baton_thread() == 0)
    out[0] = sum;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SUM_SQUARES_H
