//===- rope.h - rotary position embedding ---------------------------------===//
//
// The table is computed once per step and shared by all layers and heads.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ROPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_ROPE_H

#include "codegen/cuda/library/elements.h"

namespace baton::cuda {

/// The table of rows at place(row).
template <typename Place>
BATON_DEVICE void rope_table(float *out, int64_t out_stride,
                             const float *inverse_frequencies, int64_t half,
                             int64_t rows, float scale, Place place) {
  for_each_element(rows, half, [&](int64_t row, int64_t i) {
    const float angle =
        static_cast<float>(place(row)) * inverse_frequencies[i];
    float *cosine = out + row * out_stride + i;
    cosine[0] = cosf(angle) * scale;
    cosine[half] = sinf(angle) * scale;
  });
}

/// turn(low, high, cosine, sine) turns pairs in place. A pair is one thread's,
/// which makes rotating in place safe.
template <typename Turn>
BATON_DEVICE void rotate(float *out, int64_t out_stride, const float *x,
                         int64_t x_stride, const float *table,
                         int64_t table_stride, int64_t rows, int64_t heads,
                         int64_t head_dim, int64_t half, Turn turn) {
  for_each_element(
      rows * heads, head_dim - half, [&](int64_t vector, int64_t i) {
        const int64_t row =
            static_cast<uint32_t>(vector) / static_cast<uint32_t>(heads);
        const int64_t head = vector - row * heads;
        const float *source = x + row * x_stride + head * head_dim;
        float *destination = out + row * out_stride + head * head_dim;
        if (i >= half) {
          destination[half + i] = source[half + i];
          return;
        }
        float low = source[i];
        float high = source[half + i];
        turn(low, high, table[row * table_stride + i],
             table[row * table_stride + half + i]);
        destination[i] = low;
        destination[half + i] = high;
      });
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_rope_table(float *out, int64_t out_stride,
                                        const float *inverse_frequencies,
                                        int64_t half, int64_t position,
                                        int64_t rows, float scale) {
  baton::cuda::rope_table(out, out_stride, inverse_frequencies, half, rows,
                          scale, [&](int64_t row) { return position + row; });
}

BATON_DEVICE void baton_task_rope_table_at(float *out, int64_t out_stride,
                                           const float *inverse_frequencies,
                                           int64_t half,
                                           const int32_t *positions,
                                           int64_t rows, float scale) {
  baton::cuda::rope_table(out, out_stride, inverse_frequencies, half, rows,
                          scale, [&](int64_t row) { return positions[row]; });
}

BATON_DEVICE void baton_task_rope(float *out, int64_t out_stride,
                                  const float *x, int64_t x_stride,
                                  const float *table, int64_t table_stride,
                                  int64_t rows, int64_t heads, int64_t head_dim,
                                  int64_t half) {
  baton::cuda::rotate(out, out_stride, x, x_stride, table, table_stride, rows,
                      heads, head_dim, half,
                      [](float &low, float &high, float cosine, float sine) {
                        const float turned = low * cosine - high * sine;
                        high = high * cosine + low * sine;
                        low = turned;
                      });
}

BATON_DEVICE void baton_task_rope_back(float *out, int64_t out_stride,
                                       const float *dy, int64_t dy_stride,
                                       const float *table, int64_t table_stride,
                                       int64_t rows, int64_t heads,
                                       int64_t head_dim, int64_t half) {
  baton::cuda::rotate(out, out_stride, dy, dy_stride, table, table_stride, rows,
                      heads, head_dim, half,
                      [](float &low, float &high, float cosine, float sine) {
                        const float turned = low * cosine + high * sine;
                        high = high * cosine - low * sine;
                        low = turned;
                      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ROPE_H
