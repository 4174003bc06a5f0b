//===- attention.cpp - attention, its states and its gate -----------------===//

#include "codegen/cpu/library/append.h"
#include "codegen/cpu/library/attention_blocks.h"

using namespace baton::cpu;

BATON_TASK void baton_task_append_keys(Real *__restrict panels,
                                       const Real *__restrict x,
                                       int64_t x_stride, int64_t position,
                                       int64_t rows, int64_t width) {
  append_keys(panels, x, x_stride, position, rows, width);
}

BATON_TASK void baton_task_append_values(Real *__restrict panels,
                                         const Real *__restrict x,
                                         int64_t x_stride, int64_t position,
                                         int64_t rows, int64_t width) {
  append_values(panels, x, x_stride, position, rows, width);
}

BATON_TASK void baton_task_attention(
    Real *__restrict out, int64_t out_stride, const Real *__restrict q,
    int64_t q_stride, const Real *__restrict keys, int64_t key_stride,
    const Real *__restrict values, int64_t value_stride, int64_t rows,
    int64_t position, int64_t group, int64_t head_dim, int64_t value_dim,
    Real scale, Real softcap, int64_t window, const Real *__restrict gate,
    int64_t gate_stride, int64_t gate_width, const Real *__restrict sinks,
    Real *__restrict scratch) {
  const int64_t queries = rows * group;
  Real *maxima = scratch;
  Real *sums = maxima + queries;
  const RunningResult result = {out,       out_stride, group,
                                value_dim, maxima,     sums};
  attend(result, q, q_stride, DenseBlocks{keys, key_stride, head_dim},
         DenseBlocks{values, value_stride, value_dim}, rows, position, group,
         scale, softcap, window, all_positions, sums + queries);
  for (int64_t query = 0; query < queries; ++query)
    result.finish(query,
                  gate ? gate + query / group * gate_stride +
                             query % group * gate_width
                       : nullptr,
                  gate_width, sinks ? sinks + query % group : nullptr);
}

BATON_TASK void baton_task_gate(Real *out, int64_t out_stride, const Real *x,
                                int64_t x_stride, const Real *__restrict gate,
                                int64_t gate_stride, int64_t rows,
                                int64_t heads, int64_t width,
                                int64_t gate_width) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < heads; ++head) {
      const Real *source = x + row * x_stride + head * width;
      Real *destination = out + row * out_stride + head * width;
      const Real *gates = gate + row * gate_stride + head * gate_width;
      for_each_vector(width,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        store(destination + first,
                              load(source + first, count) *
                                  opening(gates, gate_width, first, count),
                              count);
                      });
    }
}
