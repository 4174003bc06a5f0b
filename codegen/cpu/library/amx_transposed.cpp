//===- amx_transposed.cpp - packed BF16 weights from their other side -----===//
//
// As linear_transposed.cpp, of rows that are rounded to BF16 here, a few depths
// at a time, with AMX's sums. What is summed over, a linear's outputs, are
// neighbours in a panel, two of which a word of a tile has: eight by eight such
// words are turned at once.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/amx_product.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/transpose.h"

using namespace baton::cpu;

namespace {

/// Words of eight inputs by eight pairs of outputs.
constexpr int64_t turned = 8;
/// A panel's row of 16 outputs, in words.
constexpr int64_t row_words = lanes / 2;

/// Panels of the transposed matrix, whose columns are the inputs from `first`
/// on, and whose depths are outputs.
struct TurnedSide {
  const BFloat16 *panels;
  int64_t inputs, first, columns, depth, steps;

  struct Block {
    const BFloat16 *panel;
    /// The first column, and pairs of outputs.
    int64_t column, lines;
  };

  BATON_INLINE int64_t pairs() const {
    return (columns + 2 * lanes - 1) / (2 * lanes);
  }
  BATON_INLINE int64_t lines() const { return steps * step_lines; }
  BATON_INLINE int64_t count() const {
    return (depth + 2 * lines() - 1) / (2 * lines()) * pairs();
  }
  BATON_INLINE Block at(int64_t index) const {
    const int64_t line = index / pairs() * lines();
    const int64_t left = (depth + 1) / 2 - line;
    return {panels + 2 * line / lanes * (inputs * lanes),
            index % pairs() * 2 * lanes, left < lines() ? left : lines()};
  }
  BATON_INLINE Block behind() const { return {panels, 0, lines()}; }
  /// Of each step, by two panels of columns, two of outputs, and halves of a
  /// panel of columns.
  BATON_INLINE int64_t units(const Block &block) const {
    return (block.lines + step_lines - 1) / step_lines * turned;
  }

  struct Unit {
    /// The panel of outputs and the column that it begins at, and where it
    /// goes.
    int64_t panel, column, to;
  };
  BATON_INLINE Unit unit_of(const Block &block, int64_t unit) const {
    const int64_t step = unit / turned;
    const int64_t half = unit & 1, outputs = unit >> 1 & 1,
                  panel = unit >> 2 & 1;
    return {2 * step + outputs, block.column + panel * lanes + half * turned,
            (2 * step + panel) * amx_weights +
                outputs * turned * 2 * amx_outputs + half * 2 * turned};
  }
  BATON_INLINE void make(BFloat16 *tiles, const Block &block,
                         int64_t unit) const {
    const Unit place = unit_of(block, unit);
    Real *to = reinterpret_cast<Real *>(tiles + place.to);
    const int64_t left = columns - place.column;
    if (turned * place.panel >= block.lines || left <= 0) {
      for (int64_t line = 0; line < turned; ++line)
        __builtin_memset(to + line * lanes, 0, turned * sizeof(Real));
      return;
    }
    const auto *from = reinterpret_cast<const Real *>(
        block.panel + (place.panel * inputs + first + place.column) * lanes);
    if (left >= turned) {
      transpose_8x8(to, from, row_words);
      return;
    }
    alignas(64) Real rows[turned * row_words] = {};
    __builtin_memcpy(rows, from, left * row_words * sizeof(Real));
    transpose_8x8(to, rows, row_words);
  }
  BATON_INLINE void ask(const Block &block, int64_t unit) const {
    const Unit place = unit_of(block, unit);
    const BFloat16 *from =
        block.panel + (place.panel * inputs + first + place.column) * lanes;
    // 256 bytes.
    for (int64_t line = 0; line < 4; ++line)
      __builtin_prefetch(from + line * 2 * lanes, 0, 2);
  }
};

/// Rows of F32 that are rounded where a block's depths begin.
class RoundedHere {
public:
  BATON_INLINE RoundedHere(const Real *a, int64_t stride, int64_t rows,
                           const TurnedSide &side)
      : a(a), stride(stride), rows(rows), side(side) {}

  BATON_INLINE RoundedRows at(int64_t index, const TurnedSide::Block &block) {
    if (index % side.pairs() == 0)
      round(index / side.pairs() * 2 * side.lines(), block.lines);
    return {words, words_stride, rows};
  }
  /// `lines` pairs of inputs from `depth` on.
  BATON_INLINE RoundedRows round(int64_t depth, int64_t lines) {
    const int64_t left = side.depth - depth;
    const int64_t count = left < 2 * lines ? left : 2 * lines;
    for (int64_t row = 0; row < rows; ++row)
      round_row(words + row * words_stride, a + row * stride + depth, count);
    return {words, words_stride, rows};
  }

private:
  /// A line more than a block has: rows that are a power of two apart would
  /// share few sets of the cache.
  static constexpr int64_t words_stride = (long_steps + 1) * step_lines;

