//===- vocabulary_parts.cpp - losses of ranks with a part of the logits ---===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/logits.h"
#include "codegen/cpu/library/teacher.h"

using namespace baton::cpu;

BATON_TASK void baton_task_logit_statistics(
    Real *__restrict maximum, int64_t maximum_stride, Real *__restrict largest,
    int64_t largest_stride, Real *__restrict own, int64_t own_stride,
    const Real *__restrict logits, int64_t logits_stride,
    const int32_t *__restrict targets, const int32_t *__restrict place,
    int64_t rows, Real scale, Real softcap) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *products = logits + row * logits_stride;
    // A rank without tokens adds nothing to any sum.
    Real most = -__builtin_inff(), sum = 0.0f;
    merge_blocks(most, sum, products, place[1], scale, softcap);
    const int64_t target = int64_t(targets[row]) - place[0];
    maximum[row * maximum_stride] = most;
    largest[row * largest_stride] = most;
    own[row * own_stride] = sum;
    own[row * own_stride + 1] =
        target >= 0 && target < place[1]
            ? bend(splat(products[target]), scale, softcap).value[0]
            : 0.0f;
  }
}

BATON_TASK void baton_task_logit_sums(
    Real *__restrict out, int64_t out_stride, const Real *__restrict largest,
    int64_t largest_stride, const Real *__restrict own, int64_t own_stride,
    const Real *__restrict maximum, int64_t maximum_stride, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real most = largest[row * largest_stride];
    const Real factor = exp(most - maximum[row * maximum_stride]);
    const Real sum = own[row * own_stride];
    out[row * out_stride] = sum == 0.0f ? Real(0.0f) : sum * factor;
    out[row * out_stride + 1] = own[row * own_stride + 1];
  }
}

BATON_TASK void baton_task_losses(
    Real *__restrict loss, int64_t loss_stride, const Real *__restrict maximum,
    int64_t maximum_stride, const Real *__restrict sums, int64_t sums_stride,
    const Real *__restrict weights, int64_t weights_stride, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *sum = sums + row * sums_stride;
    const Real weight = weights[row * weights_stride];
    loss[row * loss_stride] =
        weight == 0.0f
            ? Real(0.0f)
            : weight * (maximum[row * maximum_stride] - sum[1] + log(sum[0]));
  }
}

BATON_TASK void baton_task_loss_gradients(
    Real *__restrict logits, int64_t logits_stride,
    const int32_t *__restrict targets, const Real *__restrict weights,
    const Real *__restrict maximum, const Real *__restrict sums,
    const int32_t *__restrict place, int64_t rows, int64_t room, Real scale,
    Real softcap) {
  for (int64_t row = 0; row < rows; ++row) {
    Real *products = logits + row * logits_stride;
    const Real weight = weights[row];
    const int64_t tokens = weight == 0.0f ? 0 : place[1];
    const Real most = maximum[row], share_of_one = 1.0f / sums[2 * row];
    const int32_t target = targets[row] - place[0];
    for_each_vector(tokens, [&](int64_t first,
                                int64_t some) BATON_INLINE_LAMBDA {
      const Logit logit = bend(load(products + first, some), scale, softcap);
      const Vector share = exp(logit.value - most) * share_of_one;
      const IntegerVector lane = lane_indices() + static_cast<Integer>(first);
      const Vector rest = lane == target ? share - 1.0f : share;
      store(products + first, rest * weight * logit.slope, some);
    });
    for_each_vector(room - tokens,
                    [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
                      store(products + tokens + first, splat(0.0f), some);
                    });
  }
}

BATON_TASK void baton_task_teacher_statistics(
    Real *__restrict maximum, int64_t maximum_stride, Real *__restrict largest,
    int64_t largest_stride, Real *__restrict own, int64_t own_stride,
    const Real *__restrict logits, int64_t logits_stride,
    const int32_t *__restrict targets, const int32_t *__restrict tokens,
    const Real *__restrict numbers, const int32_t *__restrict place,
    int64_t rows, int64_t named, Real scale, Real softcap) {
  for (int64_t row = 0; row < rows; ++row) {
    const Teacher teacher = {tokens + row * named,
                             numbers + row * (named + teacher_numbers), named,
                             place[0], place[1]};
    const TeacherSums sums =
        sums_of(logits + row * logits_stride, teacher,
                int64_t(targets[row]) - place[0], scale, softcap);
    store_maxima(maximum + row * maximum_stride, sums);
    store_maxima(largest + row * largest_stride, sums);
    store_sums(own + row * own_stride, sums);
  }
}

BATON_TASK void baton_task_teacher_sums(
    Real *__restrict out, int64_t out_stride, const Real *__restrict largest,
    int64_t largest_stride, const Real *__restrict own, int64_t own_stride,
    const Real *__restrict maximum, int64_t maximum_stride,
    const Real *__restrict numbers, int64_t numbers_stride, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    const Teacher teacher = {nullptr, numbers + row * numbers_stride, 0, 0, 0};
    const TeacherSums sums = relative_to(
        load_sums(largest + row * largest_stride, own + row * own_stride),
        maximum + row * maximum_stride, teacher);
    store_sums(out + row * out_stride, sums);
  }
}

BATON_TASK void baton_task_teacher_losses(
    Real *__restrict loss, int64_t loss_stride, const Real *__restrict maximum,
    int64_t maximum_stride, const Real *__restrict sums, int64_t sums_stride,
    const Real *__restrict weights, int64_t weights_stride,
    const Real *__restrict numbers, int64_t numbers_stride, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    const Teacher teacher = {nullptr, numbers + row * numbers_stride, 0, 0, 0};
    const Real weight = weights[row * weights_stride];
    Real *losses = loss + row * loss_stride;
    if (weight == 0.0f)
      losses[0] = losses[1] = losses[2] = 0.0f;
    else
      store_losses(losses,
                   loss_of(load_sums(maximum + row * maximum_stride,
                                     sums + row * sums_stride),
                           teacher),
                   teacher, weight);
  }
}

BATON_TASK void baton_task_teacher_gradients(
    Real *__restrict logits, int64_t logits_stride,
    const int32_t *__restrict targets, const Real *__restrict weights,
    const Real *__restrict maximum, const Real *__restrict sums,
    const int32_t *__restrict tokens, const Real *__restrict numbers,
    const int32_t *__restrict place, int64_t rows, int64_t room, int64_t named,
    Real scale, Real softcap) {
  for (int64_t row = 0; row < rows; ++row) {
    Real *products = logits + row * logits_stride;
    const Real weight = weights[row];
    const int64_t count = weight == 0.0f ? 0 : place[1];
    const Teacher teacher = {tokens + row * named,
                             numbers + row * (named + teacher_numbers), named,
                             place[0], count};
    if (count > 0)
      differentiate(products, teacher,
                    load_sums(maximum + 2 * row, sums + 6 * row),
                    int64_t(targets[row]) - place[0], weight, scale, softcap);
    for_each_vector(room - count,
                    [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
                      store(products + count + first, splat(0.0f), some);
                    });
  }
}
