//===- product_matrix_sums.h - where a product's chains begin and end -----===//
//
// A thread has two neighbouring sums of every second four columns in rows eight
// apart, as tensor cores deal them out.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SUMS_H
#define BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SUMS_H

#include "codegen/cuda/library/product_matrix_sides.h"

namespace baton::cuda {

/// [rows, columns] of a product, from its element (top, left) on.
struct MatrixTile {
  int64_t top, left;
  int32_t rows, columns;
};

} // namespace baton::cuda

/// A product or a gradient, as the bodies of product_matrix.h are given it.
struct BatonMatrixProduct {
  float *out;
  int64_t out_stride;
  baton::cuda::ProductSide left, right;
  /// Null where there is none.
  const float *bias, *residual;
  int64_t residual_stride;
  int64_t rows, columns, depth;
  /// Whether what is there is added.
  bool adds;
  /// The tile that is computed. It is asked for where it is needed, like all
  /// else, instead of being held in registers.
  baton::cuda::MatrixTile tile = {};

  __device__ __forceinline__ float *place(int64_t row, int64_t column) const {
    return out + row * out_stride + column;
  }
  /// Whether value() is another than the sum.
  __device__ __forceinline__ bool changes() const {
    return bias || residual || adds;
  }
  __device__ __forceinline__ float value(int64_t row, int64_t column,
                                         float sum) const {
    if (bias)
      sum += bias[column];
    if (residual)
      sum += residual[row * residual_stride + column];
    if (adds)
      sum += *place(row, column);
    return sum;
  }
};

namespace baton::cuda {

/// A thread's sums of a tile: `Blocks` times sixteen rows, `Eights` times eight
/// columns, from those on that its warp has. The functions take what calls
/// them: at(i, j, e) is sum `e` of block `i` and eight `j`.
template <int Blocks, int Eights> struct MatrixSums {
  const MatrixTile &tile;
  int32_t row, column;

  __device__ __forceinline__ MatrixSums(const MatrixTile &tile,
                                        uint32_t warp_top, uint32_t warp_left,
                                        uint32_t lane)
      : tile(tile), row(static_cast<int32_t>(warp_top + lane / 4)),
        column(static_cast<int32_t>(warp_left + lane % 4 * 2)) {}

  /// What some sums read is asked for before the first of them is stored: the
  /// compiler cannot arrange that, because for all it knows stores change it.
  template <typename At>
  __device__ __forceinline__ void
  finish(At at, const BatonMatrixProduct &result) const {
#pragma unroll
    for (int i = 0; i < Blocks * Eights; i += together) {
      if (result.changes())
        each(i, at, [&](int64_t r, int64_t c, float &sum) {
          sum = result.value(r, c, sum);
        });
      each(i, at, [&](int64_t r, int64_t c, float &sum) {
        *result.place(r, c) = sum;
      });
    }
  }

private:
  /// As many eights as take few registers besides the sums.
  static constexpr int together = 4;

  /// Calls use(row, column, sum) for those within the tile, of some eights.
  template <typename At, typename Use>
  __device__ __forceinline__ void each(int first, At at, Use use) const {
#pragma unroll
    for (int number = first; number < first + together; ++number)
      if (number < Blocks * Eights)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int i = number / Eights, j = number % Eights;
          const int32_t r = row + i * 16 + e / 2 * 8;
          const int32_t c = column + j * 8 + e % 2;
          if (r < tile.rows && c < tile.columns)
            use(tile.top + r, tile.left + c, at(i, j, e));
        }
  }
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SUMS_H
