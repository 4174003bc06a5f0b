//===- packed_block.h - blocks of rows, packed for attention --------------===//
//
// Attention of sequences and its adjoints have one shape: six rows meet a block
// of 64 rows of the other side, which is packed once for all of them -
// transposed for products that give scores, in panels for those that sum. Where
// rows lie in a matrix, a stride apart, the lines of a block share few cache
// sets.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_PACKED_BLOCK_H
#define BATON_CODEGEN_CPU_LIBRARY_PACKED_BLOCK_H

#include "codegen/cpu/library/attention_blocks.h"

namespace baton::cpu {

/// `width` in whole panels.
BATON_INLINE int64_t padded(int64_t width) {
  return (width + lanes - 1) / lanes * lanes;
}

/// One block of 64 rows of a matrix.
struct PackedBlock {
  Real *transposed; // [4][width][16]
  Real *panels;     // [width / 16][64][16]
  int64_t width;

  BATON_INLINE void transpose(const Real *__restrict source, int64_t stride,
                              Range seen) const {
    for (int64_t first = 0; first < block_positions; first += lanes)
      transpose_to_panel(transposed + first * width, source + first * stride,
                         stride, larger(seen.begin - first, 0),
                         smaller(seen.end - first, lanes), width);
  }
  BATON_INLINE void copy(const Real *__restrict source, int64_t stride,
                         Range seen) const {
    for (int64_t row = seen.begin; row < seen.end; ++row)
      for_each_vector(width,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        store(panels + first * block_positions + row * lanes,
                              load(source + row * stride + first, count));
                      });
  }
};

/// Products of six rows with a block.
struct Products {
  alignas(64) Real values[tile_rows * block_positions];

  BATON_INLINE Real *row(int64_t i) { return values + i * block_positions; }
  BATON_INLINE const Real *row(int64_t i) const {
    return values + i * block_positions;
  }
};

/// The inner products of rows of `left` with those of the block, for the panels
/// that hold `seen`. Fewer than six rows compute the last one repeatedly.
BATON_INLINE void multiply_block(Products &products,
                                 const Real *__restrict left, int64_t stride,
                                 int64_t rows, const PackedBlock &block,
                                 Range seen) {
  const Real *pointers[tile_rows];
  BATON_UNROLL
  for (int i = 0; i < tile_rows; ++i)
    pointers[i] = left + smaller(i, rows - 1) * stride;
  for (int64_t first = seen.begin / lanes * lanes; first < seen.end;
       first += lanes) {
    const Real *right = block.transposed + first * block.width;
    Vector sum[tile_rows][1];
    BATON_UNROLL
    for (int i = 0; i < tile_rows; ++i)
      sum[i][0] = splat(0.0f);
    accumulate<tile_rows, 1, 4>(
        sum, pointers, 0, block.width,
        [&](int64_t d, int)
            BATON_INLINE_LAMBDA { return load(right + d * lanes); },
        [](int64_t) BATON_INLINE_LAMBDA {});
    BATON_UNROLL
    for (int i = 0; i < tile_rows; ++i)
      store(products.row(i) + first, sum[i][0]);
  }
}

/// Of each of `rows` rows i, the chain over d in seen[i] of left[i][d] * the
/// block's row d, 16 columns at a time. It starts at start(i, column, width),
/// and finish(i, column, width, chain) has it.
template <typename Start, typename Finish>
BATON_INLINE void add_block(const Products &left, int64_t rows,
                            const Range *seen, const PackedBlock &block,
                            Start start, Finish finish) {
  Range common = {0, block_positions};
  for (int64_t i = 0; i < rows; ++i)
    common = intersection(common, seen[i]);
  common.end = larger(common.begin, common.end);
  const Real *pointers[tile_rows];
  BATON_UNROLL
  for (int i = 0; i < tile_rows; ++i)
    pointers[i] = left.row(smaller(i, rows - 1));

  alignas(64) Real tile[tile_rows * lanes];
  for_each_vector(block.width, [&](int64_t column,
                                   int64_t width) BATON_INLINE_LAMBDA {
    const Real *right = block.panels + column * block_positions;
    auto add_range = [&](int64_t i, Range range,
                         Vector sum) BATON_INLINE_LAMBDA {
      for (int64_t d = range.begin; d < range.end; ++d)
        sum = fma(splat(left.row(i)[d]), load(right + d * lanes), sum);
      return sum;
    };
    // Ascending: what only some rows see, what all see, and again what
    // only some see.
    for (int64_t i = 0; i < tile_rows; ++i)
      store(tile + i * lanes,
            i < rows
                ? add_range(i,
                            {seen[i].begin, smaller(common.begin, seen[i].end)},
                            start(i, column, width))
                : splat(0.0f));
    Vector sum[tile_rows][1];
    BATON_UNROLL
    for (int i = 0; i < tile_rows; ++i)
      sum[i][0] = load(tile + i * lanes);
    accumulate<tile_rows, 1, 4>(
        sum, pointers, common.begin, common.end,
        [&](int64_t d, int)
            BATON_INLINE_LAMBDA { return load(right + d * lanes); },
        [](int64_t) BATON_INLINE_LAMBDA {});
    BATON_UNROLL
    for (int i = 0; i < tile_rows; ++i)
      store(tile + i * lanes, sum[i][0]);
    for (int64_t i = 0; i < rows; ++i)
      finish(i, column, width,
             add_range(i, {larger(common.end, seen[i].begin), seen[i].end},
                       load(tile + i * lanes)));
  });
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_PACKED_BLOCK_H
