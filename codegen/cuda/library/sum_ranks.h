//===- sum_ranks.h - what several ranks have, added up --------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SUM_RANKS_H
#define BATON_CODEGEN_CUDA_LIBRARY_SUM_RANKS_H

#include "codegen/cuda/library/device.h"

BATON_DEVICE void baton_task_sum_ranks(float *parts, int64_t stride,
                                       int64_t ranks, int64_t columns) {
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    float sum = parts[column];
    for (int64_t rank = 1; rank < ranks; ++rank)
      sum += parts[rank * stride + column];
    parts[column] = sum;
  }
}

/// One chain, of one thread: few numbers, in one order.
BATON_DEVICE void baton_task_sum_losses(float *out, int64_t width,
                                        const float *losses, int64_t stride,
                                        int64_t rows) {
  if (baton_thread() != 0)
    return;
  float sum = 0.0f;
#pragma unroll(16)
  for (int64_t row = 0; row < rows; ++row)
    sum += losses[row * stride];
  for (int64_t i = 0; i < width; ++i)
    out[i] = i ? 0.0f : sum;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SUM_RANKS_H
