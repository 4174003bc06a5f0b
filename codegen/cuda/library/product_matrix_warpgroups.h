//===- product_matrix_warpgroups.h - products of training by warpgroups ---===//
//
// On sm_90a a warpgroup has 64 rows of the tile and multiplies by wgmma, which
// reads both sides out of shared memory while its threads store the next stage
// and load the one behind that.
//
// A stage is written by ordinary stores and read by the asynchronous proxy:
// whoever has stored executes a proxy fence, then comes the barrier. Two
// stages' multiplications are under way at most. So behind a barrier all
// warpgroups have left the stage before the last, into whose place the next one
// goes, and there are three of them at least.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_WARPGROUPS_H
#define BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_WARPGROUPS_H

#include "codegen/cuda/library/matrix_warpgroups.h"
#include "codegen/cuda/library/product_matrix_sums.h"

namespace baton::cuda {

/// As multiply_sides_by_warps().
template <typename Numbers, int Threads, int Rows, int Columns>
BATON_DEVICE void
multiply_sides_by_warpgroups(unsigned char *shared,
                             const BatonMatrixProduct &product) {
  const MatrixTile &tile = product.tile;
  constexpr BatonProductMatrixShape shape{Threads, Rows, Columns, 90};
  constexpr int depths = shape.depths(), stages = shape.stages();
  constexpr int stages_of_line = shape.line_depths / depths;
  const uint32_t thread = baton_thread();
  const uint32_t lane = thread % 32, warp = thread / 32;
  const uint32_t group_top = warp / 4 * 64;
  const bool has_part = group_top < static_cast<uint32_t>(tile.rows);
  const auto count =
      static_cast<int32_t>((product.depth + depths - 1) / depths);

  MatrixSide<Numbers, Threads, Rows, depths> rows(product.left, tile.top,
                                                  tile.rows, product.depth);
  MatrixSide<Numbers, Threads, Columns, depths> columns(
      product.right, tile.left, tile.columns, product.depth);
  auto lines_of = [&](int32_t stage) {
    return shared + stage % stages / stages_of_line * shape.lines_bytes();
  };
  auto first_of = [&](int32_t stage) {
    return stage % stages % stages_of_line * depths;
  };
  float sum[Columns / 2] = {};
  auto at = [&](int, int j, int e) -> float & { return sum[j * 4 + e]; };
  baton_warpgroup_hold(sum);

  // Whatever was in shared memory has been read.
  __syncthreads();
  // Begins with the first stage's sides: loaded two stages ahead, stored one
  // stage ahead.
#pragma unroll 1
  for (int32_t stage = -2; stage < count; ++stage) {
    if (stage >= 0) {
      __syncthreads();
      if (has_part) {
        const unsigned char *const lefts =
            lines_of(stage) + group_top * shape.line_bytes;
        const unsigned char *const rights =
            lines_of(stage) + shape.left_bytes();
        baton_warpgroup_fence();
#pragma unroll
        for (int step = 0; step < depths; step += 16)
          Numbers::multiply_shared(
              sum, describe_activations(lefts, first_of(stage) + step),
              describe_activations(rights, first_of(stage) + step));
        baton_warpgroup_commit();
      }
      // The stage before has been read.
      baton_warpgroup_wait<1>();
    }
    const int32_t next = stage + 1;
    if (next >= 0 && next < count) {
      rows.store(lines_of(next), first_of(next) / 8, next);
      columns.store(lines_of(next) + shape.left_bytes(), first_of(next) / 8,
                    next);
      baton_shared_proxy_fence();
    }
    if (stage + 2 < count) {
      rows.load(stage + 2);
      columns.load(stage + 2);
    }
  }
  baton_warpgroup_wait<0>();
  baton_warpgroup_hold(sum);
  MatrixSums<1, Columns / 8>(tile, warp * 16, 0, lane).finish(at, product);
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_WARPGROUPS_H
