//===- rounded_linear.cpp - linear layers on inputs rounded to BF16 -------===//
//
// Panels are those of linear.cpp. The weights of two depths are one line of
// memory, of which a permutation makes pairs, as the rows have them; twelve
// rows share it. Few rows are bound by reading the weights, each once; of more,
// a part of two panels stays in L1 for all of them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/dots.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_end.h"
#include "codegen/cpu/library/rounding.h"
#include "codegen/cpu/library/weights.h"

using namespace baton::cpu;

namespace {

typedef uint32_t Words __attribute__((ext_vector_type(lanes)));
typedef uint16_t Halves __attribute__((ext_vector_type(lanes)));

/// Rows of a rounded matrix: words of two inputs, the first in the lower half.
/// Behind the last one comes itself again.
struct RoundedRows {
  const Real *first;
  int64_t stride, count;

  BATON_INLINE const uint32_t *row(int64_t i) const {
    const int64_t place = i < count ? i : count - 1;
    return reinterpret_cast<const uint32_t *>(first + place * stride);
  }
  BATON_INLINE RoundedRows from(int64_t row) const {
    return {first + row * stride, stride, count - row};
  }
};

/// The upper halves of rounded values; a NaN stays one.
BATON_INLINE Halves halves_of(Vector values) {
  const Words bits = __builtin_bit_cast(Words, ToBFloat16::round(values)) >> 16;
  // NOLINTNEXTLINE(misc-redundant-expression)
  const Words kept = values == values ? bits : bits | 0x40;
  return __builtin_convertvector(kept, Halves);
}

/// The weights of two depths.
BATON_INLINE Words load_pair(const BFloat16 *weights) {
  typedef uint16_t Line __attribute__((ext_vector_type(2 * lanes)));
  Line line;
  __builtin_memcpy(&line, weights, sizeof line);
  line = __builtin_shufflevector(line, line, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11,
                                 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return __builtin_bit_cast(Words, line);
}

/// Those of the last depth, where there is an odd number of them.
BATON_INLINE Words load_last(const BFloat16 *weights) {
  Halves halves;
  __builtin_memcpy(&halves, weights, sizeof halves);
  return __builtin_convertvector(halves, Words);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Panels that one kernel takes; a lone row's chains have to hide the latency
/// of an instruction.
constexpr int kernel_panels = 2, lone_row_panels = 4;
/// Rows of the largest kernel: 24 sums, of 32 registers.
constexpr int most_rows = 12;
/// Rows whose sums are on the stack.
constexpr int64_t rows_at_once = 48;
/// Depths whose weights stay in L1, where several kernels read them.
constexpr int64_t near_depth = 256;

/// Some panels, behind one another, of which a kernel takes `Panels`. If there
/// is one only, `stride` is 0 and it is taken twice.
struct Panels {
  const BFloat16 *first;
  int64_t stride;
  /// From this group of panels to what is read behind it.
  int64_t to_next;
};

/// Adds to sums [Rows][lone_row_panels * 16], which begin at +0, the products
/// of depths [begin, end); `begin` is even, and so is `end` unless it is k.
template <int Rows, int Count>
BATON_INLINE void multiply_pairs(Real *sums, RoundedRows x, Panels panels,
                                 int64_t begin, int64_t end, int64_t k) {
  constexpr int64_t sums_stride = lone_row_panels * lanes;
  constexpr int64_t ahead = 4096 / sizeof(BFloat16);
  const uint32_t *rows[Rows];
  Vector sum[Rows][Count];
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row) {
    rows[row] = x.row(row);
    BATON_UNROLL
    for (int panel = 0; panel < Count; ++panel)
      sum[row][panel] =
          begin ? load(sums + row * sums_stride + panel * lanes) : splat(0.0f);
  }
  auto add = [&](int64_t pair, auto read) BATON_INLINE_LAMBDA {
    Words weights[Count];
    BATON_UNROLL
    for (int panel = 0; panel < Count; ++panel)
      weights[panel] =
          read(panels.first + panel * panels.stride + 2 * pair * lanes);
    BATON_UNROLL
    for (int row = 0; row < Rows; ++row) {
      const Words inputs(rows[row][pair]);
      BATON_UNROLL
      for (int panel = 0; panel < Count; ++panel)
        baton_dots_pairs(reinterpret_cast<float *>(&sum[row][panel]),
                         reinterpret_cast<const uint32_t *>(&weights[panel]),
                         reinterpret_cast<const uint32_t *>(&inputs));
    }
  };
  for (int64_t pair = begin / 2; pair < end / 2; ++pair) {
    const int64_t place = 2 * pair * lanes + ahead;
    const BFloat16 *next =
        panels.first + place + (place < k * lanes ? 0 : panels.to_next);
    BATON_UNROLL
    for (int panel = 0; panel < Count; ++panel)
      __builtin_prefetch(next + panel * panels.stride);
    add(pair, [](const BFloat16 *weights)
                  BATON_INLINE_LAMBDA { return load_pair(weights); });
  }
  if (end % 2)
    add(end / 2, [](const BFloat16 *weights)
                     BATON_INLINE_LAMBDA { return load_last(weights); });
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row)
    BATON_UNROLL
  for (int panel = 0; panel < Count; ++panel)
    store(sums + row * sums_stride + panel * lanes, sum[row][panel]);
}

/// The same of any number of rows, in few kernels. Those of many rows are for
/// many registers, and for the instruction: what is emulated is long.
template <int Count>
BATON_INLINE void multiply_rows(Real *sums, RoundedRows x, Panels panels,
                                int64_t begin, int64_t end, int64_t k) {
  auto run = [&]<int Rows>(int64_t row) BATON_INLINE_LAMBDA {
    multiply_pairs<Rows, Count>(sums + row * lone_row_panels * lanes,
                                x.from(row), panels, begin, end, k);
    return Rows;
  };
  const bool is_wide = baton_has_pair_dots();
  for (int64_t row = 0; row < x.count;) {
    const int64_t left = x.count - row;
    // 13 to 16 rows are twice 8.
    if (is_wide && left > 8 && (left <= 12 || left > 16))
      row += run.template operator()<12>(row);
    else if (is_wide && left > 4)
      row += run.template operator()<8>(row);
    else if (is_wide && left > 2)
      row += run.template operator()<4>(row);
    else if (left > 1)
      row += run.template operator()<2>(row);
    else
      row += run.template operator()<1>(row);
  }
}

/// Calls finish(sums, row, rows, panel, count) for groups of panels and rows of
/// the tile; sums are [rows][lone_row_panels * 16].
template <typename Finish>
BATON_INLINE void for_each_group(RoundedRows x, const BFloat16 *panels,
                                 int64_t k, int64_t panel_count,
                                 Finish finish) {
  alignas(64) Real sums[rows_at_once * lone_row_panels * lanes];
  const int64_t panel_size = k * lanes;
  for (int64_t row = 0; row < x.count; row += rows_at_once) {
    RoundedRows some = x.from(row);
    if (some.count > rows_at_once)
      some.count = rows_at_once;
    const int64_t count = some.count;
    const int64_t depth = count > most_rows ? near_depth : k;
    for (int64_t panel = 0; panel < panel_count;) {
      const int64_t left = panel_count - panel;
      const bool is_lone = count == 1 && left >= lone_row_panels;
      const int64_t taken = is_lone                 ? lone_row_panels
                            : left >= kernel_panels ? kernel_panels
                                                    : 1;
      const Panels group{panels + panel * panel_size,
                         taken > 1 ? panel_size : 0, (taken - 1) * panel_size};
      for (int64_t begin = 0; begin < k; begin += depth) {
        const int64_t end = k - begin < depth ? k : begin + depth;
        if (is_lone)
          multiply_pairs<1, lone_row_panels>(sums, some, group, begin, end, k);
        else
          multiply_rows<kernel_panels>(sums, some, group, begin, end, k);
      }
      finish(sums, row, count, panel, taken);
      panel += taken;
    }
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

BATON_TASK void baton_task_round_rows(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      int64_t rows, int64_t k) {
  for (int64_t row = 0; row < rows; ++row) {
    auto *to = reinterpret_cast<uint16_t *>(out + row * out_stride);
    for_each_vector(k, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
      const Halves halves = halves_of(load(x + row * x_stride + first, count));
      __builtin_memcpy(to + first, &halves, count * sizeof(uint16_t));
    });
    if (k % 2)
      to[k] = 0;
  }
}

BATON_TASK void
baton_task_rounded_linear_bf16(Real *out, int64_t out_stride, const Real *x,
                               int64_t x_stride, const uint16_t *panels,
                               const Real *bias, const Real *residual,
                               int64_t residual_stride, int64_t rows, int64_t k,
                               int64_t columns, int32_t activation) {
  const LinearEnd end{out,     out_stride, bias, residual, residual_stride,
                      columns, activation};
  for_each_group({x, x_stride, rows},
                 reinterpret_cast<const BFloat16 *>(panels), k,
                 (columns + lanes - 1) / lanes,
                 [&](const Real *sums, int64_t row, int64_t count,
                     int64_t panel, int64_t taken) BATON_INLINE_LAMBDA {
                   for (int64_t i = 0; i < taken; ++i)
                     end(sums + i * lanes, lone_row_panels * lanes, row, count,
                         (panel + i) * lanes);
                 });
}

BATON_TASK void baton_task_rounded_gated_linear_bf16(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const uint16_t *panels, const Real *bias_gate, const Real *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  const GatedEnd end{out, out_stride, bias_gate, bias_up, columns, activation};
  for_each_group(
      {x, x_stride, rows}, reinterpret_cast<const BFloat16 *>(panels), k,
      (columns + lanes - 1) / lanes * 2,
      [&](const Real *sums, int64_t row, int64_t count, int64_t panel,
          int64_t taken) BATON_INLINE_LAMBDA {
        for (int64_t i = 0; i < taken; i += 2)
          end(sums + i * lanes, sums + (i + 1) * lanes, lone_row_panels * lanes,
              row, count, (panel + i) / 2 * lanes);
      });
}
