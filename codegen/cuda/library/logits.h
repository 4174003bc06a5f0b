//===- logits.h - what losses make of a row of logits ---------------------===//
//
// In the arithmetic of codegen/cpu/library/logits.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_LOGITS_H
#define BATON_CODEGEN_CUDA_LIBRARY_LOGITS_H

#include "codegen/cuda/library/attention_blocks.h"
#include "codegen/cuda/library/lanes.h"

namespace baton::cuda {

/// A logit and its derivative by the product that it is made of.
struct Logit {
  float value;
  float slope;
};

/// Called, where there are caps: its divisions would spill registers of a body
/// that has it inlined three times.
BATON_CALLED Logit capped(float value, float scale, float softcap) {
  const float bent = tanh(value / softcap);
  return {softcap * bent, (1.0f - bent * bent) * scale};
}

BATON_DEVICE Logit bend(float product, float scale, float softcap) {
  const float value = product * scale;
  if (softcap == 0.0f)
    return {value, scale};
  return capped(value, scale, softcap);
}

/// Tokens whose sum is relative to a maximum of their own.
constexpr int64_t block_tokens = 256;

/// The maximum of `count` logits, and the sum of their exponentials relative to
/// it. Called, as sinkhorn is (hyper.h).
BATON_CALLED Weights weights_of(const float *products, int64_t count,
                                int64_t lane, float scale, float softcap) {
  float most = negative_infinity();
#pragma unroll(4)
  for (int64_t i = lane; i < count; i += lanes) {
    const float logit = bend(products[i], scale, softcap).value;
    most = logit > most ? logit : most;
  }
  most = maximum_of_lanes(most);
  // Shifting by -infinity would make NaN of a block without finite logits.
  const float shift = most == negative_infinity() ? 0.0f : most;
  float sum = 0.0f;
#pragma unroll(4)
  for (int64_t i = lane; i < count; i += lanes)
    sum += baton::cuda::exp(bend(products[i], scale, softcap).value - shift);
  return {most, sum_of_lanes(sum)};
}

/// The same of any number of tokens, block by block.
BATON_DEVICE Weights merged_blocks(const float *products, int64_t count,
                                   int64_t lane, float scale, float softcap) {
  Weights all = {negative_infinity(), 0.0f};
  for (int64_t first = 0; first < count; first += block_tokens)
    merge(all,
          weights_of(products + first, smaller(count - first, block_tokens),
                     lane, scale, softcap),
          first == 0);
  return all;
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_LOGITS_H
