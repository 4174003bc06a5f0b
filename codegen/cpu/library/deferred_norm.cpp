//===- deferred_norm.cpp - the two halves of an RMS norm ------------------===//
//
// The sum of a row's squares has the bits that it has in norm.cpp.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/deferred_norm.h"

using namespace baton::cpu;

BATON_TASK void baton_task_norm_begin(Real *scaled, int64_t scaled_stride,
                                      Real *squares, int64_t squares_stride,
                                      const Real *x, int64_t x_stride,
                                      const Real *__restrict weight,
                                      int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *source = x + row * x_stride;
    Real *destination = scaled + row * scaled_stride;
    Vector sum = splat(0.0f);
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      const Vector value = load(source + first, count);
                      sum = fma(value, value, sum);
                    });
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      store(destination + first,
            load(source + first, count) * load(weight + first, count), count);
    });
    squares[row * squares_stride] = reduce_sum(sum);
  }
}

BATON_TASK void baton_task_norm_end(Real *out, int64_t out_stride,
                                    const Real *x, int64_t x_stride,
                                    const Real *__restrict squares,
                                    int64_t squares_stride, int64_t rows,
                                    int64_t columns, int64_t width,
                                    Real epsilon) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real inverse =
        inverse_root(squares[row * squares_stride], width, epsilon);
    for_each_vector(
        columns, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(out + row * out_stride + first,
                load(x + row * x_stride + first, count) * inverse, count);
        });
  }
}
