//===- linear.cpp - linear layers on packed weights -----------------------===//

#include "codegen/cpu/library/blocks.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/linear_rows.h"

using namespace baton::cpu;

BATON_TASK void baton_task_linear_f32(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      const Real *panels, const Real *bias,
                                      const Real *residual,
                                      int64_t residual_stride, int64_t rows,
                                      int64_t k, int64_t columns,
                                      int32_t activation) {
  linear(out, out_stride, x, x_stride, panels, bias, residual, residual_stride,
         rows, k, columns, activation);
}

BATON_TASK void baton_task_linear_bf16(Real *out, int64_t out_stride,
                                       const Real *x, int64_t x_stride,
                                       const uint16_t *panels, const Real *bias,
                                       const Real *residual,
                                       int64_t residual_stride, int64_t rows,
                                       int64_t k, int64_t columns,
                                       int32_t activation) {
  linear(out, out_stride, x, x_stride,
         reinterpret_cast<const BFloat16 *>(panels), bias, residual,
         residual_stride, rows, k, columns, activation);
}

BATON_TASK void baton_task_linear_f16(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      const uint16_t *panels, const Real *bias,
                                      const Real *residual,
                                      int64_t residual_stride, int64_t rows,
                                      int64_t k, int64_t columns,
                                      int32_t activation) {
  linear(out, out_stride, x, x_stride,
         reinterpret_cast<const Float16 *>(panels), bias, residual,
         residual_stride, rows, k, columns, activation);
}

#define BATON_LINEAR_OF_BLOCKS(NAME, BLOCK)                                    \
  BATON_TASK void baton_task_linear_##NAME(                                    \
      Real *out, int64_t out_stride, const Real *x, int64_t x_stride,          \
      const int8_t *panels, const Real *bias, const Real *residual,            \
      int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,       \
      int32_t activation) {                                                    \
    linear(out, out_stride, x, x_stride,                                       \
           reinterpret_cast<const Quantised<blocks::BLOCK> *>(panels), bias,   \
           residual, residual_stride, rows, k, columns, activation);           \
  }
BATON_FOR_EACH_BLOCK(BATON_LINEAR_OF_BLOCKS)
#undef BATON_LINEAR_OF_BLOCKS

BATON_TASK void baton_task_linear_mixed(Real *out, int64_t out_stride,
                                        const Real *x, int64_t x_stride,
                                        const int8_t *panels, const Real *bias,
                                        const Real *residual,
                                        int64_t residual_stride, int64_t rows,
                                        int64_t k, int64_t columns,
                                        int32_t activation) {
  linear_of_runs([]<typename Format>()
                     BATON_INLINE_LAMBDA { return &linear_of_format<Format>; },
                 out, out_stride, Rows{x, x_stride}, Rows{x, x_stride}, panels,
                 bias, residual, residual_stride, rows, k, columns, activation);
}
