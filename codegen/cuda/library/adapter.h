//===- adapter.h - low-rank adapters, of each row its own -----------------===//
//
// Rows that follow one another and have one adapter are multiplied together.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ADAPTER_H
#define BATON_CODEGEN_CUDA_LIBRARY_ADAPTER_H

#include "codegen/cuda/library/linear.h"

namespace baton::cuda {

/// Calls body(first, count) for runs of rows with one adapter; of rows without
/// one, too.
template <typename Body>
BATON_DEVICE void for_each_adapter(const int32_t *places, const int32_t *counts,
                                   int64_t rows, Body body) {
  for (int64_t first = 0, end; first < rows; first = end) {
    end = first + 1;
    while (end < rows && places[end] == places[first] &&
           counts[end] == counts[first])
      ++end;
    body(first, end - first);
  }
}

BATON_DEVICE int64_t in_whole_panels(int64_t columns) {
  return (columns + lanes - 1) / lanes * lanes;
}

template <typename Weight>
BATON_DEVICE void adapter_down(float *out, int64_t out_stride, const float *x,
                               int64_t x_stride, const Weight *ranks,
                               const int32_t *places, const int32_t *counts,
                               int64_t rows, int64_t k, int64_t most) {
  for_each_adapter(places, counts, rows, [&](int64_t first, int64_t count) {
    const int64_t own = counts[first];
    float *const sums = out + first * out_stride;
    if (own)
      linear(sums, out_stride, x + first * x_stride, x_stride,
             ranks + places[first] * in_whole_panels(k), /*bias=*/nullptr,
             /*residual=*/nullptr, 0, count, k, own, BATON_ACTIVATION_NONE);
    if (own < most)
      for_each_element(count, most - own, [&](int64_t row, int64_t rank) {
        sums[row * out_stride + own + rank] = 0.0f;
      });
  });
}

template <typename Weight>
BATON_DEVICE void adapter_up(float *out, int64_t out_stride, const float *low,
                             int64_t low_stride, const Weight *ranks,
                             const int32_t *places, const int32_t *counts,
                             int64_t rows, int64_t columns, int64_t column,
                             int64_t offset, int64_t outputs) {
  // What the tile has of the pair's columns.
  const int64_t begin = column > offset ? column : offset,
                end = smaller(column + columns, offset + outputs);
  if (begin >= end)
    return;
  float *const tile = out + (begin - column);
  for_each_adapter(places, counts, rows, [&](int64_t first, int64_t count) {
    const int64_t own = counts[first];
    if (own == 0)
      return;
    float *const sums = tile + first * out_stride;
    linear(sums, out_stride, low + first * low_stride, low_stride,
           ranks + places[first] * in_whole_panels(outputs) +
               (begin - offset) * own,
           /*bias=*/nullptr, sums, out_stride, count, own, end - begin,
           BATON_ACTIVATION_NONE);
  });
}

} // namespace baton::cuda

#define BATON_ADAPTER(NAME, STORED, WEIGHT)                                    \
  BATON_DEVICE void baton_task_adapter_down##NAME(                             \
      float *out, int64_t out_stride, const float *x, int64_t x_stride,        \
      const STORED *ranks, int64_t /*room*/, const int32_t *places,            \
      const int32_t *counts, int64_t rows, int64_t k, int64_t most) {          \
    baton::cuda::adapter_down(out, out_stride, x, x_stride,                    \
                              reinterpret_cast<const WEIGHT *>(ranks), places, \
                              counts, rows, k, most);                          \
  }                                                                            \
  BATON_DEVICE void baton_task_adapter_up##NAME(                               \
      float *out, int64_t out_stride, const float *low, int64_t low_stride,    \
      const STORED *ranks, int64_t /*room*/, const int32_t *places,            \
      const int32_t *counts, int64_t rows, int64_t columns, int64_t /*most*/,  \
      int64_t column, int64_t offset, int64_t outputs) {                       \
    baton::cuda::adapter_up(out, out_stride, low, low_stride,                  \
                            reinterpret_cast<const WEIGHT *>(ranks), places,   \
                            counts, rows, columns, column, offset, outputs);   \
  }
BATON_ADAPTER(, float, float)
BATON_ADAPTER(_bf16, uint16_t, baton::cuda::BFloat16)
#undef BATON_ADAPTER

#endif // BATON_CODEGEN_CUDA_LIBRARY_ADAPTER_H
