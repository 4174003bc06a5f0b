//===- norm_gradient.h - adjoints of RMS norm and layer norm --------------===//
//
// In the arithmetic of codegen/cpu/library/norm_gradient.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_NORM_GRADIENT_H
#define BATON_CODEGEN_CUDA_LIBRARY_NORM_GRADIENT_H

#include "codegen/cuda/library/norm.h"
#include "codegen/cuda/library/row_sums.h"

namespace baton::cuda {

/// What the adjoint of a norm knows of a row.
struct NormAdjoint {
  float mean, inverse;
  /// The means of the gradient along the row, and of the gradient.
  float along, common;
};

} // namespace baton::cuda

BATON_CALLED void baton_task_norm_statistics(float *statistics,
                                             int64_t statistics_stride,
                                             const float *x, int64_t x_stride,
                                             int64_t rows, int64_t width,
                                             float epsilon, int32_t centered) {
  baton::cuda::for_each_team(rows, [&](int64_t row, int64_t lane, bool is_own) {
    const float *source = x + row * x_stride;
    float mean = 0.0f;
    if (centered) {
      float sum = 0.0f;
#pragma unroll(baton::cuda::norm_loads)
      for (int64_t i = lane; i < width; i += baton::cuda::lanes)
        sum += source[i];
      mean = baton::cuda::sum_of_lanes(sum) / static_cast<float>(width);
    }
    float squares = 0.0f;
#pragma unroll(baton::cuda::norm_loads)
    for (int64_t i = lane; i < width; i += baton::cuda::lanes) {
      const float difference = centered ? source[i] - mean : source[i];
      squares = fmaf(difference, difference, squares);
    }
    const float variance =
        baton::cuda::sum_of_lanes(squares) / static_cast<float>(width);
    if (!is_own || lane != 0)
      return;
    float *place = statistics + row * statistics_stride;
    place[0] = mean;
    place[1] = 1.0f / sqrtf(variance + epsilon);
  });
}

BATON_CALLED void
baton_task_norm_gradient(float *dx, int64_t dx_stride, const float *dy,
                         int64_t dy_stride, const float *x, int64_t x_stride,
                         const float *weight, const float *statistics,
                         int64_t statistics_stride, int64_t rows, int64_t width,
                         int32_t centered) {
  using baton::cuda::NormAdjoint;
  auto normal = [&](int64_t row, int64_t column, float mean, float inverse) {
    const float value = x[row * x_stride + column];
    return (centered ? value - mean : value) * inverse;
  };
  baton::cuda::for_each_row(
      dx, dx_stride, rows, width,
      [&](int64_t row, int64_t lane) {
        const float mean = statistics[row * statistics_stride];
        const float inverse = statistics[row * statistics_stride + 1];
        float sum = 0.0f, products = 0.0f;
#pragma unroll(8)
        for (int64_t i = lane; i < width; i += baton::cuda::lanes) {
          const float value = dy[row * dy_stride + i] * weight[i];
          products = fmaf(value, normal(row, i, mean, inverse), products);
          sum += value;
        }
        const float scale = static_cast<float>(width);
        products = baton::cuda::sum_of_lanes(products) / scale;
        sum = baton::cuda::sum_of_lanes(sum) / scale;
        return NormAdjoint{mean, inverse, products, centered ? sum : 0.0f};
      },
      [&](int64_t row, int64_t column, NormAdjoint adjoint) {
        float value = dy[row * dy_stride + column] * weight[column];
        if (centered)
          value -= adjoint.common;
        return (value - normal(row, column, adjoint.mean, adjoint.inverse) *
                            adjoint.along) *
               adjoint.inverse;
      });
}

BATON_DEVICE void baton_task_norm_weight_gradient(
    float *dweight, float *dbias, const float *dy, int64_t dy_stride,
    const float *x, int64_t x_stride, const float *statistics,
    int64_t statistics_stride, int64_t rows, int64_t heads, int64_t head_stride,
    int64_t columns, const int32_t *accumulate) {
  baton::cuda::sum_over_rows(
      dweight, rows, columns, accumulate,
      [&](float sum, int64_t row, int64_t column) {
        const float *gradient = dy + row * dy_stride + column;
        const float *source = x + row * x_stride + column;
        const float *means = statistics + row * statistics_stride;
        for (int64_t head = 0; head < heads; ++head) {
          const int64_t place = head * head_stride;
          const float normal =
              (source[place] - means[2 * head]) * means[2 * head + 1];
          sum = fmaf(gradient[place], normal, sum);
        }
        return sum;
      });
  if (!dbias)
    return;
  baton::cuda::sum_over_rows(
      dbias, rows, columns, accumulate,
      [&](float sum, int64_t row, int64_t column) {
        for (int64_t head = 0; head < heads; ++head)
          sum += dy[row * dy_stride + column + head * head_stride];
        return sum;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_NORM_GRADIENT_H
