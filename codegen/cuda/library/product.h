//===- product.h - products of matrices as training stores them -----------===//
//
// Every element is one chain of fused multiply-adds in ascending depth, as in
// microkernel.h: so the portable bodies and those that stage both sides in
// shared memory (product_shape.h) have the same bits, which are the CPU's.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_H
#define BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_H

#include "codegen/cuda/library/microkernel.h"
#include "codegen/cuda/library/product_shape.h"
#include "codegen/cuda/library/rounding.h"
#include "codegen/cuda/library/row_sums.h"

namespace baton::cuda {

/// Element (line, d) lies at data[line * line_stride + d * depth_stride].
struct ProductSide {
  const float *data;
  int64_t line_stride;
  int64_t depth_stride;
  /// If not null, depths where it is 0 are taken as zeros, whatever they hold.
  const float *weights = nullptr;

  template <typename Rounding>
  __device__ __forceinline__ float at(int64_t line, int64_t d) const {
    return weights && weights[d] == 0.0f
               ? 0.0f
               : Rounding::round(data[line * line_stride + d * depth_stride]);
  }
};

/// result.finish(row, column, sum) for [rows, columns], of chains that begin
/// with result.start(row, column). A thread has four rows of a column; rows
/// behind the last repeat it.
template <typename Rounding, typename Result>
BATON_DEVICE void multiply_sides(ProductSide left, ProductSide right,
                                 int64_t rows, int64_t columns, int64_t depth,
                                 Result result) {
  constexpr int together = 4;
  for_each_element((rows + together - 1) / together, columns,
                   [&](int64_t block, int64_t column) {
                     const int64_t first = block * together;
                     int64_t line[together];
                     float sum[together];
#pragma unroll
                     for (int i = 0; i < together; ++i) {
                       line[i] = smaller(first + i, rows - 1);
                       sum[i] = result.start(line[i], column);
                     }
#pragma unroll(4)
                     for (int64_t d = 0; d < depth; ++d) {
                       const float factor = right.at<Rounding>(column, d);
#pragma unroll
                       for (int i = 0; i < together; ++i)
                         sum[i] = fmaf(left.at<Rounding>(line[i], d), factor,
                                       sum[i]);
                     }
#pragma unroll
                     for (int i = 0; i < together; ++i)
                       if (first + i < rows)
                         result.finish(first + i, column, sum[i]);
                   });
}

/// A piece of one side on its way to shared memory: `Lines` lines of 16 depths,
/// of which neighbouring threads fetch what are neighbours in memory.
template <typename Rounding, int Threads, int Lines, int Stride>
struct StagedSide {
  static constexpr int depths = BatonProductShape{Threads}.depth();
  static constexpr int elements = Lines * depths / Threads;

  ProductSide side;
  int64_t lines;
  int64_t depth;
  float element[elements];

