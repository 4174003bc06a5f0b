//===- deferred_norm_gradient.cpp - adjoints of an RMS norm's two halves --===//

#include "codegen/cpu/library/deferred_norm.h"

using namespace baton::cpu;

BATON_TASK void baton_task_norm_begin_gradient(
    Real *dx, int64_t dx_stride, const Real *x, int64_t x_stride,
    const Real *__restrict weight, const Real *scaled_gradient,
    int64_t scaled_stride, const Real *squares_gradient, int64_t squares_stride,
    int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real twice =
        squares_gradient ? 2.0f * squares_gradient[row * squares_stride] : 0.0f;
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      Vector sum = squares_gradient
                       ? load(x + row * x_stride + first, count) * twice
                       : splat(0.0f);
      if (scaled_gradient)
        sum = fma(load(scaled_gradient + row * scaled_stride + first, count),
                  load(weight + first, count), sum);
      store(dx + row * dx_stride + first, sum, count);
    });
  }
}

// Of x / sqrt(s / width + epsilon) for s: -(dy . x) / (2 width) / sqrt(...)^3.
BATON_TASK void baton_task_norm_end_gradient(
    Real *dsquares, int64_t dsquares_stride, const Real *__restrict dy,
    int64_t dy_stride, const Real *__restrict x, int64_t x_stride,
    const Real *__restrict squares, int64_t squares_stride, int64_t rows,
    int64_t columns, int64_t width, Real epsilon) {
  for (int64_t row = 0; row < rows; ++row) {
    Vector sum = splat(0.0f);
    for_each_vector(columns,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      sum = fma(load(dy + row * dy_stride + first, count),
                                load(x + row * x_stride + first, count), sum);
                    });
    const Real inverse =
        inverse_root(squares[row * squares_stride], width, epsilon);
    dsquares[row * dsquares_stride] = -0.5f * reduce_sum(sum) /
                                      static_cast<Real>(width) * inverse *
                                      inverse * inverse;
  }
}
