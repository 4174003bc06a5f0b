//===- paged_attention.h - attention to states in pages -------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PAGED_ATTENTION_H
#define BATON_CODEGEN_CUDA_LIBRARY_PAGED_ATTENTION_H

#include "codegen/cuda/library/attention.h"

BATON_DEVICE void baton_task_append_key_pages(float *keys, int64_t page_stride,
                                              const float *x, int64_t x_stride,
                                              const int32_t *slots,
                                              int64_t rows, int64_t width) {
  using baton::cuda::block_positions;
  if (rows == 0)
    return;
  baton::cuda::fill(
      baton::cuda::walk_of_block(rows), width,
      [&](int64_t d, int64_t row) {
        const int64_t slot = slots[row];
        return keys + slot / block_positions * page_stride +
               baton::cuda::key_place(slot % block_positions, d, width);
      },
      [&](int64_t d, int64_t row) { return x[row * x_stride + d]; });
}

BATON_DEVICE void baton_task_append_value_pages(
    float *values, int64_t page_stride, const float *x, int64_t x_stride,
    const int32_t *slots, int64_t rows, int64_t width) {
  using baton::cuda::block_positions;
  baton::cuda::fill(
      baton::cuda::walk_of_block(width), rows,
      [&](int64_t row, int64_t d) {
        const int64_t slot = slots[row];
        return values + slot / block_positions * page_stride +
               baton::cuda::value_place(slot % block_positions, d, width);
      },
      [&](int64_t row, int64_t d) { return x[row * x_stride + d]; });
}

BATON_DEVICE void baton_task_paged_attention(
    float *out, int64_t out_stride, const float *q, int64_t q_stride,
    const float *keys, int64_t key_page_stride, const float *values,
    int64_t value_page_stride, const int32_t *positions,
    const int32_t *sequences, const int32_t *pages, int64_t /*page_count*/,
    int64_t line, int64_t /*step_rows*/, int64_t rows, int64_t group,
    int64_t head_dim, int64_t value_dim, float scale, float softcap,
    int64_t window, const float *gate, int64_t gate_stride, int64_t gate_width,
    float *scratch) {
  using namespace baton::cuda;
  // Rows of one sequence that follow one another are taken together.
  for (int64_t row = 0, count; row < rows; row += count) {
    const int64_t position = positions[row];
    count = 1;
    while (row + count < rows && sequences[row + count] == sequences[row] &&
           positions[row + count] == position + count)
      ++count;
    // The run before reads its sums to the end.
    __syncthreads();
    Attention<PagedStates> task{
        {q + row * q_stride,
         q_stride,
         {keys, key_page_stride, values, value_page_stride,
          pages + sequences[row] * line},
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
        [&](int64_t query, int64_t element, float value) {
          return gate ? value * opening(gate +
                                            (row + task.row_of(query)) *
                                                gate_stride +
                                            task.head_of(query) * gate_width,
                                        gate_width, element)
                      : value;
        });
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_PAGED_ATTENTION_H
