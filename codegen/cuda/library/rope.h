//===- rope.h - rotary position embedding ---------------------------------===//
//
// The table is computed once per step and shared by all layers and heads.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ROPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_ROPE_H

#include "codegen/cuda/library/elements.h"

BATON_DEVICE void baton_task_rope_table(float *out, int64_t out_stride,
                                        const float *inverse_frequencies,
                                        int64_t half, int64_t position,
                                        int64_t rows, float scale) {
  baton::cuda::for_each_element(rows, half, [&](int64_t row, int64_t i) {
    const float angle =
        static_cast<float>(position + row) * inverse_frequencies[i];
    float *cosine = out + row * out_stride + i;
    cosine[0] = cosf(angle) * scale;
    cosine[half] = sinf(angle) * scale;
  });
}

BATON_DEVICE void baton_task_rope(float *out, int64_t out_stride,
                                  const float *x, int64_t x_stride,
                                  const float *table, int64_t table_stride,
                                  int64_t rows, int64_t heads, int64_t head_dim,
                                  int64_t half) {
  // A pair is one thread's, which makes rotating in place safe.
  baton::cuda::for_each_element(
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
        const float cosine = table[row * table_stride + i];
        const float sine = table[row * table_stride + half + i];
        const float low = source[i];
        const float high = source[half + i];
        destination[i] = low * cosine - high * sine;
        destination[half + i] = high * cosine + low * sine;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ROPE_H