  const Real *a;
  int64_t stride, rows;
  const TurnedSide &side;
  alignas(64) Real words[rows_at_once * words_stride];
};

/// out = a times the transposed panels, by sums of up to rows_at_once rows.
template <typename Finish>
BATON_INLINE void multiply_turned(const Real *a, int64_t stride, int64_t rows,
                                  TurnedSide side, Finish finish) {
  alignas(64) Real sums[panels_at_once * rows_at_once * lanes];
  const RowTiles tiles{rows};
  RoundedHere inputs(a, stride, rows, side);
  multiply_by_amx(sums, tiles, side, inputs);
  for_each_tile(
      sums, tiles, side.pairs(),
      [&](const Real *first, const Real *second, int64_t sums_stride,
          int64_t begin, int64_t count, int64_t pair) BATON_INLINE_LAMBDA {
        finish(first, sums_stride, begin, count, 2 * pair * lanes);
        if ((2 * pair + 1) * lanes < side.columns)
          finish(second, sums_stride, begin, count, (2 * pair + 1) * lanes);
      });
}

/// The same by fused multiply-adds.
template <typename Finish>
BATON_INLINE void chain_turned(const Real *a, int64_t stride, int64_t rows,
                               TurnedSide side, Finish finish) {
  alignas(64) Real sums[2 * rows_at_once * lanes];
  side.steps = 1;
  RoundedHere inputs(a, stride, rows, side);
  for (int64_t pair = 0; pair < side.pairs(); ++pair) {
    __builtin_memset(sums, 0, sizeof sums);
    for (int64_t depth = 0; depth < side.depth; depth += amx_inputs) {
      const TurnedSide::Block block =
          side.at(depth / amx_inputs * side.pairs() + pair);
      alignas(64) BFloat16 tiles[2 * amx_weights];
      for (int64_t unit = 0; unit < side.units(block); ++unit)
        side.make(tiles, block, unit);
      const RoundedRows x = inputs.round(depth, block.lines);
      const ChainArithmetic arithmetic(sums, tiles, x.first);
      for (int64_t panel = 0; panel < 2; ++panel)
        for (int64_t row = 0; row < rows; ++row) {
          Vector even = splat(0.0f), odd = splat(0.0f);
          for (int64_t line = 0; line < step_lines; ++line) {
            Line weights =
                load_line(tile_line(tiles, line) + panel * amx_weights);
            weights = __builtin_shufflevector(
                weights, weights, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24,
                26, 28, 30, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27,
                29, 31);
            uint32_t word = 0;
            if (line < block.lines)
              __builtin_memcpy(&word, x.row(row) + line, sizeof word);
            baton_chain_pairs(reinterpret_cast<float *>(&even),
                              reinterpret_cast<float *>(&odd),
                              reinterpret_cast<const uint16_t *>(&weights),
                              word);
          }
          baton_join_chains(sums + (panel * rows_at_once + row) * lanes,
                            reinterpret_cast<const float *>(&even),
                            reinterpret_cast<const float *>(&odd));
        }
    }
    for (int64_t panel = 0; panel < 2; ++panel)
      if ((2 * pair + panel) * lanes < side.columns)
        finish(sums + panel * rows_at_once * lanes, lanes, 0, rows,
               (2 * pair + panel) * lanes);
  }
}

} // namespace

BATON_TASK void baton_task_amx_linear_transposed_bf16(
    Real *out, int64_t out_stride, const Real *a, int64_t a_stride,
    const uint16_t *panels, const Real *residual, int64_t residual_stride,
    int64_t first, int64_t rows, int64_t columns, int64_t depth,
    int64_t inputs) {
  constexpr int64_t columns_at_once = panels_at_once * lanes;
  for (int64_t row = 0; row < rows; row += rows_at_once) {
    const int64_t some = rows - row < rows_at_once ? rows - row : rows_at_once;
    for (int64_t column = 0; column < columns; column += columns_at_once) {
      const int64_t left = columns - column;
      const TurnedSide side{reinterpret_cast<const BFloat16 *>(panels),
                            inputs,
                            first + column,
                            left < columns_at_once ? left : columns_at_once,
                            depth,
                            steps_of(some)};
      auto finish = [&](const Real *sums, int64_t stride, int64_t begin,
                        int64_t count, int64_t place) BATON_INLINE_LAMBDA {
        const int64_t width = left - place < lanes ? left - place : lanes;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t at = row + begin + i;
          Vector value = load(sums + i * stride);
          if (residual)
            value +=
                load(residual + at * residual_stride + column + place, width);
          store(out + at * out_stride + column + place, value, width);
        }
      };
      const Real *from = a + row * a_stride;
      if (baton_has_amx())
        multiply_turned(from, a_stride, some, side, finish);
      else
        chain_turned(from, a_stride, some, side, finish);
    }
  }
}
