//===- router_loss.h - losses and loads of routers ------------------------===//
//
// In the arithmetic of codegen/cpu/library/router_loss.cpp. A thread has a row
// of a router, or, of shares and loads, an expert.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ROUTER_LOSS_H
#define BATON_CODEGEN_CUDA_LIBRARY_ROUTER_LOSS_H

#include "codegen/cuda/library/elements.h"
#include "codegen/cuda/library/math.h"
#include "codegen/cuda/library/row_sums.h"

namespace baton::cuda {

/// The softmax of one row's logits. Its sum is one chain, unlike that of
/// RowScores, which is called, and around which these bodies would spill.
struct RouterRow {
  const float *logits;
  float maximum, sum;

  __device__ __forceinline__ RouterRow(const float *logits, int64_t count)
      : logits(logits), maximum(logits[0]), sum(0.0f) {
    for (int64_t i = 1; i < count; ++i)
      maximum = logits[i] > maximum ? logits[i] : maximum;
    for (int64_t i = 0; i < count; ++i)
      sum += exp(logits[i] - maximum);
  }

  __device__ __forceinline__ float probability(int64_t expert) const {
    return exp(logits[expert] - maximum) / sum;
  }
  __device__ __forceinline__ float log_sum() const {
    return maximum + log(sum);
  }
};

} // namespace baton::cuda

BATON_DEVICE void baton_task_router_begin(float *sums, int64_t sums_stride,
                                          int64_t rows, int64_t width) {
  baton::cuda::fill_rows(sums, sums_stride, rows, width,
                         [](int64_t, int64_t) { return 0.0f; });
}

BATON_DEVICE void baton_task_router_sums(
    float *out, int64_t out_stride, const float *sums, int64_t sums_stride,
    const float *logits, int64_t logits_stride, const int32_t *experts,
    int64_t experts_stride, int64_t rows, int64_t k, int64_t count) {
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const baton::cuda::RouterRow own(logits + row * logits_stride, count);
    const float *before = sums + row * sums_stride;
    float *after = out + row * out_stride;
    for (int64_t i = 0; i < count; ++i)
      after[i] = before[i] + own.probability(i);
    const float size = own.log_sum();
    after[count] = fmaf(size, size, before[count]);
    for (int64_t i = count + 1; i <= 2 * count; ++i)
      after[i] = before[i];
    for (int64_t j = 0; j < k; ++j)
      after[count + 1 + experts[row * experts_stride + j]] += 1.0f;
  }
}

BATON_DEVICE void
baton_task_router_sums_gradient(float *dlogits, int64_t dlogits_stride,
                                const float *dsums, int64_t dsums_stride,
                                const float *logits, int64_t logits_stride,
                                int64_t rows, int64_t count) {
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const baton::cuda::RouterRow own(logits + row * logits_stride, count);
    const float *gradient = dsums + row * dsums_stride;
    float *result = dlogits + row * dlogits_stride;
    float along = 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      result[i] = own.probability(i);
      along = fmaf(result[i], gradient[i], along);
    }
    const float size = 2.0f * gradient[count] * own.log_sum();
    for (int64_t i = 0; i < count; ++i)
      result[i] *= gradient[i] - along + size;
  }
}

BATON_DEVICE void baton_task_expert_shares(float *shares, const float *choices,
                                           int64_t choices_stride,
                                           const float *weights, int64_t rows,
                                           int64_t columns, int64_t layers) {
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    int64_t counted = 0;
    float sum = 0.0f;
#pragma unroll(8)
    for (int64_t row = 0; row < rows; ++row)
      if (weights[row] != 0.0f) {
        ++counted;
        sum += choices[row * choices_stride + column];
      }
    shares[column] = counted ? sum / static_cast<float>(counted * layers) : sum;
  }
}

BATON_DEVICE void baton_task_router_loads(float *loads, const int32_t *experts,
                                          int64_t experts_stride, int64_t rows,
                                          int64_t k, int64_t first,
                                          int64_t columns,
                                          const int32_t *accumulate) {
  const bool adds = baton::cuda::joins(accumulate);
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    float count = adds ? loads[column] : 0.0f;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < k; ++j)
        if (experts[row * experts_stride + j] == first + column)
          count += 1.0f;
    loads[column] = count;
  }
}

BATON_DEVICE void baton_task_router_loss(
    float *losses, int64_t losses_stride, float *dsums, int64_t dsums_stride,
    const float *loss, int64_t loss_stride, const float *sums,
    int64_t sums_stride, const float *weights, const float *shares,
    int64_t rows, int64_t count, int64_t layers, float balance, float z) {
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    float *result = losses + row * losses_stride;
    float *gradient = dsums + row * dsums_stride;
    if (weights[row] == 0.0f) {
      for (int64_t i = 0; i < 4; ++i)
        result[i] = 0.0f;
      for (int64_t i = 0; i <= count; ++i)
        gradient[i] = 0.0f;
      continue;
    }
    const float *own = sums + row * sums_stride;
    const float weight = weights[row] / static_cast<float>(layers);
    const float of_experts = weight * static_cast<float>(count);
    float along = 0.0f;
    for (int64_t i = 0; i < count; ++i) {
      along = fmaf(shares[i], own[i], along);
      gradient[i] = balance * of_experts * shares[i];
    }
    gradient[count] = z * weight;
    result[1] = loss[row * loss_stride];
    result[2] = of_experts * along;
    result[3] = weight * own[count];
    result[0] = result[1] + (balance * result[2] + z * result[3]);
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ROUTER_LOSS_H
