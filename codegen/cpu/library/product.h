//===- product.h - products of matrices that nobody has packed ------------===//
//
// Training multiplies by weights that change at every step and by activations
// in both orders, so both sides are packed on the fly, a piece of the depth at
// a time: the left-hand side of all rows, which stays in L2, and a few panels
// of the right-hand side, of which one stays in L1 while all rows pass by.
// Packed rows are read as one stream; where they lie, six streams or a stride
// of pages compete for few cache sets.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_PRODUCT_H
#define BATON_CODEGEN_CPU_LIBRARY_PRODUCT_H

#include "codegen/cpu/library/microkernel.h"
#include "codegen/cpu/library/rounding.h"
#include "codegen/cpu/library/training.h"
#include "codegen/cpu/library/transpose.h"

namespace baton::cpu {

/// Rows and depths of the left-hand side that are packed at once.
constexpr int64_t product_rows = 43 * tile_rows;
constexpr int64_t product_depth = 256;
/// Panels of the right-hand side that are packed at once where its rows are
/// read as they lie: they are far from one another, and each costs less if more
/// of it is read. What is transposed reads whole rows anyway.
constexpr int64_t product_panels = 4;

/// Element (row, d) lies at data[row * row_stride + d * depth_stride].
struct LeftSide {
  const Real *data;
  int64_t row_stride;
  int64_t depth_stride;

  BATON_INLINE LeftSide at(int64_t row, int64_t depth) const {
    return {data + row * row_stride + depth * depth_stride, row_stride,
            depth_stride};
  }
};

/// Element (d, column) lies at data[d * depth_stride + column * column_stride].
struct RightSide {
  const Real *data;
  int64_t depth_stride;
  int64_t column_stride;
  /// If not null, depths where it is 0 are taken as zeros, whatever they hold;
  /// only with a column_stride of 1.
  const Real *weights = nullptr;

  BATON_INLINE RightSide at(int64_t depth, int64_t column) const {
    return {data + depth * depth_stride + column * column_stride, depth_stride,
            column_stride, weights ? weights + depth : nullptr};
  }
};

/// Blocks of six rows, each [depth][6], one behind the other; rows that the
/// last block lacks are zero. A lone last row would take as long as four: it
/// could not hide the latency of an FMA.
BATON_INLINE void pack_left(Real *__restrict packed, LeftSide left,
                            int64_t rows, int64_t depth) {
  const Real *__restrict source = left.data;
  const int64_t whole = rows / tile_rows * tile_rows;
  if (left.row_stride == 1) {
    // Eight depths of all rows: whole lines are read and written while they
    // are near.
    for (int64_t begin = 0; begin < depth; begin += 8) {
      const int64_t end = begin + 8 < depth ? begin + 8 : depth;
      for (int64_t row = 0; row < whole; row += tile_rows)
        for (int64_t d = begin; d < end; ++d)
          __builtin_memcpy(packed + row * depth + d * tile_rows,
                           source + d * left.depth_stride + row,
                           tile_rows * sizeof(Real));
    }
  } else {
    for (int64_t row = 0; row < whole; row += tile_rows) {
      Real *block = packed + row * depth;
      const Real *place = source + row * left.row_stride;
      int64_t d = 0;
      // Eight elements are written where six are meant: only where others
      // follow, which come later.
      for (; d + 9 <= depth; d += 8)
        transpose_8x8<tile_rows, tile_rows>(block + d * tile_rows, place + d,
                                            left.row_stride);
      for (; d < depth; ++d)
        for (int64_t i = 0; i < tile_rows; ++i)
          block[d * tile_rows + i] = place[i * left.row_stride + d];
    }
  }
  if (whole < rows)
    for (int64_t d = 0; d < depth; ++d)
      for (int64_t i = 0; i < tile_rows; ++i)
        packed[whole * depth + d * tile_rows + i] =
            whole + i < rows
                ? source[(whole + i) * left.row_stride + d * left.depth_stride]
                : 0.0f;
}

/// `count` columns as panels, each [depth][16], one behind the other; the
/// columns that the last one lacks are zero. A row of them is read at a time:
/// rows are often a page or more apart.
BATON_INLINE void pack_right(Real *__restrict panels, RightSide right,
                             int64_t count, int64_t depth) {
  if (right.column_stride == 1) {
    for (int64_t d = 0; d < depth; ++d) {
      const Real *row = right.data + d * right.depth_stride;
      const bool is_zero = right.weights && right.weights[d] == 0.0f;
      for_each_vector(count,
                      [&](int64_t first, int64_t width) BATON_INLINE_LAMBDA {
                        store(panels + first * depth + d * lanes,
                              is_zero ? splat(0.0f) : load(row + first, width));
                      });
    }
  } else {
    for (int64_t first = 0; first < count; first += lanes)
      transpose_to_panel(panels + first * depth,
                         right.data + first * right.column_stride,
                         right.column_stride, 0,
                         count - first < lanes ? count - first : lanes, depth);
  }
}

/// Asks memory for a part of a matrix, a few lines at a time: all at once, the
/// arithmetic would wait.
class Fetcher {
public:
  /// `strips` of `width` elements behind one another, `stride` apart.
  BATON_INLINE Fetcher(const Real *data, int64_t stride, int64_t strips,
                       int64_t width)
      : strip(data), stride(stride), strips(strips), width(width) {}

