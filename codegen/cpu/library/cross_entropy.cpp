//===- cross_entropy.cpp - losses of logits, and their gradients ----------===//
//
// Two walks over a row: over blocks of tokens for its maximum and sum, which
// each block finds on its own and leaves to the row, and over all tokens for
// the gradient, written where the products were.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/attention_blocks.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

namespace {

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

} // namespace

BATON_TASK void
baton_task_cross_entropy(Real *__restrict loss, int64_t loss_stride,
                         Real *__restrict logits, int64_t logits_stride,
                         const int32_t *__restrict targets,
                         const Real *__restrict weights, int64_t rows,
                         int64_t vocabulary, Real scale, Real softcap) {
  for (int64_t row = 0; row < rows; ++row) {
    Real *products = logits + row * logits_stride;
    const Real weight = weights[row];
    if (weight == 0.0f) {
      loss[row * loss_stride] = 0.0f;
      for_each_vector(vocabulary,
                      [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
                        store(products + first, splat(0.0f), some);
                      });
      continue;
    }
    Real maximum, sum;
    for (int64_t first = 0; first < vocabulary; first += block_tokens)
      merge(maximum, sum,
            weights_of(products + first,
                       smaller(vocabulary - first, block_tokens), scale,
                       softcap),
            first == 0);
    const int32_t target = targets[row];
    const Real expected =
        target >= 0 && target < vocabulary
            ? bend(splat(products[target]), scale, softcap).value[0]
            : 0.0f;
    // Near a loss of 0 the maximum is the target's logit and has to vanish.
    loss[row * loss_stride] = weight * (maximum - expected + log(sum));
    const Real share_of_one = 1.0f / sum;
    for_each_vector(vocabulary, [&](int64_t first,
                                    int64_t some) BATON_INLINE_LAMBDA {
      const Logit logit = bend(load(products + first, some), scale, softcap);
      const Vector share = exp(logit.value - maximum) * share_of_one;
      const IntegerVector tokens = lane_indices() + static_cast<Integer>(first);
      const Vector rest = tokens == target ? share - 1.0f : share;
      store(products + first, rest * weight * logit.slope, some);
    });
  }
}
