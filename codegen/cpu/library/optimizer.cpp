//===- optimizer.cpp - the end of a training step -------------------------===//

#include "codegen/cpu/library/training.h"
#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

BATON_TASK void baton_task_step_summary(float *summary, const float *loss,
                                        int64_t loss_stride, int64_t rows,
                                        const float *squares, int64_t count,
                                        const float *scalars) {
  float total = 0.0f;
  for (int64_t row = 0; row < rows; ++row)
    total += loss[row * loss_stride];
  float square = 0.0f;
  for (int64_t i = 0; i < count; ++i)
    square += squares[i];
  const float norm = __builtin_sqrtf(square);
  const float limit = scalars[7];
  summary[0] = total;
  summary[1] = norm;
  summary[2] = limit > 0.0f && norm > limit ? limit / norm : 1.0f;
  summary[3] = 0.0f;
}

BATON_TASK void
baton_task_adamw(float *weight, int64_t weight_stride, float *average,
                 int64_t average_stride, float *square, int64_t square_stride,
                 const float *gradient, int64_t gradient_stride, int64_t rows,
                 int64_t columns, const float *scalars, const float *summary,
                 int32_t decays) {
  const float rate = scalars[0], keep = scalars[1], keep_square = scalars[2];
  const float epsilon = scalars[3], decay = decays ? scalars[4] : 0.0f;
  const float correction = scalars[5], root_correction = scalars[6];
  const float factor = summary[2];
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(columns, [&](int64_t first,
                                 int64_t count) BATON_INLINE_LAMBDA {
      float *w = weight + row * weight_stride + first;
      float *m = average + row * average_stride + first;
      float *v = square + row * square_stride + first;
      const Vector g =
          load(gradient + row * gradient_stride + first, count) * factor;
      const Vector mean = load(m, count) * keep + g * (1.0f - keep);
      const Vector deviation =
          load(v, count) * keep_square + g * g * (1.0f - keep_square);
      const Vector root = __builtin_elementwise_sqrt(deviation) / root_correction + epsilon;
      store(m, mean, count);
      store(v, deviation, count);
      store(w,
            load(w, count) * (1.0f - rate * decay) -
                rate / correction * (mean / root),
            count);
    });
}
