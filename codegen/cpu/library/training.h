//===- training.h - the tile bodies of training, on the CPU ---------------===//
//
// What a training program calls beside the bodies of library.h, whose
// conventions and numeric contract hold here too. Differences:
// - Weights, gradients and optimizer states are F32, row-major, as a
//   checkpoint stores them: nothing is packed between steps.
// - A step's rows are tokens of several sequences, one behind the other.
//   `positions[r]` is row r's place in its own sequence: the row r -
//   positions[r] is the first of it. positions[r] <= r, and it is 0 or one more
//   than that of the row before.
// - `accumulate` says whether a gradient is added to what is there: null or
//   *accumulate != 0: added; else it takes its place. It never aliases an
//   output.
// - A sum over rows ascends in rows, one after the other, and is a chain of
//   additions (or fused multiply-adds where the terms are products) that starts
//   at +0; the old value, if any, is added last. Tiles of columns or depth
//   change no bits. baton_task_product_gradient begins with the old value
//   instead, so that rows in parts make the chain of all rows.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_TRAINING_H
#define BATON_CODEGEN_CPU_LIBRARY_TRAINING_H

#include "codegen/cpu/library/library.h"

#ifdef __cplusplus
#define BATON_CONSTEXPR constexpr
#else
#define BATON_CONSTEXPR static inline
#endif

/// Bytes of `scratch` for products of up to `columns` columns: a part of the
/// left-hand side of 258 rows and 256 depths, four panels of the right-hand
/// side, and sums of 258 rows.
BATON_CONSTEXPR int64_t baton_product_scratch_bytes(int64_t columns) {
  return sizeof(Real) *
         (258 * 256 + 4 * 256 * 16 + 258 * ((columns + 15) / 16 * 16));
}

/// The same of linear_transposed, which packs sixteen panels.
BATON_CONSTEXPR int64_t baton_linear_transposed_scratch_bytes(int64_t columns) {
  return sizeof(Real) *
         (258 * 256 + 16 * 256 * 16 + 258 * ((columns + 15) / 16 * 16));
}

/// Bytes of `scratch` that adapted_squares needs for up to `columns` columns:
/// 16 outputs and 64 inputs of each rank, or, of threads, eight sums a column.
BATON_CONSTEXPR int64_t baton_adapted_squares_scratch_bytes(int64_t columns,
                                                            int64_t rank) {
  return sizeof(Real) * (80 * rank > 8 * columns ? 80 * rank : 8 * columns);
}

/// Bytes of `scratch` that sequence_attention and its two adjoints
/// need for tiles of up to
/// `rows` rows: baton_attention_scratch_bytes, or blocks of 64 rows of two
/// matrices in two orders.
BATON_CONSTEXPR int64_t baton_sequence_attention_scratch_bytes(
    int64_t rows, int64_t group, int64_t head_dim, int64_t value_dim) {
  const int64_t forward =
      baton_attention_scratch_bytes(rows, group, head_dim, value_dim);
  const int64_t gradient = sizeof(Real) * 64 *
                           (head_dim + (head_dim + 15) / 16 * 16 + value_dim +
                            (value_dim + 15) / 16 * 16);
  return forward > gradient ? forward : gradient;
}

/// Most iterations of baton_task_hyper_maps_gradient.
#define BATON_MOST_ITERATIONS 64

#endif // BATON_CODEGEN_CPU_LIBRARY_TRAINING_H
