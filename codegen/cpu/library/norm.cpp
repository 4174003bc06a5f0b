//===- norm.cpp - RMS norm and layer norm ---------------------------------===//
//
// A row is read twice (three times for layer norm); it is in the first-level
// cache after the first reading.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

BATON_TASK void baton_task_rms_norm(Real *out, int64_t out_stride,
                                    const Real *x, int64_t x_stride,
                                    const Real *__restrict weight, int64_t rows,
                                    int64_t width, Real epsilon) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *source = x + row * x_stride;
    Real *destination = out + row * out_stride;
    Vector squares = splat(0.0f);
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      Vector value = load(source + first, count);
                      squares = fma(value, value, squares);
                    });
    Real mean = reduce_sum(squares) / static_cast<Real>(width);
    Real inverse = 1.0f / __builtin_elementwise_sqrt(mean + epsilon);
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      store(destination + first,
            load(source + first, count) * inverse * load(weight + first, count),
            count);
    });
  }
}

BATON_TASK void baton_task_layer_norm(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      const Real *__restrict weight,
                                      const Real *__restrict bias, int64_t rows,
                                      int64_t width, Real epsilon) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *source = x + row * x_stride;
    Real *destination = out + row * out_stride;
    Vector sum = splat(0.0f);
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      sum += load(source + first, count);
                    });
    Real mean = reduce_sum(sum) / static_cast<Real>(width);
    // Squares of differences, because the mean of squares cancels.
    Vector squares = splat(0.0f);
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          Vector difference =
              keep_first(load(source + first, count) - mean, count, 0.0f);
          squares = fma(difference, difference, squares);
        });
    Real variance = reduce_sum(squares) / static_cast<Real>(width);
    Real inverse = 1.0f / __builtin_elementwise_sqrt(variance + epsilon);
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      Vector value = (load(source + first, count) - mean) *
                                     inverse * load(weight + first, count);
                      if (bias)
                        value += load(bias + first, count);
                      store(destination + first, value, count);
                    });
  }
}
