//===- rounded_linear.cpp - linear layers on inputs rounded to BF16 -------===//
//
// Panels are those of linear.cpp. The weights of two depths are one line of
// memory, of which a permutation makes pairs, as the rows have them; twelve
// rows share it. Few rows are bound by reading the weights, each once; of more,
// a part of two panels stays in L1 for all of them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_end.h"
#include "codegen/cpu/library/rounded_rows.h"

using namespace baton::cpu;

namespace {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Panels that one kernel takes by the instruction; a lone row's chains have to
/// hide the latency of one.
constexpr int kernel_panels = 2, lone_row_panels = 4;
/// Rows of the largest kernel: 24 sums, of 32 registers.
constexpr int most_rows = 12;
/// Rows whose sums are on the stack.
constexpr int64_t rows_at_once = 48;
constexpr int64_t sums_stride = lone_row_panels * lanes;
/// Depths whose weights stay in L1, where several kernels read them.
constexpr int64_t near_depth = 256;

/// Some panels, behind one another. If there is one only, `stride` is 0, so
/// that a kernel may take it twice.
struct Panels {
  const BFloat16 *first;
  int64_t stride;
  /// From one of them to what is read behind all.
  int64_t to_next;
};

/// Adds to sums [Rows][sums_stride], which begin at +0, the products of depths
/// [begin, end); `begin` is even, and so is `end` unless it is k.
template <int Rows, int Count>
BATON_INLINE void multiply_pairs(Real *sums, RoundedRows x, Panels panels,
                                 int64_t begin, int64_t end, int64_t k) {
  // Measured best on Zen 5, of which L1 holds what four panels ask for. Of
  // short panels less, because what is behind may be another worker's.
  const int64_t ahead = (k < 1024 ? 2048 : 4096) / sizeof(BFloat16);
  const Real *rows[Rows];
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
    Line weights[Count];
    BATON_UNROLL
    for (int panel = 0; panel < Count; ++panel)
      weights[panel] =
          read(panels.first + panel * panels.stride + 2 * pair * lanes);
    BATON_UNROLL
    for (int row = 0; row < Rows; ++row) {
      uint32_t inputs;
      __builtin_memcpy(&inputs, rows[row] + pair, sizeof inputs);
      BATON_UNROLL
      for (int panel = 0; panel < Count; ++panel)
        baton_dots_pairs(reinterpret_cast<float *>(&sum[row][panel]),
                         reinterpret_cast<const uint16_t *>(&weights[panel]),
                         inputs);
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
                  BATON_INLINE_LAMBDA { return load_line(weights); });
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

/// The same of any number of rows, in few kernels, of which some compute rows
/// behind the last one again.
BATON_INLINE void multiply_by_instruction(Real *sums, RoundedRows x,
                                          Panels panels, int64_t begin,
                                          int64_t end, int64_t k) {
  auto run = [&]<int Rows>(int64_t row) BATON_INLINE_LAMBDA {
    multiply_pairs<Rows, kernel_panels>(sums + row * sums_stride, x.from(row),
                                        panels, begin, end, k);
    return Rows;
  };
  for (int64_t row = 0; row < x.count;) {
    const int64_t left = x.count - row;
    // 13 to 16 rows are twice 8.
    if (left > 8 && (left <= 12 || left > 16))
      row += run.template operator()<most_rows>(row);
    else if (left > 4)
      row += run.template operator()<8>(row);
    else if (left > 2)
      row += run.template operator()<4>(row);
    else if (left > 1)
      row += run.template operator()<2>(row);
    else
      row += run.template operator()<1>(row);
  }
}

/// The same of one panel without the instruction, for 16 registers of half a
/// vector.
BATON_INLINE void multiply_by_others(Real *sums, RoundedRows x, Panels panels,
                                     int64_t begin, int64_t end, int64_t k) {
  auto run = [&]<int Rows>(int64_t row) BATON_INLINE_LAMBDA {
    multiply_pairs<Rows, 1>(sums + row * sums_stride, x.from(row), panels,
                            begin, end, k);
    return Rows;
  };
  for (int64_t row = 0; row < x.count;) {
    const int64_t left = x.count - row;
    if (left > 3)
      row += run.template operator()<6>(row);
    else if (left > 1)
      row += run.template operator()<3>(row);
    else
      row += run.template operator()<1>(row);
  }
}

/// Of all depths, for rows whose sums are on the stack and `taken` panels.
BATON_INLINE void multiply_group(Real *sums, RoundedRows x, Panels panels,
                                 int64_t taken, int64_t k) {
  const PairArithmetic arithmetic(sums);
  const int64_t depth = x.count > most_rows ? near_depth : k;
  for (int64_t begin = 0; begin < k; begin += depth) {
    const int64_t end = k - begin < depth ? k : begin + depth;
    if (taken == lone_row_panels)
      multiply_pairs<1, lone_row_panels>(sums, x, panels, begin, end, k);
    else if (baton_has_pair_dots())
      multiply_by_instruction(sums, x, panels, begin, end, k);
    else
      for (int64_t panel = 0; panel < taken; ++panel)
        multiply_by_others(
            sums + panel * lanes, x,
            {panels.first + panel * panels.stride, 0, panels.to_next}, begin,
            end, k);
  }
}

/// Calls finish(sums, row, rows, panel, count) for groups of panels and rows of
/// the tile; sums are [rows][sums_stride].
template <typename Finish>
BATON_INLINE void for_each_group(RoundedRows x, const BFloat16 *panels,
                                 int64_t k, int64_t panel_count,
                                 Finish finish) {
  alignas(64) Real sums[rows_at_once * sums_stride];
  const int64_t panel_size = k * lanes;
  for (int64_t row = 0; row < x.count; row += rows_at_once) {
    RoundedRows some = x.from(row);
    if (some.count > rows_at_once)
      some.count = rows_at_once;
    for (int64_t panel = 0; panel < panel_count;) {
      const int64_t left = panel_count - panel;
      const int64_t taken = some.count == 1 && left >= lone_row_panels
                                ? lone_row_panels
                            : left >= kernel_panels ? kernel_panels
                                                    : 1;
      multiply_group(sums, some,
                     {panels + panel * panel_size, taken > 1 ? panel_size : 0,
                      (taken - 1) * panel_size},
                     taken, k);
      finish(sums, row, some.count, panel, taken);
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
  for (int64_t row = 0; row < rows; ++row)
    round_row(out + row * out_stride, x + row * x_stride, k);
}

BATON_TASK void
baton_task_rounded_linear_bf16(Real *out, int64_t out_stride, const Real *x,
                               int64_t x_stride, const uint16_t *panels,
                               const Real *bias, const Real *residual,
                               int64_t residual_stride, int64_t rows, int64_t k,
                               int64_t columns, int32_t activation) {
  const LinearEnd end{out,     out_stride, bias, residual, residual_stride,
                      columns, activation};
  for_each_group(
      {x, x_stride, rows}, reinterpret_cast<const BFloat16 *>(panels), k,
      (columns + lanes - 1) / lanes,
      [&](const Real *sums, int64_t row, int64_t count, int64_t panel,
          int64_t taken) BATON_INLINE_LAMBDA {
        for (int64_t i = 0; i < taken; ++i)
          end(sums + i * lanes, sums_stride, row, count, (panel + i) * lanes);
      });
}

BATON_TASK void baton_task_rounded_gated_linear_bf16(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const uint16_t *panels, const Real *bias_gate, const Real *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  const GatedEnd end{out, out_stride, bias_gate, bias_up, columns, activation};
  for_each_group({x, x_stride, rows},
                 reinterpret_cast<const BFloat16 *>(panels), k,
                 (columns + lanes - 1) / lanes * 2,
                 [&](const Real *sums, int64_t row, int64_t count,
                     int64_t panel, int64_t taken) BATON_INLINE_LAMBDA {
                   for (int64_t i = 0; i < taken; i += 2)
                     end(sums + i * lanes, sums + (i + 1) * lanes, sums_stride,
                         row, count, (panel + i) / 2 * lanes);
                 });
}
