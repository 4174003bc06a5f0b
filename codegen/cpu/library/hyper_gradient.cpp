//===- hyper_gradient.cpp - adjoints of hyper-connections -----------------===//
//
// What a row's maps were on their way is computed again: a few hundred
// operations, in place of some thousand bytes kept for every row and sublayer.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/hyper.h"
#include "codegen/cpu/library/row_sums.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

BATON_TASK void baton_task_scale_rows(Real *out, int64_t out_stride,
                                      const Real *x, int64_t x_stride,
                                      const Real *__restrict statistics,
                                      int64_t statistics_stride, int64_t rows,
                                      int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real factor = statistics[row * statistics_stride + 1];
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(out + row * out_stride + first,
                load(x + row * x_stride + first, count) * factor, count);
        });
  }
}

// With s = 1 / sqrt(mean(x^2) + epsilon) and y = s x phi^T, dx = s dy phi -
// x s^2 (dy . y) / width.
BATON_TASK void baton_task_hyper_project_gradient(
    Real *dx, int64_t dx_stride, const Real *__restrict dy, int64_t dy_stride,
    const Real *__restrict x, int64_t x_stride, const Real *__restrict phi,
    const Real *__restrict y, int64_t y_stride,
    const Real *__restrict statistics, int64_t statistics_stride, int64_t rows,
    int64_t width, int64_t outputs) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real inverse = statistics[row * statistics_stride + 1];
    const Real *gradient = dy + row * dy_stride;
    const Real *source = x + row * x_stride;
    Real along = 0.0f;
    for (int64_t i = 0; i < outputs; ++i)
      along += gradient[i] * y[row * y_stride + i];
    along = along * inverse * inverse / static_cast<Real>(width);
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      Vector sum = splat(0.0f);
      for (int64_t i = 0; i < outputs; ++i)
        sum =
            fma(splat(gradient[i]), load(phi + i * width + first, count), sum);
      store(dx + row * dx_stride + first,
            sum * inverse - load(source + first, count) * along, count);
    });
  }
}

/// The adjoint of divide_by_sums, in place: `result` and `divisors` are what it
/// made.
BATON_INLINE void divide_by_sums_gradient(Real *gradient, const Real *result,
                                          const Real *divisors, int64_t n,
                                          bool rows) {
  const int64_t line = rows ? n : 1, step = rows ? 1 : n;
  for (int64_t i = 0; i < n; ++i) {
    Real along = 0.0f;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t place = i * line + k * step;
      along += gradient[place] * result[place];
    }
    for (int64_t k = 0; k < n; ++k) {
      const int64_t place = i * line + k * step;
      gradient[place] = (gradient[place] - along) / divisors[i];
    }
  }
}

/// The adjoint of sinkhorn, in place; `logits` are overwritten.
BATON_INLINE void sinkhorn_gradient(Real *gradient, Real *logits, int64_t n,
                                    int64_t iterations, Real epsilon) {
  struct Division {
    Real result[most_mixed], divisors[most_streams];
    bool rows;
  };
  Division divisions[2 * BATON_MOST_ITERATIONS];
  Real softmax[most_mixed];
  for (int64_t i = 0; i < most_mixed; ++i)
    softmax[i] = i < n * n ? logits[i] : 0.0f;
  softmax_rows(softmax, n);
  int64_t count = 0;
  sinkhorn(logits, n, iterations, epsilon,
           [&](const Real *matrix, const Real *divisors, bool rows)
               BATON_INLINE_LAMBDA {
                 Division &division = divisions[count++];
                 for (int64_t i = 0; i < n * n; ++i)
                   division.result[i] = matrix[i];
                 for (int64_t i = 0; i < n; ++i)
                   division.divisors[i] = divisors[i];
                 division.rows = rows;
               });
  while (count > 0) {
    const Division &division = divisions[--count];
    divide_by_sums_gradient(gradient, division.result, division.divisors, n,
                            division.rows);
  }
  // softmax: y (dy - sum of dy y), row by row.
  for (int64_t i = 0; i < n; ++i) {
    Real along = 0.0f;
    for (int64_t k = 0; k < n; ++k)
      along += gradient[i * n + k] * softmax[i * n + k];
    for (int64_t k = 0; k < n; ++k)
      gradient[i * n + k] = softmax[i * n + k] * (gradient[i * n + k] - along);
  }
}

