//===- softmax.cpp - causal mask and softmax ------------------------------===//
//
// The unfused form of what attention.cpp does block by block.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/math.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

/// out[j] = x[j] for begin <= j < end, else `hidden`.
static BATON_INLINE void mask_row(Real *out, const Real *x, int64_t width,
                                  int64_t begin, int64_t end, Real hidden) {
  for_each_vector(width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
    // 64-bit positions clamped to this vector fit its 32-bit lanes.
    int64_t from = begin - first < 0 ? 0 : begin - first;
    int64_t to = end - first < 0 ? 0 : end - first;
    IntegerVector low(static_cast<Integer>(from > lanes ? lanes : from));
    IntegerVector high(static_cast<Integer>(to > lanes ? lanes : to));
    IntegerVector lane = lane_indices();
    store(out + first,
          ((lane >= low) & (lane < high)) ? load(x + first, count)
                                          : splat(hidden),
          count);
  });
}

BATON_TASK void baton_task_mask_causal(Real *out, int64_t out_stride,
                                       const Real *x, int64_t x_stride,
                                       int64_t rows, int64_t width,
                                       int64_t position, int64_t window) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t end = position + row + 1;
    const int64_t begin = window > 0 && end > window ? end - window : 0;
    mask_row(out + row * out_stride, x + row * x_stride, width, begin, end,
             -__builtin_inff());
  }
}

BATON_TASK void baton_task_mask_sequences(Real *out, int64_t out_stride,
                                          const Real *x, int64_t x_stride,
                                          int64_t rows, int64_t width,
                                          const int32_t *positions,
                                          int64_t first_row, int64_t window,
                                          Real hidden) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t end = first_row + row + 1;
    const int64_t seen = positions[row] + int64_t(1);
    mask_row(out + row * out_stride, x + row * x_stride, width,
             end - (window > 0 && seen > window ? window : seen), end, hidden);
  }
}

BATON_TASK void baton_task_softmax(Real *out, int64_t out_stride, const Real *x,
                                   int64_t x_stride, int64_t rows,
                                   int64_t width, const Real *sink) {
  const Real negative_infinity = -__builtin_inff();
  for (int64_t row = 0; row < rows; ++row) {
    const Real *source = x + row * x_stride;
    Real *destination = out + row * out_stride;
    Vector maxima = splat(negative_infinity);
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      maxima = maximum(keep_first(load(source + first, count),
                                                  count, negative_infinity),
                                       maxima);
                    });
    // Shifting by -infinity would make NaN of a row that is wholly masked.
    Real shift = reduce_maximum(maxima);
    if (sink && *sink > shift)
      shift = *sink;
    shift = shift == negative_infinity ? 0.0f : shift;
    Vector sums = splat(0.0f);
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          Vector value =
              keep_first(exp(load(source + first, count) - shift), count, 0.0f);
          sums += value;
          store(destination + first, value, count);
        });
    Real sum = reduce_sum(sums);
    if (sink)
      sum += exp(splat(*sink - shift))[0];
    sum = sum == 0.0f ? 1.0f : sum;
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      store(destination + first, load(destination + first, count) / sum, count);
    });
  }
}
