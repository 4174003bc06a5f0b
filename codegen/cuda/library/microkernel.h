//===- microkernel.h - a register tile of rows by columns -----------------===//
//
// The inner loop of everything that multiplies matrices. One element is one
// chain of fused multiply-adds in ascending depth, whatever tile it is in and
// whichever thread has it: that is what makes a row's bits independent of its
// neighbours. Depth is therefore never split between threads.
//
// A thread takes several rows of its columns. Threads of a warp have the same
// rows and neighbouring columns: a load of the left-hand side is one for the
// whole warp, and one of the right-hand side is contiguous.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MICROKERNEL_H
#define BATON_CODEGEN_CUDA_LIBRARY_MICROKERNEL_H

#include "codegen/cuda/library/lanes.h"
#include "codegen/cuda/library/math.h"
#include "codegen/cuda/library/weights.h"

namespace baton::cuda {

/// Four floats by one load.
struct alignas(16) Quad {
  float element[4];
};

/// `source` is aligned to 16 bytes. That is said twice: the type makes one load
/// of it, and sanitizers check the assumption.
BATON_DEVICE Quad load_quad(const float *source) {
  return *static_cast<const Quad *>(
      __builtin_assume_aligned(source, alignof(Quad)));
}

/// The same of any address.
BATON_DEVICE Quad gather_quad(const float *source) {
  return {{source[0], source[1], source[2], source[3]}};
}

/// Whether all rows begin at a multiple of 16 bytes.
template <int Rows>
BATON_DEVICE bool are_aligned(const float *const (&rows)[Rows]) {
  uint64_t addresses = 0;
#pragma unroll
  for (int row = 0; row < Rows; ++row)
    addresses |= reinterpret_cast<uint64_t>(rows[row]);
  return addresses % sizeof(Quad) == 0;
}

/// sum[r][c] += left[r][d] * right(d, c) for d in [begin, end), ascending.
/// Rows that are aligned to 16 bytes are read four depths at a time, which
/// divides the loads that would otherwise bound the loop; `Ahead` such steps
/// have their loads under way at once.
template <int Rows, int Columns, int Ahead, typename Right>
BATON_DEVICE void accumulate(float (&sum)[Rows][Columns],
                             const float *const (&left)[Rows], int64_t begin,
                             int64_t end, Right right) {
  const bool aligned = are_aligned<Rows>(left);
  auto one = [&](int64_t depth) {
#pragma unroll
    for (int column = 0; column < Columns; ++column) {
      const float factor = right(depth, column);
#pragma unroll
      for (int row = 0; row < Rows; ++row)
        sum[row][column] = fmaf(left[row][depth], factor, sum[row][column]);
    }
  };
  int64_t depth = begin;
  if (aligned) {
#pragma unroll 1
    for (; depth < end && depth % 4 != 0; ++depth)
      one(depth);
#pragma unroll(Ahead)
    for (; depth + 4 <= end; depth += 4) {
      float factors[4][Columns];
#pragma unroll
      for (int step = 0; step < 4; ++step)
#pragma unroll
        for (int column = 0; column < Columns; ++column)
          factors[step][column] = right(depth + step, column);
      Quad quads[Rows];
#pragma unroll
      for (int row = 0; row < Rows; ++row)
        quads[row] = load_quad(left[row] + depth);
#pragma unroll
      for (int step = 0; step < 4; ++step)
#pragma unroll
        for (int row = 0; row < Rows; ++row)
#pragma unroll
          for (int column = 0; column < Columns; ++column)
            sum[row][column] = fmaf(quads[row].element[step],
                                    factors[step][column], sum[row][column]);
    }
  }
#pragma unroll(Ahead)
  for (; depth < end; ++depth)
    one(depth);
}

/// finish(row, column, sums) for [rows, columns], where accumulate(sum, left,
/// column) has added to the sums of some rows of a column. A thread has up to
/// `Rows` rows of a column; rows behind the last repeat it.
template <int Rows, int Sides, typename Accumulate, typename Finish>
BATON_DEVICE void for_each_tile(const float *left, int64_t left_stride,
                                int64_t rows, int64_t columns,
                                Accumulate accumulate, Finish finish) {
  for_each_element(
      (rows + Rows - 1) / Rows, columns, [&](int64_t block, int64_t column) {
        const int64_t first = block * Rows;
        const float *row[Rows];
        float sum[Rows][Sides];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
          row[i] = left + smaller(first + i, rows - 1) * left_stride;
#pragma unroll
          for (int side = 0; side < Sides; ++side)
            sum[i][side] = 0.0f;
        }
        accumulate(sum, row, column);
#pragma unroll
        for (int i = 0; i < Rows; ++i)
          if (first + i < rows)
            finish(first + i, column, sum[i]);
      });
}

/// The same where sums[s] is the product of a row of `left` and a column of the
/// right-hand side s, whose element at a depth is right(column, depth, s).
template <int Rows, int Sides, int Ahead, typename Right, typename Finish>
BATON_DEVICE void multiply_tiles(const float *left, int64_t left_stride,
                                 int64_t rows, int64_t columns, int64_t depth,
                                 Right right, Finish finish) {
  for_each_tile<Rows, Sides>(
      left, left_stride, rows, columns,
      [&](float(&sum)[Rows][Sides], const float *const(&row)[Rows],
          int64_t column) {
        accumulate<Rows, Sides, Ahead>(
            sum, row, 0, depth,
            [&](int64_t d, int side) { return right(column, d, side); });
      },
      finish);
}

/// The same with tiles that suit the number of rows. One row is bound by
/// reading the right-hand side, of which a thread has sixteen elements under
/// way; several share what it has read.
template <int Sides, typename Right, typename Finish>
BATON_DEVICE void multiply(const float *left, int64_t left_stride, int64_t rows,
                           int64_t columns, int64_t depth, Right right,
                           Finish finish) {
  if (rows == 1)
    multiply_tiles<1, Sides, 4 / Sides>(left, left_stride, rows, columns, depth,
                                        right, finish);
  else
    multiply_tiles<8 / Sides, Sides, 2>(left, left_stride, rows, columns, depth,
                                        right, finish);
}

/// The same with packed weights ([k][16]), of which the panels of `Sides`
/// alternate.
template <int Sides, typename Weight, typename Finish>
BATON_DEVICE void multiply_panels(const float *x, int64_t x_stride,
                                  const Weight *panels, int64_t rows, int64_t k,
                                  int64_t columns, Finish finish) {
  multiply<Sides>(
      x, x_stride, rows, columns, k,
      [&](int64_t column, int64_t depth, int side) {
        const int64_t panel = column / lanes * Sides + side;
        return load_weight(panels + (panel * k + depth) * lanes +
                           column % lanes);
      },
      finish);
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_MICROKERNEL_H
