//===- cross_entropy.h - losses of logits, and their gradients ------------===//
//
// Sixteen threads walk over a block of 256 tokens for its maximum and sum, all
// blocks of a row side by side; these are merged in ascending order, and all
// threads write the gradient where the logits were.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H
#define BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H

#include "codegen/cuda/library/attention_blocks.h"

namespace baton::cuda {

/// A logit and its derivative by the product that it is made of.
struct Logit {
  float value;
  float slope;
};

BATON_DEVICE Logit bend(float product, float scale, float softcap) {
  const float value = product * scale;
  if (softcap == 0.0f)
    return {value, scale};
  const float bent = tanh(value / softcap);
  return {softcap * bent, (1.0f - bent * bent) * scale};
}

/// Tokens whose sum is relative to a maximum of their own.
constexpr int64_t block_tokens = 256;

/// What softmax needs of `count` logits, for sixteen threads. Called by whole
/// warps.
BATON_DEVICE Weights weights_of(const float *products, int64_t count,
                                int64_t lane, float scale, float softcap) {
  float most = negative_infinity();
  for (int64_t i = lane; i < count; i += lanes) {
    const float logit = bend(products[i], scale, softcap).value;
    most = logit > most ? logit : most;
  }
  most = maximum_of_lanes(most);
  // Shifting by -infinity would make NaN of a block without finite logits.
  const float shift = most == negative_infinity() ? 0.0f : most;
  float sum = 0.0f;
  for (int64_t i = lane; i < count; i += lanes)
    sum += baton::cuda::exp(bend(products[i], scale, softcap).value - shift);
  return {most, sum_of_lanes(sum)};
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_cross_entropy(float *loss, int64_t loss_stride,
                                           float *logits, int64_t logits_stride,
                                           const int32_t *targets,
                                           const float *weights, int64_t rows,
                                           int64_t vocabulary, float scale,
                                           float softcap) {
  using namespace baton::cuda;
  // Of as many blocks as there are sixteens of threads, at most.
  __shared__ Weights found[1024 / lanes];
  __shared__ Weights running;
  const int64_t teams = baton_threads() / lanes;
  const int64_t blocks = (vocabulary + block_tokens - 1) / block_tokens;
#pragma unroll 1
  for (int64_t row = 0; row < rows; ++row) {
    float *products = logits + row * logits_stride;
    const float weight = weights[row];
    if (weight == 0.0f) {
      if (baton_thread() == 0)
        loss[row * loss_stride] = 0.0f;
      fill_rows(products, 0, 1, vocabulary,
                [](int64_t, int64_t) { return 0.0f; });
      continue;
    }
#pragma unroll 1
    for (int64_t first = 0; first < blocks; first += teams) {
      const int64_t count = smaller(blocks - first, teams);
      __syncthreads();
      for_each_team(count, [&](int64_t block, int64_t lane, bool is_own) {
        const int64_t token = (first + block) * block_tokens;
        const Weights of = weights_of(products + token,
                                      smaller(vocabulary - token, block_tokens),
                                      lane, scale, softcap);
        if (is_own && lane == 0)
          found[block] = of;
      });
      __syncthreads();
      if (baton_thread() == 0)
        for (int64_t block = 0; block < count; ++block)
          merge(running, found[block], first + block == 0);
    }
    const int32_t target = targets[row];
    if (baton_thread() == 0) {
      const float expected = target >= 0 && target < vocabulary
                                 ? bend(products[target], scale, softcap).value
                                 : 0.0f;
      // Near a loss of 0 the maximum is the target's logit and has to vanish.
      loss[row * loss_stride] =
          weight * (running.maximum - expected + baton::cuda::log(running.sum));
    }
    // All know the sum, and the target's logit has been read.
    __syncthreads();
    const float maximum = running.maximum;
    const float share_of_one = 1.0f / running.sum;
    fill_rows(products, 0, 1, vocabulary, [&](int64_t, int64_t token) {
      const Logit logit = bend(products[token], scale, softcap);
      const float share =
          baton::cuda::exp(logit.value - maximum) * share_of_one;
      return (token == target ? share - 1.0f : share) * weight * logit.slope;
    });
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H
