//===- preference_loss.h - the loss of pairs of answers -------------------===//
//
// In the arithmetic of codegen/cpu/library/preference_loss.cpp. A thread has a
// pair, which it finds at the pair's first row.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PREFERENCE_LOSS_H
#define BATON_CODEGEN_CUDA_LIBRARY_PREFERENCE_LOSS_H

#include "codegen/cuda/library/elements.h"
#include "codegen/cuda/library/math.h"
#include "codegen/cuda/library/row_sums.h"

BATON_DEVICE void
baton_task_preference_loss(float *results, int64_t results_stride,
                           float *gradient, const float *losses,
                           int64_t losses_stride, const float *weights,
                           const float *preferences, int64_t rows) {
  for (int64_t first = baton_thread(); first < rows; first += baton_threads()) {
    const float *pair = preferences + first * 4;
    if (first > 0 && pair[0] == 0.0f)
      continue;
    int64_t end = first;
    double chosen_sum = 0, rejected_sum = 0;
    do {
      if (weights[end] > 0.0f)
        chosen_sum -= static_cast<double>(losses[end * losses_stride]);
      else if (weights[end] < 0.0f)
        rejected_sum += static_cast<double>(losses[end * losses_stride]);
      ++end;
    } while (end < rows && preferences[end * 4] == 0.0f);
    const float weight = pair[0], beta = pair[1];
    const float chosen = static_cast<float>(chosen_sum),
                rejected = static_cast<float>(rejected_sum);
    const float chosen_gain = chosen - pair[2],
                rejected_gain = rejected - pair[3];
    const float margin = beta * (chosen_gain - rejected_gain);
    const float small = baton::cuda::exp(margin > 0.0f ? -margin : margin);
    const float sum = 1.0f + small;
    const float tail =
        sum == 1.0f ? small : baton::cuda::log(sum) * (small / (sum - 1.0f));
    const float loss = margin > 0.0f ? tail : tail - margin;
    const float slope = weight * beta * ((margin > 0.0f ? small : 1.0f) / sum);
    float *result = results + first * results_stride;
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

BATON_DEVICE void baton_task_weigh_rows(float *out, int64_t out_stride,
                                        const float *x, int64_t x_stride,
                                        const float *factors,
                                        int64_t factors_stride, int64_t rows,
                                        int64_t width) {
  baton::cuda::fill_rows(
      out, out_stride, rows, width, [&](int64_t row, int64_t column) {
        return x[row * x_stride + column] * factors[row * factors_stride];
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_PREFERENCE_LOSS_H
