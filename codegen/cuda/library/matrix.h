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

/// A linear, or two whose panels alternate, as the bodies below are given it.
struct BatonMatrixLinear {
  float *out;
  int64_t out_stride;
  const float *x;
  int64_t x_stride;
  const void *panels;
  /// Null where there is none.
  const float *bias, *bias_up, *residual;
  int64_t residual_stride;
  int64_t rows, k, columns;
  int32_t activation;
  /// Gate and up projection of an output are two columns of the product.
  bool gated;
  /// Of blocks, an Index, or mixed_format: panels say which they have.
  uint32_t format = 0;
  /// Of mixed panels, the bits of those formats whose outputs are computed; the
  /// others are another body's.
  uint32_t formats = ~0u;
};

namespace baton::cuda {

/// Stores finish(row, column, sums) for a tile of the product in shared memory,
/// where sums[s] is the product of a row of x and a column of the right-hand
/// side s.
template <int Sides, int ProductStride, typename Finish>
BATON_DEVICE void finish_matrices(const float *product,
                                  const BatonMatrixLinear &linear, int64_t top,
                                  int64_t left, int32_t rows, int32_t columns,
                                  Finish finish) {
  // As many loads under way as it takes to hide that of a residual.
  fill<8>(
      walk_of_block(columns), rows,
      [&](int64_t row, int64_t column) {
        return linear.out + (top + row) * linear.out_stride + left + column;
      },
      [&](int64_t row, int64_t column) {
        float sum[Sides];
#pragma unroll
        for (int side = 0; side < Sides; ++side)
          sum[side] = product[row * ProductStride +
                              (column / 16 * Sides + side) * 16 + column % 16];
        return finish(top + row, left + column, sum);
      });
}

/// All tiles of a linear's columns from `begin`, where a panel begins, to
/// `end`. `Product` has the shape of their rows and columns, and multiplies
/// one, from a panel on.
template <typename Product>
BATON_DEVICE void multiply_tiles(unsigned char *shared,
                                 const BatonMatrixLinear &linear, int32_t begin,
                                 int32_t end) {
  constexpr BatonMatrixShape shape = Product::tile();
  static_assert(shape.is_valid(), "a tile that the block's warps cannot share");
  const int32_t sides = linear.gated ? 2 : 1;
  const int32_t width = shape.columns / sides;
#pragma unroll 1
  for (int32_t left = begin; left < end; left += width)
#pragma unroll 1
    for (int32_t top = 0; top < linear.rows; top += shape.rows) {
      const auto rows =
          static_cast<int32_t>(smaller(linear.rows - top, shape.rows));
      const auto columns = static_cast<int32_t>(smaller(end - left, width));
      const MatrixOperands operands = {
          linear.x + top * linear.x_stride, linear.x_stride, rows,
          static_cast<int32_t>(linear.k), (columns + 15) / 16 * sides};
      Product::multiply(shared, operands, linear, left / 16 * sides);
      const float *const product = reinterpret_cast<const float *>(shared);
      if (linear.gated)
        finish_matrices<2, shape.product_stride()>(
            product, linear, top, left, rows, columns,
            [&](int64_t, int64_t column, const float(&sum)[2]) {
              const float *const bias = linear.bias, *const up = linear.bias_up;
              const float gate = bias ? sum[0] + bias[column] : sum[0];
              return activate_gated(gate, up ? sum[1] + up[column] : sum[1],
                                    linear.activation);
            });
      else
        finish_matrices<1, shape.product_stride()>(
            product, linear, top, left, rows, columns,
            [&](int64_t row, int64_t column, const float(&sum)[1]) {
              const float *const bias = linear.bias;
              const float value = activate(
                  bias ? sum[0] + bias[column] : sum[0], linear.activation);
              return linear.residual
                         ? value +
                               linear.residual[row * linear.residual_stride +
                                               column]
                         : value;
            });
    }
}

/// Of weights of BF16.
template <int Threads, int Rows, int Columns, int Architecture>
struct BFloat16Product {
  static BATON_CONSTANT BatonMatrixShape tile() {
    return {Threads, Rows, Columns, Architecture};
  }
  static __device__ __forceinline__ void
  multiply(unsigned char *shared, const MatrixOperands &operands,
           const BatonMatrixLinear &linear, int64_t panel) {
    constexpr BatonMatrixShape shape = tile();
    unsigned char *const memory =
        shared + shape.activation_stages() * shape.activation_bytes();
    const uint16_t *const weights =
        static_cast<const uint16_t *>(linear.panels) + panel * 16 * linear.k;
    if constexpr (shape.by_warpgroups())
      multiply_by_warpgroups<Threads, Rows, Columns>(
          shared, operands,
          WarpgroupWeights<Threads, Columns, shape.weight_stages()>(
              memory,
              reinterpret_cast<uint64_t *>(shared + shape.barrier_offset()),
              operands, weights));
    else
      multiply_by_warps<Threads, Rows, Columns>(
          shared, operands,
          WarpWeights<Threads, Columns, shape.weight_stages()>(memory, operands,
                                                               weights));
  }
};

} // namespace baton::cuda

