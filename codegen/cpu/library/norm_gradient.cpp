//===- norm_gradient.cpp - adjoints of RMS norm and layer norm ------------===//
//
// With n = (x - mean) / root and g = dy * weight, dx = (g - mean of g - n *
// mean of g n) / root; RMS norm subtracts no means of x, hence none of g.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/row_sums.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

BATON_TASK void baton_task_norm_statistics(Real *__restrict statistics,
                                           int64_t statistics_stride,
                                           const Real *__restrict x,
                                           int64_t x_stride, int64_t rows,
                                           int64_t width, Real epsilon,
                                           int32_t centered) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *source = x + row * x_stride;
    Real mean = 0.0f;
    if (centered) {
      Vector sum = splat(0.0f);
      for_each_vector(width,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        sum += load(source + first, count);
                      });
      mean = reduce_sum(sum) / static_cast<Real>(width);
    }
    Vector squares = splat(0.0f);
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      Vector difference = load(source + first, count);
                      if (centered)
                        difference = keep_first(difference - mean, count, 0.0f);
                      squares = fma(difference, difference, squares);
                    });
    const Real variance = reduce_sum(squares) / static_cast<Real>(width);
    Real *place = statistics + row * statistics_stride;
    place[0] = mean;
    place[1] = 1.0f / __builtin_elementwise_sqrt(variance + epsilon);
  }
}

BATON_TASK void baton_task_norm_gradient(
    Real *dx, int64_t dx_stride, const Real *dy, int64_t dy_stride,
    const Real *__restrict x, int64_t x_stride, const Real *__restrict weight,
    const Real *__restrict statistics, int64_t statistics_stride, int64_t rows,
    int64_t width, int32_t centered) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real mean = statistics[row * statistics_stride];
    const Real inverse = statistics[row * statistics_stride + 1];
    const Real *gradient = dy + row * dy_stride;
    const Real *source = x + row * x_stride;
    Real *destination = dx + row * dx_stride;
    auto normal = [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
      const Vector value = load(source + first, count);
      return (centered ? value - mean : value) * inverse;
    };
    auto weighted = [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
      return load(gradient + first, count) * load(weight + first, count);
    };
    Vector sums = splat(0.0f);
    Vector products = splat(0.0f);
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      const Vector value = weighted(first, count);
                      // The lanes beyond the row are zero in `value`.
                      products = fma(value, normal(first, count), products);
                      sums += value;
                    });
    const Real scale = static_cast<Real>(width);
    const Real along = reduce_sum(products) / scale;
    const Real common = centered ? reduce_sum(sums) / scale : 0.0f;
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          Vector value = weighted(first, count);
          if (centered)
            value -= common;
          store(destination + first,
                (value - normal(first, count) * along) * inverse, count);
        });
  }
}

BATON_TASK void baton_task_norm_weight_gradient(
    Real *dweight, Real *dbias, const Real *__restrict dy, int64_t dy_stride,
    const Real *__restrict x, int64_t x_stride,
    const Real *__restrict statistics, int64_t statistics_stride, int64_t rows,
    int64_t heads, int64_t head_stride, int64_t columns,
    const int32_t *accumulate) {
  sum_over_rows(
      dweight, rows, columns, accumulate,
      [&](Vector sum, int64_t row, int64_t column, int64_t count)
          BATON_INLINE_LAMBDA {
            const Real *gradient = dy + row * dy_stride + column;
            const Real *source = x + row * x_stride + column;
            const Real *means = statistics + row * statistics_stride;
            for (int64_t head = 0; head < heads; ++head) {
              const int64_t place = head * head_stride;
              __builtin_prefetch(gradient + place + rows_ahead * dy_stride);
              __builtin_prefetch(source + place + rows_ahead * x_stride);
              const Vector normal =
                  (load(source + place, count) - means[2 * head]) *
                  means[2 * head + 1];
              sum = fma(load(gradient + place, count), normal, sum);
            }
            return sum;
          });
  if (!dbias)
    return;
  sum_over_rows(dbias, rows, columns, accumulate,
                [&](Vector sum, int64_t row, int64_t column, int64_t count)
                    BATON_INLINE_LAMBDA {
                      const Real *gradient = dy + row * dy_stride + column;
                      for (int64_t head = 0; head < heads; ++head) {
                        const Real *place = gradient + head * head_stride;
                        __builtin_prefetch(place + rows_ahead * dy_stride);
                        sum += load(place, count);
                      }
                      return sum;
                    });
}
