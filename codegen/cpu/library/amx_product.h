//===- amx_product.h - rows in BF16 times weights, by AMX -----------------===//
//
// Weights become tiles, two panels of 16 columns and a few depths at a time,
// while the tiles before are multiplied; all rows of a task share them. Who
// uses this says what the weights are, as a `Side`:
//
//   Block         the weights that a few multiplications take
//   pairs()       of panels; the last panel may be alone
//   count()       of blocks
//   at(index)     a block: all pairs of some depths, then the next depths
//   behind()      what another task reads behind the last one
//   units(block)  pieces of which a block's tiles are made
//   make(tiles, block, unit), ask(block, unit)
//                 makes one of them, or asks memory for what it is made of
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_AMX_PRODUCT_H
#define BATON_CODEGEN_CPU_LIBRARY_AMX_PRODUCT_H

#include "codegen/cpu/library/amx.h"
#include "codegen/cpu/library/rounded_rows.h"

namespace baton::cpu {

static_assert(lanes == amx_outputs);

/// Pairs of depths that one multiplication takes: lines of a tile of weights.
constexpr int64_t step_lines = amx_inputs / 2;
/// Multiplications between which sums stay in registers: of few rows, which
/// wait for weights, and of many, whose sums would go to memory too often.
constexpr int64_t short_steps = 4, long_steps = 8, few_rows = 32;
/// Rows and panels whose sums are on the stack.
constexpr int64_t rows_at_once = 128, panels_at_once = 8;

/// How many multiplications a block of so many rows takes.
BATON_INLINE int64_t steps_of(int64_t rows) {
  return rows > few_rows ? long_steps : short_steps;
}

/// Two tiles of each step [step][panel][line][output][2].
typedef BFloat16 BlockTiles[long_steps * 2 * amx_weights];

/// Where line `line` of the tiles of a block's first panel lies; the second
/// one's lies amx_weights behind it.
BATON_INLINE BFloat16 *tile_line(BFloat16 *tiles, int64_t line) {
  return tiles + line / step_lines * 2 * amx_weights +
         line % step_lines * 2 * amx_outputs;
}

/// Tiles of up to 16 rows. The last one of several ends with the last row, so
/// that all have as many.
struct RowTiles {
  int64_t rows;

  BATON_INLINE int64_t count() const {
    return (rows + amx_rows - 1) / amx_rows;
  }
  BATON_INLINE int64_t height() const {
    return rows < amx_rows ? rows : amx_rows;
  }
  BATON_INLINE int64_t first_row(int64_t tile) const {
    const int64_t row = tile * amx_rows;
    return row + amx_rows <= rows || rows < amx_rows ? row : rows - amx_rows;
  }
  /// Numbers of the sums of two panels.
  BATON_INLINE int64_t sums_of_pair() const {
    return (count() + 1) / 2 * 4 * amx_sums;
  }
};

/// Inputs of a tile of rows where fewer than 32 are left: behind them zeros.
struct LastInputs {
  uint32_t words[amx_rows][step_lines];

