//===- linear_rows.h - rows times packed weights --------------------------===//
//
// Up to six rows are bound by reading the weights: panel after panel, each
// once. With one or two rows more panels run at once, since eight independent
// chains hide the latency of an FMA; with vectors of one register, of which six
// rows have six chains, so they do with up to six. More rows are bound by
// arithmetic and go in deep tiles.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_LINEAR_ROWS_H
#define BATON_CODEGEN_CPU_LIBRARY_LINEAR_ROWS_H

#include "codegen/cpu/library/blocks.h"
#include "codegen/cpu/library/linear_end.h"

namespace baton::cpu {

template <typename Weight>
BATON_INLINE void
linear(Real *out, int64_t out_stride, const Real *__restrict x,
       int64_t x_stride, const Weight *__restrict panels,
       const Real *__restrict bias, const Real *residual,
       int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,
       int32_t activation, int64_t panel_stride) {
  const int64_t panel_count = (columns + lanes - 1) / lanes;

  const LinearEnd end{out,     out_stride, bias, residual, residual_stride,
                      columns, activation};
  auto finish = [&](const Real *products, int64_t products_stride,
                    int64_t first_row, int64_t block_rows, int64_t first_panel,
                    int64_t width) BATON_INLINE_LAMBDA {
    // Row by row: rows of the result are often pages apart.
    for (int64_t row = 0; row < block_rows; ++row)
      for (int64_t panel = 0; panel < width; ++panel)
        end(products + row * products_stride + panel * lanes, products_stride,
            first_row + row, 1, (first_panel + panel) * lanes);
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
  alignas(64) Real tile[2 * tile_rows * lanes];
  for (int64_t panel = 0; panel < panel_count;) {
    const int64_t left = panel_count - panel;
    const Weight *source = panels + panel * panel_stride;
    int64_t width = 1;
    if (rows == 1 && left >= lone_row_panels &&
        takes_lone_row_panels<Weight>()) {
      width = lone_row_panels;
      multiply_panels<1, lone_row_panels>(tile, x, x_stride, source,
                                          panel_stride, k);
    } else if (rows == 1 && left >= 2) {
      multiply_panels<1, 2>(tile, x, x_stride, source, panel_stride, k);
      width = 2;
    } else if (rows == 2 && left >= 4 && baton_has_many_registers()) {
      multiply_panels<2, 4>(tile, x, x_stride, source, panel_stride, k);
      width = 4;
    } else if (rows == 2 && left >= 2) {
      multiply_panels<2, 2>(tile, x, x_stride, source, panel_stride, k);
      width = 2;
    } else if (rows > 2 && left >= 2 && baton_has_many_registers()) {
      with_constant_rows(rows, [&]<int Rows>() BATON_INLINE_LAMBDA {
        if constexpr (Rows > 2)
          multiply_panels<Rows, 2>(tile, x, x_stride, source, panel_stride, k);
      });
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

/// Of panels behind one another.
template <typename Weight>
BATON_INLINE void linear(Real *out, int64_t out_stride, const Real *x,
                         int64_t x_stride, const Weight *panels,
                         const Real *bias, const Real *residual,
                         int64_t residual_stride, int64_t rows, int64_t k,
                         int64_t columns, int32_t activation) {
  linear(out, out_stride, x, x_stride, panels, bias, residual, residual_stride,
         rows, k, columns, activation, PanelSize<Weight>::of(k));
}

/// Panels of one format, for those that have several, `panel_stride` bytes from
/// one to the next: the layers of a stack share their code, and a call is not
/// worth a copy of each format's.
template <typename Format>
__attribute__((noinline)) void
linear_of_format(Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
                 const uint8_t *panels, int64_t panel_stride, const Real *bias,
                 const Real *residual, int64_t residual_stride, int64_t rows,
                 int64_t k, int64_t columns, int32_t activation) {
  typedef typename Stored<Format>::Weight Weight;
  linear(out, out_stride, x, x_stride, reinterpret_cast<const Weight *>(panels),
         bias, residual, residual_stride, rows, k, columns, activation,
         panel_stride / static_cast<int64_t>(sizeof(Weight)));
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_LINEAR_ROWS_H
