//===- step_summary.h - what a training step comes to ---------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_STEP_SUMMARY_H
#define BATON_CODEGEN_CUDA_LIBRARY_STEP_SUMMARY_H

#include "codegen/cuda/library/math.h"

namespace baton::cuda {

BATON_DEVICE bool is_finite(float value) { return value - value == 0.0f; }

} // namespace baton::cuda

/// Chains of one thread: few numbers, in one order.
BATON_DEVICE void baton_task_step_summary(float *summary, const float *loss,
                                          int64_t loss_stride, int64_t rows,
                                          int64_t columns, const float *squares,
                                          int64_t count, const float *limit) {
  if (baton_thread() != 0)
    return;
  auto sum = [&](int64_t column) {
    float total = 0.0f;
#pragma unroll(16)
    for (int64_t row = 0; row < rows; ++row)
      total += loss[row * loss_stride + column];
    return total;
  };
  float total = sum(0);
  float square = 0.0f;
#pragma unroll(16)
  for (int64_t i = 0; i < count; ++i)
    square += squares[i];
  const float scale = limit[1];
  const float norm = sqrtf(square) / scale;
  total /= scale;
  summary[0] = total;
  summary[1] = norm;
  summary[2] =
      (limit[0] > 0.0f && norm > limit[0] ? limit[0] / norm : 1.0f) / scale;
  summary[3] = baton::cuda::is_finite(total) && baton::cuda::is_finite(norm)
                   ? 1.0f
                   : 0.0f;
  for (int64_t column = 1; column < columns; ++column)
    summary[3 + column] = sum(column) / scale;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_STEP_SUMMARY_H
