//===- product_matrix_warps.h - products of training by warps -------------===//
//
// A warp has a part of the tile in its registers, and multiplies by mma.sync.
// Of two stages in shared memory one is read while the next is stored, and the
// one behind that is on its way from global memory. One barrier a stage hands
// both over.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_WARPS_H
#define BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_WARPS_H

#include "codegen/cuda/library/product_matrix_sums.h"

namespace baton::cuda {

/// One tile of the product, of at most [Rows, Columns].
template <typename Numbers, int Threads, int Rows, int Columns>
BATON_DEVICE void multiply_sides_by_warps(unsigned char *shared,
                                          const BatonMatrixProduct &product) {
  const MatrixTile &tile = product.tile;
  constexpr BatonProductMatrixShape shape{Threads, Rows, Columns, 80};
  constexpr int depths = shape.depths(), stages = shape.stages();
  constexpr int chunks = depths / 8, stages_of_line = 8 / chunks;
  constexpr int warp_rows = Rows / shape.warps_down();
  constexpr int warp_columns = Columns / shape.warps_across();
  constexpr int blocks = warp_rows / 16, panels = warp_columns / 16;
  const uint32_t thread = baton_thread();
  const uint32_t lane = thread % 32, warp = thread / 32;
  const uint32_t warp_top = warp / shape.warps_across() * warp_rows;
  const uint32_t warp_left = warp % shape.warps_across() * warp_columns;
  const bool has_part = warp_top < static_cast<uint32_t>(tile.rows) &&
                        warp_left < static_cast<uint32_t>(tile.columns);
  const auto count =
      static_cast<int32_t>((product.depth + depths - 1) / depths);

  MatrixSide<Numbers, Threads, Rows, depths> rows(product.left, tile.top,
                                                  tile.rows, product.depth);
  MatrixSide<Numbers, Threads, Columns, depths> columns(
      product.right, tile.left, tile.columns, product.depth);
  auto lines_of = [&](int32_t stage) {
    return shared + stage % stages / stages_of_line * shape.lines_bytes();
  };
  auto chunk_of = [&](int32_t stage) {
    return static_cast<uint32_t>(stage % stages % stages_of_line * chunks);
  };
  float sum[blocks][panels * 2][4] = {};
  auto at = [&](int i, int j, int e) -> float & { return sum[i][j][e]; };

  // Whatever was in shared memory has been read.
  __syncthreads();
  // Begins with the first stage's sides: loaded two stages ahead, stored one
  // stage ahead.
#pragma unroll 1
  for (int32_t stage = -2; stage < count; ++stage) {
    if (stage >= 0) {
      __syncthreads();
      const unsigned char *const lefts = lines_of(stage);
      const unsigned char *const rights = lefts + shape.left_bytes();
      if (has_part) {
#pragma unroll
        for (int step = 0; step < chunks; step += 2) {
          const uint32_t chunk = chunk_of(stage) + step;
          uint32_t left_side[blocks][4];
#pragma unroll
          for (int i = 0; i < blocks; ++i)
            baton_load_matrices(
                left_side[i],
                lefts + activation_offset(warp_top + i * 16 + lane % 16,
                                          chunk + lane / 16));
#pragma unroll
          for (int panel = 0; panel < panels; ++panel) {
            uint32_t both[4];
            baton_load_matrices(
                both, rights + activation_offset(warp_left + panel * 16 +
                                                     lane / 16 * 8 + lane % 8,
                                                 chunk + lane / 8 % 2));
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              const uint32_t right_side[2] = {both[half * 2],
                                              both[half * 2 + 1]};
#pragma unroll
              for (int i = 0; i < blocks; ++i)
                Numbers::multiply(sum[i][panel * 2 + half], left_side[i],
                                  right_side);
            }
          }
        }
      }
    }
    const int32_t next = stage + 1;
    if (next >= 0 && next < count) {
      rows.store(lines_of(next), chunk_of(next), next);
      columns.store(lines_of(next) + shape.left_bytes(), chunk_of(next), next);
    }
    if (stage + 2 < count) {
      rows.load(stage + 2);
      columns.load(stage + 2);
    }
  }
  MatrixSums<blocks, panels * 2>(tile, warp_top, warp_left, lane)
      .finish(at, product);
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_WARPS_H
