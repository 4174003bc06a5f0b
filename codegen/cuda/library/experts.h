//===- experts.h - rows to experts and back -------------------------------===//
//
// A thread routes a row. Each expert's choices are counted and listed by one
// thread, which reads all of them: they are few, and in the caches.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_EXPERTS_H
#define BATON_CODEGEN_CUDA_LIBRARY_EXPERTS_H

#include "codegen/cuda/library/lanes.h"
#include "codegen/cuda/library/math.h"

/// How logits of a router become weights.
enum BatonScoring {
  BATON_SCORING_SOFTMAX = 0,
  BATON_SCORING_SIGMOID = 1,
};

namespace baton::cuda {

/// As a vector of the CPU sums: sixteen partial sums, added 8 apart, 4, 2 and
/// 1; of values, or, with `is_power`, of e to the values less `maximum`.
/// Called: what is live around it would spill.
BATON_CALLED float sum_of(const float *values, int64_t count, bool is_power,
                          float maximum) {
  // Partial sums in the order of that tree: each is added to the one before it
  // that has as many leaves.
  float pending[5];
#pragma unroll
  for (int leaf = 0; leaf < lanes; ++leaf) {
    const int lane =
        (leaf & 1) << 3 | (leaf & 2) << 1 | (leaf & 4) >> 1 | (leaf & 8) >> 3;
    float sum = 0.0f;
#pragma unroll 1
    for (int64_t i = lane; i < count; i += lanes)
      sum += is_power ? exp(values[i] - maximum) : values[i];
    int level = 0;
#pragma unroll
    for (; level < 4 && (leaf >> level & 1); ++level)
      sum = pending[level] + sum;
    pending[level] = sum;
  }
  return pending[4];
}

/// The scores of one row's logits.
struct RowScores {
  const float *logits;
  int32_t scoring;
  float maximum, sum;

  __device__ __forceinline__ RowScores(const float *logits, int64_t count,
                                       int32_t scoring)
      : logits(logits), scoring(scoring), maximum(logits[0]), sum(1.0f) {
    if (scoring != BATON_SCORING_SOFTMAX)
      return;
    for (int64_t i = 1; i < count; ++i)
      maximum = logits[i] > maximum ? logits[i] : maximum;
    sum = sum_of(logits, count, /*is_power=*/true, maximum);
  }

  __device__ __forceinline__ float of(int64_t expert) const {
    if (scoring == BATON_SCORING_SOFTMAX)
      return exp(logits[expert] - maximum) / sum;
    return 1.0f / (1.0f + exp(-logits[expert]));
  }
};

/// The number with the largest key of those that are allowed and come behind
/// `last`, of key `least`, in the order of keys, then of numbers: the first of
/// all where `last` is -1. None: -1.
template <typename Key, typename Allowed>
BATON_DEVICE int32_t next_largest(int32_t count, int32_t last, float least,
                                  Key key, Allowed is_allowed) {
  int32_t best = -1;
  float most = 0.0f;
  for (int32_t i = 0; i < count; ++i) {
    if (!is_allowed(i))
      continue;
    const float own = key(i);
    const bool is_behind =
        last < 0 || own < least || (own == least && i > last);
    if (is_behind && (best < 0 || own > most)) {
      best = i;
      most = own;
    }
  }
  return best;
}

/// Groups of experts, 64 at most, of which a row takes some. Numbers of experts
/// have 32 bits, and those of groups share a register: what lives across calls
/// would spill else.
class Groups {
public:
  const int32_t experts;

  __device__ __forceinline__ Groups(int64_t experts, int64_t count,
                                    int64_t of_row, int32_t best_two)
      : experts(static_cast<int32_t>(experts)),
        packed(static_cast<int32_t>(count | of_row << 8) |
               (best_two ? 1 << 16 : 0)) {}

