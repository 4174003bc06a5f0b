//===- sum_ranks.h - what several ranks have, added up --------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SUM_RANKS_H
#define BATON_CODEGEN_CUDA_LIBRARY_SUM_RANKS_H

#include "codegen/cuda/library/elements.h"

BATON_DEVICE void baton_task_sum_ranks(float *out, const float *parts,
                                       int64_t stride, int64_t ranks,
                                       int64_t columns) {
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    float sum = parts[column];
    for (int64_t rank = 1; rank < ranks; ++rank)
      sum += parts[rank * stride + column];
    out[column] = sum;
  }
}

BATON_DEVICE void baton_task_max_ranks(float *out, const float *parts,
                                       int64_t stride, int64_t ranks,
                                       int64_t columns) {
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    float most = parts[column];
    for (int64_t rank = 1; rank < ranks; ++rank) {
      const float other = parts[rank * stride + column];
      most = other > most ? other : most;
    }
    out[column] = most;
  }
}

BATON_DEVICE void baton_task_clear(float *out, int64_t columns) {
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads())
    out[column] = 0.0f;
}

BATON_DEVICE void baton_task_keep_first(float *out, int64_t out_stride,
                                        const float *x, int64_t x_stride,
                                        int64_t rows, int64_t width,
                                        const int32_t *place) {
  const bool keeps = *place == 0;
  baton::cuda::fill_rows(out, out_stride, rows, width,
                         [&](int64_t row, int64_t column) {
                           return keeps ? x[row * x_stride + column] : 0.0f;
                         });
}

BATON_DEVICE void baton_task_take_columns(float *out, int64_t out_stride,
                                          const float *x, int64_t x_stride,
                                          int64_t rows, int64_t width,
                                          const int32_t *place) {
  const float *first = x + *place * width;
  baton::cuda::fill_rows(out, out_stride, rows, width,
                         [&](int64_t row, int64_t column) {
                           return first[row * x_stride + column];
                         });
}

BATON_DEVICE void baton_task_sum_rank_rows(float *out, int64_t out_stride,
                                           const float *parts,
                                           int64_t parts_stride, int64_t ranks,
                                           int64_t rows, int64_t width,
                                           int64_t first, int64_t part,
                                           int64_t all, const int32_t *place) {
  const int64_t present = all - (*place * part + first);
  baton::cuda::fill_rows(
      out, out_stride, rows, width, [&](int64_t row, int64_t column) {
        if (row >= present)
          return 0.0f;
        float sum = parts[row * width + column];
        for (int64_t rank = 1; rank < ranks; ++rank)
          sum += parts[rank * parts_stride + row * width + column];
        return sum;
      });
}

BATON_DEVICE void baton_task_add_ranks(float *out, const float *parts,
                                       int64_t stride, int64_t ranks,
                                       int64_t columns,
                                       const int32_t *accumulate) {
  const bool adds = *accumulate != 0;
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    float sum = parts[column];
    for (int64_t rank = 1; rank < ranks; ++rank)
      sum += parts[rank * stride + column];
    out[column] = adds ? out[column] + sum : sum;
  }
}

/// One chain, of one thread: few numbers, in one order.
BATON_DEVICE void baton_task_sum_numbers(float *out, int64_t width,
                                         const float *numbers, int64_t stride,
                                         int64_t count) {
  if (baton_thread() != 0)
    return;
  float sum = 0.0f;
#pragma unroll(16)
  for (int64_t i = 0; i < count; ++i)
    sum += numbers[i * stride];
  for (int64_t i = 0; i < width; ++i)
    out[i] = i ? 0.0f : sum;
}

BATON_DEVICE void baton_task_take_part(float *out, const float *whole,
                                       int64_t elements, int64_t part,
                                       int64_t first, int64_t count,
                                       const int32_t *place) {
  const int64_t begin = *place * part + first;
  for (int64_t i = baton_thread(); i < count; i += baton_threads())
    out[i] = begin + i < elements ? whole[begin + i] : 0.0f;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SUM_RANKS_H
