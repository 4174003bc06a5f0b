//===- cross_entropy.h - cross-entropy of an output projection ------------===//
//
// A tile of logits, or of their gradients, is made in scratch, used and
// forgotten, in the arithmetic of codegen/cpu/library/cross_entropy.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H
#define BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H

#include "codegen/cuda/library/attention_blocks.h"
#include "codegen/cuda/library/product.h"

namespace baton::cuda {

/// A logit and its derivative by the inner product.
struct Logit {
  float value;
  float slope;
};

BATON_DEVICE Logit bend(float product, float scale, float softcap) {
  const float value = product * scale;
  if (softcap == 0.0f)
    return {value, scale};
  const float bent = tanh(value / softcap);
  return {softcap * bent, (1.0f - bent * bent) * scale};
}

/// The gradient of a row's loss by its product with a token. A row of weight 0
/// has none, whatever its logits are. Called, as sinkhorn is (hyper.h).
BATON_CALLED float gradient_of(float product, bool is_target, float weight,
                               const float *statistics, float scale,
                               float softcap) {
  if (weight == 0.0f)
    return 0.0f;
  const Logit logit = bend(product, scale, softcap);
  const float share =
      baton::cuda::exp(logit.value - statistics[0]) * (1.0f / statistics[1]);
  return (is_target ? share - 1.0f : share) * weight * logit.slope;
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_cross_entropy_partial(
    float *partials, int64_t partials_stride, const float *x, int64_t x_stride,
    const float *weight, int64_t weight_stride, const int32_t *targets,
    int64_t rows, int64_t first, int64_t columns, int64_t width, float scale,
    float softcap, float *scratch) {
  using namespace baton::cuda;
  multiply_sides({x, x_stride, 1}, {weight, weight_stride, 1}, rows, columns,
                 width, [&](int64_t row, int64_t column, float product) {
                   scratch[row * columns + column] =
                       bend(product, scale, softcap).value;
                 });
  __syncthreads();
  for_each_team(rows, [&](int64_t row, int64_t lane, bool is_own) {
    const float *logits = scratch + row * columns;
    float most = negative_infinity();
    for (int64_t i = lane; i < columns; i += lanes)
      most = logits[i] > most ? logits[i] : most;
    most = maximum_of_lanes(most);
    // Shifting by -infinity would make NaN of a row without finite logits.
    const float shift = most == negative_infinity() ? 0.0f : most;
    float sum = 0.0f;
    for (int64_t i = lane; i < columns; i += lanes)
      sum += baton::cuda::exp(logits[i] - shift);
    sum = sum_of_lanes(sum);
    if (!is_own || lane != 0)
      return;
    float *place = partials + row * partials_stride;
    place[0] = most;
    place[1] = sum;
    const int64_t target = targets[row] - first;
    place[2] = target >= 0 && target < columns ? logits[target] : 0.0f;
  });
}

BATON_DEVICE void baton_task_cross_entropy_merge(
    float *loss, int64_t loss_stride, float *statistics,
    int64_t statistics_stride, const float *partials, int64_t partials_stride,
    int64_t tiles, const float *weights, int64_t rows) {
  using namespace baton::cuda;
  for (int64_t row = baton_thread(); row < rows; row += baton_threads()) {
    const float *partial = partials + row * partials_stride;
    Weights running = {0.0f, 0.0f};
    float target = 0.0f;
    for (int64_t tile = 0; tile < tiles; ++tile, partial += 3) {
      merge(running, {partial[0], partial[1]}, tile == 0);
      target += partial[2];
    }
    statistics[row * statistics_stride] = running.maximum;
    statistics[row * statistics_stride + 1] = running.sum;
    loss[row * loss_stride] =
        weights[row] == 0.0f
            ? 0.0f
            : weights[row] * (running.maximum - target +
                              baton::cuda::log(running.sum));
  }
}

BATON_DEVICE void baton_task_cross_entropy_input_gradient(
    float *dx, int64_t dx_stride, const float *x, int64_t x_stride,
    const float *weight, int64_t weight_stride, const int32_t *targets,
    const float *weights, const float *statistics, int64_t statistics_stride,
    int64_t rows, int64_t vocabulary, int64_t columns, int64_t width,
    float scale, float softcap, float *scratch) {
  using namespace baton::cuda;
  fill_rows(dx, dx_stride, rows, width,
            [](int64_t, int64_t) { return 0.0f; });
  for (int64_t token = 0; token < vocabulary; token += columns) {
    const int64_t tokens = smaller(columns, vocabulary - token);
    const float *part = weight + token * weight_stride;
    __syncthreads();
    multiply_sides({x, x_stride, 1}, {part, weight_stride, 1}, rows, tokens,
                   width, [&](int64_t row, int64_t column, float product) {
                     scratch[row * columns + column] = gradient_of(
                         product, targets[row] == token + column, weights[row],
                         statistics + row * statistics_stride, scale, softcap);
                   });
    __syncthreads();
    for_each_element(rows, width, [&](int64_t row, int64_t column) {
      if (weights[row] == 0.0f)
        return;
      float sum = dx[row * dx_stride + column];
#pragma unroll(4)
      for (int64_t i = 0; i < tokens; ++i)
        sum = fmaf(scratch[row * columns + i], part[i * weight_stride + column],
                   sum);
      dx[row * dx_stride + column] = sum;
    });
  }
}

BATON_DEVICE void baton_task_cross_entropy_weight_gradient(
    float *dweight, int64_t dweight_stride, const float *x, int64_t x_stride,
    const float *weight, int64_t weight_stride, const int32_t *targets,
    const float *weights, const float *statistics, int64_t statistics_stride,
    int64_t rows, int64_t row_tile, int64_t first, int64_t columns,
    int64_t width, float scale, float softcap, const int32_t *accumulate,
    float *scratch) {
  using namespace baton::cuda;
  float *chains = scratch + row_tile * columns;
  fill_rows(chains, width, columns, width,
            [](int64_t, int64_t) { return 0.0f; });
  for (int64_t row = 0; row < rows; row += row_tile) {
    const int64_t count = smaller(row_tile, rows - row);
    const float *source = x + row * x_stride;
    __syncthreads();
    multiply_sides({source, x_stride, 1}, {weight, weight_stride, 1}, count,
                   columns, width,
                   [&](int64_t place, int64_t column, float product) {
                     const int64_t at = row + place;
                     scratch[place * columns + column] = gradient_of(
                         product, targets[at] == first + column, weights[at],
                         statistics + at * statistics_stride, scale, softcap);
                   });
    __syncthreads();
    for_each_element(columns, width, [&](int64_t token, int64_t column) {
      float sum = chains[token * width + column];
      for (int64_t i = 0; i < count; ++i)
        if (weights[row + i] != 0.0f)
          sum = fmaf(scratch[i * columns + token],
                     source[i * x_stride + column], sum);
      chains[token * width + column] = sum;
    });
  }
  const bool adds = joins(accumulate);
  __syncthreads();
  for_each_element(columns, width, [&](int64_t token, int64_t column) {
    float *place = dweight + token * dweight_stride + column;
    const float sum = chains[token * width + column];
    *place = adds ? sum + *place : sum;
  });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_CROSS_ENTROPY_H
