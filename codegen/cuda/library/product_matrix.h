//===- product_matrix.h - products of training, on tensor cores -----------===//
//
// Products whose sides are rounded to 16 bits, as in product.h, at the rate of
// tensor cores. Both sides come as F32, are rounded on their way to shared
// memory, and lie there with depths side by side whatever order they have
// outside, so that all three products of training are one.
//
// Numeric contract: both sides are rounded to nearest even, as the portable
// bodies do; products are exact, and their sum ascends in depth in F32, sixteen
// depths at a time, in the order of the architecture's tensor cores, from +0
// on; the old value, of a gradient that has one, is added last. The bits of an
// element depend on its row, its column and
// the architecture, not on the tile, the block or what else is in them. A sum
// that is zero may have another sign than the portable body's.
//
// What bounds it: of F32 sides a tile of [r, c] brings 2 r c / (4 (r + c))
// operations for each byte that comes from the second-level cache: 32 with 128
// by 128, 43 with 128 by 256.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_H
#define BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_H

#include "codegen/cuda/library/product_matrix_warpgroups.h"
#include "codegen/cuda/library/product_matrix_warps.h"

// All threads of a block of `Threads` call the bodies. `shared` has
// BatonProductMatrixShape::shared_bytes() bytes of shared memory, aligned to
// 1024, which may hold anything before and after, with no barrier between.
// Operands are in global memory, anywhere.
//
// Multiplications by warpgroups overlap only where they are the kernel's own
// code: the bodies are inlined, and a kernel has one call of this one, which
// phases hand their products to.

template <typename Numbers, int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_DEVICE void baton_matrix_multiply(unsigned char *shared,
                                        BatonMatrixProduct &product) {
  using namespace baton::cuda;
  constexpr BatonProductMatrixShape shape{Threads, Rows, Columns, Architecture};
  static_assert(shape.is_valid(), "a tile that the block cannot share");
  baton_keep_in_memory(&product);
  MatrixTile &tile = product.tile;
#pragma unroll 1
  for (tile.top = 0; tile.top < product.rows; tile.top += Rows)
#pragma unroll 1
    for (tile.left = 0; tile.left < product.columns; tile.left += Columns) {
      tile.rows = static_cast<int32_t>(smaller(product.rows - tile.top, Rows));
      tile.columns =
          static_cast<int32_t>(smaller(product.columns - tile.left, Columns));
      if constexpr (shape.by_warpgroups())
        multiply_sides_by_warpgroups<Numbers, Threads, Rows, Columns>(shared,
                                                                      product);
      else
        multiply_sides_by_warps<Numbers, Threads, Rows, Columns>(shared,
                                                                 product);
    }
}

// Calls of the task library's bodies of the same names, to be handed over, and
// the bodies themselves.
#define BATON_PRODUCTS(suffix, Numbers)                                        \
  BATON_DEVICE BatonMatrixProduct baton_hand_product##suffix(                  \
      float *out, int64_t out_stride, const float *a, int64_t a_row_stride,    \
      int64_t a_depth_stride, const float *b, int64_t b_depth_stride,          \
      int64_t b_column_stride, const float *bias, const float *residual,       \
      int64_t residual_stride, int64_t rows, int64_t columns, int64_t depth,   \
      float *) {                                                               \
    return {out,                                                               \
            out_stride,                                                        \
            {a, a_row_stride, a_depth_stride},                                 \
            {b, b_column_stride, b_depth_stride},                              \
            bias,                                                              \
            residual,                                                          \
            residual_stride,                                                   \
            rows,                                                              \
            columns,                                                           \
            depth,                                                             \
            false};                                                            \
  }                                                                            \
  BATON_DEVICE BatonMatrixProduct baton_hand_product_gradient##suffix(         \
      float *out, int64_t out_stride, const float *a, int64_t a_row_stride,    \
      int64_t a_depth_stride, const float *b, int64_t b_depth_stride,          \
      int64_t b_column_stride, const float *weights, int64_t rows,             \
      int64_t columns, int64_t depth, const int32_t *accumulate, float *) {    \
    return {out,                                                               \
            out_stride,                                                        \
            {a, a_row_stride, a_depth_stride},                                 \
            {b, b_column_stride, b_depth_stride, weights},                     \
            nullptr,                                                           \
            nullptr,                                                           \
            0,                                                                 \
            rows,                                                              \
            columns,                                                           \
            depth,                                                             \
            baton::cuda::joins(accumulate)};                                   \
  }                                                                            \
  template <int Threads, int Rows, int Columns,                                \
            int Architecture = BATON_ARCHITECTURE>                             \
  BATON_DEVICE void baton_matrix_product##suffix(                              \
      unsigned char *shared, float *out, int64_t out_stride, const float *a,   \
      int64_t a_row_stride, int64_t a_depth_stride, const float *b,            \
      int64_t b_depth_stride, int64_t b_column_stride, const float *bias,      \
      const float *residual, int64_t residual_stride, int64_t rows,            \
      int64_t columns, int64_t depth, float *scratch) {                        \
    BatonMatrixProduct product = baton_hand_product##suffix(                   \
        out, out_stride, a, a_row_stride, a_depth_stride, b, b_depth_stride,   \
        b_column_stride, bias, residual, residual_stride, rows, columns,       \
        depth, scratch);                                                       \
    baton_matrix_multiply<baton::cuda::Numbers, Threads, Rows, Columns,        \
                          Architecture>(shared, product);                      \
  }                                                                            \
  template <int Threads, int Rows, int Columns,                                \
            int Architecture = BATON_ARCHITECTURE>                             \
  BATON_DEVICE void baton_matrix_product_gradient##suffix(                     \
      unsigned char *shared, float *out, int64_t out_stride, const float *a,   \
      int64_t a_row_stride, int64_t a_depth_stride, const float *b,            \
      int64_t b_depth_stride, int64_t b_column_stride, const float *weights,   \
      int64_t rows, int64_t columns, int64_t depth, const int32_t *accumulate, \
      float *scratch) {                                                        \
    BatonMatrixProduct product = baton_hand_product_gradient##suffix(          \
        out, out_stride, a, a_row_stride, a_depth_stride, b, b_depth_stride,   \
        b_column_stride, weights, rows, columns, depth, accumulate, scratch);  \
    baton_matrix_multiply<baton::cuda::Numbers, Threads, Rows, Columns,        \
                          Architecture>(shared, product);                      \
  }
BATON_PRODUCTS(_bf16, BFloat16Operands)
BATON_PRODUCTS(_f16, Float16Operands)
#undef BATON_PRODUCTS

#endif // BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_H
