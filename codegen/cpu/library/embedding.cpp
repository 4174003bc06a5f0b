//===- embedding.cpp - token and position embeddings ----------------------===//
//
// Gathers rows of a table, from the checkpoint's own layout or, where the table
// is an output projection as well, from its panels.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/blocks.h"
#include "codegen/cpu/library/library.h"

using namespace baton::cpu;

namespace {

/// `read(row, first, count)` returns elements [first, first + count) of a row
/// of a table with `tokens` of the vocabulary, from `begin` on. Others give 0.
template <typename Read>
BATON_INLINE void embedding(Real *__restrict out, int64_t out_stride,
                            const int32_t *__restrict tokens, int64_t rows,
                            int64_t width, int64_t vocabulary, Real multiplier,
                            int64_t begin, int64_t count_of_tokens, Read read) {
  for (int64_t row = 0; row < rows; ++row) {
    int64_t token = tokens[row], own = token - begin;
    Real *destination = out + row * out_stride;
    bool isKnown = token >= 0 && token < vocabulary;
    bool isOwn = isKnown && own >= 0 && own < count_of_tokens;
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      store(destination + first,
                            isOwn ? read(own, first, count) * multiplier
                                  : splat(isKnown ? 0.0f : __builtin_nanf("")),
                            count);
                    });
  }
}

template <typename Weight>
BATON_INLINE void from_table(Real *out, int64_t out_stride,
                             const int32_t *tokens, const Weight *table,
                             int64_t rows, int64_t width, int64_t vocabulary,
                             Real multiplier, int64_t begin, int64_t own) {
  embedding(
      out, out_stride, tokens, rows, width, vocabulary, multiplier, begin, own,
      [&](int64_t token, int64_t first, int64_t count) BATON_INLINE_LAMBDA {
        return load_weights(table + token * width + first, count);
      });
}

template <typename Weight>
BATON_INLINE void from_panels(Real *out, int64_t out_stride,
                              const int32_t *tokens, const Weight *panels,
                              int64_t rows, int64_t width, int64_t vocabulary,
                              Real multiplier, int64_t begin, int64_t own) {
  embedding(
      out, out_stride, tokens, rows, width, vocabulary, multiplier, begin, own,
      [&](int64_t token, int64_t first, int64_t count) BATON_INLINE_LAMBDA {
        const Weight *column =
            panels + token / lanes * lanes * width + token % lanes;
        Weight elements[lanes] = {};
        for (int64_t i = 0; i < count; ++i)
          elements[i] = column[(first + i) * lanes];
        return load_weights(elements);
      });
}

/// Of blocks, which come in panels only.
template <typename Block>
BATON_INLINE void
from_panels(Real *out, int64_t out_stride, const int32_t *tokens,
            const Quantised<Block> *panels, int64_t rows, int64_t width,
            int64_t vocabulary, Real multiplier, int64_t begin, int64_t own) {
  const int64_t panel_stride = PanelSize<Quantised<Block>>::of(width);
  embedding(out, out_stride, tokens, rows, width, vocabulary, multiplier, begin,
            own,
            [&](int64_t token, int64_t first, int64_t) BATON_INLINE_LAMBDA {
              return weights_of_output(panels + token / lanes * panel_stride,
                                       token % lanes, first);
            });
}

template <typename Weight>
BATON_INLINE void position_embedding(Real *__restrict out, int64_t out_stride,
                                     const Weight *__restrict table,
                                     int64_t position, int64_t rows,
                                     int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Weight *source = table + (position + row) * width;
    Real *destination = out + row * out_stride;
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      store(destination + first, load_weights(source + first, count), count);
    });
  }
}

} // namespace

BATON_TASK void baton_task_embedding_f32(Real *out, int64_t out_stride,
                                         const int32_t *tokens,
                                         const Real *table, int64_t rows,
                                         int64_t width, int64_t vocabulary,
                                         Real multiplier) {
  from_table(out, out_stride, tokens, table, rows, width, vocabulary,
             multiplier, 0, vocabulary);
}

BATON_TASK void baton_task_embedding_bf16(Real *out, int64_t out_stride,
                                          const int32_t *tokens,
                                          const uint16_t *table, int64_t rows,
                                          int64_t width, int64_t vocabulary,
                                          Real multiplier) {
  from_table(out, out_stride, tokens, reinterpret_cast<const BFloat16 *>(table),
             rows, width, vocabulary, multiplier, 0, vocabulary);
}

