//===- logits.h - what losses make of a row of logits ---------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_LOGITS_H
#define BATON_CODEGEN_CPU_LIBRARY_LOGITS_H

#include "codegen/cpu/library/attention_blocks.h"
#include "codegen/cpu/library/training.h"

namespace baton::cpu {

/// A logit and its derivative by the product that it is made of.
struct Logit {
  Vector value;
  Vector slope;
};

BATON_INLINE Logit bend(Vector product, Real scale, Real softcap) {
  const Vector value = product * scale;
  if (softcap == 0.0f)
    return {value, splat(scale)};
  const Vector bent = tanh(value / softcap);
  return {softcap * bent, (1.0f - bent * bent) * scale};
}

/// Tokens whose sum is relative to a maximum of their own.
constexpr int64_t block_tokens = 256;

/// What softmax needs of `count` logits: their maximum, and the sum of their
/// exponentials relative to it.
BATON_INLINE Weights weights_of(const Real *products, int64_t count, Real scale,
                                Real softcap) {
  const Real negative_infinity = -__builtin_inff();
  auto logits = [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
    return keep_first(bend(load(products + first, some), scale, softcap).value,
                      some, negative_infinity);
  };
  Vector maxima = splat(negative_infinity);
  for_each_vector(count, [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
    maxima = maximum(logits(first, some), maxima);
  });
  const Real largest = reduce_maximum(maxima);
  // Shifting by -infinity would make NaN of a block without finite logits.
  const Real shift = largest == negative_infinity ? 0.0f : largest;
  Vector sums = splat(0.0f);
  for_each_vector(count, [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
    sums += exp(logits(first, some) - shift);
  });
  return {largest, reduce_sum(sums)};
}

/// The same of any number of tokens, block by block.
BATON_INLINE void merge_blocks(Real &largest, Real &sum, const Real *products,
                               int64_t count, Real scale, Real softcap) {
  for (int64_t first = 0; first < count; first += block_tokens)
    merge(largest, sum,
          weights_of(products + first, smaller(count - first, block_tokens),
                     scale, softcap),
          first == 0);
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_LOGITS_H
