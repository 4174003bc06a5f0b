//===- amx_linear.cpp - linear layers whose sums are those of AMX ---------===//
//
// Panels and rows are those of rounded_linear.cpp. Weights become tiles, two
// panels and a few depths at a time, while the tiles before are multiplied; all
// rows of a task share them. CPUs without AMX compute the same sums by fused
// multiply-adds.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/amx.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_end.h"
#include "codegen/cpu/library/registers.h"
#include "codegen/cpu/library/rounded_rows.h"

using namespace baton::cpu;

namespace {

static_assert(lanes == amx_outputs);

/// Lines of a panel, of two depths each, that one multiplication takes.
constexpr int64_t step_lines = amx_inputs / 2;
/// Multiplications between which sums stay in registers: of few rows, which
/// wait for weights, and of many, whose sums would go to memory too often.
constexpr int64_t short_steps = 4, long_steps = 8, few_rows = 32;
/// Rows and panels whose sums are on the stack.
constexpr int64_t rows_at_once = 128, panels_at_once = 4;

//===----------------------------------------------------------------------===//
// By AMX
//===----------------------------------------------------------------------===//

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
};

/// The weights that a few multiplications take: two panels, if there are two,
/// and some lines of each.
struct Block {
  const BFloat16 *first, *second;
  /// Lines that there are, the last of which may have one depth; and of all
  /// multiplications, the rest zeros.
  int64_t lines, steps;
  bool ends_odd;
};

/// Blocks of `count` panels in the order in which they are multiplied: all
/// panels of some depths, then the next depths.
struct Blocks {
  const BFloat16 *panels;
  int64_t panel_count, k, steps;

  BATON_INLINE int64_t pairs() const { return (panel_count + 1) / 2; }
  BATON_INLINE int64_t lines() const { return steps * step_lines; }
  BATON_INLINE int64_t count() const {
    return (k + 2 * lines() - 1) / (2 * lines()) * pairs();
  }
  /// The first line of a block.
  BATON_INLINE int64_t line_of(int64_t index) const {
    return index / pairs() * lines();
  }
  BATON_INLINE Block at(int64_t index) const {
    const int64_t line = line_of(index);
    const int64_t panel = index % pairs() * 2;
    const int64_t left = (k + 1) / 2 - line;
    const int64_t taken = left < lines() ? left : lines();
    const BFloat16 *first = panels + panel * k * lanes + 2 * line * lanes;
    return {first, panel + 1 < panel_count ? first + k * lanes : first, taken,
            (taken + step_lines - 1) / step_lines, k % 2 && left <= lines()};
  }
};

/// Two tiles of each step [step][panel][line][output][2].
typedef BFloat16 BlockTiles[long_steps * 2 * amx_weights];