  BATON_INLINE void fetch(int64_t lines) {
    for (; lines > 0 && strips > 0; --lines) {
      __builtin_prefetch(strip + place, 0, 2);
      place += lanes;
      if (place >= width) {
        place = 0;
        strip += stride;
        --strips;
      }
    }
  }

private:
  const Real *strip;
  int64_t stride;
  int64_t strips;
  int64_t width;
  int64_t place = 0;
};

BATON_INLINE Fetcher fetcher(LeftSide left, int64_t rows, int64_t depth) {
  return left.row_stride == 1
             ? Fetcher(left.data, left.depth_stride, depth, rows)
             : Fetcher(left.data, left.row_stride, rows, depth);
}

BATON_INLINE Fetcher fetcher(RightSide right, int64_t depth, int64_t columns) {
  return right.column_stride == 1
             ? Fetcher(right.data, right.depth_stride, depth, columns)
             : Fetcher(right.data, right.column_stride, columns, depth);
}

/// How many panels of the right-hand side are packed at once; `least` hide the
/// latency of an FMA.
BATON_INLINE int64_t panels_together(RightSide right, int64_t least) {
  return right.column_stride == 1 ? product_panels : least;
}

/// Where a product packs and sums: baton_product_scratch_bytes, or parts of
/// other scratch.
struct ProductSpace {
  Real *packed; // [rows][depth], product_rows by product_depth at most
  Real *panels; // [product_panels][depth][16]
  Real *sums;   // [columns / 16][rows][16]
};

constexpr int64_t product_packed_size =
    product_rows * product_depth + product_panels * product_depth * lanes;

BATON_INLINE ProductSpace product_space(Real *scratch) {
  return {scratch, scratch + product_rows * product_depth,
          scratch + product_packed_size};
}

/// One piece of depth of up to product_rows rows. Chains start in the first
/// piece at start(row, column, count), 16 columns at a time, of the last panel
/// `count`, and rest in space.sums between two; the last gives them to
/// finish(row, column, count, chains). `next_depth` more depths behind this
/// piece are fetched. Both sides are rounded as they are packed.
template <typename Rounding = Unrounded, typename Right, typename Start,
          typename Finish>
BATON_INLINE void multiply_piece(ProductSpace space, LeftSide left, Right right,
                                 int64_t rows, int64_t columns, int64_t depth,
                                 int64_t next_depth, bool is_first,
                                 bool is_last, Start start, Finish finish) {
  const int64_t blocks = (rows + tile_rows - 1) / tile_rows;
  const int64_t panels = (columns + lanes - 1) / lanes;
  pack_left(space.packed, left, rows, depth);
  round_all<Rounding>(space.packed, blocks * tile_rows * depth);
  Fetcher next_left = fetcher(left.at(0, depth), rows, next_depth);
  const int64_t left_lines =
      (rows * next_depth / lanes + blocks * panels - 1) / (blocks * panels);
  const int64_t right_lines = (depth + blocks - 1) / blocks;
  // Two panels at once hide the latency of an FMA where they have registers.
  const int64_t together = baton_has_many_registers() ? 2 : 1;
  const int64_t wide = panels_together(right, together) * lanes;
  for (int64_t group = 0; group < columns; group += wide) {
    const int64_t group_width = columns - group < wide ? columns - group : wide;
    pack_right(space.panels, right.at(0, group), group_width, depth);
    round_all<Rounding>(space.panels,
                        (group_width + lanes - 1) / lanes * lanes * depth);
    const int64_t next = group + wide;
    auto next_right =
        next < columns ? fetcher(right.at(0, next), depth,
                                 columns - next < wide ? columns - next : wide)
                       : fetcher(right.at(depth, 0), next_depth,
                                 columns < wide ? columns : wide);
    // So many panels from `first` on.
    auto multiply = [&]<int Panels>(int64_t first) BATON_INLINE_LAMBDA {
      const int64_t sums_stride = blocks * tile_rows * lanes;
      Real *all_sums = space.sums + first * blocks * tile_rows;
      const Real *source = space.panels + (first - group) * depth;
      auto width_of = [&](int panel) BATON_INLINE_LAMBDA {
        const int64_t left = columns - first - panel * lanes;
        return left < lanes ? left : lanes;
      };
      for (int64_t row = 0; row < rows; row += tile_rows) {
        next_left.fetch(left_lines * Panels);
        next_right.fetch(right_lines * Panels);
        const Real *pointers[tile_rows];
        Vector sum[tile_rows][Panels];
        BATON_UNROLL
        for (int i = 0; i < tile_rows; ++i) {
          pointers[i] = space.packed + row * depth + i;
          BATON_UNROLL
          for (int panel = 0; panel < Panels; ++panel)
            sum[i][panel] =
                !is_first
                    ? load(all_sums + panel * sums_stride + (row + i) * lanes)
                : row + i < rows
                    ? start(row + i, first + panel * lanes, width_of(panel))
                    : splat(0.0f);
        }
        accumulate<tile_rows, Panels, 4, tile_rows>(
            sum, pointers, 0, depth,
            [&](int64_t d, int panel) BATON_INLINE_LAMBDA {
              return load(source + panel * depth * lanes + d * lanes);
            },
            [](int64_t) BATON_INLINE_LAMBDA {});
        BATON_UNROLL
        for (int i = 0; i < tile_rows; ++i)
          BATON_UNROLL
        for (int panel = 0; panel < Panels; ++panel)
          store(all_sums + panel * sums_stride + (row + i) * lanes,
                sum[i][panel]);
      }
    };
    const int64_t end = group + group_width;
    int64_t column = group;
    if (together == 2)
      for (; column + lanes < end; column += 2 * lanes)
        multiply.template operator()<2>(column);
    for (; column < end; column += lanes)
      multiply.template operator()<1>(column);
  }
  // Row by row: rows of the result are often pages apart.
  if (is_last)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; column += lanes)
        finish(row, column, columns - column < lanes ? columns - column : lanes,
               load(space.sums + column * blocks * tile_rows + row * lanes));
}

/// All pieces, of any number of rows; of no depths one, in which chains end
/// where they start.
template <typename Rounding = Unrounded, typename Right, typename Start,
          typename Finish>
BATON_INLINE void multiply_sides(ProductSpace space, LeftSide left, Right right,
                                 int64_t rows, int64_t columns, int64_t depth,
                                 Start start, Finish finish) {
  for (int64_t row = 0; row < rows; row += product_rows)
    for (int64_t first = 0; first == 0 || first < depth;
         first += product_depth) {
      const int64_t left_over = depth - first;
      const int64_t size =
          left_over < product_depth ? left_over : product_depth;
      const int64_t next =
          left_over - size < product_depth ? left_over - size : product_depth;
      multiply_piece<Rounding>(
          space, left.at(row, first), right.at(first, 0),
          rows - row < product_rows ? rows - row : product_rows, columns, size,
          next, first == 0, size == left_over,
          [&](int64_t place, int64_t column, int64_t count)
              BATON_INLINE_LAMBDA { return start(row + place, column, count); },
          [&](int64_t place, int64_t column, int64_t count, Vector chains)
              BATON_INLINE_LAMBDA {
                finish(row + place, column, count, chains);
              });
    }
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_PRODUCT_H
