//===- amx_linear.cpp - linear layers whose sums are those of AMX ---------===//
//
// Panels and rows are those of rounded_linear.cpp. CPUs without AMX compute the
// same sums by fused multiply-adds.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/amx_product.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_end.h"
#include "codegen/cpu/library/registers.h"

using namespace baton::cpu;

namespace {

//===----------------------------------------------------------------------===//
// By AMX
//===----------------------------------------------------------------------===//

BATON_INLINE Line interleaved(Line line) {
  return __builtin_shufflevector(line, line, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11,
                                 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Panels [k][16] behind one another.
struct PanelSide {
  const BFloat16 *panels;
  int64_t panel_count, k, steps;

  struct Block {
    const BFloat16 *first, *second;
    /// Pairs of depths, of the last of which there may be one depth only.
    int64_t lines;
    bool ends_odd;
  };

  BATON_INLINE int64_t pairs() const { return (panel_count + 1) / 2; }
  BATON_INLINE int64_t lines() const { return steps * step_lines; }
  BATON_INLINE int64_t count() const {
    return (k + 2 * lines() - 1) / (2 * lines()) * pairs();
  }
  BATON_INLINE int64_t line_of(int64_t index) const {
    return index / pairs() * lines();
  }
  BATON_INLINE Block at(int64_t index) const {
    const int64_t line = line_of(index), panel = index % pairs() * 2;
    const int64_t left = (k + 1) / 2 - line;
    const BFloat16 *first = panels + panel * k * lanes + 2 * line * lanes;
    return {first, panel + 1 < panel_count ? first + k * lanes : first,
            left < lines() ? left : lines(), k % 2 && left <= lines()};
  }
  BATON_INLINE Block behind() const {
    const BFloat16 *end = panels + panel_count * k * lanes;
    return {end, end, lines(), false};
  }
  /// Lines, whole tiles of them.
  BATON_INLINE int64_t units(const Block &block) const {
    return (block.lines + step_lines - 1) / step_lines * step_lines;
  }
  BATON_INLINE void make(BFloat16 *tiles, const Block &block,
                         int64_t line) const {
    BFloat16 *to = tile_line(tiles, line);
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
  BATON_INLINE void ask(const Block &block, int64_t line) const {
    __builtin_prefetch(block.first + 2 * line * lanes, 0, 2);
    __builtin_prefetch(block.second + 2 * line * lanes, 0, 2);
  }
};

struct WholeRows {
  RoundedRows x;
  const PanelSide &side;

  BATON_INLINE RoundedRows at(int64_t index, const PanelSide::Block &) const {
    return {x.first + side.line_of(index), x.stride, x.count};
  }
};

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
      const PanelSide side{panels + panel * k * lanes,
                           left < panels_at_once ? left : panels_at_once, k,
                           steps_of(some.count)};
      WholeRows inputs{some, side};
      multiply_by_amx(sums, tiles, side, inputs);
      for_each_tile(
          sums, tiles, side.pairs(),
          [&](const Real *first, const Real *second, int64_t stride,
              int64_t begin, int64_t count, int64_t pair) BATON_INLINE_LAMBDA {
            finish(first, second, stride, row + begin, count, panel + 2 * pair);
          });
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
        const ChainArithmetic arithmetic(sums);
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
