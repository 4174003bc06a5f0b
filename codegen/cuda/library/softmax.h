//===- softmax.h - causal mask and softmax --------------------------------===//
//
// The unfused form of what attention.h does block by block. Exponentials are
// computed twice, for the sum and for the result, rather than stored between:
// threads that share a row may so share it in place.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SOFTMAX_H
#define BATON_CODEGEN_CUDA_LIBRARY_SOFTMAX_H

#include "codegen/cuda/library/lanes.h"
#include "codegen/cuda/library/math.h"

namespace baton::cuda {

/// What softmax knows of a row.
struct Exponentials {
  float shift;
  float sum;
};

} // namespace baton::cuda

BATON_DEVICE void baton_task_mask_causal(float *out, int64_t out_stride,
                                         const float *x, int64_t x_stride,
                                         int64_t rows, int64_t width,
                                         int64_t position, int64_t window) {
  baton::cuda::fill_rows(
      out, out_stride, rows, width, [&](int64_t row, int64_t column) {
        const int64_t end = position + row + 1;
        const int64_t begin = window > 0 && end > window ? end - window : 0;
        return column >= begin && column < end
                   ? x[row * x_stride + column]
                   : baton::cuda::negative_infinity();
      });
}

BATON_DEVICE void baton_task_mask_sequences(float *out, int64_t out_stride,
                                            const float *x, int64_t x_stride,
                                            int64_t rows, int64_t width,
                                            const int32_t *positions,
                                            int64_t first_row, int64_t window,
                                            float hidden) {
  baton::cuda::fill_rows(
      out, out_stride, rows, width, [&](int64_t row, int64_t column) {
        const int64_t end = first_row + row + 1;
        const int64_t seen = positions[row] + int64_t(1);
        const int64_t begin =
            end - (window > 0 && seen > window ? window : seen);
        return column >= begin && column < end ? x[row * x_stride + column]
                                               : hidden;
      });
}

BATON_DEVICE void baton_task_softmax(float *out, int64_t out_stride,
                                     const float *x, int64_t x_stride,
                                     int64_t rows, int64_t width,
                                     const float *sink) {
  using baton::cuda::Exponentials;
  baton::cuda::for_each_row(
      out, out_stride, rows, width,
      [&](int64_t row, int64_t lane) {
        const float *source = x + row * x_stride;
        float maximum = baton::cuda::negative_infinity();
#pragma unroll(16)
        for (int64_t i = lane; i < width; i += baton::cuda::lanes)
          maximum = source[i] > maximum ? source[i] : maximum;
        maximum = baton::cuda::maximum_of_lanes(maximum);
        if (sink && *sink > maximum)
          maximum = *sink;
        // Shifting by -infinity would make NaN of a row that is wholly masked.
        const float shift =
            maximum == baton::cuda::negative_infinity() ? 0.0f : maximum;
        float sum = 0.0f;
#pragma unroll(4)
        for (int64_t i = lane; i < width; i += baton::cuda::lanes)
          sum += baton::cuda::exp(source[i] - shift);
        sum = baton::cuda::sum_of_lanes(sum);
        if (sink)
          sum += baton::cuda::exp(*sink - shift);
        return Exponentials{shift, sum == 0.0f ? 1.0f : sum};
      },
      [&](int64_t row, int64_t column, Exponentials exponentials) {
        return baton::cuda::exp(x[row * x_stride + column] -
                                exponentials.shift) /
               exponentials.sum;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SOFTMAX_H
