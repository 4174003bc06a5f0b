//===- linear_end.h - what becomes of a linear's products -----------------===//
//
// Of any number of rows and 16 columns from `column` on. Not part of the
// kernels, because there are many of those and an activation is long.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_LINEAR_END_H
#define BATON_CODEGEN_CPU_LIBRARY_LINEAR_END_H

#include "codegen/cpu/library/activation.h"
#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// Columns of a panel that a tile of `columns` has.
BATON_INLINE int64_t width_at(int64_t column, int64_t columns) {
  return columns - column < lanes ? columns - column : lanes;
}

struct LinearEnd {
  Real *out;
  int64_t out_stride;
  const Real *bias, *residual;
  int64_t residual_stride, columns;
  int32_t activation;

  BATON_INLINE void operator()(const Real *products, int64_t products_stride,
                               int64_t first_row, int64_t rows,
                               int64_t column) const {
    const int64_t width = width_at(column, columns);
    for (int64_t row = 0; row < rows; ++row) {
      Vector value = load(products + row * products_stride);
      if (bias)
        value += load(bias + column, width);
      value = activate(value, activation);
      if (residual)
        value += load(residual + (first_row + row) * residual_stride + column,
                      width);
      store(out + (first_row + row) * out_stride + column, value, width);
    }
  }
};

struct GatedEnd {
  Real *out;
  int64_t out_stride;
  const Real *bias_gate, *bias_up;
  int64_t columns;
  int32_t activation;

  BATON_INLINE void operator()(const Real *gates, const Real *ups,
                               int64_t products_stride, int64_t first_row,
                               int64_t rows, int64_t column) const {
    const int64_t width = width_at(column, columns);
    for (int64_t row = 0; row < rows; ++row) {
      Vector gate = load(gates + row * products_stride);
      Vector up = load(ups + row * products_stride);
      if (bias_gate)
        gate += load(bias_gate + column, width);
      if (bias_up)
        up += load(bias_up + column, width);
      store(out + (first_row + row) * out_stride + column,
            activate_gated(gate, up, activation), width);
    }
  }
};

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_LINEAR_END_H
