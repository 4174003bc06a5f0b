//===- adapter.cpp - low-rank adapters, of each row its own ---------------===//
//
// Rows that follow one another and have one adapter are multiplied together.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_rows.h"

using namespace baton::cpu;

namespace {

/// Calls body(first, count, own, place) for runs of rows with one adapter, of
/// `own` ranks from `place` on; of rows without one, too. Before that
/// fetch(own, place) of the next run.
template <typename Fetch, typename Body>
BATON_INLINE void for_each_adapter(const int32_t *__restrict places,
                                   const int32_t *__restrict counts,
                                   int64_t rows, Fetch fetch, Body body) {
  for (int64_t first = 0, end; first < rows; first = end) {
    end = first + 1;
    while (end < rows && places[end] == places[first] &&
           counts[end] == counts[first])
      ++end;
    if (end < rows)
      fetch(int64_t(counts[end]), int64_t(places[end]));
    body(first, end - first, int64_t(counts[first]), int64_t(places[first]));
  }
}

/// Asks for numbers of another adapter's: hardware cannot know that they come
/// next.
template <typename Weight>
BATON_INLINE void fetch_ahead(const Weight *numbers, int64_t count) {
  const auto *bytes = reinterpret_cast<const char *>(numbers);
  for (int64_t at = 0; at < count * int64_t(sizeof(Weight)); at += 64)
    __builtin_prefetch(bytes + at);
}

/// Of a long stretch so many, behind which hardware sees what it is.
constexpr int64_t fetched_depths = 64;

BATON_INLINE int64_t whole_panels(int64_t columns) {
  return (columns + lanes - 1) / lanes * lanes;
}

template <typename Weight>
BATON_INLINE void adapter_down(Real *out, int64_t out_stride, const Real *x,
                               int64_t x_stride, const Weight *ranks,
                               const int32_t *places, const int32_t *counts,
                               int64_t rows, int64_t k, int64_t most) {
  const int64_t width = whole_panels(k);
  auto fetch = [&](int64_t own, int64_t place) BATON_INLINE_LAMBDA {
    if (own)
      fetch_ahead(ranks + place * width,
                  (k < fetched_depths ? k : fetched_depths) * lanes);
  };
  auto multiply = [&](int64_t first, int64_t count, int64_t own,
                      int64_t place) BATON_INLINE_LAMBDA {
    if (own)
      linear(out + first * out_stride, out_stride, x + first * x_stride,
             x_stride, ranks + place * width, /*bias=*/nullptr,
             /*residual=*/nullptr, 0, count, k, own, BATON_ACTIVATION_NONE);
    for (int64_t row = first; row < first + count; ++row)
      for (int64_t rank = own; rank < most; rank += lanes)
        store(out + row * out_stride + rank, splat(0.0f));
  };
  for_each_adapter(places, counts, rows, fetch, multiply);
}

template <typename Weight>
BATON_INLINE void adapter_up(Real *out, int64_t out_stride, const Real *low,
                             int64_t low_stride, const Weight *ranks,
                             const int32_t *places, const int32_t *counts,
                             int64_t rows, int64_t columns, int64_t column,
                             int64_t offset, int64_t outputs) {
  // What the tile has of the pair's columns.
  const int64_t begin = column > offset ? column : offset,
                end = column + columns < offset + outputs ? column + columns
                                                          : offset + outputs;
  if (begin >= end)
    return;
  Real *const tile = out + (begin - column);
  auto panels_of = [&](int64_t own, int64_t place) BATON_INLINE_LAMBDA {
    return ranks + place * whole_panels(outputs) + (begin - offset) * own;
  };
  auto fetch = [&](int64_t own, int64_t place) BATON_INLINE_LAMBDA {
    fetch_ahead(panels_of(own, place), whole_panels(end - begin) * own);
  };
  auto multiply = [&](int64_t first, int64_t count, int64_t own,
                      int64_t place) BATON_INLINE_LAMBDA {
    Real *const sums = tile + first * out_stride;
    if (own)
      linear(sums, out_stride, low + first * low_stride, low_stride,
             panels_of(own, place), /*bias=*/nullptr, sums, out_stride, count,
             own, end - begin, BATON_ACTIVATION_NONE);
  };
  for_each_adapter(places, counts, rows, fetch, multiply);
}

} // namespace

#define BATON_ADAPTER(NAME, STORED, WEIGHT)                                    \
  BATON_TASK void baton_task_adapter_down##NAME(                               \
      Real *out, int64_t out_stride, const Real *x, int64_t x_stride,          \
      const STORED *ranks, int64_t /*room*/, const int32_t *places,            \
      const int32_t *counts, int64_t rows, int64_t k, int64_t most) {          \
    adapter_down(out, out_stride, x, x_stride,                                 \
                 reinterpret_cast<const WEIGHT *>(ranks), places, counts,      \
                 rows, k, most);                                               \
  }                                                                            \
  BATON_TASK void baton_task_adapter_up##NAME(                                 \
      Real *out, int64_t out_stride, const Real *low, int64_t low_stride,      \
      const STORED *ranks, int64_t /*room*/, const int32_t *places,            \
      const int32_t *counts, int64_t rows, int64_t columns, int64_t /*most*/,  \
      int64_t column, int64_t offset, int64_t outputs) {                       \
    adapter_up(out, out_stride, low, low_stride,                               \
               reinterpret_cast<const WEIGHT *>(ranks), places, counts, rows,  \
               columns, column, offset, outputs);                              \
  }
BATON_ADAPTER(, Real, Real)
BATON_ADAPTER(_bf16, uint16_t, BFloat16)
#undef BATON_ADAPTER
