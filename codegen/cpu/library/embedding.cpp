//===- embedding.cpp - token and position embeddings ----------------------===//
//
// Gathers rows of a table that is stored in the checkpoint's own layout.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/weights.h"

using namespace baton::cpu;

namespace {

template <typename Weight>
BATON_INLINE void
embedding(float *__restrict out, int64_t out_stride,
          const int32_t *__restrict tokens, const Weight *__restrict table,
          int64_t rows, int64_t width, int64_t vocabulary, float multiplier) {
  for (int64_t row = 0; row < rows; ++row) {
    int64_t token = tokens[row];
    float *destination = out + row * out_stride;
    if (token < 0 || token >= vocabulary) {
      for_each_vector(
          width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
            store(destination + first, splat(__builtin_nanf("")), count);
          });
      continue;
    }
    const Weight *source = table + token * width;
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(destination + first,
                load_weights(source + first, count) * multiplier, count);
        });
  }
}

template <typename Weight>
BATON_INLINE void position_embedding(float *__restrict out, int64_t out_stride,
                                     const Weight *__restrict table,
                                     int64_t position, int64_t rows,
                                     int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Weight *source = table + (position + row) * width;
    float *destination = out + row * out_stride;
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      store(destination + first, load_weights(source + first, count), count);
    });
  }
}

} // namespace

BATON_TASK void baton_task_embedding_f32(float *out, int64_t out_stride,
                                         const int32_t *tokens,
                                         const float *table, int64_t rows,
                                         int64_t width, int64_t vocabulary,
                                         float multiplier) {
  embedding(out, out_stride, tokens, table, rows, width, vocabulary,
            multiplier);
}

BATON_TASK void baton_task_embedding_bf16(float *out, int64_t out_stride,
                                          const int32_t *tokens,
                                          const uint16_t *table, int64_t rows,
                                          int64_t width, int64_t vocabulary,
                                          float multiplier) {
  embedding(out, out_stride, tokens, reinterpret_cast<const BFloat16 *>(table),
            rows, width, vocabulary, multiplier);
}

BATON_TASK void baton_task_embedding_f16(float *out, int64_t out_stride,
                                         const int32_t *tokens,
                                         const uint16_t *table, int64_t rows,
                                         int64_t width, int64_t vocabulary,
                                         float multiplier) {
  embedding(out, out_stride, tokens, reinterpret_cast<const Float16 *>(table),
            rows, width, vocabulary, multiplier);
}

BATON_TASK void baton_task_position_embedding_f32(float *out,
                                                  int64_t out_stride,
                                                  const float *table,
                                                  int64_t position,
                                                  int64_t rows, int64_t width) {
  position_embedding(out, out_stride, table, position, rows, width);
}

BATON_TASK void
baton_task_position_embedding_bf16(float *out, int64_t out_stride,
                                   const uint16_t *table, int64_t position,
                                   int64_t rows, int64_t width) {
  position_embedding(out, out_stride, reinterpret_cast<const BFloat16 *>(table),
                     position, rows, width);
}

BATON_TASK void baton_task_position_embedding_f16(float *out,
                                                  int64_t out_stride,
                                                  const uint16_t *table,
                                                  int64_t position,
                                                  int64_t rows, int64_t width) {
  position_embedding(out, out_stride, reinterpret_cast<const Float16 *>(table),
                     position, rows, width);
}
