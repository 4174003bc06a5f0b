//===- matrix.h - linears of many rows, on tensor cores -------------------===//
//
// Steps of many rows (prefill) are bound by arithmetic. These bodies compute
// [Rows, Columns] of a product at a time, in stages of 64 depths: activations
// are rounded to BF16 on their way to shared memory, weights come there as they
// are, several stages ahead, and tensor cores multiply what is there. A task's
// tile may have any number of rows, columns and depths; where it ends within
// [Rows, Columns, 64], zeros take part in the sums, or sums are not stored.
//
// Numeric contract: x is rounded to BF16, to nearest even; products are exact,
// and their sum ascends in depth in F32, sixteen depths at a time, in the order
// of the architecture's tensor cores. The bits of an element depend on its row
// of x, its column of the weight and the architecture, not on the tile, the
// block, or what else is in them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/elements.h"
#include "codegen/cuda/library/matrix_warpgroups.h"
#include "codegen/cuda/library/matrix_warps.h"

namespace baton::cuda {

/// finish(row, column, sums) is the value of [rows, columns] at `place`, where
/// sums[s] is the product of a row of x and a column of the right-hand side s.
/// The panels of `Sides` alternate.
template <int Threads, int Rows, int Columns, int Architecture, int Sides,
          typename Finish>
BATON_DEVICE void
multiply_matrices(unsigned char *shared, float *out, int64_t out_stride,
                  const float *x, int64_t x_stride, const uint16_t *panels,
                  int64_t rows, int64_t k, int64_t columns, Finish finish) {
  constexpr BatonMatrixShape shape{Threads, Rows, Columns, Architecture};
  static_assert(shape.is_valid(), "a tile that the block's warps cannot share");
  constexpr int64_t width = Columns / Sides;
  for (int64_t left = 0; left < columns; left += width)
    for (int64_t top = 0; top < rows; top += Rows) {
      const auto tile_rows = static_cast<int32_t>(smaller(rows - top, Rows));
      const auto tile_columns =
          static_cast<int32_t>(smaller(columns - left, width));
      const MatrixOperands operands = {
          x + top * x_stride,        x_stride,
          panels + left * Sides * k, tile_rows,
          static_cast<int32_t>(k),   (tile_columns + 15) / 16 * Sides};
      if constexpr (shape.by_warpgroups())
        multiply_by_warpgroups<Threads, Rows, Columns>(shared, operands);
      else
        multiply_by_warps<Threads, Rows, Columns>(shared, operands);
      const float *const product = reinterpret_cast<const float *>(shared);
      // As many loads under way as it takes to hide that of a residual.
      fill<8>(
          walk_of_block(tile_columns), tile_rows,
          [&](int64_t row, int64_t column) {
            return out + (top + row) * out_stride + left + column;
          },
          [&](int64_t row, int64_t column) {
            float sum[Sides];
#pragma unroll
            for (int side = 0; side < Sides; ++side)
              sum[side] =
                  product[row * shape.product_stride() +
                          (column / 16 * Sides + side) * 16 + column % 16];
            return finish(top + row, left + column, sum);
          });
    }
}

} // namespace baton::cuda

// The task library's bodies of the same names. All threads of a block of
// `Threads` call them. `shared` has BatonMatrixShape::shared_bytes() bytes of
// shared memory, aligned to BatonMatrixShape::alignment, which may hold
// anything but the operands before and after, with no barrier between. Weights
// are in global memory, aligned to 16 bytes; the other operands are anywhere.
// By warps, no cp.async of the calling threads is under way behind the call.

template <int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_CALLED void baton_matrix_linear_bf16(
    unsigned char *shared, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const uint16_t *panels, const float *bias,
    const float *residual, int64_t residual_stride, int64_t rows, int64_t k,
    int64_t columns, int32_t activation) {
  baton::cuda::multiply_matrices<Threads, Rows, Columns, Architecture, 1>(
      shared, out, out_stride, x, x_stride, panels, rows, k, columns,
      [&](int64_t row, int64_t column, const float(&sum)[1]) {
        float value = bias ? sum[0] + bias[column] : sum[0];
        value = baton::cuda::activate(value, activation);
        return residual ? value + residual[row * residual_stride + column]
                        : value;
      });
}

/// Gate and up projection of an output are two columns of the product:
/// Columns / 2 outputs are computed at a time.
template <int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_CALLED void baton_matrix_gated_linear_bf16(
    unsigned char *shared, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const uint16_t *panels, const float *bias_gate,
    const float *bias_up, int64_t rows, int64_t k, int64_t columns,
    int32_t activation) {
  baton::cuda::multiply_matrices<Threads, Rows, Columns, Architecture, 2>(
      shared, out, out_stride, x, x_stride, panels, rows, k, columns,
      [&](int64_t, int64_t column, const float(&sum)[2]) {
        const float gate = bias_gate ? sum[0] + bias_gate[column] : sum[0];
        const float up = bias_up ? sum[1] + bias_up[column] : sum[1];
        return baton::cuda::activate(gate, activation) * up;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_H
