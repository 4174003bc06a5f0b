//===- norm.h - RMS norm and layer norm -----------------------------------===//
//
// A row's sums are chains of width / 16 additions. So that these do not wait
// for memory at every step, many loads are under way at once.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_NORM_H
#define BATON_CODEGEN_CUDA_LIBRARY_NORM_H

#include "codegen/cuda/library/lanes.h"

namespace baton::cuda {

/// Elements of a row that a lane loads at once.
constexpr int norm_loads = 16;

/// What layer norm knows of a row.
struct Moments {
  float mean;
  float inverse; // of the standard deviation
};

/// Of one row, all that is read is asked for at once, instead of by the few
/// loads that a chain has under way.
BATON_DEVICE void begin_norm(const float *x, const float *weight,
                             const float *bias, int64_t rows, int64_t width) {
  if (rows != 1)
    return;
  baton_touch(x, width);
  baton_touch(weight, width);
  if (bias)
    baton_touch(bias, width);
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_rms_norm(float *out, int64_t out_stride,
                                      const float *x, int64_t x_stride,
                                      const float *weight, int64_t rows,
                                      int64_t width, float epsilon) {
  baton::cuda::begin_norm(x, weight, nullptr, rows, width);
  baton::cuda::for_each_row(
      out, out_stride, rows, width,
      [&](int64_t row, int64_t lane) {
        const float *source = x + row * x_stride;
        float squares = 0.0f;
#pragma unroll(baton::cuda::norm_loads)
        for (int64_t i = lane; i < width; i += baton::cuda::lanes)
          squares = fmaf(source[i], source[i], squares);
        const float mean =
            baton::cuda::sum_of_lanes(squares) / static_cast<float>(width);
        return 1.0f / sqrtf(mean + epsilon);
      },
      [&](int64_t row, int64_t column, float inverse) {
        return x[row * x_stride + column] * inverse * weight[column];
      });
}

BATON_DEVICE void baton_task_layer_norm(float *out, int64_t out_stride,
                                        const float *x, int64_t x_stride,
                                        const float *weight, const float *bias,
                                        int64_t rows, int64_t width,
                                        float epsilon) {
  using baton::cuda::Moments;
  baton::cuda::begin_norm(x, weight, bias, rows, width);
  baton::cuda::for_each_row(
      out, out_stride, rows, width,
      [&](int64_t row, int64_t lane) {
        const float *source = x + row * x_stride;
        float sum = 0.0f;
#pragma unroll(baton::cuda::norm_loads)
        for (int64_t i = lane; i < width; i += baton::cuda::lanes)
          sum += source[i];
        const float mean =
            baton::cuda::sum_of_lanes(sum) / static_cast<float>(width);
        // Squares of differences, because the mean of squares cancels.
        float squares = 0.0f;
#pragma unroll(baton::cuda::norm_loads)
        for (int64_t i = lane; i < width; i += baton::cuda::lanes) {
          const float difference = source[i] - mean;
          squares = fmaf(difference, difference, squares);
        }
        const float variance =
            baton::cuda::sum_of_lanes(squares) / static_cast<float>(width);
        return Moments{mean, 1.0f / sqrtf(variance + epsilon)};
      },
      [&](int64_t row, int64_t column, Moments moments) {
        const float value = (x[row * x_stride + column] - moments.mean) *
                            moments.inverse * weight[column];
        return bias ? value + bias[column] : value;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_NORM_H