  __device__ __forceinline__ int32_t size() const { return experts / count(); }
  /// What a group is worth.
  template <typename Key>
  __device__ __forceinline__ float worth(int32_t group, Key key) const {
    const int32_t first = group * size();
    float most = key(first), second = negative_infinity();
    for (int32_t i = first + 1; i < first + size(); ++i) {
      const float own = key(i);
      if (own > most) {
        second = most;
        most = own;
      } else if (own > second) {
        second = own;
      }
    }
    return packed >> 16 ? most + second : most;
  }
  /// The best ones, a bit each.
  template <typename Key>
  __device__ __forceinline__ uint64_t best(Key key) const {
    if (of_row() == count())
      return ~uint64_t(0);
    auto worth_of = [&](int32_t group) { return worth(group, key); };
    uint64_t taken = 0;
    int32_t last = -1;
    float least = 0.0f;
    for (int32_t done = 0; done < of_row(); ++done) {
      last = next_largest(count(), last, least, worth_of,
                          [](int32_t) { return true; });
      least = worth_of(last);
      taken |= uint64_t(1) << last;
    }
    return taken;
  }

private:
  __device__ __forceinline__ int32_t count() const { return packed & 255; }
  __device__ __forceinline__ int32_t of_row() const {
    return packed >> 8 & 255;
  }

  const int32_t packed;
};

/// Writes the `k` numbers with the largest keys, of the best groups, in
/// ascending order. False where a key is NaN.
template <typename Key>
BATON_DEVICE bool choose(int32_t *chosen, int32_t k, const Groups &groups,
                         Key key) {
  for (int32_t i = 0; i < groups.experts; ++i)
    if (const float own = key(i); own != own)
      return false;
  const uint64_t best = groups.best(key);
  const int32_t size = groups.size();
  int32_t last = -1;
  float least = 0.0f;
  for (int32_t done = 0; done < k; ++done) {
    last = next_largest(groups.experts, last, least, key, [&](int32_t i) {
      return (best >> (i / size) & 1) != 0;
    });
    least = key(last);
    int32_t at = done;
    for (; at > 0 && chosen[at - 1] > last; --at)
      chosen[at] = chosen[at - 1];
    chosen[at] = last;
  }
  return true;
}

/// Which expert each choice is of.
struct Choices {
  const int32_t *experts;
  int64_t stride, rows, k;

  /// body(choice) for those of one segment, ascending.
  template <typename SegmentOf, typename Body>
  __device__ __forceinline__ void
  for_each_of(int64_t segment, SegmentOf segment_of, Body body) const {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < k; ++j)
        if (segment_of(experts[row * stride + j]) == segment)
          body(row * k + j);
  }
};

/// Sorts choices by the segment that each is of, `count` segments.
template <typename SegmentOf>
BATON_DEVICE void sort_choices(int32_t *bounds, int32_t *choices,
                               int32_t *places, const int32_t *experts,
                               int64_t experts_stride, int64_t rows, int64_t k,
                               int64_t count, SegmentOf segment_of) {
  const Choices all{experts, experts_stride, rows, k};
  for (int64_t segment = baton_thread(); segment < count;
       segment += baton_threads()) {
    int32_t own = 0;
    all.for_each_of(segment, segment_of, [&](int64_t) { ++own; });
    bounds[segment + 1] = own;
  }
  __syncthreads();
  if (baton_thread() == 0) {
    bounds[0] = 0;
    for (int64_t segment = 0; segment < count; ++segment)
      bounds[segment + 1] += bounds[segment];
  }
  __syncthreads();
  for (int64_t segment = baton_thread(); segment < count;
       segment += baton_threads()) {
    int32_t place = bounds[segment];
    all.for_each_of(segment, segment_of, [&](int64_t choice) {
      choices[place] = static_cast<int32_t>(choice);
      places[choice] = place++;
    });
  }
}

} // namespace baton::cuda