BATON_TASK void baton_task_embedding_f16(Real *out, int64_t out_stride,
                                         const int32_t *tokens,
                                         const uint16_t *table, int64_t rows,
                                         int64_t width, int64_t vocabulary,
                                         Real multiplier) {
  from_table(out, out_stride, tokens, reinterpret_cast<const Float16 *>(table),
             rows, width, vocabulary, multiplier, 0, vocabulary);
}

BATON_TASK void baton_task_embedding_panels_f32(
    Real *out, int64_t out_stride, const int32_t *tokens, const Real *panels,
    int64_t rows, int64_t width, int64_t vocabulary, Real multiplier) {
  from_panels(out, out_stride, tokens, panels, rows, width, vocabulary,
              multiplier, 0, vocabulary);
}

BATON_TASK void baton_task_embedding_panels_bf16(Real *out, int64_t out_stride,
                                                 const int32_t *tokens,
                                                 const uint16_t *panels,
                                                 int64_t rows, int64_t width,
                                                 int64_t vocabulary,
                                                 Real multiplier) {
  from_panels(out, out_stride, tokens,
              reinterpret_cast<const BFloat16 *>(panels), rows, width,
              vocabulary, multiplier, 0, vocabulary);
}

BATON_TASK void baton_task_embedding_panels_f16(Real *out, int64_t out_stride,
                                                const int32_t *tokens,
                                                const uint16_t *panels,
                                                int64_t rows, int64_t width,
                                                int64_t vocabulary,
                                                Real multiplier) {
  from_panels(out, out_stride, tokens,
              reinterpret_cast<const Float16 *>(panels), rows, width,
              vocabulary, multiplier, 0, vocabulary);
}

#define BATON_EMBEDDING_PART(NAME, FROM, STORED, WEIGHT)                       \
  BATON_TASK void baton_task_##NAME(                                           \
      Real *out, int64_t out_stride, const int32_t *tokens,                    \
      const STORED *table, int64_t rows, int64_t width, int64_t vocabulary,    \
      Real multiplier, const int32_t *place) {                                 \
    FROM(out, out_stride, tokens, reinterpret_cast<const WEIGHT *>(table),     \
         rows, width, vocabulary, multiplier, place[0], place[1]);             \
  }
BATON_EMBEDDING_PART(embedding_part_f32, from_table, Real, Real)
BATON_EMBEDDING_PART(embedding_part_bf16, from_table, uint16_t, BFloat16)
BATON_EMBEDDING_PART(embedding_part_f16, from_table, uint16_t, Float16)
BATON_EMBEDDING_PART(embedding_panels_part_f32, from_panels, Real, Real)
BATON_EMBEDDING_PART(embedding_panels_part_bf16, from_panels, uint16_t,
                     BFloat16)
BATON_EMBEDDING_PART(embedding_panels_part_f16, from_panels, uint16_t, Float16)
#define BATON_EMBEDDING_OF_BLOCKS(NAME, BLOCK)                                 \
  BATON_TASK void baton_task_embedding_panels_##NAME(                          \
      Real *out, int64_t out_stride, const int32_t *tokens,                    \
      const int8_t *panels, int64_t rows, int64_t width, int64_t vocabulary,   \
      Real multiplier) {                                                       \
    from_panels(out, out_stride, tokens,                                       \
                reinterpret_cast<const Quantised<blocks::BLOCK> *>(panels),    \
                rows, width, vocabulary, multiplier, 0, vocabulary);           \
  }                                                                            \
  BATON_EMBEDDING_PART(embedding_panels_part_##NAME, from_panels, int8_t,      \
                       Quantised<blocks::BLOCK>)
BATON_FOR_EACH_BLOCK(BATON_EMBEDDING_OF_BLOCKS)
#undef BATON_EMBEDDING_OF_BLOCKS
#undef BATON_EMBEDDING_PART

BATON_TASK void baton_task_position_embedding_f32(Real *out, int64_t out_stride,
                                                  const Real *table,
                                                  int64_t position,
                                                  int64_t rows, int64_t width) {
  position_embedding(out, out_stride, table, position, rows, width);
}

BATON_TASK void
baton_task_position_embedding_bf16(Real *out, int64_t out_stride,
                                   const uint16_t *table, int64_t position,
                                   int64_t rows, int64_t width) {
  position_embedding(out, out_stride, reinterpret_cast<const BFloat16 *>(table),
                     position, rows, width);
}

BATON_TASK void baton_task_position_embedding_f16(Real *out, int64_t out_stride,
                                                  const uint16_t *table,
                                                  int64_t position,
                                                  int64_t rows, int64_t width) {
  position_embedding(out, out_stride, reinterpret_cast<const Float16 *>(table),
                     position, rows, width);
}
