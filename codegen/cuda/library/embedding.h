//===- embedding.h - token and position embeddings ------------------------===//
//
// Gathers rows of a table, from the checkpoint's own layout or, where the table
// is an output projection as well, from its panels.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_EMBEDDING_H
#define BATON_CODEGEN_CUDA_LIBRARY_EMBEDDING_H

#include "codegen/cuda/library/blocks.h"
#include "codegen/cuda/library/lanes.h"
#include "codegen/cuda/library/math.h"
#include "codegen/cuda/library/weights.h"

namespace baton::cuda {

/// Tokens of the vocabulary that a table has: `count` of them, from `begin` on.
struct Tokens {
  int64_t begin, count;
};

/// `read(token, column)` is an element of the table. Tokens that it has not are
/// 0, unknown ones NaN.
template <typename Read>
BATON_DEVICE void embedding(float *out, int64_t out_stride,
                            const int32_t *tokens, int64_t rows, int64_t width,
                            int64_t vocabulary, float multiplier, Tokens own,
                            Read read) {
  fill_rows(out, out_stride, rows, width, [&](int64_t row, int64_t column) {
    const int64_t token = tokens[row], at = token - own.begin;
    if (token < 0 || token >= vocabulary)
      return quiet_nan();
    return at >= 0 && at < own.count ? read(at, column) * multiplier : 0.0f;
  });
}

template <typename Weight>
BATON_DEVICE void from_table(float *out, int64_t out_stride,
                             const int32_t *tokens, const Weight *table,
                             int64_t rows, int64_t width, int64_t vocabulary,
                             float multiplier, Tokens own) {
  embedding(out, out_stride, tokens, rows, width, vocabulary, multiplier, own,
            [&](int64_t token, int64_t column) {
              return load_weight(table + token * width + column);
            });
}

template <typename Weight>
BATON_DEVICE void from_panels(float *out, int64_t out_stride,
                              const int32_t *tokens, const Weight *panels,
                              int64_t rows, int64_t width, int64_t vocabulary,
                              float multiplier, Tokens own) {
  embedding(out, out_stride, tokens, rows, width, vocabulary, multiplier, own,
            [&](int64_t token, int64_t column) {
              return load_weight(panels +
                                 (token / lanes * width + column) * lanes +
                                 token % lanes);
            });
}

template <typename Block>
BATON_DEVICE void
from_panels(float *out, int64_t out_stride, const int32_t *tokens,
            const Quantised<Block> *panels, int64_t rows, int64_t width,
            int64_t vocabulary, float multiplier, Tokens own) {
  const int64_t stride = panel_bytes<Block>(width);
  embedding(out, out_stride, tokens, rows, width, vocabulary, multiplier, own,
            [&](int64_t token, int64_t column) {
              return weight_at(panels + token / lanes * stride, column,
                               token % lanes);
            });
}

template <typename Weight>
BATON_DEVICE void position_embedding(float *out, int64_t out_stride,
                                     const Weight *table, int64_t position,
                                     int64_t rows, int64_t width) {
  fill_rows(out, out_stride, rows, width, [&](int64_t row, int64_t column) {
    return load_weight(table + (position + row) * width + column);
  });
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_embedding_f32(float *out, int64_t out_stride,
                                           const int32_t *tokens,
                                           const float *table, int64_t rows,
                                           int64_t width, int64_t vocabulary,
                                           float multiplier) {
  baton::cuda::from_table(out, out_stride, tokens, table, rows, width,
                          vocabulary, multiplier, {0, vocabulary});
}

BATON_DEVICE void baton_task_embedding_bf16(float *out, int64_t out_stride,
                                            const int32_t *tokens,
                                            const uint16_t *table, int64_t rows,
                                            int64_t width, int64_t vocabulary,
                                            float multiplier) {
  baton::cuda::from_table(out, out_stride, tokens,
                          baton::cuda::as_bfloat16(table), rows, width,
                          vocabulary, multiplier, {0, vocabulary});
}

BATON_DEVICE void baton_task_embedding_f16(float *out, int64_t out_stride,
                                           const int32_t *tokens,
                                           const uint16_t *table, int64_t rows,
                                           int64_t width, int64_t vocabulary,
                                           float multiplier) {
  baton::cuda::from_table(out, out_stride, tokens,
                          baton::cuda::as_float16(table), rows, width,
                          vocabulary, multiplier, {0, vocabulary});
}

BATON_DEVICE void baton_task_embedding_panels_f32(
    float *out, int64_t out_stride, const int32_t *tokens, const float *panels,
    int64_t rows, int64_t width, int64_t vocabulary, float multiplier) {
  baton::cuda::from_panels(out, out_stride, tokens, panels, rows, width,
                           vocabulary, multiplier, {0, vocabulary});
}

BATON_DEVICE void
baton_task_embedding_panels_bf16(float *out, int64_t out_stride,
                                 const int32_t *tokens, const uint16_t *panels,
                                 int64_t rows, int64_t width,
                                 int64_t vocabulary, float multiplier) {
  baton::cuda::from_panels(out, out_stride, tokens,
                           baton::cuda::as_bfloat16(panels), rows, width,
                           vocabulary, multiplier, {0, vocabulary});
}

BATON_DEVICE void
baton_task_embedding_panels_f16(float *out, int64_t out_stride,
                                const int32_t *tokens, const uint16_t *panels,
                                int64_t rows, int64_t width, int64_t vocabulary,
                                float multiplier) {
  baton::cuda::from_panels(out, out_stride, tokens,
                           baton::cuda::as_float16(panels), rows, width,
                           vocabulary, multiplier, {0, vocabulary});
}

BATON_DEVICE void
baton_task_embedding_part_f32(float *out, int64_t out_stride,
                              const int32_t *tokens, const float *table,
                              int64_t rows, int64_t width, int64_t vocabulary,
                              float multiplier, const int32_t *place) {
  baton::cuda::from_table(out, out_stride, tokens, table, rows, width,
                          vocabulary, multiplier, {place[0], place[1]});
}

BATON_DEVICE void
baton_task_embedding_part_bf16(float *out, int64_t out_stride,
                               const int32_t *tokens, const uint16_t *table,
                               int64_t rows, int64_t width, int64_t vocabulary,
                               float multiplier, const int32_t *place) {
  baton::cuda::from_table(out, out_stride, tokens,
                          baton::cuda::as_bfloat16(table), rows, width,
                          vocabulary, multiplier, {place[0], place[1]});
}

BATON_DEVICE void
baton_task_embedding_part_f16(float *out, int64_t out_stride,
                              const int32_t *tokens, const uint16_t *table,
                              int64_t rows, int64_t width, int64_t vocabulary,
                              float multiplier, const int32_t *place) {
  baton::cuda::from_table(out, out_stride, tokens,
                          baton::cuda::as_float16(table), rows, width,
                          vocabulary, multiplier, {place[0], place[1]});
}

BATON_DEVICE void baton_task_embedding_panels_part_f32(
    float *out, int64_t out_stride, const int32_t *tokens, const float *panels,
    int64_t rows, int64_t width, int64_t vocabulary, float multiplier,
    const int32_t *place) {
  baton::cuda::from_panels(out, out_stride, tokens, panels, rows, width,
                           vocabulary, multiplier, {place[0], place[1]});
}

BATON_DEVICE void baton_task_embedding_panels_part_bf16(
    float *out, int64_t out_stride, const int32_t *tokens,
    const uint16_t *panels, int64_t rows, int64_t width, int64_t vocabulary,
    float multiplier, const int32_t *place) {
  baton::cuda::from_panels(out, out_stride, tokens,
                           baton::cuda::as_bfloat16(panels), rows, width,
                           vocabulary, multiplier, {place[0], place[1]});
}

BATON_DEVICE void baton_task_embedding_panels_part_f16(
    float *out, int64_t out_stride, const int32_t *tokens,
    const uint16_t *panels, int64_t rows, int64_t width, int64_t vocabulary,
    float multiplier, const int32_t *place) {
  baton::cuda::from_panels(out, out_stride, tokens,
                           baton::cuda::as_float16(panels), rows, width,
                           vocabulary, multiplier, {place[0], place[1]});
}

BATON_DEVICE void
baton_task_position_embedding_f32(float *out, int64_t out_stride,
                                  const float *table, int64_t position,
                                  int64_t rows, int64_t width) {
  baton::cuda::position_embedding(out, out_stride, table, position, rows,
                                  width);
}

BATON_DEVICE void
baton_task_position_embedding_bf16(float *out, int64_t out_stride,
                                   const uint16_t *table, int64_t position,
                                   int64_t rows, int64_t width) {
  baton::cuda::position_embedding(
      out, out_stride, baton::cuda::as_bfloat16(table), position, rows, width);
}

BATON_DEVICE void
baton_task_position_embedding_f16(float *out, int64_t out_stride,
                                  const uint16_t *table, int64_t position,
                                  int64_t rows, int64_t width) {
  baton::cuda::position_embedding(
      out, out_stride, baton::cuda::as_float16(table), position, rows, width);
}

#define BATON_EMBEDDING_OF_BLOCKS(NAME, BLOCK)                                 \
  BATON_DEVICE void baton_task_embedding_panels_##NAME(                        \
      float *out, int64_t out_stride, const int32_t *tokens,                   \
      const int8_t *panels, int64_t rows, int64_t width, int64_t vocabulary,   \
      float multiplier) {                                                      \
    baton::cuda::from_panels(                                                  \
        out, out_stride, tokens,                                               \
        reinterpret_cast<                                                      \
            const baton::cuda::Quantised<baton::blocks::BLOCK> *>(panels),     \
        rows, width, vocabulary, multiplier, {0, vocabulary});                 \
  }                                                                            \
  BATON_DEVICE void baton_task_embedding_panels_part_##NAME(                   \
      float *out, int64_t out_stride, const int32_t *tokens,                   \
      const int8_t *panels, int64_t rows, int64_t width, int64_t vocabulary,   \
      float multiplier, const int32_t *place) {                                \
    baton::cuda::from_panels(                                                  \
        out, out_stride, tokens,                                               \
        reinterpret_cast<                                                      \
            const baton::cuda::Quantised<baton::blocks::BLOCK> *>(panels),     \
        rows, width, vocabulary, multiplier, {place[0], place[1]});            \
  }
BATON_FOR_EACH_BLOCK(BATON_EMBEDDING_OF_BLOCKS)
#undef BATON_EMBEDDING_OF_BLOCKS

#endif // BATON_CODEGEN_CUDA_LIBRARY_EMBEDDING_H