  BATON_INLINE void take(RoundedRows x, int64_t row, int64_t rows, int64_t word,
                         int64_t count) {
    for (int64_t i = 0; i < rows; ++i) {
      __builtin_memset(words[i], 0, sizeof words[i]);
      __builtin_memcpy(words[i], x.row(row + i) + word, 4 * count);
    }
  }
};

/// Makes `sums` [2 row tiles][2 panels][16][16], or adds to them, the products
/// of two tiles of rows from `tile` on, or of one, with `lines` pairs of
/// weights; calls between() after each multiplication.
template <typename Between>
BATON_INLINE void multiply_tiles(Real *sums, bool adds, RoundedRows x,
                                 RowTiles tiles, int64_t tile, int64_t lines,
                                 const BFloat16 *weights, Between between) {
  const bool two = tile + 1 < tiles.count();
  const int64_t first = tiles.first_row(tile);
  const int64_t second = two ? tiles.first_row(tile + 1) : first;
  if (adds)
    baton_amx_load_sums(sums);
  else
    baton_amx_zero_sums();
  auto multiply = [&](const void *upper, const void *lower, int64_t stride,
                      int64_t step) BATON_INLINE_LAMBDA {
    const auto *both =
        reinterpret_cast<const uint16_t *>(weights + step * 2 * amx_weights);
    if (two)
      baton_amx_multiply(upper, lower, stride, both);
    else
      baton_amx_multiply_first(upper, stride, both);
    between();
  };
  const int64_t whole = lines / step_lines, rest = lines % step_lines;
  for (int64_t step = 0; step < whole; ++step)
    multiply(x.row(first) + step * step_lines,
             x.row(second) + step * step_lines, x.stride * sizeof(Real), step);
  if (rest) {
    LastInputs upper, lower;
    upper.take(x, first, tiles.height(), whole * step_lines, rest);
    lower.take(x, second, tiles.height(), whole * step_lines, rest);
    multiply(&upper, &lower, sizeof upper.words[0], whole);
  }
  baton_amx_store_sums(sums);
}

/// All products of up to rows_at_once rows and panels_at_once panels, to sums
/// [pair of panels][row tile][panel][16][16]. `inputs.at(index, block)` are the
/// rows from a block's first depth on.
template <typename Side, typename Inputs>
BATON_INLINE void multiply_by_amx(Real *sums, RowTiles tiles, const Side &side,
                                  Inputs &inputs) {
  AmxShapes shapes;
  for (int tile = 0; tile < 8; ++tile) {
    shapes.bytes[tile] = 64;
    shapes.rows[tile] =
        static_cast<uint8_t>(tile < 6 ? tiles.height() : step_lines);
  }
  baton_amx_begin(&shapes);
  alignas(64) BlockTiles made[2];
  typename Side::Block block = side.at(0);
  for (int64_t unit = 0; unit < side.units(block); ++unit)
    side.make(made[0], block, unit);
  const int64_t count = side.count();
  for (int64_t index = 0; index < count; ++index) {
    const typename Side::Block next =
        index + 1 < count ? side.at(index + 1) : typename Side::Block{};
    const typename Side::Block later =
        index + 2 < count ? side.at(index + 2) : side.behind();
    const int64_t units = side.units(next);
    const int64_t calls =
        (tiles.count() + 1) / 2 * ((block.lines + step_lines - 1) / step_lines);
    const int64_t share = (units + calls - 1) / calls;
    int64_t unit = 0;
    auto make_more = [&]() BATON_INLINE_LAMBDA {
      for (int64_t i = 0; i < share && unit < units; ++i, ++unit) {
        side.make(made[(index + 1) % 2], next, unit);
        side.ask(later, unit);
      }
    };
    const RoundedRows x = inputs.at(index, block);
    Real *of_pair = sums + index % side.pairs() * tiles.sums_of_pair();
    for (int64_t tile = 0; tile < tiles.count(); tile += 2)
      multiply_tiles(of_pair + tile * 2 * amx_sums, index >= side.pairs(), x,
                     tiles, tile, block.lines, made[index % 2], make_more);
    block = next;
  }
  baton_amx_end();
}

/// Calls finish(first, second, stride, row, rows, pair) for all rows that a row
/// tile alone has, with the sums of each pair of panels.
template <typename Finish>
BATON_INLINE void for_each_tile(const Real *sums, RowTiles tiles, int64_t pairs,
                                Finish finish) {
  for (int64_t pair = 0; pair < pairs; ++pair)
    for (int64_t tile = 0; tile < tiles.count(); ++tile) {
      const int64_t begin = tile * amx_rows, left = tiles.rows - begin;
      const Real *first = sums + pair * tiles.sums_of_pair() +
                          tile * 2 * amx_sums +
                          (begin - tiles.first_row(tile)) * lanes;
      finish(first, first + amx_sums, lanes, begin,
             left < amx_rows ? left : amx_rows, pair);
    }
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_AMX_PRODUCT_H
