//===- experts_gradient.cpp - adjoints of rows to experts and back --------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/math.h"

using namespace baton::cpu;

namespace {

/// In `gradient`, of all experts, stand those of the scores of the chosen ones,
/// and zeros; then the logits'. Sums are one chain each.
struct RowGradient {
  Real *gradient;
  const Real *logits;
  const int32_t *chosen;
  int64_t k, count;

  /// Of a softmax of all logits, or of the chosen ones.
  BATON_INLINE void softmax(bool of_chosen) const {
    const int64_t number = of_chosen ? k : count;
    auto expert = [&](int64_t i)
                      BATON_INLINE_LAMBDA { return of_chosen ? chosen[i] : i; };
    Real maximum = logits[expert(0)];
    for (int64_t i = 1; i < number; ++i)
      maximum = logits[expert(i)] > maximum ? logits[expert(i)] : maximum;
    Real sum = 0.0f, along = 0.0f;
    for (int64_t i = 0; i < number; ++i) {
      const Real power = exp(logits[expert(i)] - maximum);
      sum += power;
      along = __builtin_elementwise_fma(power, gradient[expert(i)], along);
    }
    along /= sum;
    for (int64_t i = 0; i < number; ++i) {
      Real &own = gradient[expert(i)];
      own = exp(logits[expert(i)] - maximum) / sum * (own - along);
    }
  }

  BATON_INLINE void sigmoids(bool normalize) const {
    auto score = [&](int64_t j) BATON_INLINE_LAMBDA {
      return 1.0f / (1.0f + exp(-logits[chosen[j]]));
    };
    Real sum = 1.0f, along = 0.0f;
    if (normalize) {
      sum = 0.0f;
      for (int64_t j = 0; j < k; ++j) {
        sum += score(j);
        along = __builtin_elementwise_fma(score(j), gradient[chosen[j]], along);
      }
      along /= sum;
    }
    for (int64_t j = 0; j < k; ++j) {
      const Real own = score(j);
      gradient[chosen[j]] =
          (gradient[chosen[j]] - along) / sum * (own * (1.0f - own));
    }
  }
};

} // namespace

BATON_TASK void baton_task_route_rows_gradient(
    Real *__restrict dlogits, int64_t dlogits_stride,
    const Real *__restrict dweights, int64_t dweights_stride,
    const Real *__restrict logits, int64_t logits_stride,
    const int32_t *__restrict experts, int64_t experts_stride, int64_t rows,
    int64_t k, int64_t count, int32_t scoring, int32_t normalize, Real factor) {
  for (int64_t row = 0; row < rows; ++row) {
    const RowGradient own{dlogits + row * dlogits_stride,
                          logits + row * logits_stride,
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

BATON_TASK void
baton_task_gather_rows_gradient(Real *__restrict dx, int64_t dx_stride,
                                const Real *__restrict dy, int64_t dy_stride,
                                const int32_t *__restrict places, int64_t rows,
                                int64_t place_count, int64_t k, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t *own = places + row * k;
    int64_t begin = 0;
    while (begin < k && own[begin] >= place_count)
      ++begin;
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      Vector sum = begin < k ? load(dy + own[begin] * dy_stride + first, count)
                             : splat(0.0f);
      for (int64_t j = begin + 1; j < k; ++j)
        if (own[j] < place_count)
          sum += load(dy + own[j] * dy_stride + first, count);
      store(dx + row * dx_stride + first, sum, count);
    });
  }
}

BATON_TASK void baton_task_combine_rows_gradient(
    Real *__restrict dx, int64_t dx_stride, const Real *__restrict dy,
    int64_t dy_stride, const Real *__restrict weights, int64_t weights_stride,
    const int32_t *__restrict choices, int64_t rows, int64_t, int64_t k,
    int64_t width) {
  for (int64_t place = 0; place < rows; ++place) {
    const int64_t row = choices[place] / k, j = choices[place] % k;
    const Real weight = weights[row * weights_stride + j];
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(dx + place * dx_stride + first,
                weight * load(dy + row * dy_stride + first, count), count);
        });
  }
}

BATON_TASK void baton_task_combine_weights_gradient(
    Real *__restrict dweights, int64_t dweights_stride,
    const Real *__restrict dy, int64_t dy_stride, const Real *__restrict x,
    int64_t x_stride, const int32_t *__restrict places, int64_t rows,
    int64_t place_count, int64_t k, int64_t width) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < k; ++j) {
      const int64_t place = places[row * k + j];
      Real &weight = dweights[row * dweights_stride + j];
      if (place >= place_count) {
        weight = 0.0f;
        continue;
      }
      const Real *made = x + place * x_stride;
      Vector sum = splat(0.0f);
      for_each_vector(width,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        sum = fma(load(dy + row * dy_stride + first, count),
                                  load(made + first, count), sum);
                      });
      weight = reduce_sum(sum);
    }
}
