//===- sum_ranks.cpp - what several ranks have, added up ------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/training.h"
#include "codegen/cpu/library/vector.h"

#include <algorithm>

using namespace baton::cpu;

BATON_TASK void baton_task_sum_ranks(Real *out, const Real *parts,
                                     int64_t stride, int64_t ranks,
                                     int64_t columns) {
  for_each_vector(columns,
                  [&](int64_t column, int64_t count) BATON_INLINE_LAMBDA {
                    Vector sum = load(parts + column, count);
                    for (int64_t rank = 1; rank < ranks; ++rank)
                      sum = sum + load(parts + rank * stride + column, count);
                    store(out + column, sum, count);
                  });
}

BATON_TASK void baton_task_max_ranks(Real *out, const Real *parts,
                                     int64_t stride, int64_t ranks,
                                     int64_t columns) {
  for_each_vector(
      columns, [&](int64_t column, int64_t count) BATON_INLINE_LAMBDA {
        Vector most = load(parts + column, count);
        for (int64_t rank = 1; rank < ranks; ++rank)
          most = maximum(load(parts + rank * stride + column, count), most);
        store(out + column, most, count);
      });
}

BATON_TASK void baton_task_clear(Real *out, int64_t columns) {
  for_each_vector(columns,
                  [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                    store(out + first, splat(0.0f), count);
                  });
}

BATON_TASK void baton_task_keep_first(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      int64_t rows, int64_t width,
                                      const int32_t *place) {
  const bool keeps = *place == 0;
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(out + row * out_stride + first,
                keeps ? load(x + row * x_stride + first, count) : splat(0.0f),
                count);
        });
}

BATON_TASK void baton_task_take_columns(Real *out, int64_t out_stride,
                                        const Real *x, int64_t x_stride,
                                        int64_t rows, int64_t width,
                                        const int32_t *place) {
  const Real *first = x + *place * width;
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(
        width, [&](int64_t column, int64_t count) BATON_INLINE_LAMBDA {
          store(out + row * out_stride + column,
                load(first + row * x_stride + column, count), count);
        });
}

BATON_TASK void baton_task_sum_rank_rows(Real *out, int64_t out_stride,
                                         const Real *parts,
                                         int64_t parts_stride, int64_t ranks,
                                         int64_t rows, int64_t width,
                                         int64_t first, int64_t part,
                                         int64_t all, const int32_t *place) {
  const int64_t present =
      std::clamp<int64_t>(all - (*place * part + first), 0, rows);
  for (int64_t row = 0; row < rows; ++row)
    if (row < present)
      baton_task_sum_ranks(out + row * out_stride, parts + row * width,
                           parts_stride, ranks, width);
    else
      baton_task_clear(out + row * out_stride, width);
}

BATON_TASK void baton_task_add_ranks(Real *out, const Real *parts,
                                     int64_t stride, int64_t ranks,
                                     int64_t columns,
                                     const int32_t *accumulate) {
  const bool adds = *accumulate != 0;
  for_each_vector(columns,
                  [&](int64_t column, int64_t count) BATON_INLINE_LAMBDA {
                    Vector sum = load(parts + column, count);
                    for (int64_t rank = 1; rank < ranks; ++rank)
                      sum = sum + load(parts + rank * stride + column, count);
                    if (adds)
                      sum = load(out + column, count) + sum;
                    store(out + column, sum, count);
                  });
}

BATON_TASK void baton_task_sum_numbers(Real *out, int64_t width,
                                       const Real *numbers, int64_t stride,
                                       int64_t count) {
  Real sum = 0.0f;
  for (int64_t i = 0; i < count; ++i)
    sum += numbers[i * stride];
  for (int64_t i = 0; i < width; ++i)
    out[i] = i ? Real(0.0f) : sum;
}

BATON_TASK void baton_task_take_part(Real *out, const Real *whole,
                                     int64_t elements, int64_t part,
                                     int64_t first, int64_t count,
                                     const int32_t *place) {
  const int64_t begin = *place * part + first;
  for (int64_t i = 0; i < count; ++i)
    out[i] = begin + i < elements ? whole[begin + i] : Real(0.0f);
}
