//===- rope.cpp - rotary position embedding -------------------------------===//
//
// The table is computed once per step and shared by all layers and heads.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

BATON_TASK void
baton_task_rope_table(float *__restrict out, int64_t out_stride,
                      const float *__restrict inverse_frequencies, int64_t half,
                      int64_t position, int64_t rows, float scale) {
  for (int64_t row = 0; row < rows; ++row) {
    float *cosines = out + row * out_stride;
    float *sines = cosines + half;
    float absolute = static_cast<float>(position + row);
    for (int64_t i = 0; i < half; ++i) {
      float angle = absolute * inverse_frequencies[i];
      cosines[i] = __builtin_cosf(angle) * scale;
      sines[i] = __builtin_sinf(angle) * scale;
    }
  }
}

BATON_TASK void baton_task_rope(float *out, int64_t out_stride, const float *x,
                                int64_t x_stride, const float *__restrict table,
                                int64_t table_stride, int64_t rows,
                                int64_t heads, int64_t head_dim, int64_t half) {
  for (int64_t row = 0; row < rows; ++row) {
    const float *cosines = table + row * table_stride;
    const float *sines = cosines + half;
    for (int64_t head = 0; head < heads; ++head) {
      const float *source = x + row * x_stride + head * head_dim;
      float *destination = out + row * out_stride + head * head_dim;
      for_each_vector(half, [&](int64_t first,
                                int64_t count) BATON_INLINE_LAMBDA {
        Vector low = load(source + first, count);
        Vector high = load(source + half + first, count);
        Vector cosine = load(cosines + first, count);
        Vector sine = load(sines + first, count);
        store(destination + first, low * cosine - high * sine, count);
        store(destination + half + first, high * cosine + low * sine, count);
      });
      for_each_vector(head_dim - 2 * half,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        store(destination + 2 * half + first,
                              load(source + 2 * half + first, count), count);
                      });
    }
  }
}
