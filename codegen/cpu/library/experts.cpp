//===- experts.cpp - rows to experts and back -----------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/math.h"

using namespace baton::cpu;

namespace {

template <typename Value> BATON_INLINE Real sum_of(int64_t count, Value value) {
  alignas(64) Real partial[lanes] = {};
  for (int64_t i = 0; i < count; ++i)
    partial[i % lanes] += value(i);
  return reduce_sum(load(partial));
}

/// The scores of one row's logits.
struct RowScores {
  const Real *logits;
  int64_t count;
  int32_t scoring;
  Real maximum, sum;

  BATON_INLINE RowScores(const Real *logits, int64_t count, int32_t scoring)
      : logits(logits), count(count), scoring(scoring), maximum(logits[0]),
        sum(1.0f) {
    if (scoring != BATON_SCORING_SOFTMAX)
      return;
    for (int64_t i = 1; i < count; ++i)
      maximum = logits[i] > maximum ? logits[i] : maximum;
    sum = sum_of(count, [&](int64_t i) BATON_INLINE_LAMBDA {
      return exp(logits[i] - maximum);
    });
  }

  BATON_INLINE Real of(int64_t expert) const {
    if (scoring == BATON_SCORING_SOFTMAX)
      return exp(logits[expert] - maximum) / sum;
    return 1.0f / (1.0f + exp(-logits[expert]));
  }
};

/// The number with the largest key of those that are allowed and come behind
/// `last`, of key `least`, in the order of keys, then of numbers: the first of
/// all where `last` is -1. None: -1.
template <typename Key, typename Allowed>
BATON_INLINE int64_t next_largest(int64_t count, int64_t last, Real least,
                                  Key key, Allowed is_allowed) {
  int64_t best = -1;
  Real most = 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    if (!is_allowed(i))
      continue;
    const Real own = key(i);
    const bool is_behind =
        last < 0 || own < least || (own == least && i > last);
    if (is_behind && (best < 0 || own > most)) {
      best = i;
      most = own;
    }
  }
  return best;
}

/// Groups of experts, 64 at most, of which a row takes some.
struct Groups {
  int64_t experts, count, of_row;
  int32_t best_two;

  BATON_INLINE int64_t size() const { return experts / count; }
  /// What a group is worth.
  template <typename Key>
  BATON_INLINE Real worth(int64_t group, Key key) const {
    const int64_t first = group * size();
    Real most = key(first), second = -__builtin_inff();
    for (int64_t i = first + 1; i < first + size(); ++i) {
      const Real own = key(i);
      if (own > most) {
        second = most;
        most = own;
      } else if (own > second) {
        second = own;
      }
    }
    return best_two ? most + second : most;
  }
  /// The best ones, a bit each.
  template <typename Key> BATON_INLINE uint64_t best(Key key) const {
    if (of_row == count)
      return ~uint64_t(0);
    auto worth_of = [&](int64_t group)
                        BATON_INLINE_LAMBDA { return worth(group, key); };
    uint64_t taken = 0;
    int64_t last = -1;
    Real least = 0.0f;
    for (int64_t done = 0; done < of_row; ++done) {
      last = next_largest(count, last, least, worth_of,
                          [](int64_t) BATON_INLINE_LAMBDA { return true; });
      least = worth_of(last);
      taken |= uint64_t(1) << last;
    }
    return taken;
  }
};

/// Writes the `k` numbers with the largest keys, of the best groups, in
/// ascending order. False where a key is NaN.
template <typename Key>
BATON_INLINE bool choose(int32_t *chosen, int64_t k, const Groups &groups,
                         Key key) {
  for (int64_t i = 0; i < groups.experts; ++i)
    if (const Real own = key(i); own != own)
      return false;
  const uint64_t best = groups.best(key);
  const int64_t size = groups.size();
  int64_t last = -1;
  Real least = 0.0f;
  for (int64_t done = 0; done < k; ++done) {
    last = next_largest(groups.experts, last, least, key,
                        [&](int64_t i) BATON_INLINE_LAMBDA {
                          return (best >> (i / size) & 1) != 0;
                        });
    least = key(last);
    int64_t at = done;
    for (; at > 0 && chosen[at - 1] > last; --at)
      chosen[at] = chosen[at - 1];
    chosen[at] = static_cast<int32_t>(last);
  }
  return true;
}

/// Sorts choices by the segment that each is of, `count` segments. A choice of
/// a segment that there is not is left out.
template <typename SegmentOf>
BATON_INLINE void sort_choices(int32_t *bounds, int32_t *choices,
                               int32_t *places, const int32_t *experts,
                               int64_t experts_stride, int64_t rows, int64_t k,
                               int64_t count, SegmentOf segment_of) {
  auto for_each_choice = [&](auto body) BATON_INLINE_LAMBDA {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < k; ++j) {
        const int64_t segment = segment_of(experts[row * experts_stride + j]);
        if (segment >= 0 && segment < count)
          body(row * k + j, segment);
      }
  };
  for (int64_t segment = 0; segment <= count; ++segment)
    bounds[segment] = 0;
  for_each_choice([&](int64_t, int64_t segment)
                      BATON_INLINE_LAMBDA { ++bounds[segment + 1]; });
  for (int64_t segment = 0; segment < count; ++segment)
    bounds[segment + 1] += bounds[segment];
  // A bound goes to its segment's end, which is the next one's begin.
  for_each_choice([&](int64_t choice, int64_t segment) BATON_INLINE_LAMBDA {
    const int32_t place = bounds[segment]++;
    choices[place] = static_cast<int32_t>(choice);
    places[choice] = place;
  });
  for (int64_t segment = count; segment > 0; --segment)
    bounds[segment] = bounds[segment - 1];
  bounds[0] = 0;
}

} // namespace

