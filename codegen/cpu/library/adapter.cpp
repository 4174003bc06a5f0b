//===- adapter.cpp - low-rank adapters, of each row its own
//----------------===//
//
// Rows that follow one another and have one adapter are multiplied together.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_rows.h"

using namespace baton::cpu;

namespace {

/// Calls body(first, count) for runs of rows with one adapter; of rows without
/// one, too.
template <typename Body>
BATON_INLINE void for_each_adapter(const int32_t *__restrict places,
                                   const int32_t *__restrict counts,
                                   int64_t rows, Body body) {
  for (int64_t first = 0, end; first < rows; first = end) {
    end = first + 1;
    while (end < rows && places[end] == places[first] &&
           counts[end] == counts[first])
      ++end;
    body(first, end - first);
  }
}

BATON_INLINE int64_t whole_panels(int64_t columns) {
  return (columns + lanes - 1) / lanes * lanes;
}

template <typename Weight>
BATON_INLINE void adapter_down(Real *out, int64_t out_stride, const Real *x,
                               int64_t x_stride, const Weight *ranks,
                               const int32_t *places, const int32_t *counts,
                               int64_t rows, int64_t k, int64_t most) {
  for_each_adapter(places, counts, rows,
                   [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                     const int64_t own = counts[first];
                     if (own)
                       linear(out + first * out_stride, out_stride,
                              x + first * x_stride, x_stride,
                              ranks + places[first] * whole_panels(k),
                              /*bias=*/nullptr, /*residual=*/nullptr, 0, count,
                              k, own, BATON_ACTIVATION_NONE);
                     for (int64_t row = first; row < first + count; ++row)
                       for (int64_t rank = own; rank < most; rank += lanes)
                         store(out + row * out_stride + rank, splat(0.0f));
                   });
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
  for_each_adapter(places, counts, rows,
                   [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                     const int64_t own = counts[first];
                     if (own == 0)
                       return;
                     Real *const sums = tile + first * out_stride;
                     linear(sums, out_stride, low + first * low_stride,
                            low_stride,
                            ranks + places[first] * whole_panels(outputs) +
                                (begin - offset) * own,
                            /*bias=*/nullptr, sums, out_stride, count, own,
                            end - begin, BATON_ACTIVATION_NONE);
                   });
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
