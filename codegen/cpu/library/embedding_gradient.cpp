//===- embedding_gradient.cpp - gradients of tables -----------------------===//
//
// Rows of one token are summed where the first of them is met: no more memory
// than a few columns' sums, and each token's rows in ascending order. Looking
// for a token among the rows costs little beside reading the rows.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/row_sums.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

namespace {

/// The first row from `row` on that has this token; `rows` if none.
BATON_INLINE int64_t next_of(const int32_t *__restrict indices, int32_t token,
                             int64_t row, int64_t rows) {
  for (; row + lanes <= rows; row += lanes) {
    typedef int32_t Tokens __attribute__((ext_vector_type(16)));
    Tokens some;
    __builtin_memcpy(&some, indices + row, sizeof some);
    if (__builtin_reduce_or(some == token))
      break;
  }
  while (row < rows && indices[row] != token)
    ++row;
  return row;
}

/// Of the tokens from `begin` on, `count` of them, with rows of the table for
/// `room`.
BATON_INLINE void
embedding_gradient(Real *__restrict dtable, int64_t table_stride,
                   const Real *__restrict dy, int64_t dy_stride,
                   const int32_t *__restrict indices, int64_t rows,
                   int64_t columns, int64_t room, Real multiplier,
                   const int32_t *accumulate, int64_t begin, int64_t tokens) {
  const bool adds = joins(accumulate);
  if (!adds)
    for (int64_t token = 0; token < room; ++token)
      for_each_vector(
          columns, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
            store(dtable + token * table_stride + first, splat(0.0f), count);
          });
  constexpr int64_t part = 256;
  alignas(64) Real sums[part];
  for (int64_t left = 0; left < columns; left += part) {
    const int64_t width = columns - left < part ? columns - left : part;
    for (int64_t row = 0; row < rows; ++row) {
      const int32_t token = indices[row];
      if (token < begin || token >= begin + tokens ||
          next_of(indices, token, 0, rows) < row)
        continue;
      for (int64_t i = 0; i < part; i += lanes)
        store(sums + i, splat(0.0f));
      for (int64_t next = row; next < rows;
           next = next_of(indices, token, next + 1, rows))
        for_each_vector(
            width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
              store(sums + first,
                    load(sums + first) +
                        load(dy + next * dy_stride + left + first, count));
            });
      Real *destination = dtable + (token - begin) * table_stride + left;
      for_each_vector(width,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        Vector value = load(sums + first) * multiplier;
                        if (adds)
                          value += load(destination + first, count);
                        store(destination + first, value, count);
                      });
    }
  }
}

} // namespace

BATON_TASK void baton_task_embedding_gradient(
    Real *dtable, int64_t table_stride, const Real *dy, int64_t dy_stride,
    const int32_t *indices, int64_t rows, int64_t columns, int64_t vocabulary,
    Real multiplier, const int32_t *accumulate) {
  embedding_gradient(dtable, table_stride, dy, dy_stride, indices, rows,
                     columns, vocabulary, multiplier, accumulate, 0,
                     vocabulary);
}

BATON_TASK void baton_task_embedding_gradient_part(
    Real *dtable, int64_t table_stride, const Real *dy, int64_t dy_stride,
    const int32_t *indices, int64_t rows, int64_t columns, int64_t room,
    Real multiplier, const int32_t *accumulate, const int32_t *place) {
  embedding_gradient(dtable, table_stride, dy, dy_stride, indices, rows,
                     columns, room, multiplier, accumulate, place[0], place[1]);
}
