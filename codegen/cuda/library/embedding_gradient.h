//===- embedding_gradient.h - gradients of tables -------------------------===//
//
// Rows of one token are summed by the warp that meets the first of them, in
// ascending order: a warp looks for a token among 32 rows at a time, and has
// four columns of its sums a thread.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_EMBEDDING_GRADIENT_H
#define BATON_CODEGEN_CUDA_LIBRARY_EMBEDDING_GRADIENT_H

#include "codegen/cuda/library/elements.h"
#include "codegen/cuda/library/row_sums.h"

namespace baton::cuda {

/// The first row of [row, end) that has this token; `end` if none. Called by
/// whole warps, of the same token and rows.
BATON_DEVICE int64_t next_of(const int32_t *indices, int32_t token, int64_t row,
                             int64_t end) {
  for (; row < end; row += 32) {
    const int64_t own = row + baton_thread() % 32;
    const uint32_t found =
        __ballot_sync(0xffffffffu, own < end && indices[own] == token);
    if (found)
      return row + __ffs(static_cast<int>(found)) - 1;
  }
  return end;
}

/// Of the tokens from `first` on, `count` of them, with rows of the table for
/// `room`.
BATON_DEVICE void
embedding_gradient(float *dtable, int64_t table_stride, const float *dy,
                   int64_t dy_stride, const int32_t *indices, int64_t rows,
                   int64_t columns, int64_t room, float multiplier,
                   const int32_t *accumulate, uint32_t first, uint32_t count) {
  const bool adds = joins(accumulate);
  if (!adds) {
    fill_rows(dtable, table_stride, room, columns,
              [](int64_t, int64_t) { return 0.0f; });
    __syncthreads();
  }
  constexpr int own = 4, width = own * 32;
  const uint32_t warps = baton_threads() / 32;
  const uint32_t lane = baton_thread() % 32;
  for (int64_t row = baton_thread() / 32; row < rows; row += warps) {
    const int32_t token = indices[row];
    const uint32_t own_token = static_cast<uint32_t>(token) - first;
    if (own_token >= count || next_of(indices, token, 0, row) < row)
      continue;
    for (int64_t begin = 0; begin < columns; begin += width) {
      float sums[own];
#pragma unroll
      for (int i = 0; i < own; ++i)
        sums[i] = 0.0f;
      for (int64_t next = row; next < rows;
           next = next_of(indices, token, next + 1, rows))
#pragma unroll
        for (int i = 0; i < own; ++i) {
          const int64_t column = begin + i * 32 + lane;
          if (column < columns)
            sums[i] += dy[next * dy_stride + column];
        }
#pragma unroll
      for (int i = 0; i < own; ++i) {
        const int64_t column = begin + i * 32 + lane;
        if (column >= columns)
          continue;
        float *place = dtable + own_token * table_stride + column;
        const float value = sums[i] * multiplier;
        *place = adds ? value + *place : value;
      }
    }
  }
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_embedding_gradient(
    float *dtable, int64_t table_stride, const float *dy, int64_t dy_stride,
    const int32_t *indices, int64_t rows, int64_t columns, int64_t vocabulary,
    float multiplier, const int32_t *accumulate) {
  baton::cuda::embedding_gradient(
      dtable, table_stride, dy, dy_stride, indices, rows, columns, vocabulary,
      multiplier, accumulate, 0, static_cast<uint32_t>(vocabulary));
}

BATON_DEVICE void baton_task_embedding_gradient_part(
    float *dtable, int64_t table_stride, const float *dy, int64_t dy_stride,
    const int32_t *indices, int64_t rows, int64_t columns, int64_t room,
    float multiplier, const int32_t *accumulate, const int32_t *place) {
  baton::cuda::embedding_gradient(dtable, table_stride, dy, dy_stride, indices,
                                  rows, columns, room, multiplier, accumulate,
                                  place[0], place[1]);
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_EMBEDDING_GRADIENT_H
