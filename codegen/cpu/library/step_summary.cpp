//===- step_summary.cpp - what a training step comes to ------------------===//

#include "codegen/cpu/library/training.h"
#include "codegen/cpu/library/vector.h"

BATON_TASK void baton_task_step_summary(Real *summary, const Real *loss,
                                        int64_t loss_stride, int64_t rows,
                                        int64_t columns, const Real *squares,
                                        int64_t count, const Real *limit) {
  auto sum = [&](int64_t column) BATON_INLINE_LAMBDA {
    Real total = 0.0f;
    for (int64_t row = 0; row < rows; ++row)
      total += loss[row * loss_stride + column];
    return total;
  };
  Real total = sum(0);
  Real square = 0.0f;
  for (int64_t i = 0; i < count; ++i)
    square += squares[i];
  const Real scale = limit[1];
  const Real norm = __builtin_elementwise_sqrt(square) / scale;
  total /= scale;
  summary[0] = total;
  summary[1] = norm;
  summary[2] =
      (limit[0] > 0.0f && norm > limit[0] ? limit[0] / norm : 1.0f) / scale;
  summary[3] =
      __builtin_isfinite(total) && __builtin_isfinite(norm) ? 1.0f : 0.0f;
  for (int64_t column = 1; column < columns; ++column)
    summary[3 + column] = sum(column) / scale;
}
