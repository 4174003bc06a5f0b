//===- paged_attention.cpp - attention to states in pages -----------------===//
//
// The arithmetic, and so the bits, of attention_blocks.h: a page is a block.
// Rows of one sequence that follow one another are taken together.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/append.h"
#include "codegen/cpu/library/attention_blocks.h"

using namespace baton::cpu;

namespace {

/// Appends rows to the pages that their slots lie in. Those behind one another
/// that go to positions behind one another are one call of `append`.
template <auto append>
BATON_INLINE void append_to_pages(Real *__restrict state, int64_t page_stride,
                                  const Real *__restrict x, int64_t x_stride,
                                  const int32_t *__restrict slots, int64_t rows,
                                  int64_t width) {
  for (int64_t row = 0; row < rows;) {
    const int64_t page = slots[row] / block_positions;
    const int64_t position = slots[row] % block_positions;
    int64_t count = 1;
    while (row + count < rows && position + count < block_positions &&
           slots[row + count] == slots[row] + count)
      ++count;
    append(state + page * page_stride, x + row * x_stride, x_stride, position,
           count, width);
    row += count;
  }
}

/// The same, each row by itself, of what is stored otherwise.
template <typename Places, typename Element>
BATON_INLINE void store_in_pages(Element *__restrict state, int64_t page_stride,
                                 const Real *__restrict x, int64_t x_stride,
                                 const int32_t *__restrict slots, int64_t rows,
                                 int64_t width, int64_t elements) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t position = slots[row] % block_positions;
    Element *panel = state + slots[row] / block_positions * page_stride +
                     position / lanes * lanes * elements;
    write<Places>(panel, position % lanes, x + row * x_stride, width);
  }
}

/// Runs of rows, each of one sequence at positions behind one another:
/// body(first row, rows).
template <typename Body>
BATON_INLINE void for_each_run(const int32_t *__restrict positions,
                               const int32_t *__restrict sequences,
                               int64_t rows, Body body) {
  for (int64_t row = 0; row < rows;) {
    const int64_t position = positions[row];
    int64_t count = 1;
    while (row + count < rows && sequences[row + count] == sequences[row] &&
           positions[row + count] == position + count)
      ++count;
    body(row, count);
    row += count;
  }
}

template <typename Element>
BATON_INLINE void attend_to_pages(
    Real *__restrict out, int64_t out_stride, const Real *__restrict q,
    int64_t q_stride, const Element *__restrict keys, int64_t key_page_stride,
    const Element *__restrict values, int64_t value_page_stride,
    const int32_t *__restrict positions, const int32_t *__restrict sequences,
    const int32_t *__restrict pages, int64_t line, int64_t rows, int64_t group,
    int64_t head_dim, int64_t value_dim, Real scale, Real softcap,
    int64_t window, const Real *__restrict gate, int64_t gate_stride,
    int64_t gate_width, const Real *__restrict sinks,
    Real *__restrict scratch) {
  for_each_run(
      positions, sequences, rows,
      [&](int64_t row, int64_t count) BATON_INLINE_LAMBDA {
        const int64_t queries = count * group;
        const int32_t *own_pages = pages + sequences[row] * line;
        Real *maxima = scratch;
        Real *sums = maxima + queries;
        const RunningResult result = {
            out + row * out_stride, out_stride, group, value_dim, maxima, sums};
        attend(result, q + row * q_stride, q_stride,
               PagedBlocks<Element>{keys, key_page_stride, own_pages, head_dim},
               PagedBlocks<Element>{values, value_page_stride, own_pages,
                                    value_dim},
               count, positions[row], group, scale, softcap, window,
               all_positions, sums + queries);
        for (int64_t query = 0; query < queries; ++query)
          result.finish(query,
                        gate ? gate + (row + query / group) * gate_stride +
                                   query % group * gate_width
                             : nullptr,
                        gate_width, sinks ? sinks + query % group : nullptr);
      });
}

/// The same, of values that are parts of keys.
template <typename Element>
BATON_INLINE void attend_to_latent_pages(
    Real *__restrict out, int64_t out_stride, const Real *__restrict q,
    int64_t q_stride, const Element *__restrict keys, int64_t key_page_stride,
    const int32_t *__restrict positions, const int32_t *__restrict sequences,
    const int32_t *__restrict pages, int64_t line, int64_t rows, int64_t group,
    int64_t head_dim, int64_t value_dim, Real scale, Real softcap,
    int64_t window, Real *__restrict scratch) {
  for_each_run(
      positions, sequences, rows,
      [&](int64_t row, int64_t count) BATON_INLINE_LAMBDA {
        const int64_t queries = count * group;
        Real *maxima = scratch;
        Real *sums = maxima + queries;
        const RunningResult result = {
            out + row * out_stride, out_stride, group, value_dim, maxima, sums};
        const PagedBlocks<Element> blocks = {
            keys, key_page_stride, pages + sequences[row] * line, head_dim};
        attend(result, q + row * q_stride, q_stride, blocks,
               PartsOfKeys<Element>(blocks, value_dim), count, positions[row],
               group, scale, softcap, window, all_positions, sums + queries);
        for (int64_t query = 0; query < queries; ++query)
          result.finish(query, /*gates=*/nullptr, /*gate_width=*/0,
                        /*sink=*/nullptr);
      });
}

} // namespace