  __device__ __forceinline__ int line_of(int i) const {
    const int number = static_cast<int>(baton_thread()) + i * Threads;
    return side.depth_stride == 1 ? number / depths : number % Lines;
  }
  __device__ __forceinline__ int depth_of(int i) const {
    const int number = static_cast<int>(baton_thread()) + i * Threads;
    return side.depth_stride == 1 ? number % depths : number / Lines;
  }
  /// What lies behind the last line or depth is 0, and not read.
  __device__ __forceinline__ void fetch(int64_t first_line, int64_t first) {
#pragma unroll
    for (int i = 0; i < elements; ++i) {
      const int64_t line = first_line + line_of(i), d = first + depth_of(i);
      element[i] =
          line < lines && d < depth ? side.at<Rounding>(line, d) : 0.0f;
    }
  }
  __device__ __forceinline__ void keep(float *shared) const {
#pragma unroll
    for (int i = 0; i < elements; ++i)
      shared[depth_of(i) * Stride + line_of(i)] = element[i];
  }
};

/// The same, with both sides staged. Tiles follow one another; called with
/// nobody reading `shared`, and leaves it so.
template <typename Rounding, int Threads, typename Result>
BATON_DEVICE void
multiply_staged(float *shared, ProductSide left, ProductSide right,
                int64_t rows, int64_t columns, int64_t depth, Result result) {
  constexpr BatonProductShape shape{Threads};
  static_assert(shape.is_valid(), "no shape of these threads");
  constexpr int own = 8, half = own / 2;
  const int across = static_cast<int>(baton_thread()) % shape.across();
  const int down = static_cast<int>(baton_thread()) / shape.across();
  StagedSide<Rounding, Threads, shape.rows(), shape.left_stride()> rows_side{
      left, rows, depth, {}};
  StagedSide<Rounding, Threads, shape.columns(), shape.right_stride()>
      columns_side{right, columns, depth, {}};
  // A thread's lines lie in two groups of four, half a tile apart: threads
  // side by side read neighbouring quads.
  auto line = [&](int i, int place, int width) {
    return (i / half) * (width / 2) + place * half + i % half;
  };
  auto piece = [&](int64_t number) {
    return shared + (number & 1) * shape.piece();
  };
  auto fetch = [&](int64_t row, int64_t column, int64_t first) {
    rows_side.fetch(row, first);
    columns_side.fetch(column, first);
  };
  auto keep = [&](int64_t number) {
    rows_side.keep(piece(number));
    columns_side.keep(piece(number) + shape.depth() * shape.left_stride());
  };
#pragma unroll 1
  for (int64_t row = 0; row < rows; row += shape.rows())
#pragma unroll 1
    for (int64_t column = 0; column < columns; column += shape.columns()) {
      float sum[own][own];
#pragma unroll
      for (int i = 0; i < own; ++i)
#pragma unroll
        for (int j = 0; j < own; ++j) {
          const int64_t at_row = row + line(i, down, shape.rows());
          const int64_t at_column = column + line(j, across, shape.columns());
          sum[i][j] = at_row < rows && at_column < columns
                          ? result.start(at_row, at_column)
                          : 0.0f;
        }
      fetch(row, column, 0);
      keep(0);
      __syncthreads();
#pragma unroll 1
      for (int64_t first = 0, number = 0; first < depth;
           first += shape.depth(), ++number) {
        const bool more = first + shape.depth() < depth;
        if (more)
          fetch(row, column, first + shape.depth());
        const float *lefts = piece(number);
        const float *rights = lefts + shape.depth() * shape.left_stride();
        auto one = [&](int d) {
          float a[own], b[own];
#pragma unroll
          for (int group = 0; group < 2; ++group) {
            const Quad quad = load_quad(lefts + d * shape.left_stride() +
                                        line(group * half, down, shape.rows()));
            const Quad other =
                load_quad(rights + d * shape.right_stride() +
                          line(group * half, across, shape.columns()));
#pragma unroll
            for (int i = 0; i < half; ++i) {
              a[group * half + i] = quad.element[i];
              b[group * half + i] = other.element[i];
            }
          }
#pragma unroll
          for (int i = 0; i < own; ++i)
#pragma unroll
            for (int j = 0; j < own; ++j)
              sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
        };
        // Depths behind the last are not multiplied: they would make +0 of -0.
        if (depth - first >= shape.depth()) {
#pragma unroll
          for (int d = 0; d < shape.depth(); ++d)
            one(d);
        } else {
#pragma unroll 1
          for (int d = 0; d < depth - first; ++d)
            one(d);
        }
        if (more)
          keep(number + 1);
        __syncthreads();
      }
      // Asked again, so that what start() has computed is not held all the
      // while.
      const int64_t top = baton_again(row), first_column = baton_again(column);
#pragma unroll
      for (int i = 0; i < own; ++i)
#pragma unroll
        for (int j = 0; j < own; ++j) {
          const int64_t at_row = top + line(i, down, shape.rows());
          const int64_t at_column =
              first_column + line(j, across, shape.columns());
          if (at_row < rows && at_column < columns)
            result.finish(at_row, at_column, sum[i][j]);
        }
    }
}

/// Where a product's sums go.
struct ProductResult {
  float *out;
  int64_t out_stride;
  const float *bias;
  const float *residual;
  int64_t residual_stride;
  /// Whether chains begin at what is there.
  static constexpr bool adds = false;

  __device__ __forceinline__ float *place(int64_t row, int64_t column) const {
    return out + row * out_stride + column;
  }
  __device__ __forceinline__ float start(int64_t, int64_t) const {
    return 0.0f;
  }
  /// Whether value() is another than the sum.
  __device__ __forceinline__ bool changes() const { return bias || residual; }
  __device__ __forceinline__ float value(int64_t row, int64_t column,
                                         float sum) const {
    if (bias)
      sum += bias[column];
    if (residual)
      sum += residual[row * residual_stride + column];
    return sum;
  }
  __device__ __forceinline__ void finish(int64_t row, int64_t column,
                                         float sum) const {
    *place(row, column) = value(row, column, sum);
  }
};

/// Where a gradient's go.
struct GradientResult {
  float *out;
  int64_t out_stride;
  bool adds;