BATON_TASK void baton_task_hyper_maps_gradient(
    Real *__restrict dlogits, int64_t dlogits_stride, Real *__restrict dz,
    int64_t dz_stride, const Real *__restrict dy, int64_t dy_stride,
    const Real *__restrict logits, int64_t logits_stride,
    const Real *__restrict scale, const Real *__restrict base, int64_t rows,
    int64_t streams, int32_t mixing, int64_t iterations, Real epsilon) {
  const int64_t mixed = streams * streams;
  for (int64_t row = 0; row < rows; ++row) {
    const Real *source = logits + row * logits_stride;
    const Real *gradient = dy + row * dy_stride;
    Real *sums = dz + row * dz_stride;
    Real *destination = dlogits + row * dlogits_stride;
    Real part[most_mixed], slope[most_mixed];
    // sigmoid' = sigmoid (1 - sigmoid), of what is written twice that.
    auto open = [&](int64_t first, Real scale,
                    Real factor) BATON_INLINE_LAMBDA {
      affine(part, source + first, base + first, scale, streams);
      const Vector value = sigmoid(load(part, streams));
      store(sums + first,
            load(gradient + first, streams) * factor * (value * (1.0f - value)),
            streams);
    };
    open(0, scale[0], 1.0f);
    if (mixing != BATON_MIXING_NONE)
      open(streams, scale[1], 2.0f);
    if (mixing == BATON_MIXING_FREE || mixing == BATON_MIXING_SINKHORN) {
      for (int64_t i = 0; i < mixed; ++i)
        slope[i] = gradient[2 * streams + i];
      if (mixing == BATON_MIXING_SINKHORN) {
        for (int64_t first = 0; first < most_mixed; first += lanes)
          store(part + first, splat(0.0f));
        affine(part, source + 2 * streams, base + 2 * streams, scale[2], mixed);
        sinkhorn_gradient(slope, part, streams, iterations, epsilon);
      }
      for (int64_t i = 0; i < mixed; ++i)
        sums[2 * streams + i] = slope[i];
    }
    const int64_t count = maps_of(streams, mixing);
    for (int64_t i = 0; i < count; ++i)
      destination[i] = sums[i] * scale[i < streams       ? 0
                                       : i < 2 * streams ? 1
                                                         : 2];
  }
}

BATON_TASK void baton_task_hyper_scale_gradient(
    Real *__restrict dscale, const Real *__restrict dz, int64_t dz_stride,
    const Real *__restrict logits, int64_t logits_stride, int64_t rows,
    int64_t streams, int32_t mixing, const int32_t *accumulate) {
  const bool adds = joins(accumulate);
  const int64_t count = maps_of(streams, mixing);
  int64_t first = 0;
  for (int64_t part = 0; first < count; ++part) {
    const int64_t end = part == 2 ? count : first + streams;
    Real sum = 0.0f;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = first; i < end; ++i)
        sum = __builtin_elementwise_fma(dz[row * dz_stride + i],
                                        logits[row * logits_stride + i], sum);
    dscale[part] = adds ? sum + dscale[part] : sum;
    first = end;
  }
}

/// The sum over a row of a * b.
BATON_INLINE Real inner_product(const Real *a, const Real *b, int64_t width) {
  Vector sum = splat(0.0f);
  for_each_vector(width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
    sum = fma(load(a + first, count), load(b + first, count), sum);
  });
  return reduce_sum(sum);
}

BATON_TASK void baton_task_hyper_pre_gradient(
    Real *__restrict dx, int64_t dx_stride, Real *__restrict dweights,
    int64_t dweights_stride, const Real *__restrict dy, int64_t dy_stride,
    const Real *__restrict x, int64_t x_stride, const Real *__restrict weights,
    int64_t weights_stride, int64_t rows, int64_t streams, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *gradient = dy + row * dy_stride;
    for (int64_t j = 0; j < streams; ++j) {
      const Real weight = weights[row * weights_stride + j];
      Real *destination = dx + row * dx_stride + j * width;
      for_each_vector(width,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        store(destination + first,
                              weight * load(gradient + first, count), count);
                      });
      dweights[row * dweights_stride + j] =
          inner_product(gradient, x + row * x_stride + j * width, width);
    }
  }
}

BATON_TASK void baton_task_hyper_post_gradient(
    Real *__restrict dx, int64_t dx_stride, Real *__restrict dy,
    int64_t dy_stride, Real *__restrict dweights, int64_t dweights_stride,
    const Real *__restrict dout, int64_t dout_stride, const Real *__restrict x,
    int64_t x_stride, const Real *__restrict y, int64_t y_stride,
    const Real *__restrict weights, int64_t weights_stride, int64_t rows,
    int64_t streams, int64_t width, int32_t mixes) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *gradient = dout + row * dout_stride;
    const Real *source = x + row * x_stride;
    const Real *weight = weights + row * weights_stride;
    const Real *mixing = weight + streams;
    Real *weight_gradient = dweights + row * dweights_stride;
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          Vector after[most_streams];
          for (int64_t j = 0; j < streams; ++j)
            after[j] = load(gradient + j * width + first, count);
          Vector made = weight[0] * after[0];
          for (int64_t j = 1; j < streams; ++j)
            made = fma(splat(weight[j]), after[j], made);
          store(dy + row * dy_stride + first, made, count);
          for (int64_t m = 0; m < streams; ++m) {
            Vector sum = after[m];
            if (mixes) {
              sum = mixing[m * streams] * after[0];
              for (int64_t j = 1; j < streams; ++j)
                sum = fma(splat(mixing[m * streams + j]), after[j], sum);
            }
            store(dx + row * dx_stride + m * width + first, sum, count);
          }
        });
    for (int64_t j = 0; j < streams; ++j)
      weight_gradient[j] =
          inner_product(y + row * y_stride, gradient + j * width, width);
    if (mixes)
      for (int64_t m = 0; m < streams; ++m)
        for (int64_t j = 0; j < streams; ++j)
          weight_gradient[streams + m * streams + j] =
              inner_product(source + m * width, gradient + j * width, width);
  }
}
