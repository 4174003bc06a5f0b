//===- product.cpp - products of matrices as training stores them ---------===//

#include "codegen/cpu/library/product.h"
#include "codegen/cpu/library/row_sums.h"

using namespace baton::cpu;

#define BATON_PRODUCT(name, Rounding)                                          \
  BATON_TASK void name(                                                        \
      Real *out, int64_t out_stride, const Real *a, int64_t a_row_stride,      \
      int64_t a_depth_stride, const Real *b, int64_t b_depth_stride,           \
      int64_t b_column_stride, const Real *bias, const Real *residual,         \
      int64_t residual_stride, int64_t rows, int64_t columns, int64_t depth,   \
      Real *scratch) {                                                         \
    multiply_sides<Rounding>(                                                  \
        product_space(scratch), {a, a_row_stride, a_depth_stride},             \
        RightSide{b, b_depth_stride, b_column_stride}, rows, columns, depth,   \
        [](int64_t, int64_t, int64_t)                                          \
            BATON_INLINE_LAMBDA { return splat(0.0f); },                       \
        [&](int64_t row, int64_t column, int64_t count,                        \
            Vector value) BATON_INLINE_LAMBDA {                                \
          if (bias)                                                            \
            value += load(bias + column, count);                               \
          if (residual)                                                        \
            value += load(residual + row * residual_stride + column, count);   \
          store(out + row * out_stride + column, value, count);                \
        });                                                                    \
  }

#define BATON_PRODUCT_GRADIENT(name, Rounding)                                 \
  BATON_TASK void name(Real *out, int64_t out_stride, const Real *a,           \
                       int64_t a_row_stride, int64_t a_depth_stride,           \
                       const Real *b, int64_t b_depth_stride,                  \
                       int64_t b_column_stride, const Real *weights,           \
                       int64_t rows, int64_t columns, int64_t depth,           \
                       const int32_t *accumulate, Real *scratch) {             \
    const bool adds = joins(accumulate);                                       \
    multiply_sides<Rounding>(                                                  \
        product_space(scratch), {a, a_row_stride, a_depth_stride},             \
        RightSide{b, b_depth_stride, b_column_stride, weights}, rows, columns, \
        depth,                                                                 \
        [&](int64_t row, int64_t column, int64_t count) BATON_INLINE_LAMBDA {  \
          return adds ? load(out + row * out_stride + column, count)           \
                      : splat(0.0f);                                           \
        },                                                                     \
        [&](int64_t row, int64_t column, int64_t count, Vector value)          \
            BATON_INLINE_LAMBDA {                                              \
              store(out + row * out_stride + column, value, count);            \
            });                                                                \
  }

BATON_PRODUCT(baton_task_product, Unrounded)
BATON_PRODUCT(baton_task_product_bf16, ToBFloat16)
BATON_PRODUCT(baton_task_product_f16, ToFloat16)
BATON_PRODUCT_GRADIENT(baton_task_product_gradient, Unrounded)
BATON_PRODUCT_GRADIENT(baton_task_product_gradient_bf16, ToBFloat16)
BATON_PRODUCT_GRADIENT(baton_task_product_gradient_f16, ToFloat16)
