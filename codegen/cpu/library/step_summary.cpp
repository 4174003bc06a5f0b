//===- step_summary.cpp - what a training step comes to ------------------===//

#include "codegen/cpu/library/training.h"
#include "codegen/cpu/library/vector.h"

BATON_TASK void baton_task_step_summary(float *summary, const float *loss,
                                        int64_t loss_stride, int64_t rows,
                                        const float *squares, int64_t count,
                                        const float *limit) {
  float total = 0.0f;
  for (int64_t row = 0; row < rows; ++row)
    total += loss[row * loss_stride];
  float square = 0.0f;
  for (int64_t i = 0; i < count; ++i)
    square += squares[i];
  const float norm = __builtin_sqrtf(square);
  summary[0] = total;
  summary[1] = norm;
  summary[2] = *limit > 0.0f && norm > *limit ? *limit / norm : 1.0f;
  summary[3] =
      __builtin_isfinite(total) && __builtin_isfinite(norm) ? 1.0f : 0.0f;
}
