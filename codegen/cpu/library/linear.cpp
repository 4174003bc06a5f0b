//===- linear.cpp - linear layers on packed weights -----------------------===//
//
// Up to six rows are bound by reading the weights: panel after panel, each
// once. With one or two rows more panels run at once, since eight independent
// chains hide the latency of an FMA. More rows are bound by arithmetic and go
// in deep tiles.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/activation.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/microkernel.h"

using namespace baton::cpu;

namespace {

template <typename Weight>
BATON_INLINE void linear(Real *out, int64_t out_stride,
                         const Real *__restrict x, int64_t x_stride,
                         const Weight *__restrict panels,
                         const Real *__restrict bias, const Real *residual,
                         int64_t residual_stride, int64_t rows, int64_t k,
                         int64_t columns, int32_t activation) {
  const int64_t panel_count = (columns + lanes - 1) / lanes;
  const int64_t panel_stride = k * lanes;

  // products [block rows][tile stride] -> out; not part of the kernels, because
  // there are many of those and the activation is long.
  auto finish = [&](const Real *products, int64_t products_stride,
                    int64_t first_row, int64_t block_rows, int64_t first_panel,
                    int64_t width) BATON_INLINE_LAMBDA {
    for (int64_t row = 0; row < block_rows; ++row)
      for (int64_t panel = 0; panel < width; ++panel) {
        int64_t column = (first_panel + panel) * lanes;
        int64_t count = columns - column < lanes ? columns - column : lanes;
        Vector value = load(products + row * products_stride + panel * lanes);
        if (bias)
          value += load(bias + column, count);
        value = activate(value, activation);
        if (residual)
          value += load(residual + (first_row + row) * residual_stride + column,
                        count);
        store(out + (first_row + row) * out_stride + column, value, count);
      }
  };

  if (rows > tile_rows) {
    DeepTile tile;
    for_each_deep_tile(
        rows, panel_count,
        [&](int64_t first_row, int64_t block_rows, int64_t first_panel,
            int64_t width) BATON_INLINE_LAMBDA {
          multiply_deep(tile, x + first_row * x_stride, x_stride, block_rows,
                        panels + first_panel * panel_stride, panel_stride,
                        width, k);
          finish(tile.sums, deep_panels * lanes, first_row, block_rows,
                 first_panel, width);
        });
    return;
  }
  alignas(64) Real tile[tile_rows * lanes];
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
    } else if (rows > 0) {
      with_constant_rows(rows, [&]<int Rows>() BATON_INLINE_LAMBDA {
        multiply_panels<Rows, 1>(tile, x, x_stride, source, panel_stride, k);
      });
    }
    finish(tile, width * lanes, 0, rows, panel, width);
    panel += width;
  }
}

} // namespace

BATON_TASK void baton_task_linear_f32(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      const Real *panels, const Real *bias,
                                      const Real *residual,
                                      int64_t residual_stride, int64_t rows,
                                      int64_t k, int64_t columns,
                                      int32_t activation) {
  linear(out, out_stride, x, x_stride, panels, bias, residual, residual_stride,
         rows, k, columns, activation);
}

BATON_TASK void baton_task_linear_bf16(Real *out, int64_t out_stride,
                                       const Real *x, int64_t x_stride,
                                       const uint16_t *panels, const Real *bias,
                                       const Real *residual,
                                       int64_t residual_stride, int64_t rows,
                                       int64_t k, int64_t columns,
                                       int32_t activation) {
  linear(out, out_stride, x, x_stride,
         reinterpret_cast<const BFloat16 *>(panels), bias, residual,
         residual_stride, rows, k, columns, activation);
}

BATON_TASK void baton_task_linear_f16(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      const uint16_t *panels, const Real *bias,
                                      const Real *residual,
                                      int64_t residual_stride, int64_t rows,
                                      int64_t k, int64_t columns,
                                      int32_t activation) {
  linear(out, out_stride, x, x_stride,
         reinterpret_cast<const Float16 *>(panels), bias, residual,
         residual_stride, rows, k, columns, activation);
}
