//===- teacher.h - a row of logits beside what a teacher says of it -------===//
//
// Three walks over a row: for its maxima, for the sums relative to them, and
// for the gradient. The tokens that the teacher names are ascending, so that
// each walk meets them in turn.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_TEACHER_H
#define BATON_CODEGEN_CPU_LIBRARY_TEACHER_H

#include "codegen/cpu/library/logits.h"

namespace baton::cpu {

/// Numbers of a row before the logarithms of probabilities.
constexpr int64_t teacher_numbers = 5;

/// What a teacher says of a row, of which this is the part [first, first +
/// count) of the vocabulary.
struct Teacher {
  const int32_t *tokens;
  const Real *numbers;
  int64_t named;
  int64_t first;
  int64_t count;

  BATON_INLINE Real divergence_factor() const { return numbers[0]; }
  BATON_INLINE Real entropy_factor() const { return numbers[1]; }
  BATON_INLINE Real inverse_temperature() const { return numbers[2]; }
  BATON_INLINE Real log_rest() const { return numbers[3]; }
  BATON_INLINE bool is_reverse() const { return numbers[4] != 0.0f; }
  BATON_INLINE Real log_probability(int64_t place) const {
    return numbers[teacher_numbers + place];
  }
  /// The token at a place of those that are named, within the part; not below
  /// `count` where the part has no more.
  BATON_INLINE int64_t token(int64_t place) const {
    return place < named ? int64_t(tokens[place]) - first : INT64_MAX;
  }
  /// The place of the first token that the part has.
  BATON_INLINE int64_t begin() const {
    int64_t place = 0;
    while (token(place) < 0)
      ++place;
    return place;
  }
};

/// What a row's losses and gradients are made of, as the body
/// teacher_statistics has it.
struct TeacherSums {
  Real maximum;
  Real rest_maximum;
  Real sum;
  Real warm_sum;
  Real rest_sum;
  Real target;
  Real named_sum;
  Real named_share;
};

/// 0 for what has no finite logit: shifting by -infinity would make NaN of it.
BATON_INLINE Real shift_of(Real maximum) {
  return maximum == -__builtin_inff() ? 0.0f : maximum;
}

/// `values` of the tokens [first, first + some), of which those that are named
/// are set to set(place), from the place `next` on, which goes on behind them.
template <typename Set>
BATON_INLINE Vector set_named(Vector values, const Teacher &teacher,
                              int64_t first, int64_t some, int64_t &next,
                              Set set) {
  for (; teacher.token(next) < first + some; ++next)
    values[teacher.token(next) - first] = set(next);
  return values;
}

BATON_INLINE Vector logits_at(const Real *products, int64_t first, int64_t some,
                              Real scale, Real softcap) {
  return keep_first(bend(load(products + first, some), scale, softcap).value,
                    some, -__builtin_inff());
}

BATON_INLINE void find_maxima(TeacherSums &found, const Real *products,
                              const Teacher &teacher, Real scale,
                              Real softcap) {
  const Real negative_infinity = -__builtin_inff();
  Vector all = splat(negative_infinity), rest = all;
  int64_t next = teacher.begin();
  for_each_vector(
      teacher.count, [&](int64_t first, int64_t some) BATON_INLINE_LAMBDA {
        const Vector logits = logits_at(products, first, some, scale, softcap);
        all = maximum(logits, all);
        rest = maximum(set_named(logits, teacher, first, some, next,
                                 [&](int64_t) BATON_INLINE_LAMBDA {
                                   return negative_infinity;
                                 }),
                       rest);
      });
  found.maximum = reduce_maximum(all);
  found.rest_maximum = reduce_maximum(rest);
}

/// Sums over all tokens, relative to the maxima that were found.
BATON_INLINE void find_sums(TeacherSums &found, const Real *products,
                            const Teacher &teacher, Real scale, Real softcap) {
  const Real inverse = teacher.inverse_temperature();
  const Real shift = shift_of(found.maximum),
             rest_shift = shift_of(found.rest_maximum);
  found.sum = found.warm_sum = found.rest_sum = 0.0f;
  int64_t next = teacher.begin();
  for (int64_t block = 0; block < teacher.count; block += block_tokens) {
    Vector sums = splat(0.0f), warm_sums = sums, rest_sums = sums;
    for_each_vector(
        smaller(teacher.count - block, block_tokens),
        [&](int64_t within, int64_t some) BATON_INLINE_LAMBDA {
          const int64_t first = block + within;
          const Vector logits =
              logits_at(products, first, some, scale, softcap);
          sums += exp(logits - shift);
          if (inverse != 1.0f)
            warm_sums += exp((logits - shift) * inverse);
          rest_sums += set_named(
              exp((logits - rest_shift) * inverse), teacher, first, some, next,
              [](int64_t) BATON_INLINE_LAMBDA { return Real(0.0f); });
        });
    found.sum += reduce_sum(sums);
    found.warm_sum += reduce_sum(warm_sums);
    found.rest_sum += reduce_sum(rest_sums);
  }
  if (inverse == 1.0f)
    found.warm_sum = found.sum;
}

/// Sums over the tokens that are named, of which each of 16 lanes has every
/// 16th.
BATON_INLINE void find_named_sums(TeacherSums &found, const Real *products,
                                  const Teacher &teacher, Real scale,
                                  Real softcap) {
  const Real shift = shift_of(found.maximum);
  Vector sums = splat(0.0f), shares = sums;
  for_each_vector(teacher.named, [&](int64_t first,
                                     int64_t some) BATON_INLINE_LAMBDA {
    Real own[lanes], logs[lanes];
    for (int64_t i = 0; i < lanes; ++i) {
      const int64_t token = i < some ? teacher.token(first + i) : -1;
      const bool is_own = token >= 0 && token < teacher.count;
      // What is not the part's counts 0.
      own[i] = is_own ? products[token] : 0.0f;
      logs[i] = is_own ? teacher.log_probability(first + i) : -__builtin_inff();
    }
    const Vector log = load(logs);
    const Vector relative = (bend(load(own), scale, softcap).value - shift) *
                            teacher.inverse_temperature();
    const auto is_own = log > splat(-__builtin_inff());
    const Vector difference = is_own ? log - relative : splat(0.0f);
    const Vector share = is_own
                             ? (teacher.is_reverse() ? exp(relative) : exp(log))
                             : splat(0.0f);
    sums += share * (teacher.is_reverse() ? -difference : difference);
    shares += share;
  });
  found.named_sum = reduce_sum(sums);
  found.named_share = reduce_sum(shares);
}

/// All that a part's logits come to.
BATON_INLINE TeacherSums sums_of(const Real *products, const Teacher &teacher,
                                 int64_t target, Real scale, Real softcap) {
  TeacherSums found;
  find_maxima(found, products, teacher, scale, softcap);
  find_sums(found, products, teacher, scale, softcap);
  find_named_sums(found, products, teacher, scale, softcap);
  found.target = target >= 0 && target < teacher.count
                     ? bend(splat(products[target]), scale, softcap).value[0]
                     : 0.0f;
  return found;
}

// Maxima and sums, as they lie in memory.

BATON_INLINE void store_maxima(Real *out, const TeacherSums &sums) {
  out[0] = sums.maximum;
  out[1] = sums.rest_maximum;
}

BATON_INLINE void store_sums(Real *out, const TeacherSums &sums) {
  out[0] = sums.sum;
  out[1] = sums.warm_sum;
  out[2] = sums.rest_sum;
  out[3] = sums.target;
  out[4] = sums.named_sum;
  out[5] = sums.named_share;
}

BATON_INLINE TeacherSums load_sums(const Real *maxima, const Real *sums) {
  return {maxima[0], maxima[1], sums[0], sums[1],
          sums[2],   sums[3],   sums[4], sums[5]};
}

/// A part's sums relative to the maxima of all parts. One without tokens, or
/// without any that are not named, adds nothing.
BATON_INLINE TeacherSums relative_to(TeacherSums sums, const Real *maxima,
                                     const Teacher &teacher) {
  const Real inverse = teacher.inverse_temperature();
  if (sums.sum != 0.0f) {
    const Real distance = sums.maximum - maxima[0];
    const Real warm = exp(distance * inverse);
    sums.sum *= exp(distance);
    sums.warm_sum *= warm;
    // d grows by it, in each term.
    const Real more = sums.named_share * (distance * inverse);
    if (teacher.is_reverse()) {
      sums.named_sum = (sums.named_sum + more) * warm;
      sums.named_share *= warm;
    } else {
      sums.named_sum -= more;
    }
  }
  if (sums.rest_sum != 0.0f)
    sums.rest_sum *= exp((sums.rest_maximum - maxima[1]) * inverse);
  return sums;
}

/// What sums of all tokens say of a row, and what its gradient needs of them.
struct TeacherLoss {
  Real divergence;
  Real entropy;
  /// log(q) of the tokens that are not named, less log(rest); 0 without such.
  Real rest_ratio;
  Real log_warm_sum;
};

BATON_INLINE TeacherLoss loss_of(const TeacherSums &sums,
                                 const Teacher &teacher) {
  TeacherLoss loss;
  loss.log_warm_sum = log(sums.warm_sum);
  // Near a loss of 0 the maximum is the target's logit and has to vanish.
  loss.entropy = sums.maximum - sums.target + log(sums.sum);
  const bool has_rest = sums.rest_sum > 0.0f;
  const Real log_share = has_rest ? (sums.rest_maximum - sums.maximum) *
                                            teacher.inverse_temperature() +
                                        log(sums.rest_sum) - loss.log_warm_sum
                                  : 0.0f;
  loss.rest_ratio = has_rest ? log_share - teacher.log_rest() : 0.0f;
  const Real rest = !has_rest              ? 0.0f
                    : teacher.is_reverse() ? exp(log_share)
                                           : exp(teacher.log_rest());
  if (teacher.is_reverse()) {
    const Real share_of_one = 1.0f / sums.warm_sum;
    loss.divergence = sums.named_sum * share_of_one -
                      sums.named_share * share_of_one * loss.log_warm_sum +
                      rest * loss.rest_ratio;
  } else {
    loss.divergence = sums.named_sum + sums.named_share * loss.log_warm_sum -
                      rest * loss.rest_ratio;
  }
  return loss;
}

/// The three losses of a row.
BATON_INLINE void store_losses(Real *out, const TeacherLoss &loss,
                               const Teacher &teacher, Real weight) {
  out[0] = weight * (teacher.divergence_factor() * loss.divergence +
                     teacher.entropy_factor() * loss.entropy);
  out[1] = weight * loss.divergence;
  out[2] = weight * loss.entropy;
}

/// In the place of a part's logits, their gradients.
BATON_INLINE void differentiate(Real *products, const Teacher &teacher,
                                const TeacherSums &sums, int64_t target,
                                Real weight, Real scale, Real softcap) {
  const TeacherLoss loss = loss_of(sums, teacher);
  const Real inverse = teacher.inverse_temperature();
  const Real factor = teacher.divergence_factor() * inverse,
             entropy_factor = teacher.entropy_factor();
  const Real shift = sums.maximum, rest_shift = shift_of(sums.rest_maximum);
  const Real share_of_one = 1.0f / sums.sum,
             warm_share_of_one = 1.0f / sums.warm_sum;
  const Real rest_share_of_one =
      sums.rest_sum > 0.0f ? exp(teacher.log_rest()) / sums.rest_sum : 0.0f;
  int64_t next = teacher.begin();
  for_each_vector(teacher.count, [&](int64_t first,
                                     int64_t some) BATON_INLINE_LAMBDA {
    const Logit logit = bend(load(products + first, some), scale, softcap);
    const Vector relative = (logit.value - shift) * inverse;
    const Vector warm_share = exp(relative) * warm_share_of_one;
    Vector of_divergence;
    if (teacher.is_reverse()) {
      of_divergence =
          warm_share *
          (set_named(splat(loss.rest_ratio), teacher, first, some, next,
                     [&](int64_t place) BATON_INLINE_LAMBDA {
                       return relative[teacher.token(place) - first] -
                              loss.log_warm_sum -
                              teacher.log_probability(place);
                     }) -
           loss.divergence);
    } else {
      const Vector rest =
          exp((logit.value - rest_shift) * inverse) * rest_share_of_one;
      of_divergence =
          warm_share - set_named(rest, teacher, first, some, next,
                                 [&](int64_t place) BATON_INLINE_LAMBDA {
                                   return exp(teacher.log_probability(place));
                                 });
    }
    const Vector share = exp(logit.value - shift) * share_of_one;
    const IntegerVector tokens = lane_indices() + static_cast<Integer>(first);
    const Vector of_entropy =
        tokens == static_cast<Integer>(target) ? share - 1.0f : share;
    store(products + first,
          (factor * of_divergence + entropy_factor * of_entropy) * weight *
              logit.slope,
          some);
  });
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_TEACHER_H
