//===- gated_linear.cpp - gated linear layers on packed weights -----------===//
//
// Gate and up projections share one pass over x. Their panels alternate in
// memory, so that one tile's weights are one stream.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/blocks.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_end.h"

using namespace baton::cpu;

namespace {

template <typename Weight>
BATON_INLINE void
gated_linear(Real *__restrict out, int64_t out_stride, const Real *__restrict x,
             int64_t x_stride, const Weight *__restrict panels,
             const Real *__restrict bias_gate, const Real *__restrict bias_up,
             int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  const int64_t panel_count = (columns + lanes - 1) / lanes;
  const int64_t panel_stride = PanelSize<Weight>::of(k);
  // Where one kernel takes both panels, gates and ups alternate in the tile;
  // where it takes one, all gates come first, then all ups.
  alignas(64) Real tile[2 * tile_rows * lanes];

  const GatedEnd end{out, out_stride, bias_gate, bias_up, columns, activation};
  auto finish = [&](const Real *gates, const Real *ups, int64_t row_stride,
                    int64_t first_row, int64_t block_rows,
                    int64_t panel) BATON_INLINE_LAMBDA {
    end(gates, ups, row_stride, first_row, block_rows, panel * lanes);
  };

  if (rows > tile_rows) {
    static_assert(deep_panels % 2 == 0, "a tile holds pairs");
    DeepTile deep;
    for_each_deep_tile(
        rows, 2 * panel_count,
        [&](int64_t first_row, int64_t block_rows, int64_t first_panel,
            int64_t width) BATON_INLINE_LAMBDA {
          multiply_deep(deep, x + first_row * x_stride, x_stride, block_rows,
                        panels + first_panel * panel_stride, panel_stride,
                        width, k);
          for (int64_t pair = 0; pair < width / 2; ++pair) {
            const Real *gates = deep.sums + 2 * pair * lanes;
            finish(gates, gates + lanes, deep_panels * lanes, first_row,
                   block_rows, first_panel / 2 + pair);
          }
        });
    return;
  }
  for (int64_t panel = 0; panel < panel_count;) {
    const Weight *source = panels + 2 * panel * panel_stride;
    if (rows == 1 && panel_count - panel >= 2 &&
        takes_lone_row_panels<Weight>()) {
      multiply_panels<1, 4>(tile, x, x_stride, source, panel_stride, k);
      finish(tile, tile + lanes, 0, 0, 1, panel);
      finish(tile + 2 * lanes, tile + 3 * lanes, 0, 0, 1, panel + 1);
      panel += 2;
    } else if (rows == 1) {
      multiply_panels<1, 2>(tile, x, x_stride, source, panel_stride, k);
      finish(tile, tile + lanes, 0, 0, 1, panel);
      ++panel;
    } else if (rows == 2 && panel_count - panel >= 2 &&
               baton_has_many_registers()) {
      multiply_panels<2, 4>(tile, x, x_stride, source, panel_stride, k);
      finish(tile, tile + lanes, 4 * lanes, 0, 2, panel);
      finish(tile + 2 * lanes, tile + 3 * lanes, 4 * lanes, 0, 2, panel + 1);
      panel += 2;
    } else if (rows == 2) {
      multiply_panels<2, 2>(tile, x, x_stride, source, panel_stride, k);
      finish(tile, tile + lanes, 2 * lanes, 0, 2, panel);
      ++panel;
    } else if (rows > 2 && baton_has_many_registers()) {
      with_constant_rows(rows, [&]<int Rows>() BATON_INLINE_LAMBDA {
        if constexpr (Rows > 2)
          multiply_panels<Rows, 2>(tile, x, x_stride, source, panel_stride, k);
      });
      finish(tile, tile + lanes, 2 * lanes, 0, rows, panel);
      ++panel;
    } else {
      // A loop, not two calls: the kernels exist once.
      for (int64_t side = 0; side < 2 && rows > 0; ++side)
        with_constant_rows(rows, [&]<int Rows>() BATON_INLINE_LAMBDA {
          multiply_panels<Rows, 1>(tile + side * tile_rows * lanes, x, x_stride,
                                   source + side * panel_stride, panel_stride,
                                   k);
        });
      finish(tile, tile + tile_rows * lanes, lanes, 0, rows, panel);
      ++panel;
    }
  }
}

} // namespace

BATON_TASK void baton_task_gated_linear_f32(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const Real *panels, const Real *bias_gate, const Real *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  gated_linear(out, out_stride, x, x_stride, panels, bias_gate, bias_up, rows,
               k, columns, activation);
}

BATON_TASK void baton_task_gated_linear_bf16(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const uint16_t *panels, const Real *bias_gate, const Real *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  gated_linear(out, out_stride, x, x_stride,
               reinterpret_cast<const BFloat16 *>(panels), bias_gate, bias_up,
               rows, k, columns, activation);
}

BATON_TASK void baton_task_gated_linear_f16(
    Real *out, int64_t out_stride, const Real *x, int64_t x_stride,
    const uint16_t *panels, const Real *bias_gate, const Real *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  gated_linear(out, out_stride, x, x_stride,
               reinterpret_cast<const Float16 *>(panels), bias_gate, bias_up,
               rows, k, columns, activation);
}

#define BATON_GATED_LINEAR_OF_BLOCKS(NAME, BLOCK)                              \
  BATON_TASK void baton_task_gated_linear_##NAME(                              \
      Real *out, int64_t out_stride, const Real *x, int64_t x_stride,          \
      const int8_t *panels, const Real *bias_gate, const Real *bias_up,        \
      int64_t rows, int64_t k, int64_t columns, int32_t activation) {          \
    gated_linear(out, out_stride, x, x_stride,                                 \
                 reinterpret_cast<const Quantised<blocks::BLOCK> *>(panels),   \
                 bias_gate, bias_up, rows, k, columns, activation);            \
  }
BATON_FOR_EACH_BLOCK(BATON_GATED_LINEAR_OF_BLOCKS)
#undef BATON_GATED_LINEAR_OF_BLOCKS
