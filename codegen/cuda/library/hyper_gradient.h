//===- hyper_gradient.h - adjoints of hyper-connections -------------------===//
//
// In the arithmetic of codegen/cpu/library/hyper_gradient.cpp. What a row's maps
// were on their way is computed again for each step back: a thread has no room
// to keep it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_HYPER_GRADIENT_H
#define BATON_CODEGEN_CUDA_LIBRARY_HYPER_GRADIENT_H

#include "codegen/cuda/library/elementwise_gradient.h"
#include "codegen/cuda/library/hyper.h"
#include "codegen/cuda/library/row_sums.h"

namespace baton::cuda {

constexpr int most_mixed = most_streams * most_streams;

/// What sinkhorn (hyper.h) makes of `logits` by `divisions` divisions of
/// columns and rows in turn; the last one's divisors are kept, if there is one.
BATON_DEVICE void sinkhorn_until(float *matrix, float *divisors,
                                 const float *logits, int32_t n,
                                 int32_t divisions, float epsilon) {
  for (int32_t i = 0; i < n * n; ++i)
    matrix[i] = logits[i];
  for (int32_t i = 0; i < n; ++i) {
    float most = matrix[i * n];
    for (int32_t k = 1; k < n; ++k)
      most = matrix[i * n + k] > most ? matrix[i * n + k] : most;
    for (int32_t k = 0; k < n; ++k)
      matrix[i * n + k] = exp(matrix[i * n + k] - most);
  }
  divide_by_sums(matrix, n, /*rows=*/true, 0.0f);
  if (divisions == 0)
    return;
  for (int32_t i = 0; i < n * n; ++i)
    matrix[i] += epsilon;
  for (int32_t division = 0; division < divisions; ++division) {
    const bool rows = division % 2 != 0;
    const int32_t line = rows ? n : 1, step = rows ? 1 : n;
    for (int32_t i = 0; i < n; ++i) {
      float sum = matrix[i * line];
      for (int32_t k = 1; k < n; ++k)
        sum += matrix[i * line + k * step];
      divisors[i] = sum + epsilon;
      for (int32_t k = 0; k < n; ++k)
        matrix[i * line + k * step] /= divisors[i];
    }
  }
}

/// The adjoint of sinkhorn, in place. Called as sinkhorn is.
BATON_CALLED void sinkhorn_gradient(float *gradient, const float *logits,
                                    int32_t n, int32_t iterations,
                                    float epsilon) {
  float matrix[most_mixed], divisors[most_streams];
  for (int32_t division = 2 * iterations - 1; division > 0; --division) {
    sinkhorn_until(matrix, divisors, logits, n, division, epsilon);
    const bool rows = division % 2 == 0;
    const int32_t line = rows ? n : 1, step = rows ? 1 : n;
    for (int32_t i = 0; i < n; ++i) {
      float along = 0.0f;
      for (int32_t k = 0; k < n; ++k) {
        const int32_t place = i * line + k * step;
        along += gradient[place] * matrix[place];
      }
      for (int32_t k = 0; k < n; ++k) {
        const int32_t place = i * line + k * step;
        gradient[place] = (gradient[place] - along) / divisors[i];
      }
    }
  }
  sinkhorn_until(matrix, divisors, logits, n, 0, epsilon);
  for (int32_t i = 0; i < n; ++i) {
    float along = 0.0f;
    for (int32_t k = 0; k < n; ++k)
      along += gradient[i * n + k] * matrix[i * n + k];
    for (int32_t k = 0; k < n; ++k)
      gradient[i * n + k] = matrix[i * n + k] * (gradient[i * n + k] - along);
  }
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_scale_rows(float *out, int64_t out_stride,
                                        const float *x, int64_t x_stride,
                                        const float *statistics,
                                        int64_t statistics_stride, int64_t rows,
                                        int64_t width) {
  baton::cuda::fill_rows(out, out_stride, rows, width,
                         [&](int64_t row, int64_t column) {
                           return x[row * x_stride + column] *
                                  statistics[row * statistics_stride + 1];
                         });
}

BATON_DEVICE void baton_task_hyper_project_gradient(
    float *dx, int64_t dx_stride, const float *dy, int64_t dy_stride,
    const float *x, int64_t x_stride, const float *phi, const float *y,
    int64_t y_stride, const float *statistics, int64_t statistics_stride,
    int64_t rows, int64_t width, int64_t outputs) {
  baton::cuda::for_each_row(
      dx, dx_stride, rows, width,
      // The same in all sixteen lanes.
      [&](int64_t row, int64_t) {
        const float inverse = statistics[row * statistics_stride + 1];
        float along = 0.0f;
        for (int64_t i = 0; i < outputs; ++i)
          along += dy[row * dy_stride + i] * y[row * y_stride + i];
        return along * inverse * inverse / static_cast<float>(width);
      },
      [&](int64_t row, int64_t column, float along) {
        float sum = 0.0f;
        for (int64_t i = 0; i < outputs; ++i)
          sum = fmaf(dy[row * dy_stride + i], phi[i * width + column], sum);
        return sum * statistics[row * statistics_stride + 1] -
               x[row * x_stride + column] * along;
      });
}

BATON_DEVICE void baton_task_hyper_maps_gradient(
    float *dlogits, int64_t dlogits_stride, float *dz, int64_t dz_stride,
    const float *dy, int64_t dy_stride, const float *logits,
    int64_t logits_stride, const float *scale, const float *base, int64_t rows,
    int64_t streams, int32_t mixing, int64_t iterations, float epsilon) {
  using baton::cuda::most_mixed;
  const int64_t count = baton::cuda::maps_of(streams, mixing);
  auto part_of = [&](int64_t column) {
    return column < streams ? 0 : column < 2 * streams ? 1 : 2;
  };
  auto affine = [&](int64_t row, int64_t column) {
    return fmaf(scale[part_of(column)], logits[row * logits_stride + column],
                base[column]);
  };
  baton::cuda::fill_rows(
      dz, dz_stride, rows, count, [&](int64_t row, int64_t column) {
        const float gradient = dy[row * dy_stride + column];
        if (part_of(column) == 2)
          return gradient;
        return gradient * (part_of(column) == 1 ? 2.0f : 1.0f) *
               baton::cuda::sigmoid_slope(affine(row, column));
      });
  __syncthreads();
  if (mixing == BATON_MIXING_SINKHORN) {
    for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
      float mixed[most_mixed];
      for (int64_t i = 0; i < streams * streams; ++i)
        mixed[i] = affine(row, 2 * streams + i);
      baton::cuda::sinkhorn_gradient(
          dz + row * dz_stride + 2 * streams, mixed,
          static_cast<int32_t>(streams), static_cast<int32_t>(iterations),
          epsilon);
    }
    __syncthreads();
  }
  baton::cuda::fill_rows(dlogits, dlogits_stride, rows, count,
                         [&](int64_t row, int64_t column) {
                           return dz[row * dz_stride + column] *
                                  scale[part_of(column)];
                         });
}

/// One chain for each part, in one order: a thread's.
BATON_DEVICE void baton_task_hyper_scale_gradient(
    float *dscale, const float *dz, int64_t dz_stride, const float *logits,
    int64_t logits_stride, int64_t rows, int64_t streams, int32_t mixing,
    const int32_t *accumulate) {
  const int64_t count = baton::cuda::maps_of(streams, mixing);
  const int64_t part = baton_thread();
  const int64_t first = part * streams;
  if (part > 2 || first >= count)
    return;
  const int64_t end = part == 2 ? count : first + streams;
  float sum = 0.0f;
  for (int64_t row = 0; row < rows; ++row)
#pragma unroll(4)
    for (int64_t i = first; i < end; ++i)
      sum = fmaf(dz[row * dz_stride + i], logits[row * logits_stride + i], sum);
  dscale[part] =
      baton::cuda::joins(accumulate) ? sum + dscale[part] : sum;
}

BATON_DEVICE void baton_task_hyper_pre_gradient(
    float *dx, int64_t dx_stride, float *dweights, int64_t dweights_stride,
    const float *dy, int64_t dy_stride, const float *x, int64_t x_stride,
    const float *weights, int64_t weights_stride, int64_t rows, int64_t streams,
    int64_t width) {
  for (int64_t j = 0; j < streams; ++j)
    baton::cuda::fill_rows(dx + j * width, dx_stride, rows, width,
                           [&](int64_t row, int64_t column) {
                             return weights[row * weights_stride + j] *
                                    dy[row * dy_stride + column];
                           });
  baton::cuda::for_each_team(
      rows * streams, [&](int64_t job, int64_t lane, bool is_own) {
        const int64_t row = job / streams, j = job - row * streams;
        const float product = baton::cuda::inner_product(
            dy + row * dy_stride, x + row * x_stride + j * width, width, lane);
        if (is_own && lane == 0)
          dweights[row * dweights_stride + j] = product;
      });
}

BATON_DEVICE void baton_task_hyper_post_gradient(
    float *dx, int64_t dx_stride, float *dy, int64_t dy_stride, float *dweights,
    int64_t dweights_stride, const float *dout, int64_t dout_stride,
    const float *x, int64_t x_stride, const float *y, int64_t y_stride,
    const float *weights, int64_t weights_stride, int64_t rows, int64_t streams,
    int64_t width, int32_t mixes) {
  baton::cuda::for_each_element(rows, width, [&](int64_t row, int64_t column) {
    const float *gradient = dout + row * dout_stride + column;
    const float *weight = weights + row * weights_stride;
    const float *mixing = weight + streams;
    float made = weight[0] * gradient[0];
    for (int64_t j = 1; j < streams; ++j)
      made = fmaf(weight[j], gradient[j * width], made);
    dy[row * dy_stride + column] = made;
    for (int64_t m = 0; m < streams; ++m) {
      float sum = gradient[m * width];
      if (mixes) {
        sum = mixing[m * streams] * gradient[0];
        for (int64_t j = 1; j < streams; ++j)
          sum = fmaf(mixing[m * streams + j], gradient[j * width], sum);
      }
      dx[row * dx_stride + m * width + column] = sum;
    }
  });
  // Of what comes in, then of each stream by each.
  const int64_t products = streams * (mixes ? streams + 1 : 1);
  baton::cuda::for_each_team(
      rows * products, [&](int64_t job, int64_t lane, bool is_own) {
        const int64_t row = job / products, place = job - row * products;
        const int64_t from = place / streams - 1,
                      j = place - (from + 1) * streams;
        const float *left = from < 0 ? y + row * y_stride
                                     : x + row * x_stride + from * width;
        const float product = baton::cuda::inner_product(
            left, dout + row * dout_stride + j * width, width, lane);
        if (is_own && lane == 0)
          dweights[row * dweights_stride + place] = product;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_HYPER_GRADIENT_H