// All threads of a block of `Threads` call the bodies. `shared` has
// BatonMatrixShape::shared_bytes() bytes of shared memory, aligned to
// BatonMatrixShape::alignment, which may hold anything but the operands before
// and after, with no barrier between. Weights are in global memory, aligned to
// 16 bytes; the other operands are anywhere. By warps, no cp.async of the
// calling threads is under way behind the call.
//
// Multiplications by warpgroups overlap only where they are the kernel's own
// code: the bodies are inlined, and a kernel has one call of this one, which
// phases hand their linears to.

template <int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_DEVICE void baton_matrix_multiply(unsigned char *shared,
                                        const BatonMatrixLinear &linear) {
  baton::cuda::multiply_tiles<
      baton::cuda::BFloat16Product<Threads, Rows, Columns, Architecture>>(
      shared, linear, 0, static_cast<int32_t>(linear.columns));
}

// Calls of the task library's bodies of the same names, to be handed over.

BATON_DEVICE BatonMatrixLinear baton_hand_linear_bf16(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const uint16_t *panels, const float *bias, const float *residual,
    int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,
    int32_t activation) {
  return {
      out,      out_stride,      x,    x_stride, panels,  bias,       nullptr,
      residual, residual_stride, rows, k,        columns, activation, false};
}
BATON_DEVICE BatonMatrixLinear baton_hand_gated_linear_bf16(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const uint16_t *panels, const float *bias_gate, const float *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  return {out,     out_stride, x,    x_stride, panels,  bias_gate,  bias_up,
          nullptr, 0,          rows, k,        columns, activation, true};
}

// The bodies themselves.

template <int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_DEVICE void baton_matrix_linear_bf16(
    unsigned char *shared, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const uint16_t *panels, const float *bias,
    const float *residual, int64_t residual_stride, int64_t rows, int64_t k,
    int64_t columns, int32_t activation) {
  baton_matrix_multiply<Threads, Rows, Columns, Architecture>(
      shared, baton_hand_linear_bf16(out, out_stride, x, x_stride, panels, bias,
                                     residual, residual_stride, rows, k,
                                     columns, activation));
}
template <int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_DEVICE void baton_matrix_gated_linear_bf16(
    unsigned char *shared, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const uint16_t *panels, const float *bias_gate,
    const float *bias_up, int64_t rows, int64_t k, int64_t columns,
    int32_t activation) {
  baton_matrix_multiply<Threads, Rows, Columns, Architecture>(
      shared, baton_hand_gated_linear_bf16(out, out_stride, x, x_stride, panels,
                                           bias_gate, bias_up, rows, k, columns,
                                           activation));
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_H
