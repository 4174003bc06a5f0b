//===- preference_loss.cpp - the loss of pairs of answers -----------------===//

#include "codegen/cpu/library/math.h"
#include "codegen/cpu/library/row_sums.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

BATON_TASK void
baton_task_preference_loss(Real *__restrict results, int64_t results_stride,
                           Real *__restrict gradient,
                           const Real *__restrict losses, int64_t losses_stride,
                           const Real *__restrict weights,
                           const Real *__restrict preferences, int64_t rows) {
  for (int64_t first = 0, end = 0; first < rows; first = end) {
    // Log-probabilities are sums of many numbers, whose difference is small.
    double chosen_sum = 0, rejected_sum = 0;
    do {
      if (weights[end] > 0.0f)
        chosen_sum -= static_cast<double>(losses[end * losses_stride]);
      else if (weights[end] < 0.0f)
        rejected_sum += static_cast<double>(losses[end * losses_stride]);
      ++end;
    } while (end < rows && preferences[end * 4] == 0.0f);
    const Real *pair = preferences + first * 4;
    const Real weight = pair[0], beta = pair[1];
    const Real chosen = static_cast<Real>(chosen_sum),
               rejected = static_cast<Real>(rejected_sum);
    // Where nothing has changed yet, these are 0 exactly.
    const Real chosen_gain = chosen - pair[2],
               rejected_gain = rejected - pair[3];
    const Real margin = beta * (chosen_gain - rejected_gain);
    const Real small = exp(margin > 0.0f ? -margin : margin);
    const Real sum = 1.0f + small;
    // log(1 + e), also of an e whose sum with 1 is rounded.
    const Real tail = sum == 1.0f ? small : log(sum) * (small / (sum - 1.0f));
    const Real loss = margin > 0.0f ? tail : tail - margin;
    const Real slope = weight * beta * ((margin > 0.0f ? small : 1.0f) / sum);
    Real *result = results + first * results_stride;
    result[0] = weight * loss;
    result[1] = weight * (beta * chosen_gain);
    result[2] = weight * (beta * rejected_gain);
    result[3] = weight * margin;
    result[4] = margin > 0.0f ? weight : 0.0f;
    result[5] = weight * chosen;
    result[6] = weight * rejected;
    for (int64_t row = first; row < end; ++row) {
      gradient[row] = slope;
      for (int64_t i = 0; row > first && i < 7; ++i)
        results[row * results_stride + i] = 0.0f;
    }
  }
}

BATON_TASK void baton_task_weigh_rows(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      const Real *__restrict factors,
                                      int64_t factors_stride, int64_t rows,
                                      int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real factor = factors[row * factors_stride];
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(out + row * out_stride + first,
                load(x + row * x_stride + first, count) * factor, count);
        });
  }
}