BATON_TASK void
baton_task_route_rows(int32_t *__restrict experts, int64_t experts_stride,
                      Real *__restrict weights, int64_t weights_stride,
                      const Real *__restrict logits, int64_t logits_stride,
                      const Real *__restrict bias, int64_t rows, int64_t k,
                      int64_t count, int32_t scoring, int32_t normalize,
                      Real factor, int64_t groups, int64_t groups_of_row,
                      int32_t best_two) {
  const Groups choice = {count, groups, groups_of_row, best_two};
  for (int64_t row = 0; row < rows; ++row) {
    const Real *own = logits + row * logits_stride;
    int32_t *chosen = experts + row * experts_stride;
    Real *weight = weights + row * weights_stride;
    const RowScores scores(own, count, scoring);
    // Sums are of scores; else their order is that of logits.
    const bool is_number =
        bias || best_two
            ? choose(chosen, k, choice,
                     [&](int64_t i) BATON_INLINE_LAMBDA {
                       return bias ? scores.of(i) + bias[i] : scores.of(i);
                     })
            : choose(chosen, k, choice,
                     [&](int64_t i) BATON_INLINE_LAMBDA { return own[i]; });
    for (int64_t j = 0; j < k; ++j) {
      if (!is_number)
        chosen[j] = static_cast<int32_t>(j);
      weight[j] = is_number ? scores.of(chosen[j]) : __builtin_nanf("");
    }
    const Real sum =
        normalize ? sum_of(k, [&](int64_t j)
                                  BATON_INLINE_LAMBDA { return weight[j]; })
                  : 1.0f;
    for (int64_t j = 0; j < k; ++j)
      weight[j] = weight[j] / sum * factor;
  }
}

BATON_TASK void baton_task_dispatch_rows(int32_t *__restrict bounds,
                                         int32_t *__restrict choices,
                                         int32_t *__restrict places,
                                         const int32_t *__restrict experts,
                                         int64_t experts_stride, int64_t rows,
                                         int64_t k, int64_t count) {
  sort_choices(bounds, choices, places, experts, experts_stride, rows, k, count,
               [](int64_t expert) BATON_INLINE_LAMBDA { return expert; });
}

BATON_TASK void baton_task_dispatch_rows_part(
    int32_t *__restrict bounds, int32_t *__restrict choices,
    int32_t *__restrict places, const int32_t *__restrict experts,
    int64_t experts_stride, int64_t rows, int64_t k, int64_t count,
    const int32_t *__restrict place) {
  const int64_t first = place[0];
  sort_choices(bounds, choices, places, experts, experts_stride, rows, k,
               count + 1, [&](int64_t expert) BATON_INLINE_LAMBDA {
                 const int64_t own = expert - first;
                 return own >= 0 && own < count ? own : count;
               });
}

BATON_TASK void baton_task_count_places(int32_t *__restrict counts,
                                        int64_t counts_stride,
                                        const int32_t *__restrict bounds,
                                        int64_t ranks, int64_t experts,
                                        int64_t width) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t i = 0; i < width; ++i) {
      const int32_t *own = bounds + rank * experts + i;
      counts[rank * counts_stride + i] = i < experts ? own[1] - own[0] : 0;
    }
}

BATON_TASK void baton_task_bound_places(int32_t *__restrict bounds,
                                        const int32_t *__restrict counts,
                                        int64_t counts_stride, int64_t ranks,
                                        int64_t experts, int64_t places) {
  int32_t end = 0;
  bounds[0] = 0;
  for (int64_t expert = 0; expert < experts; ++expert) {
    for (int64_t rank = 0; rank < ranks; ++rank)
      end += counts[rank * counts_stride + expert];
    bounds[expert + 1] = end;
  }
  bounds[experts + 1] = static_cast<int32_t>(places);
}

BATON_TASK void baton_task_gather_rows(Real *__restrict out, int64_t out_stride,
                                       const Real *__restrict x,
                                       int64_t x_stride,
                                       const int32_t *__restrict choices,
                                       int64_t rows, int64_t, int64_t k,
                                       int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *source = x + choices[row] / k * x_stride;
    Real *destination = out + row * out_stride;
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(destination + first, load(source + first, count), count);
        });
  }
}

BATON_TASK void baton_task_combine_rows(
    Real *__restrict out, int64_t out_stride, const Real *__restrict x,
    int64_t x_stride, const int32_t *__restrict places,
    const Real *__restrict weights, int64_t weights_stride, int64_t rows,
    int64_t place_count, int64_t k, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t *own = places + row * k;
    const Real *weight = weights + row * weights_stride;
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          Vector sum = splat(0.0f);
          for (int64_t j = 0; j < k; ++j)
            if (own[j] < place_count)
              sum = fma(splat(weight[j]),
                        load(x + own[j] * x_stride + first, count), sum);
          store(out + row * out_stride + first, sum, count);
        });
  }
}
