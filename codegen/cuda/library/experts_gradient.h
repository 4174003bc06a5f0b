//===- experts_gradient.h - adjoints of rows to experts and back ----------===//
//
// In the arithmetic of codegen/cpu/library/experts_gradient.cpp. A thread has a
// row of the router.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_EXPERTS_GRADIENT_H
#define BATON_CODEGEN_CUDA_LIBRARY_EXPERTS_GRADIENT_H

#include "codegen/cuda/library/elementwise_gradient.h"
#include "codegen/cuda/library/experts.h"

namespace baton::cuda {

/// In `gradient`, of all experts, stand those of the scores of the chosen ones,
/// and zeros; then the logits'. Sums are one chain each.
struct RowGradient {
  float *gradient;
  const float *logits;
  const int32_t *chosen;
  int64_t k, count;

  /// Of a softmax of all logits, or of the chosen ones.
  __device__ __forceinline__ void softmax(bool of_chosen) const {
    const int64_t number = of_chosen ? k : count;
    auto expert = [&](int64_t i) { return of_chosen ? chosen[i] : i; };
    float maximum = logits[expert(0)];
    for (int64_t i = 1; i < number; ++i)
      maximum = logits[expert(i)] > maximum ? logits[expert(i)] : maximum;
    float sum = 0.0f, along = 0.0f;
    for (int64_t i = 0; i < number; ++i) {
      const float power = exp(logits[expert(i)] - maximum);
      sum += power;
      along = fmaf(power, gradient[expert(i)], along);
    }
    along /= sum;
    for (int64_t i = 0; i < number; ++i) {
      float &own = gradient[expert(i)];
      own = exp(logits[expert(i)] - maximum) / sum * (own - along);
    }
  }

  __device__ __forceinline__ void sigmoids(bool normalize) const {
    auto score = [&](int64_t j) {
      return 1.0f / (1.0f + exp(-logits[chosen[j]]));
    };
    float sum = 1.0f, along = 0.0f;
    if (normalize) {
      sum = 0.0f;
      for (int64_t j = 0; j < k; ++j) {
        sum += score(j);
        along = fmaf(score(j), gradient[chosen[j]], along);
      }
      along /= sum;
    }
    for (int64_t j = 0; j < k; ++j) {
      const float own = score(j);
      gradient[chosen[j]] =
          (gradient[chosen[j]] - along) / sum * (own * (1.0f - own));
    }
  }
};

} // namespace baton::cuda

BATON_DEVICE void baton_task_route_rows_gradient(
    float *dlogits, int64_t dlogits_stride, const float *dweights,
    int64_t dweights_stride, const float *logits, int64_t logits_stride,
    const int32_t *experts, int64_t experts_stride, int64_t rows, int64_t k,
    int64_t count, int32_t scoring, int32_t normalize, float factor) {
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const baton::cuda::RowGradient own{
        dlogits + row * dlogits_stride, logits + row * logits_stride,
        experts + row * experts_stride, k, count};
    for (int64_t i = 0; i < count; ++i)
      own.gradient[i] = 0.0f;
    for (int64_t j = 0; j < k; ++j)
      own.gradient[own.chosen[j]] =
          dweights[row * dweights_stride + j] * factor;
    if (scoring == BATON_SCORING_SOFTMAX)
      own.softmax(normalize);
    else
      own.sigmoids(normalize);
  }
}

BATON_DEVICE void
baton_task_gather_rows_gradient(float *dx, int64_t dx_stride, const float *dy,
                                int64_t dy_stride, const int32_t *places,
                                int64_t rows, int64_t place_count, int64_t k,
                                int64_t width) {
  baton::cuda::fill_rows(
      dx, dx_stride, rows, width, [&](int64_t row, int64_t column) {
        const int32_t *own = places + row * k;
        const auto count = static_cast<int32_t>(place_count);
        float sum = 0.0f;
        bool is_first = true;
        for (int32_t j = 0; j < int32_t(k); ++j)
          if (own[j] < count) {
            const float value = dy[own[j] * dy_stride + column];
            sum = is_first ? value : sum + value;
            is_first = false;
          }
        return sum;
      });
}

BATON_DEVICE void baton_task_combine_rows_gradient(
    float *dx, int64_t dx_stride, const float *dy, int64_t dy_stride,
    const float *weights, int64_t weights_stride, const int32_t *choices,
    int64_t rows, int64_t, int64_t k, int64_t width) {
  baton::cuda::fill_rows(
      dx, dx_stride, rows, width, [&](int64_t place, int64_t column) {
        const int64_t row = choices[place] / k, j = choices[place] % k;
        return weights[row * weights_stride + j] * dy[row * dy_stride + column];
      });
}

BATON_DEVICE void baton_task_combine_weights_gradient(
    float *dweights, int64_t dweights_stride, const float *dy,
    int64_t dy_stride, const float *x, int64_t x_stride, const int32_t *places,
    int64_t rows, int64_t place_count, int64_t k, int64_t width) {
  baton::cuda::for_each_team(rows * k, [&](int64_t job, int64_t lane,
                                           bool is_own) {
    const int64_t row = job / k, j = job - row * k;
    // Teams stay together, those with nothing to read, too.
    const bool has = places[job] < place_count;
    const float *own = dy + row * dy_stride,
                *made = has ? x + places[job] * x_stride : own;
    const float product = baton::cuda::inner_product(own, made, width, lane);
    if (is_own && lane == 0)
      dweights[row * dweights_stride + j] = has ? product : 0.0f;
  });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_EXPERTS_GRADIENT_H
