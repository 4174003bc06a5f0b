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

} // namespace

BATON_TASK void baton_task_append_key_pages(Real *__restrict keys,
                                            int64_t page_stride,
                                            const Real *__restrict x,
                                            int64_t x_stride,
                                            const int32_t *__restrict slots,
                                            int64_t rows, int64_t width) {
  append_to_pages<append_keys>(keys, page_stride, x, x_stride, slots, rows,
                               width);
}

BATON_TASK void baton_task_append_value_pages(Real *__restrict values,
                                              int64_t page_stride,
                                              const Real *__restrict x,
                                              int64_t x_stride,
                                              const int32_t *__restrict slots,
                                              int64_t rows, int64_t width) {
  append_to_pages<append_values>(values, page_stride, x, x_stride, slots, rows,
                                 width);
}

BATON_TASK void baton_task_paged_attention(
    Real *__restrict out, int64_t out_stride, const Real *__restrict q,
    int64_t q_stride, const Real *__restrict keys, int64_t key_page_stride,
    const Real *__restrict values, int64_t value_page_stride,
    const int32_t *__restrict positions, const int32_t *__restrict sequences,
    const int32_t *__restrict pages, int64_t /*page_count*/, int64_t line,
    int64_t /*step_rows*/, int64_t rows, int64_t group, int64_t head_dim,
    int64_t value_dim, Real scale, Real softcap, int64_t window,
    const Real *__restrict gate, int64_t gate_stride, int64_t gate_width,
    Real *__restrict scratch) {
  for (int64_t row = 0; row < rows;) {
    const int64_t position = positions[row];
    int64_t count = 1;
    while (row + count < rows && sequences[row + count] == sequences[row] &&
           positions[row + count] == position + count)
      ++count;
    const int64_t queries = count * group;
    const int32_t *own_pages = pages + sequences[row] * line;
    Real *maxima = scratch;
    Real *sums = maxima + queries;
    const RunningResult result = {
        out + row * out_stride, out_stride, group, value_dim, maxima, sums};
    attend(result, q + row * q_stride, q_stride,
           PagedBlocks{keys, key_page_stride, own_pages, head_dim},
           PagedBlocks{values, value_page_stride, own_pages, value_dim}, count,
           position, group, scale, softcap, window, all_positions,
           sums + queries);
    for (int64_t query = 0; query < queries; ++query)
      result.finish(query,
                    gate ? gate + (row + query / group) * gate_stride +
                               query % group * gate_width
                         : nullptr,
                    gate_width);
    row += count;
  }
}
