//===- cross_entropy.cpp - losses of logits, and their gradients ----------===//
//
// Two walks over a row: over blocks of tokens for its maximum and sum, which
// each block finds on its own and leaves to the row, and over all tokens for
// the gradient, written where the products were.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/logits.h"
#include "codegen/cpu/library/teacher.h"

using namespace baton::cpu;

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
    merge_blocks(maximum, sum, products, vocabulary, scale, softcap);
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

BATON_TASK void baton_task_teacher_loss(
    Real *__restrict loss, int64_t loss_stride, Real *__restrict logits,
    int64_t logits_stride, const int32_t *__restrict targets,
    const Real *__restrict weights, const int32_t *__restrict tokens,
    const Real *__restrict numbers, int64_t rows, int64_t vocabulary,
    int64_t named, Real scale, Real softcap) {
  for (int64_t row = 0; row < rows; ++row) {
    Real *products = logits + row * logits_stride;
    Real *losses = loss + row * loss_stride;
    const Real weight = weights[row];
    if (weight == 0.0f) {
      losses[0] = losses[1] = losses[2] = 0.0f;
      for_each_vector(vocabulary,
                      [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
                        store(products + first, splat(0.0f), some);
                      });
      continue;
    }
    const Teacher teacher = {tokens + row * named,
                             numbers + row * (named + teacher_numbers), named,
                             0, vocabulary};
    const TeacherSums sums =
        sums_of(products, teacher, targets[row], scale, softcap);
    store_losses(losses, loss_of(sums, teacher), teacher, weight);
    differentiate(products, teacher, sums, targets[row], weight, scale,
                  softcap);
  }
}
