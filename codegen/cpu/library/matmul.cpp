//===- matmul.cpp - product of two activations ----------------------------===//
//
// The right-hand side is packed into panels of 16 columns on the fly, a piece
// of its depth at a time; partial sums rest in `out`, which loses no bits.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/microkernel.h"
#include "codegen/cpu/library/transpose.h"

using namespace baton::cpu;

BATON_TASK void baton_task_matmul(Real *__restrict out, int64_t out_stride,
                                  const Real *__restrict a, int64_t a_stride,
                                  const Real *__restrict b,
                                  int64_t b_column_stride,
                                  int64_t b_depth_stride, int64_t rows,
                                  int64_t columns, int64_t depth) {
  constexpr int64_t piece = 128; // 8 KiB, a quarter of the first-level cache
  alignas(64) Real panel[piece * lanes];
  for (int64_t column = 0; column < columns; column += lanes) {
    const int64_t count = columns - column < lanes ? columns - column : lanes;
    for (int64_t first = 0; first == 0 || first < depth; first += piece) {
      const int64_t size = depth - first < piece ? depth - first : piece;
      const Real *source =
          b + column * b_column_stride + first * b_depth_stride;
      if (b_column_stride == 1)
        for (int64_t d = 0; d < size; ++d)
          store(panel + d * lanes, load(source + d * b_depth_stride, count));
      else if (b_depth_stride == 1)
        transpose_to_panel(panel, source, b_column_stride, 0, count, size);
      else
        for (int64_t d = 0; d < size; ++d)
          for (int64_t i = 0; i < lanes; ++i)
            panel[d * lanes + i] =
                i < count ? source[i * b_column_stride + d * b_depth_stride]
                          : 0.0f;

      for_each_row_block(rows, [&](int64_t first_row,
                                   int64_t block) BATON_INLINE_LAMBDA {
        with_constant_rows(block, [&]<int Rows>() BATON_INLINE_LAMBDA {
          const Real *left[Rows];
          Vector sum[Rows][1];
          Real *target = out + first_row * out_stride + column;
          BATON_UNROLL
          for (int row = 0; row < Rows; ++row) {
            left[row] = a + (first_row + row) * a_stride + first;
            sum[row][0] = first == 0 ? splat(0.0f)
                                     : load(target + row * out_stride, count);
          }
          accumulate<Rows, 1>(sum, left, 0, size,
                              [&](int64_t d, int) BATON_INLINE_LAMBDA {
                                return load(panel + d * lanes);
                              });
          BATON_UNROLL
          for (int row = 0; row < Rows; ++row)
            store(target + row * out_stride, sum[row][0], count);
        });
      });
    }
  }
}
