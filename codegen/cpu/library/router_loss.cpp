//===- router_loss.cpp - losses and loads of routers ----------------------===//

#include "codegen/cpu/library/math.h"
#include "codegen/cpu/library/row_sums.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

namespace {

/// The softmax of one row's logits. Its sum is one chain, as on CUDA
/// (codegen/cuda/library/router_loss.h says why).
struct RouterRow {
  const Real *logits;
  Real maximum, sum;

  BATON_INLINE RouterRow(const Real *logits, int64_t count)
      : logits(logits), maximum(logits[0]), sum(0.0f) {
    for (int64_t i = 1; i < count; ++i)
      maximum = logits[i] > maximum ? logits[i] : maximum;
    for (int64_t i = 0; i < count; ++i)
      sum += exp(logits[i] - maximum);
  }

  BATON_INLINE Real probability(int64_t expert) const {
    return exp(logits[expert] - maximum) / sum;
  }
  BATON_INLINE Real log_sum() const { return maximum + log(sum); }
};

} // namespace

BATON_TASK void baton_task_router_begin(Real *__restrict sums,
                                        int64_t sums_stride, int64_t rows,
                                        int64_t width) {
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(sums + row * sums_stride + first, splat(0.0f), count);
        });
}

BATON_TASK void baton_task_router_sums(Real *out, int64_t out_stride,
                                       const Real *sums, int64_t sums_stride,
                                       const Real *__restrict logits,
                                       int64_t logits_stride,
                                       const int32_t *__restrict experts,
                                       int64_t experts_stride, int64_t rows,
                                       int64_t k, int64_t count) {
  for (int64_t row = 0; row < rows; ++row) {
    const RouterRow own(logits + row * logits_stride, count);
    const Real *before = sums + row * sums_stride;
    Real *after = out + row * out_stride;
    for (int64_t i = 0; i < count; ++i)
      after[i] = before[i] + own.probability(i);
    const Real size = own.log_sum();
    after[count] = __builtin_elementwise_fma(size, size, before[count]);
    for (int64_t i = count + 1; i <= 2 * count; ++i)
      after[i] = before[i];
    for (int64_t j = 0; j < k; ++j)
      after[count + 1 + experts[row * experts_stride + j]] += 1.0f;
  }
}

BATON_TASK void baton_task_router_sums_gradient(Real *__restrict dlogits,
                                                int64_t dlogits_stride,
                                                const Real *__restrict dsums,
                                                int64_t dsums_stride,
                                                const Real *__restrict logits,
                                                int64_t logits_stride,
                                                int64_t rows, int64_t count) {
  for (int64_t row = 0; row < rows; ++row) {
    const RouterRow own(logits + row * logits_stride, count);
    const Real *gradient = dsums + row * dsums_stride;
    Real *result = dlogits + row * dlogits_stride;
    Real along = 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      result[i] = own.probability(i);
      along = __builtin_elementwise_fma(result[i], gradient[i], along);
    }
    const Real size = 2.0f * gradient[count] * own.log_sum();
    for (int64_t i = 0; i < count; ++i)
      result[i] *= gradient[i] - along + size;
  }
}

BATON_TASK void baton_task_expert_shares(Real *__restrict shares,
                                         const Real *__restrict choices,
                                         int64_t choices_stride,
                                         const Real *__restrict weights,
                                         int64_t rows, int64_t columns,
                                         int64_t layers) {
  int64_t counted = 0;
  for (int64_t row = 0; row < rows; ++row)
    counted += weights[row] != 0.0f;
  const Real all = static_cast<Real>(counted * layers);
  for_each_vector(
      columns, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
        Vector sum = splat(0.0f);
        for (int64_t row = 0; row < rows; ++row)
          if (weights[row] != 0.0f)
            sum += load(choices + row * choices_stride + first, count);
        store(shares + first, counted ? sum / all : sum, count);
      });
}

BATON_TASK void baton_task_router_loads(Real *__restrict loads,
                                        const int32_t *__restrict experts,
                                        int64_t experts_stride, int64_t rows,
                                        int64_t k, int64_t first,
                                        int64_t columns,
                                        const int32_t *accumulate) {
  if (!joins(accumulate))
    for (int64_t column = 0; column < columns; ++column)
      loads[column] = 0.0f;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < k; ++j) {
      const int64_t column = experts[row * experts_stride + j] - first;
      if (column >= 0 && column < columns)
        loads[column] += 1.0f;
    }
}

BATON_TASK void baton_task_router_loss(
    Real *__restrict losses, int64_t losses_stride, Real *__restrict dsums,
    int64_t dsums_stride, const Real *__restrict loss, int64_t loss_stride,
    const Real *__restrict sums, int64_t sums_stride,
    const Real *__restrict weights, const Real *__restrict shares, int64_t rows,
    int64_t count, int64_t layers, Real balance, Real z) {
  for (int64_t row = 0; row < rows; ++row) {
    Real *result = losses + row * losses_stride;
    Real *gradient = dsums + row * dsums_stride;
    if (weights[row] == 0.0f) {
      for (int64_t i = 0; i < 4; ++i)
        result[i] = 0.0f;
      for (int64_t i = 0; i <= count; ++i)
        gradient[i] = 0.0f;
      continue;
    }
    const Real *own = sums + row * sums_stride;
    const Real weight = weights[row] / static_cast<Real>(layers);
    const Real of_experts = weight * static_cast<Real>(count);
    Real along = 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      along = __builtin_elementwise_fma(shares[i], own[i], along);
      gradient[i] = balance * of_experts * shares[i];
    }
    gradient[count] = z * weight;
    result[1] = loss[row * loss_stride];
    result[2] = of_experts * along;
    result[3] = weight * own[count];
    result[0] = result[1] + (balance * result[2] + z * result[3]);
  }
}
