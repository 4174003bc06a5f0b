//===- hyper.h - hyper-connections ----------------------------------------===//
//
// Sums over a row's streams are those of sixteen lanes, an output a half warp;
// the maps of a row, a few hundred operations on a few numbers, are one
// thread's. Fused bodies hand the maps' logits on where the maps will be.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_HYPER_H
#define BATON_CODEGEN_CUDA_LIBRARY_HYPER_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/lanes.h"

/// How residual streams mix from one sublayer to the next.
enum BatonMixing {
  BATON_MIXING_NONE = 0,
  BATON_MIXING_IDENTITY = 1,
  BATON_MIXING_FREE = 2,
  BATON_MIXING_SINKHORN = 3,
};

namespace baton::cuda {

constexpr int64_t most_streams = 8;

/// Divides rows, or columns, of an n by n matrix by their sums plus epsilon.
BATON_DEVICE void divide_by_sums(float *matrix, int32_t n, bool rows,
                                 float epsilon) {
  const int32_t line = rows ? n : 1, step = rows ? 1 : n;
  for (int32_t i = 0; i < n; ++i) {
    float sum = matrix[i * line];
    for (int32_t k = 1; k < n; ++k)
      sum += matrix[i * line + k * step];
    sum += epsilon;
    for (int32_t k = 0; k < n; ++k)
      matrix[i * line + k * step] /= sum;
  }
}

/// Called, with few arguments: divisions and what is live around them would
/// spill registers of a body that has it inlined.
BATON_CALLED void sinkhorn(float *matrix, int32_t n, int32_t iterations,
                           float epsilon) {
  for (int32_t i = 0; i < n; ++i) {
    float most = matrix[i * n];
    for (int32_t k = 1; k < n; ++k)
      most = matrix[i * n + k] > most ? matrix[i * n + k] : most;
    for (int32_t k = 0; k < n; ++k)
      matrix[i * n + k] = exp(matrix[i * n + k] - most);
  }
  divide_by_sums(matrix, n, /*rows=*/true, 0.0f);
  for (int32_t i = 0; i < n * n; ++i)
    matrix[i] += epsilon;
  divide_by_sums(matrix, n, /*rows=*/false, epsilon);
  for (int32_t i = 1; i < iterations; ++i) {
    divide_by_sums(matrix, n, /*rows=*/true, epsilon);
    divide_by_sums(matrix, n, /*rows=*/false, epsilon);
  }
}

BATON_DEVICE int64_t maps_of(int64_t streams, int32_t mixing) {
  if (mixing == BATON_MIXING_NONE)
    return streams;
  return 2 * streams +
         (mixing == BATON_MIXING_IDENTITY ? 0 : streams * streams);
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_hyper_project(float *out, int64_t out_stride,
                                           const float *x, int64_t x_stride,
                                           const float *phi, int64_t rows,
                                           int64_t width, int64_t outputs,
                                           float epsilon) {
  const uint32_t teams = baton_threads() / baton::cuda::lanes;
  const uint32_t team = baton_thread() / baton::cuda::lanes;
  const uint32_t lane = baton_thread() % baton::cuda::lanes;
  const int64_t count = rows * outputs;
  for (int64_t first = 0; first < count; first += teams) {
    // Behind the end the last one once more: shuffles take whole warps.
    const int64_t own = first + team;
    const int64_t place = own < count ? own : count - 1;
    const int64_t row = place / outputs, output = place - row * outputs;
    const float *source = x + row * x_stride;
    const float *weight = phi + output * width;
    float squares = 0.0f, sum = 0.0f;
#pragma unroll(8)
    for (int64_t i = lane; i < width; i += baton::cuda::lanes) {
      squares = fmaf(source[i], source[i], squares);
      sum = fmaf(source[i], weight[i], sum);
    }
    const float mean =
        baton::cuda::sum_of_lanes(squares) / static_cast<float>(width);
    sum = baton::cuda::sum_of_lanes(sum);
    if (own < count && lane == 0)
      out[row * out_stride + output] = sum * (1.0f / sqrtf(mean + epsilon));
  }
}

BATON_DEVICE void
baton_task_hyper_maps(float *out, int64_t out_stride, const float *logits,
                      int64_t logits_stride, const float *scale,
                      const float *base, int64_t rows, int64_t streams,
                      int32_t mixing, int64_t iterations, float epsilon) {
  baton::cuda::fill_rows(
      out, out_stride, rows, baton::cuda::maps_of(streams, mixing),
      [&](int64_t row, int64_t column) {
        const int64_t part = column < streams       ? 0
                             : column < 2 * streams ? 1
                                                    : 2;
        const float logit = fmaf(
            scale[part], logits[row * logits_stride + column], base[column]);
        return part == 0   ? baton::cuda::sigmoid(logit) + epsilon
               : part == 1 ? 2.0f * baton::cuda::sigmoid(logit)
                           : logit;
      });
  if (mixing != BATON_MIXING_SINKHORN)
    return;
  __syncthreads();
  for (int64_t row = baton_thread(); row < rows; row += baton_threads())
    baton::cuda::sinkhorn(out + row * out_stride + 2 * streams,
                          static_cast<int32_t>(streams),
                          static_cast<int32_t>(iterations), epsilon);
}

BATON_DEVICE void baton_task_hyper_pre(float *out, int64_t out_stride,
                                       const float *x, int64_t x_stride,
                                       const float *weights,
                                       int64_t weights_stride, int64_t rows,
                                       int64_t streams, int64_t width) {
  baton::cuda::fill_rows(out, out_stride, rows, width,
                         [&](int64_t row, int64_t column) {
                           const float *source = x + row * x_stride + column;
                           const float *weight = weights + row * weights_stride;
                           float sum = weight[0] * source[0];
                           for (int64_t j = 1; j < streams; ++j)
                             sum = fmaf(weight[j], source[j * width], sum);
                           return sum;
                         });
}

BATON_DEVICE void baton_task_hyper_post(float *out, int64_t out_stride,
                                        const float *x, int64_t x_stride,
                                        const float *y, int64_t y_stride,
                                        const float *weights,
                                        int64_t weights_stride, int64_t rows,
                                        int64_t streams, int64_t width,
                                        int32_t mixes) {
  baton::cuda::for_each_element(rows, width, [&](int64_t row, int64_t column) {
    const float *source = x + row * x_stride + column;
    const float *weight = weights + row * weights_stride;
    const float made = y[row * y_stride + column];
    // All streams are read before the first is written: `out` may be x.
    float before[baton::cuda::most_streams];
    for (int64_t m = 0; m < streams; ++m)
      before[m] = source[m * width];
    for (int64_t j = 0; j < streams; ++j) {
      float sum = mixes ? weight[j] * made : fmaf(weight[j], made, before[j]);
      if (mixes)
        for (int64_t m = 0; m < streams; ++m)
          sum = fmaf(weight[streams + m * streams + j], before[m], sum);
      out[row * out_stride + j * width + column] = sum;
    }
  });
}

BATON_DEVICE void baton_task_hyper_enter(
    float *out, int64_t out_stride, float *maps, int64_t maps_stride,
    const float *x, int64_t x_stride, const float *phi, const float *scale,
    const float *base, int64_t rows, int64_t streams, int64_t width,
    float norm_epsilon, int32_t mixing, int64_t iterations, float epsilon) {
  baton_task_hyper_project(maps, maps_stride, x, x_stride, phi, rows,
                           streams * width,
                           baton::cuda::maps_of(streams, mixing), norm_epsilon);
  __syncthreads();
  baton_task_hyper_maps(maps, maps_stride, maps, maps_stride, scale, base, rows,
                        streams, mixing, iterations, epsilon);
  __syncthreads();
  baton_task_hyper_pre(out, out_stride, x, x_stride, maps, maps_stride, rows,
                       streams, width);
}

BATON_DEVICE void baton_task_hyper_turn(
    float *streams_out, int64_t streams_stride, float *out, int64_t out_stride,
    float *maps, int64_t maps_stride, const float *x, int64_t x_stride,
    const float *y, int64_t y_stride, const float *weights,
    int64_t weights_stride, const float *phi, const float *scale,
    const float *base, int64_t rows, int64_t streams, int64_t width,
    int32_t mixes, float norm_epsilon, int32_t mixing, int64_t iterations,
    float epsilon) {
  baton_task_hyper_post(streams_out, streams_stride, x, x_stride, y, y_stride,
                        weights, weights_stride, rows, streams, width, mixes);
  __syncthreads();
  baton_task_hyper_enter(out, out_stride, maps, maps_stride, streams_out,
                         streams_stride, phi, scale, base, rows, streams, width,
                         norm_epsilon, mixing, iterations, epsilon);
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_HYPER_H
