//===- unpacked.h - products whose right-hand side nobody has packed ------===//
//
// The right-hand side is packed into panels of 16 columns on the fly, a piece
// of its depth at a time; partial sums rest in `out`, which loses no bits.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_UNPACKED_H
#define BATON_CODEGEN_CPU_LIBRARY_UNPACKED_H

#include "codegen/cpu/library/microkernel.h"

namespace baton::cpu {

/// Depths of a piece: its panel is 8 KiB, a quarter of the first-level cache.
constexpr int64_t unpacked_depth = 128;

/// out[r][c] = finish(c, count, the sum over d of a(r, d) b(d, c)), sixteen
/// columns from c on at a time, of the last ones `count`. pack(panel, column,
/// count, first, size) writes b(first .. first + size, column .. column + 16)
/// as [size][16], with zeros behind the columns that there are.
template <typename Pack, typename Finish>
BATON_INLINE void multiply_unpacked(Real *__restrict out, int64_t out_stride,
                                    const Real *__restrict a, int64_t a_stride,
                                    int64_t rows, int64_t columns,
                                    int64_t depth, Pack pack, Finish finish) {
  alignas(64) Real panel[unpacked_depth * lanes];
  for (int64_t column = 0; column < columns; column += lanes) {
    const int64_t count = columns - column < lanes ? columns - column : lanes;
    for (int64_t first = 0; first == 0 || first < depth;
         first += unpacked_depth) {
      const int64_t left_over = depth - first;
      const int64_t size =
          left_over < unpacked_depth ? left_over : unpacked_depth;
      pack(panel, column, count, first, size);
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
            store(target + row * out_stride,
                  size == left_over ? finish(column, count, sum[row][0])
                                    : sum[row][0],
                  count);
        });
      });
    }
  }
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_UNPACKED_H