BATON_TASK void
baton_task_append_key_pages(Real *__restrict state, int64_t page_stride,
                            const Real *__restrict x, int64_t x_stride,
                            const int32_t *__restrict slots, int64_t rows,
                            int64_t width, int64_t /*row*/) {
  append_to_pages<append_keys>(state, page_stride, x, x_stride, slots, rows,
                               width);
}

BATON_TASK void
baton_task_append_value_pages(Real *__restrict state, int64_t page_stride,
                              const Real *__restrict x, int64_t x_stride,
                              const int32_t *__restrict slots, int64_t rows,
                              int64_t width, int64_t /*row*/) {
  append_to_pages<append_values>(state, page_stride, x, x_stride, slots, rows,
                                 width);
}

#define BATON_APPEND(name, Bits, Element, Places)                              \
  BATON_TASK void name(Bits *__restrict state, int64_t page_stride,            \
                       const Real *__restrict x, int64_t x_stride,             \
                       const int32_t *__restrict slots, int64_t rows,          \
                       int64_t width, int64_t row) {                           \
    store_in_pages<Places>(reinterpret_cast<Element *>(state), page_stride, x, \
                           x_stride, slots, rows, width, row);                 \
  }
BATON_APPEND(baton_task_append_key_pages_bf16, uint16_t, BFloat16, KeyPlaces)
BATON_APPEND(baton_task_append_key_pages_int8, int8_t, Int8, KeyPlaces)
BATON_APPEND(baton_task_append_key_pages_fp8, int8_t, Float8, KeyPlaces)
BATON_APPEND(baton_task_append_value_pages_bf16, uint16_t, BFloat16,
             ValuePlaces)
BATON_APPEND(baton_task_append_value_pages_int8, int8_t, Int8, ValuePlaces)
BATON_APPEND(baton_task_append_value_pages_fp8, int8_t, Float8, ValuePlaces)
#undef BATON_APPEND

#define BATON_ATTENTION(name, Bits, Element)                                   \
  BATON_TASK void name(                                                        \
      Real *__restrict out, int64_t out_stride, const Real *__restrict q,      \
      int64_t q_stride, const Bits *__restrict keys, int64_t key_page_stride,  \
      const Bits *__restrict values, int64_t value_page_stride,                \
      const int32_t *__restrict positions,                                     \
      const int32_t *__restrict sequences, const int32_t *__restrict pages,    \
      int64_t /*page_count*/, int64_t line, int64_t /*step_rows*/,             \
      int64_t rows, int64_t group, int64_t head_dim, int64_t value_dim,        \
      int64_t /*key_row*/, int64_t /*value_row*/, Real scale, Real softcap,    \
      int64_t window, const Real *__restrict gate, int64_t gate_stride,        \
      int64_t gate_width, const Real *__restrict sinks,                        \
      Real *__restrict scratch) {                                              \
    attend_to_pages(out, out_stride, q, q_stride,                              \
                    reinterpret_cast<const Element *>(keys), key_page_stride,  \
                    reinterpret_cast<const Element *>(values),                 \
                    value_page_stride, positions, sequences, pages, line,      \
                    rows, group, head_dim, value_dim, scale, softcap, window,  \
                    gate, gate_stride, gate_width, sinks, scratch);            \
  }
BATON_ATTENTION(baton_task_paged_attention, Real, Real)
BATON_ATTENTION(baton_task_paged_attention_bf16, uint16_t, BFloat16)
BATON_ATTENTION(baton_task_paged_attention_int8, int8_t, Int8)
BATON_ATTENTION(baton_task_paged_attention_fp8, int8_t, Float8)
#undef BATON_ATTENTION

#define BATON_LATENT_ATTENTION(name, Bits, Element)                            \
  BATON_TASK void name(                                                        \
      Real *__restrict out, int64_t out_stride, const Real *__restrict q,      \
      int64_t q_stride, const Bits *__restrict keys, int64_t key_page_stride,  \
      const int32_t *__restrict positions,                                     \
      const int32_t *__restrict sequences, const int32_t *__restrict pages,    \
      int64_t /*page_count*/, int64_t line, int64_t /*step_rows*/,             \
      int64_t rows, int64_t group, int64_t head_dim, int64_t value_dim,        \
      int64_t /*key_row*/, Real scale, Real softcap, int64_t window,           \
      Real *__restrict scratch) {                                              \
    attend_to_latent_pages(                                                    \
        out, out_stride, q, q_stride, reinterpret_cast<const Element *>(keys), \
        key_page_stride, positions, sequences, pages, line, rows, group,       \
        head_dim, value_dim, scale, softcap, window, scratch);                 \
  }
BATON_LATENT_ATTENTION(baton_task_paged_latent_attention, Real, Real)
BATON_LATENT_ATTENTION(baton_task_paged_latent_attention_bf16, uint16_t,
                       BFloat16)
BATON_LATENT_ATTENTION(baton_task_paged_latent_attention_int8, int8_t, Int8)
BATON_LATENT_ATTENTION(baton_task_paged_latent_attention_fp8, int8_t, Float8)
#undef BATON_LATENT_ATTENTION