BATON_INLINE Line interleaved(Line line) {
  return __builtin_shufflevector(line, line, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11,
                                 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Line `line` of both panels, as tiles have it.
BATON_INLINE void make_tile_line(BFloat16 *tiles, const Block &block,
                                 int64_t line) {
  BFloat16 *to = tiles + line / step_lines * 2 * amx_weights +
                 line % step_lines * 2 * amx_outputs;
  auto put = [&](BFloat16 *place, const BFloat16 *panel) BATON_INLINE_LAMBDA {
    const BFloat16 *from = panel + 2 * line * lanes;
    Line weights(0);
    if (line + 1 < block.lines || (line < block.lines && !block.ends_odd))
      weights = load_line(from);
    else if (line < block.lines)
      weights = load_last(from);
    weights = interleaved(weights);
    __builtin_memcpy(place, &weights, sizeof weights);
  };
  put(to, block.first);
  put(to + amx_weights, block.second);
}

/// Inputs of a tile of rows from a depth on where fewer than 32 are left:
/// behind them zeros.
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

/// Adds to `sums` [2 row tiles][2 panels][16][16] the products of two tiles of
/// rows, or of one, from `word` of their rows on; calls between() after each
/// multiplication.
template <typename Between>
BATON_INLINE void multiply_tiles(Real *sums, RoundedRows x, RowTiles tiles,
                                 int64_t tile, const Block &block, int64_t word,
                                 const BFloat16 *weights, Between between) {
  const bool two = tile + 1 < tiles.count();
  const int64_t first = tiles.first_row(tile);
  const int64_t second = two ? tiles.first_row(tile + 1) : first;
  if (word == 0)
    baton_amx_zero_sums();
  else
    baton_amx_load_sums(sums);
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
  const int64_t whole = block.lines / step_lines;
  for (int64_t step = 0; step < whole; ++step)
    multiply(x.row(first) + word + step * step_lines,
             x.row(second) + word + step * step_lines, x.stride * sizeof(Real),
             step);
  if (whole < block.steps) {
    LastInputs upper, lower;
    const int64_t done = word + whole * step_lines;
    upper.take(x, first, tiles.height(), done, block.lines % step_lines);
    lower.take(x, second, tiles.height(), done, block.lines % step_lines);
    multiply(&upper, &lower, sizeof upper.words[0], whole);
  }
  baton_amx_store_sums(sums);
}

/// All products of up to rows_at_once rows and panels_at_once panels, to sums
/// [pair of panels][row tile][panel][16][16].
BATON_INLINE void multiply_by_amx(Real *sums, RoundedRows x, Blocks blocks) {
  const RowTiles tiles{x.count};
  AmxShapes shapes;
  for (int tile = 0; tile < 8; ++tile) {
    shapes.bytes[tile] = 64;
    shapes.rows[tile] =
        static_cast<uint8_t>(tile < 6 ? tiles.height() : step_lines);
  }
  baton_amx_begin(&shapes);
  alignas(64) BlockTiles made[2];
  Block block = blocks.at(0);
  for (int64_t line = 0; line < block.steps * step_lines; ++line)
    make_tile_line(made[0], block, line);
  const int64_t count = blocks.count();
  for (int64_t index = 0; index < count; ++index) {
    // Behind the last block comes what another task reads.
    const Block next = index + 1 < count ? blocks.at(index + 1) : Block{};
    const Block later =
        index + 2 < count
            ? blocks.at(index + 2)
            : Block{blocks.panels + blocks.panel_count * blocks.k * lanes,
                    blocks.panels + blocks.panel_count * blocks.k * lanes,
                    blocks.lines(), blocks.steps, false};
    BFloat16 *next_tiles = made[(index + 1) % 2];
    const int64_t lines = next.steps * step_lines;
    const int64_t calls = (tiles.count() + 1) / 2 * block.steps;
    const int64_t share = (lines + calls - 1) / calls;
    int64_t line = 0;
    auto make_more = [&]() BATON_INLINE_LAMBDA {
      for (int64_t i = 0; i < share && line < lines; ++i, ++line) {
        make_tile_line(next_tiles, next, line);
        __builtin_prefetch(later.first + 2 * line * lanes, 0, 2);
        __builtin_prefetch(later.second + 2 * line * lanes, 0, 2);
      }
    };
    Real *of_pair = sums + index % blocks.pairs() *
                               ((tiles.count() + 1) / 2 * 4 * amx_sums);
    for (int64_t tile = 0; tile < tiles.count(); tile += 2)
      multiply_tiles(of_pair + tile * 2 * amx_sums, x, tiles, tile, block,
                     blocks.line_of(index), made[index % 2], make_more);
    block = next;
  }
  baton_amx_end();
}

/// Calls finish(first, second, stride, row, rows, panel) for groups of rows
/// with the sums of panels `panel` and, if it is there, the one behind it.
template <typename Finish>
BATON_INLINE void for_each_amx_group(RoundedRows x, const BFloat16 *panels,
                                     int64_t k, int64_t panel_count,
                                     Finish finish) {
  alignas(64) Real sums[panels_at_once * rows_at_once * lanes];
  for (int64_t row = 0; row < x.count; row += rows_at_once) {
    RoundedRows some = x.from(row);
    if (some.count > rows_at_once)
      some.count = rows_at_once;
    const RowTiles tiles{some.count};
    for (int64_t panel = 0; panel < panel_count; panel += panels_at_once) {
      const int64_t left = panel_count - panel;
      const int64_t taken = left < panels_at_once ? left : panels_at_once;
      multiply_by_amx(sums, some,
                      {panels + panel * k * lanes, taken, k,
                       some.count > few_rows ? long_steps : short_steps});
      const Real *of_pair = sums;
      for (int64_t i = 0; i < taken; i += 2) {
        for (int64_t tile = 0; tile < tiles.count(); ++tile) {
          const int64_t begin = tile * amx_rows;
          const int64_t count =
              some.count - begin < amx_rows ? some.count - begin : amx_rows;
          const Real *first = of_pair + tile * 2 * amx_sums +
                              (begin - tiles.first_row(tile)) * lanes;
          finish(first, first + amx_sums, lanes, row + begin, count, panel + i);
        }
        of_pair += (tiles.count() + 1) / 2 * 4 * amx_sums;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// By fused multiply-adds
//===----------------------------------------------------------------------===//

constexpr int chained_rows = 4;

/// sums [Panels][Rows][16] = the products with some panels.
template <int Rows, int Panels>
BATON_INLINE void multiply_chains(Real *sums, RoundedRows x,
                                  const BFloat16 *panels, int64_t k) {
  // As rounded_linear.cpp has it.
  const int64_t ahead = (k < 1024 ? 2048 : 4096) / sizeof(BFloat16);
  Vector sum[Panels][Rows];
  BATON_UNROLL
  for (int panel = 0; panel < Panels; ++panel)
    BATON_UNROLL
  for (int row = 0; row < Rows; ++row)
    sum[panel][row] = splat(0.0f);
  const int64_t lines = (k + 1) / 2;
  for (int64_t begin = 0; begin < lines; begin += step_lines) {
    const int64_t end = lines - begin < step_lines ? lines : begin + step_lines;
    Vector even[Panels][Rows], odd[Panels][Rows];
    BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel)
      BATON_UNROLL
    for (int row = 0; row < Rows; ++row)
      even[panel][row] = odd[panel][row] = splat(0.0f);
    auto add = [&](auto weights_of, auto inputs_of) BATON_INLINE_LAMBDA {
      BATON_UNROLL
      for (int panel = 0; panel < Panels; ++panel) {
        const Line weights = weights_of(panels + panel * k * lanes);
        BATON_UNROLL
        for (int row = 0; row < Rows; ++row)
          baton_chain_pairs(reinterpret_cast<float *>(&even[panel][row]),
                            reinterpret_cast<float *>(&odd[panel][row]),
                            reinterpret_cast<const uint16_t *>(&weights),
                            inputs_of(row));
      }
    };
    for (int64_t line = begin; line < end; ++line)
      add(
          [&](const BFloat16 *panel) BATON_INLINE_LAMBDA {
            const BFloat16 *from = panel + 2 * line * lanes;
            __builtin_prefetch(from + ahead);
            return 2 * line + 1 < k ? load_line(from) : load_last(from);
          },
          [&](int row) BATON_INLINE_LAMBDA {
            uint32_t inputs;
            __builtin_memcpy(&inputs, x.row(row) + line, sizeof inputs);
            return inputs;
          });
    // A tile's zeros: they make -0 of a chain +0.
    if (end - begin < step_lines)
      add([](const BFloat16 *) BATON_INLINE_LAMBDA { return Line(0); },
          [](int) BATON_INLINE_LAMBDA { return uint32_t(0); });
    BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel)
      BATON_UNROLL
    for (int row = 0; row < Rows; ++row)
      baton_join_chains(reinterpret_cast<float *>(&sum[panel][row]),
                        reinterpret_cast<const float *>(&even[panel][row]),
                        reinterpret_cast<const float *>(&odd[panel][row]));
  }
  BATON_UNROLL
  for (int panel = 0; panel < Panels; ++panel)
    BATON_UNROLL
  for (int row = 0; row < Rows; ++row)
    store(sums + (panel * Rows + row) * lanes, sum[panel][row]);
}

/// As for_each_amx_group().
template <typename Finish>
BATON_INLINE void for_each_chained_group(RoundedRows x, const BFloat16 *panels,
                                         int64_t k, int64_t panel_count,
                                         Finish finish) {
  alignas(64) Real sums[2 * chained_rows * lanes];
  auto multiply = [&]<int Rows>(int64_t row) BATON_INLINE_LAMBDA {
    for (int64_t panel = 0; panel < panel_count; panel += 2) {
      const BFloat16 *first = panels + panel * k * lanes;
      {
        const PairArithmetic arithmetic(sums);
        if (Rows == 1 && panel + 1 < panel_count)
          multiply_chains<1, 2>(sums, x.from(row), first, k);
        else
          for (int64_t i = 0; i < 2 && panel + i < panel_count; ++i)
            multiply_chains<Rows, 1>(sums + i * Rows * lanes, x.from(row),
                                     first + i * k * lanes, k);
      }
      const int64_t left = x.count - row;
      finish(sums, sums + Rows * lanes, lanes, row, left < Rows ? left : Rows,
             panel);
    }
    return Rows;
  };
  for (int64_t row = 0; row < x.count;)
    row += x.count - row > 1 && baton_has_many_registers()
               ? multiply.template operator()<chained_rows>(row)
               : multiply.template operator()<1>(row);
}

template <typename Finish>
BATON_INLINE void for_each_group(RoundedRows x, const uint16_t *panels,
                                 int64_t k, int64_t panel_count,
                                 Finish finish) {
  const auto *first = reinterpret_cast<const BFloat16 *>(panels);
  // A lone row waits for weights only, of which tiles would be made in vain.
  if (baton_has_amx() && x.count > 1)
    for_each_amx_group(x, first, k, panel_count, finish);
  else
    for_each_chained_group(x, first, k, panel_count, finish);
}

} // namespace

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

BATON_TASK void
baton_task_amx_linear_bf16(Real *out, int64_t out_stride, const Real *x,
                           int64_t x_stride, const uint16_t *panels,
                           const Real *bias, const Real *residual,
                           int64_t residual_stride, int64_t rows, int64_t k,
                           int64_t columns, int32_t activation) {
  const LinearEnd end{out,     out_stride, bias, residual, residual_stride,
                      columns, activation};
  const int64_t panel_count = (columns + lanes - 1) / lanes;
  for_each_group({x, x_stride, rows}, panels, k, panel_count,
                 [&](const Real *first, const Real *second, int64_t stride,
                     int64_t row, int64_t count, int64_t panel)
                     BATON_INLINE_LAMBDA {
                       end(first, stride, row, count, panel * lanes);
                       if (panel + 1 < panel_count)
                         end(second, stride, row, count, (panel + 1) * lanes);
                     });
}

BATON_TASK void baton_task_amx_gated_linear_bf16(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const uint16_t *panels, const Real *bias_gate, const Real *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  const GatedEnd end{out, out_stride, bias_gate, bias_up, columns, activation};
  for_each_group(
      {x, x_stride, rows}, panels, k, (columns + lanes - 1) / lanes * 2,
      [&](const Real *gates, const Real *ups, int64_t stride, int64_t row,
          int64_t count, int64_t panel) BATON_INLINE_LAMBDA {
        end(gates, ups, stride, row, count, panel / 2 * lanes);
      });
}
