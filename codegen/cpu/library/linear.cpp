//===- linear.cpp - linear layers on packed weights -----------------------===//
//
// Panels are outermost, so that a panel comes from memory once and from the
// second-level cache for every further block of six rows. With few rows more
// panels run at once: eight independent chains hide the latency of an FMA.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/activation.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/microkernel.h"

using namespace baton::cpu;

namespace {

template <typename Weight>
BATON_INLINE void linear(float *out, int64_t out_stride,
                         const float *__restrict x, int64_t x_stride,
                         const Weight *__restrict panels,
                         const float *__restrict bias, const float *residual,
                         int64_t residual_stride, int64_t rows, int64_t k,
                         int64_t columns, int32_t activation) {
  const int64_t panel_count = (columns + lanes - 1) / lanes;
  const int64_t panel_stride = k * lanes;
  alignas(64) float tile[tile_rows * lanes];

  // tile [block rows][width panels] -> out; not part of the kernels, because
  // there are many of those and the activation is long.
  auto finish = [&](int64_t first_row, int64_t block_rows, int64_t first_panel,
                    int64_t width) BATON_INLINE_LAMBDA {
    for (int64_t row = 0; row < block_rows; ++row)
      for (int64_t panel = 0; panel < width; ++panel) {
        int64_t column = (first_panel + panel) * lanes;
        int64_t count = columns - column < lanes ? columns - column : lanes;
        Vector value = load(tile + (row * width + panel) * lanes);
        if (bias)
          value += load(bias + column, count);
        value = activate(value, activation);
        if (residual)
          value += load(residual + (first_row + row) * residual_stride + column,
                        count);
        store(out + (first_row + row) * out_stride + column, value, count);
      }
  };

  for (int64_t panel = 0; panel < panel_count;) {
    const int64_t left = panel_count - panel;
    const Weight *source = panels + panel * panel_stride;
    int64_t width = 1;
    if (rows == 1 && left >= 4) {
      multiply_panels<1, 4>(tile, x, x_stride, source, panel_stride, k);
      width = 4;
    } else if (rows == 1 && left >= 2) {
      multiply_panels<1, 2>(tile, x, x_stride, source, panel_stride, k);
      width = 2;
    } else if (rows == 2 && left >= 2) {
      multiply_panels<2, 2>(tile, x, x_stride, source, panel_stride, k);
      width = 2;
    }
    if (width > 1) {
      finish(0, rows, panel, width);
    } else {
      for_each_row_block(
          rows, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
            with_constant_rows(count, [&]<int Rows>() BATON_INLINE_LAMBDA {
              multiply_panels<Rows, 1>(tile, x + first * x_stride, x_stride,
                                       source, panel_stride, k);
            });
            finish(first, count, panel, 1);
          });
    }
    panel += width;
  }
}

} // namespace

BATON_TASK void baton_task_linear_f32(float *out, int64_t out_stride,
                                      const float *x, int64_t x_stride,
                                      const float *panels, const float *bias,
                                      const float *residual,
                                      int64_t residual_stride, int64_t rows,
                                      int64_t k, int64_t columns,
                                      int32_t activation) {
  linear(out, out_stride, x, x_stride, panels, bias, residual, residual_stride,
         rows, k, columns, activation);
}

BATON_TASK void baton_task_linear_bf16(float *out, int64_t out_stride,
                                       const float *x, int64_t x_stride,
                                       const uint16_t *panels,
                                       const float *bias, const float *residual,
                                       int64_t residual_stride, int64_t rows,
                                       int64_t k, int64_t columns,
                                       int32_t activation) {
  linear(out, out_stride, x, x_stride,
         reinterpret_cast<const BFloat16 *>(panels), bias, residual,
         residual_stride, rows, k, columns, activation);
}

BATON_TASK void baton_task_linear_f16(float *out, int64_t out_stride,
                                      const float *x, int64_t x_stride,
                                      const uint16_t *panels, const float *bias,
                                      const float *residual,
                                      int64_t residual_stride, int64_t rows,
                                      int64_t k, int64_t columns,
                                      int32_t activation) {
  linear(out, out_stride, x, x_stride,
         reinterpret_cast<const Float16 *>(panels), bias, residual,
         residual_stride, rows, k, columns, activation);
}
