//===- teacher.h - a row of logits beside what a teacher says of it -------===//
//
// In the arithmetic of codegen/cpu/library/teacher.h. Sixteen lanes walk over a
// row, each over every 16th token, and meet in turn those that are named.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_TEACHER_H
#define BATON_CODEGEN_CUDA_LIBRARY_TEACHER_H

#include "codegen/cuda/library/lanes.h"
#include "codegen/cuda/library/logits.h"

namespace baton::cuda {

/// Numbers of a row before the logarithms of probabilities.
constexpr int64_t teacher_numbers = 5;

/// What a teacher says of a row, of which this is the part [first, first +
/// count) of the vocabulary.
struct Teacher {
  const int32_t *tokens;
  const float *numbers;
  int64_t named;
  int64_t first;
  int64_t count;

  __device__ __forceinline__ float divergence_factor() const {
    return numbers[0];
  }
  __device__ __forceinline__ float entropy_factor() const { return numbers[1]; }
  __device__ __forceinline__ float inverse_temperature() const {
    return numbers[2];
  }
  __device__ __forceinline__ float log_rest() const { return numbers[3]; }
  __device__ __forceinline__ bool is_reverse() const {
    return numbers[4] != 0.0f;
  }
  __device__ __forceinline__ float log_probability(int64_t place) const {
    return numbers[teacher_numbers + place];
  }
  /// Whether the part's token `column` is named, looking from the place `next`
  /// on, which goes on to it.
  __device__ __forceinline__ bool names(int64_t column, int64_t &next) const {
    while (next < named && tokens[next] < first + column)
      ++next;
    return next < named && tokens[next] == first + column;
  }
  /// The place of the part's token `column` among those that are named, or -1.
  __device__ __forceinline__ int64_t place_of(int64_t column) const {
    int64_t begin = 0, end = named;
    while (begin < end) {
      const int64_t middle = (begin + end) / 2;
      if (tokens[middle] < first + column)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin < named && tokens[begin] == first + column ? begin : -1;
  }
};

/// What a row's losses and gradients are made of, as the body
/// teacher_statistics has it.
struct TeacherSums {
  float maximum;
  float rest_maximum;
  float sum;
  float warm_sum;
  float rest_sum;
  float target;
  float named_sum;
  float named_share;
};

/// 0 for what has no finite logit: shifting by -infinity would make NaN of it.
BATON_DEVICE float shift_of(float maximum) {
  return maximum == negative_infinity() ? 0.0f : maximum;
}

// The sums are called, as weights_of is (logits.h).

BATON_CALLED Weights teacher_maxima(const float *products, Teacher teacher,
                                    int64_t lane, float scale, float softcap) {
  float all = negative_infinity(), rest = all;
  int64_t next = 0;
  for (int64_t i = lane; i < teacher.count; i += lanes) {
    const float logit = bend(products[i], scale, softcap).value;
    all = logit > all ? logit : all;
    if (!teacher.names(i, next))
      rest = logit > rest ? logit : rest;
  }
  return {maximum_of_lanes(all), maximum_of_lanes(rest)};
}

/// Sums over all tokens, relative to the maxima that were found.
BATON_CALLED void find_sums(TeacherSums &found, const float *products,
                            Teacher teacher, int64_t lane, float scale,
                            float softcap) {
  const float inverse = teacher.inverse_temperature();
  const float shift = shift_of(found.maximum),
              rest_shift = shift_of(found.rest_maximum);
  float sum = 0.0f, warm_sum = 0.0f, rest_sum = 0.0f;
  int64_t next = 0;
  for (int64_t block = 0; block < teacher.count; block += block_tokens) {
    float of_all = 0.0f, of_warm = 0.0f, of_rest = 0.0f;
    const int64_t end = smaller(teacher.count, block + block_tokens);
    for (int64_t i = block + lane; i < end; i += lanes) {
      const float logit = bend(products[i], scale, softcap).value;
      of_all += baton::cuda::exp(logit - shift);
      if (inverse != 1.0f)
        of_warm += baton::cuda::exp((logit - shift) * inverse);
      if (!teacher.names(i, next))
        of_rest += baton::cuda::exp((logit - rest_shift) * inverse);
    }
    sum += sum_of_lanes(of_all);
    warm_sum += sum_of_lanes(of_warm);
    rest_sum += sum_of_lanes(of_rest);
  }
  found.sum = sum;
  found.warm_sum = inverse == 1.0f ? sum : warm_sum;
  found.rest_sum = rest_sum;
}

/// Sums over the tokens that are named.
BATON_CALLED void find_named_sums(TeacherSums &found, const float *products,
                                  Teacher teacher, int64_t lane, float scale,
                                  float softcap) {
  const float shift = shift_of(found.maximum);
  float sum = 0.0f, shares = 0.0f;
  for (int64_t place = lane; place < teacher.named; place += lanes) {
    const int64_t token = teacher.tokens[place] - teacher.first;
    if (token < 0 || token >= teacher.count)
      continue;
    const float relative =
        (bend(products[token], scale, softcap).value - shift) *
        teacher.inverse_temperature();
    const float log = teacher.log_probability(place);
    const float difference = log - relative;
    const float share = baton::cuda::exp(teacher.is_reverse() ? relative : log);
    sum += share * (teacher.is_reverse() ? -difference : difference);
    shares += share;
  }
  found.named_sum = sum_of_lanes(sum);
  found.named_share = sum_of_lanes(shares);
}

/// All that a part's logits come to. Called by whole warps.
BATON_CALLED void find_all(TeacherSums &found, const float *products,
                           Teacher teacher, int64_t target, int64_t lane,
                           float scale, float softcap) {
  const Weights maxima =
      teacher_maxima(products, teacher, lane, scale, softcap);
  found.maximum = maxima.maximum;
  found.rest_maximum = maxima.sum;
  find_sums(found, products, teacher, lane, scale, softcap);
  find_named_sums(found, products, teacher, lane, scale, softcap);
  found.target = target >= 0 && target < teacher.count
                     ? bend(products[target], scale, softcap).value
                     : 0.0f;
}

// Maxima and sums, as they lie in memory.

BATON_DEVICE void store_maxima(float *out, const TeacherSums &sums) {
  out[0] = sums.maximum;
  out[1] = sums.rest_maximum;
}

BATON_DEVICE void store_sums(float *out, const TeacherSums &sums) {
  out[0] = sums.sum;
  out[1] = sums.warm_sum;
  out[2] = sums.rest_sum;
  out[3] = sums.target;
  out[4] = sums.named_sum;
  out[5] = sums.named_share;
}

BATON_DEVICE TeacherSums load_sums(const float *maxima, const float *sums) {
  return {maxima[0], maxima[1], sums[0], sums[1],
          sums[2],   sums[3],   sums[4], sums[5]};
}

/// A part's sums relative to the maxima of all parts. One without tokens, or
/// without any that are not named, adds nothing.
BATON_DEVICE TeacherSums relative_to(TeacherSums sums, const float *maxima,
                                     const Teacher &teacher) {
  const float inverse = teacher.inverse_temperature();
  if (sums.sum != 0.0f) {
    const float distance = sums.maximum - maxima[0];
    const float warm = baton::cuda::exp(distance * inverse);
    sums.sum *= baton::cuda::exp(distance);
    sums.warm_sum *= warm;
    // d grows by it, in each term.
    const float more = sums.named_share * (distance * inverse);
    if (teacher.is_reverse()) {
      sums.named_sum = (sums.named_sum + more) * warm;
      sums.named_share *= warm;
    } else {
      sums.named_sum -= more;
    }
  }
  if (sums.rest_sum != 0.0f)
    sums.rest_sum *=
        baton::cuda::exp((sums.rest_maximum - maxima[1]) * inverse);
  return sums;
}

/// What sums of all tokens say of a row, and what its gradient needs of them.
struct TeacherLoss {
  float divergence;
  float entropy;
  /// log(q) of the tokens that are not named, less log(rest); 0 without such.
  float rest_ratio;
  float log_warm_sum;
};

BATON_DEVICE TeacherLoss loss_of(const TeacherSums &sums,
                                 const Teacher &teacher) {
  TeacherLoss loss;
  loss.log_warm_sum = baton::cuda::log(sums.warm_sum);
  // Near a loss of 0 the maximum is the target's logit and has to vanish.
  loss.entropy = sums.maximum - sums.target + baton::cuda::log(sums.sum);
  const bool has_rest = sums.rest_sum > 0.0f;
  const float log_share =
      has_rest
          ? (sums.rest_maximum - sums.maximum) * teacher.inverse_temperature() +
                baton::cuda::log(sums.rest_sum) - loss.log_warm_sum
          : 0.0f;
  loss.rest_ratio = has_rest ? log_share - teacher.log_rest() : 0.0f;
  const float rest =
      has_rest ? baton::cuda::exp(teacher.is_reverse() ? log_share
                                                       : teacher.log_rest())
               : 0.0f;
  if (teacher.is_reverse()) {
    const float share_of_one = 1.0f / sums.warm_sum;
    loss.divergence = sums.named_sum * share_of_one -
                      sums.named_share * share_of_one * loss.log_warm_sum +
                      rest * loss.rest_ratio;
  } else {
    loss.divergence = sums.named_sum + sums.named_share * loss.log_warm_sum -
                      rest * loss.rest_ratio;
  }
  return loss;
}

/// The three losses of a row, which are 0 where its weight is.
BATON_DEVICE void store_losses(float *out, float divergence, float entropy,
                               const Teacher &teacher, float weight) {
  const bool counts = weight != 0.0f;
  out[0] = counts ? weight * (teacher.divergence_factor() * divergence +
                              teacher.entropy_factor() * entropy)
                  : 0.0f;
  out[1] = counts ? weight * divergence : 0.0f;
  out[2] = counts ? weight * entropy : 0.0f;
}

/// What the sixteen lanes of a row have found, for each of its gradients.
struct TeacherRow {
  float weight;
  float shift, rest_shift;
  float share_of_one, warm_share_of_one, rest_share_of_one;
  float divergence, entropy, rest_ratio, log_warm_sum;
};

BATON_DEVICE TeacherRow row_of(const TeacherSums &sums, const TeacherLoss &loss,
                               const Teacher &teacher, float weight) {
  return {weight,
          sums.maximum,
          shift_of(sums.rest_maximum),
          1.0f / sums.sum,
          1.0f / sums.warm_sum,
          sums.rest_sum > 0.0f
              ? baton::cuda::exp(teacher.log_rest()) / sums.rest_sum
              : 0.0f,
          loss.divergence,
          loss.entropy,
          loss.rest_ratio,
          loss.log_warm_sum};
}

/// The gradient of the part's logit `column`, in whose place the product is.
BATON_CALLED float gradient_of(float product, int64_t column, Teacher teacher,
                               const TeacherRow &row, int64_t target,
                               float scale, float softcap) {
  const Logit logit = bend(product, scale, softcap);
  const float inverse = teacher.inverse_temperature();
  const float relative = (logit.value - row.shift) * inverse;
  const float warm_share = baton::cuda::exp(relative) * row.warm_share_of_one;
  const int64_t place = teacher.place_of(column);
  float of_divergence;
  if (teacher.is_reverse()) {
    const float ratio = place < 0 ? row.rest_ratio
                                  : relative - row.log_warm_sum -
                                        teacher.log_probability(place);
    of_divergence = warm_share * (ratio - row.divergence);
  } else {
    of_divergence =
        warm_share -
        (place < 0
             ? baton::cuda::exp((logit.value - row.rest_shift) * inverse) *
                   row.rest_share_of_one
             : baton::cuda::exp(teacher.log_probability(place)));
  }
  const float share =
      baton::cuda::exp(logit.value - row.shift) * row.share_of_one;
  const float of_entropy = column == target ? share - 1.0f : share;
  return (teacher.divergence_factor() * inverse * of_divergence +
          teacher.entropy_factor() * of_entropy) *
         row.weight * logit.slope;
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_TEACHER_H
