//===- paged_attention.h - attention to states in pages -------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PAGED_ATTENTION_H
#define BATON_CODEGEN_CUDA_LIBRARY_PAGED_ATTENTION_H

#include "codegen/cuda/library/attention.h"

namespace baton::cuda {

/// Appends rows that are stored otherwise than as F32, a warp each.
template <typename Places, typename Element>
BATON_DEVICE void store_in_pages(Element *state, int64_t page_stride,
                                 const float *x, int64_t x_stride,
                                 const int32_t *slots, int64_t rows,
                                 int64_t width, int64_t elements) {
  for (int64_t row = threadIdx.x / 32; row < rows; row += blockDim.x / 32) {
    const int64_t position = slots[row] % block_positions;
    Element *const panel = state + slots[row] / block_positions * page_stride +
                           position / lanes * lanes * elements;
    write_row<Places>(panel, position % lanes, x + row * x_stride, width);
  }
}

/// Rows of several sequences; those of one that follow one another are taken
/// together. states_of(row) has the states of its sequence; finish(task, row,
/// query, value, running) makes of an element, whose query is counted from the
/// row on, what is stored.
template <typename States, typename StatesOf, typename Finish>
BATON_DEVICE void
attend_to_pages(float *out, int64_t out_stride, const float *q,
                int64_t q_stride, const int32_t *positions,
                const int32_t *sequences, int64_t rows, int64_t group,
                int64_t head_dim, int64_t value_dim, float scale, float softcap,
                int64_t window, float *scratch, StatesOf states_of,
                Finish finish) {
  for (int64_t row = 0, count; row < rows; row += count) {
    const int64_t position = positions[row];
    count = 1;
    while (row + count < rows && sequences[row + count] == sequences[row] &&
           positions[row + count] == position + count)
      ++count;
    // The run before reads its sums to the end.
    __syncthreads();
    Attention<States> task{
        {q + row * q_stride,
         q_stride,
         states_of(row),
         position,
         group,
         head_dim,
         value_dim,
         scale,
         softcap,
         window,
         {visible_to(position, window).begin, position + count}}};
    task.out = out + row * out_stride;
    task.out_stride = out_stride;
    attend(
        task, count, scratch, [](int64_t, Weights) {},
        [&](int64_t query, int64_t element, float value, Weights running) {
          return finish(row + task.row_of(query), task.head_of(query), element,
                        value, running);
        });
  }
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_append_key_pages(float *state, int64_t page_stride,
                                              const float *x, int64_t x_stride,
                                              const int32_t *slots,
                                              int64_t rows, int64_t width,
                                              int64_t /*row*/) {
  using baton::cuda::block_positions;
  if (rows == 0)
    return;
  baton::cuda::fill(
      baton::cuda::walk_of_block(rows), width,
      [&](int64_t d, int64_t row) {
        const int64_t slot = slots[row];
        return state + slot / block_positions * page_stride +
               baton::cuda::key_place(slot % block_positions, d, width);
      },
      [&](int64_t d, int64_t row) { return x[row * x_stride + d]; });
}

BATON_DEVICE void
baton_task_append_value_pages(float *state, int64_t page_stride, const float *x,
                              int64_t x_stride, const int32_t *slots,
                              int64_t rows, int64_t width, int64_t /*row*/) {
  using baton::cuda::block_positions;
  baton::cuda::fill(
      baton::cuda::walk_of_block(width), rows,
      [&](int64_t row, int64_t d) {
        const int64_t slot = slots[row];
        return state + slot / block_positions * page_stride +
               baton::cuda::value_place(slot % block_positions, d, width);
      },
      [&](int64_t row, int64_t d) { return x[row * x_stride + d]; });
}

#define BATON_APPEND(name, Bits, Element, Places)                              \
  BATON_DEVICE void name(Bits *state, int64_t page_stride, const float *x,     \
                         int64_t x_stride, const int32_t *slots, int64_t rows, \
                         int64_t width, int64_t row) {                         \
    baton::cuda::store_in_pages<baton::cuda::Places>(                          \
        reinterpret_cast<baton::cuda::Element *>(state), page_stride, x,       \
        x_stride, slots, rows, width, row);                                    \
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
  BATON_DEVICE void name(                                                      \
      float *out, int64_t out_stride, const float *q, int64_t q_stride,        \
      const Bits *keys, int64_t key_page_stride, const Bits *values,           \
      int64_t value_page_stride, const int32_t *positions,                     \
      const int32_t *sequences, const int32_t *pages, int64_t /*page_count*/,  \
      int64_t line, int64_t /*step_rows*/, int64_t rows, int64_t group,        \
      int64_t head_dim, int64_t value_dim, int64_t /*key_row*/,                \
      int64_t /*value_row*/, float scale, float softcap, int64_t window,       \
      const float *gate, int64_t gate_stride, int64_t gate_width,              \
      const float *sinks, float *scratch) {                                    \
    using namespace baton::cuda;                                               \
    attend_to_pages<PagedStates<Element>>(                                     \
        out, out_stride, q, q_stride, positions, sequences, rows, group,       \
        head_dim, value_dim, scale, softcap, window, scratch,                  \
        [&](int64_t row) {                                                     \
          return PagedStates<Element>{                                         \
              reinterpret_cast<const Element *>(keys), key_page_stride,        \
              reinterpret_cast<const Element *>(values), value_page_stride,    \
              pages + sequences[row] * line};                                  \
        },                                                                     \
        [&](int64_t row, int64_t head, int64_t element, float value,           \
            Weights running) {                                                 \
          value = finished(value, running, sink_of(sinks, head));              \
          return gate ? value * opening(gate + row * gate_stride +             \
                                            head * gate_width,                 \
                                        gate_width, element)                   \
                      : value;                                                 \
        });                                                                    \
  }
BATON_ATTENTION(baton_task_paged_attention, float, float)
BATON_ATTENTION(baton_task_paged_attention_bf16, uint16_t,
                baton::cuda::BFloat16)
BATON_ATTENTION(baton_task_paged_attention_int8, int8_t, baton::cuda::Int8)
BATON_ATTENTION(baton_task_paged_attention_fp8, int8_t, baton::cuda::Float8)
#undef BATON_ATTENTION

#define BATON_LATENT_ATTENTION(name, Bits, Element)                            \
  BATON_DEVICE void name(                                                      \
      float *out, int64_t out_stride, const float *q, int64_t q_stride,        \
      const Bits *keys, int64_t key_page_stride, const int32_t *positions,     \
      const int32_t *sequences, const int32_t *pages, int64_t /*page_count*/,  \
      int64_t line, int64_t /*step_rows*/, int64_t rows, int64_t group,        \
      int64_t head_dim, int64_t value_dim, int64_t /*key_row*/, float scale,   \
      float softcap, int64_t window, float *scratch) {                         \
    using namespace baton::cuda;                                               \
    attend_to_pages<PagedLatentStates<Element>>(                               \
        out, out_stride, q, q_stride, positions, sequences, rows, group,       \
        head_dim, value_dim, scale, softcap, window, scratch,                  \
        [&](int64_t row) {                                                     \
          return PagedLatentStates<Element>{                                   \
              {reinterpret_cast<const Element *>(keys), key_page_stride,       \
               nullptr, 0, pages + sequences[row] * line},                     \
              head_dim};                                                       \
        },                                                                     \
        [](int64_t, int64_t, int64_t, float value, Weights running) {          \
          return finished(value, running, negative_infinity());                \
        });                                                                    \
  }
BATON_LATENT_ATTENTION(baton_task_paged_latent_attention, float, float)
BATON_LATENT_ATTENTION(baton_task_paged_latent_attention_bf16, uint16_t,
                       baton::cuda::BFloat16)
BATON_LATENT_ATTENTION(baton_task_paged_latent_attention_int8, int8_t,
                       baton::cuda::Int8)
BATON_LATENT_ATTENTION(baton_task_paged_latent_attention_fp8, int8_t,
                       baton::cuda::Float8)
#undef BATON_LATENT_ATTENTION

#endif // BATON_CODEGEN_CUDA_LIBRARY_PAGED_ATTENTION_H