BATON_DEVICE void
baton_task_route_rows(int32_t *experts, int64_t experts_stride, float *weights,
                      int64_t weights_stride, const float *logits,
                      int64_t logits_stride, const float *bias, int64_t rows,
                      int64_t k, int64_t count, int32_t scoring,
                      int32_t normalize, float factor, int64_t groups,
                      int64_t groups_of_row, int32_t best_two) {
  const auto chosen_of_row = static_cast<int32_t>(k);
  const baton::cuda::Groups choice(count, groups, groups_of_row, best_two);
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const float *own = logits + row * logits_stride;
    int32_t *chosen = experts + row * experts_stride;
    float *weight = weights + row * weights_stride;
    const baton::cuda::RowScores scores(own, count, scoring);
    // Sums are of scores; else their order is that of logits.
    const bool is_number =
        bias || best_two
            ? baton::cuda::choose(chosen, chosen_of_row, choice,
                                  [&](int32_t i) {
                                    return bias ? scores.of(i) + bias[i]
                                                : scores.of(i);
                                  })
            : baton::cuda::choose(chosen, chosen_of_row, choice,
                                  [&](int32_t i) { return own[i]; });
    for (int64_t j = 0; j < k; ++j) {
      if (!is_number)
        chosen[j] = static_cast<int32_t>(j);
      weight[j] = is_number ? scores.of(chosen[j]) : baton::cuda::quiet_nan();
    }
    const float sum =
        normalize ? baton::cuda::sum_of(weight, k, /*is_power=*/false, 0.0f)
                  : 1.0f;
    for (int64_t j = 0; j < k; ++j)
      weight[j] = weight[j] / sum * factor;
  }
}

BATON_DEVICE void baton_task_dispatch_rows(int32_t *bounds, int32_t *choices,
                                           int32_t *places,
                                           const int32_t *experts,
                                           int64_t experts_stride, int64_t rows,
                                           int64_t k, int64_t count) {
  baton::cuda::sort_choices(bounds, choices, places, experts, experts_stride,
                            rows, k, count,
                            [](int64_t expert) { return expert; });
}

BATON_DEVICE void
baton_task_dispatch_rows_part(int32_t *bounds, int32_t *choices,
                              int32_t *places, const int32_t *experts,
                              int64_t experts_stride, int64_t rows, int64_t k,
                              int64_t count, const int32_t *place) {
  const int64_t first = place[0];
  baton::cuda::sort_choices(bounds, choices, places, experts, experts_stride,
                            rows, k, count + 1, [&](int64_t expert) {
                              const int64_t own = expert - first;
                              return own >= 0 && own < count ? own : count;
                            });
}

BATON_DEVICE void baton_task_count_places(int32_t *counts,
                                          int64_t counts_stride,
                                          const int32_t *bounds, int64_t ranks,
                                          int64_t experts, int64_t width) {
  for (int64_t i = baton_thread(); i < ranks * width; i += baton_threads()) {
    const int64_t rank = i / width, expert = i % width;
    const int32_t *own = bounds + rank * experts + expert;
    counts[rank * counts_stride + expert] =
        expert < experts ? own[1] - own[0] : 0;
  }
}

BATON_DEVICE void baton_task_bound_places(int32_t *bounds,
                                          const int32_t *counts,
                                          int64_t counts_stride, int64_t ranks,
                                          int64_t experts, int64_t places) {
  for (int64_t expert = baton_thread(); expert < experts;
       expert += baton_threads()) {
    int32_t own = 0;
    for (int64_t rank = 0; rank < ranks; ++rank)
      own += counts[rank * counts_stride + expert];
    bounds[expert + 1] = own;
  }
  __syncthreads();
  if (baton_thread() != 0)
    return;
  bounds[0] = 0;
  for (int64_t expert = 0; expert < experts; ++expert)
    bounds[expert + 1] += bounds[expert];
  bounds[experts + 1] = static_cast<int32_t>(places);
}

BATON_DEVICE void baton_task_gather_rows(float *out, int64_t out_stride,
                                         const float *x, int64_t x_stride,
                                         const int32_t *choices, int64_t rows,
                                         int64_t, int64_t k, int64_t width) {
  baton::cuda::fill_rows(out, out_stride, rows, width,
                         [&](int64_t row, int64_t column) {
                           return x[choices[row] / k * x_stride + column];
                         });
}

BATON_DEVICE void baton_task_combine_rows(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const int32_t *places, const float *weights, int64_t weights_stride,
    int64_t rows, int64_t place_count, int64_t k, int64_t width) {
  baton::cuda::fill_rows(
      out, out_stride, rows, width, [&](int64_t row, int64_t column) {
        float sum = 0.0f;
        for (int64_t j = 0; j < k; ++j)
          if (const int64_t place = places[row * k + j]; place < place_count)
            sum = fmaf(weights[row * weights_stride + j],
                       x[place * x_stride + column], sum);
        return sum;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_EXPERTS_H