  __device__ __forceinline__ float *place(int64_t row, int64_t column) const {
    return out + row * out_stride + column;
  }
  __device__ __forceinline__ float start(int64_t row, int64_t column) const {
    return adds ? *place(row, column) : 0.0f;
  }
  __device__ __forceinline__ bool changes() const { return false; }
  __device__ __forceinline__ float value(int64_t, int64_t, float sum) const {
    return sum;
  }
  __device__ __forceinline__ void finish(int64_t row, int64_t column,
                                         float sum) const {
    *place(row, column) = sum;
  }
};

} // namespace baton::cuda

#define BATON_PRODUCTS(suffix, Rounding)                                       \
  BATON_DEVICE void baton_task_product##suffix(                                \
      float *out, int64_t out_stride, const float *a, int64_t a_row_stride,    \
      int64_t a_depth_stride, const float *b, int64_t b_depth_stride,          \
      int64_t b_column_stride, const float *bias, const float *residual,       \
      int64_t residual_stride, int64_t rows, int64_t columns, int64_t depth,   \
      float *) {                                                               \
    baton::cuda::multiply_sides<baton::cuda::Rounding>(                        \
        {a, a_row_stride, a_depth_stride},                                     \
        {b, b_column_stride, b_depth_stride}, rows, columns, depth,            \
        baton::cuda::ProductResult{out, out_stride, bias, residual,            \
                                   residual_stride});                          \
  }                                                                            \
  BATON_DEVICE void baton_task_product_gradient##suffix(                       \
      float *out, int64_t out_stride, const float *a, int64_t a_row_stride,    \
      int64_t a_depth_stride, const float *b, int64_t b_depth_stride,          \
      int64_t b_column_stride, const float *weights, int64_t rows,             \
      int64_t columns, int64_t depth, const int32_t *accumulate, float *) {    \
    baton::cuda::multiply_sides<baton::cuda::Rounding>(                        \
        {a, a_row_stride, a_depth_stride},                                     \
        {b, b_column_stride, b_depth_stride, weights}, rows, columns, depth,   \
        baton::cuda::GradientResult{out, out_stride,                           \
                                    baton::cuda::joins(accumulate)});          \
  }                                                                            \
  /* The same, given the block's shared memory. */                             \
  template <int Threads>                                                       \
  BATON_CALLED void baton_staged_product##suffix(                              \
      unsigned char *shared, float *out, int64_t out_stride, const float *a,   \
      int64_t a_row_stride, int64_t a_depth_stride, const float *b,            \
      int64_t b_depth_stride, int64_t b_column_stride, const float *bias,      \
      const float *residual, int64_t residual_stride, int64_t rows,            \
      int64_t columns, int64_t depth, float *) {                               \
    baton::cuda::multiply_staged<baton::cuda::Rounding, Threads>(              \
        reinterpret_cast<float *>(shared), {a, a_row_stride, a_depth_stride},  \
        {b, b_column_stride, b_depth_stride}, rows, columns, depth,            \
        baton::cuda::ProductResult{out, out_stride, bias, residual,            \
                                   residual_stride});                          \
  }                                                                            \
  template <int Threads>                                                       \
  BATON_CALLED void baton_staged_product_gradient##suffix(                     \
      unsigned char *shared, float *out, int64_t out_stride, const float *a,   \
      int64_t a_row_stride, int64_t a_depth_stride, const float *b,            \
      int64_t b_depth_stride, int64_t b_column_stride, const float *weights,   \
      int64_t rows, int64_t columns, int64_t depth, const int32_t *accumulate, \
      float *) {                                                               \
    baton::cuda::multiply_staged<baton::cuda::Rounding, Threads>(              \
        reinterpret_cast<float *>(shared), {a, a_row_stride, a_depth_stride},  \
        {b, b_column_stride, b_depth_stride, weights}, rows, columns, depth,   \
        baton::cuda::GradientResult{out, out_stride,                           \
                                    baton::cuda::joins(accumulate)});          \
  }
BATON_PRODUCTS(, Unrounded)
BATON_PRODUCTS(_bf16, ToBFloat16)
BATON_PRODUCTS(_f16, ToFloat16)
#undef BATON_PRODUCTS

#endif // BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_H
