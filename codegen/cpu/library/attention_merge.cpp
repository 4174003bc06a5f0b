//===- attention_merge.cpp - blocks of attention become its result --------===//

#include "codegen/cpu/library/attention_blocks.h"

using namespace baton::cpu;

BATON_TASK void baton_task_attention_merge(
    Real *__restrict out, int64_t out_stride, const Real *__restrict partials,
    int64_t partials_stride, int64_t rows, int64_t position, int64_t value_dim,
    int64_t window, const Real *__restrict gate, int64_t gate_stride,
    int64_t gate_width, const Real *__restrict sink) {
  for (int64_t row = 0; row < rows; ++row) {
    Real maximum, sum;
    const RunningResult result = {
        out + row * out_stride, 0, 1, value_dim, &maximum, &sum};
    const Range visible = visible_to(position + row, window);
    for (int64_t block = visible.begin / block_positions * block_positions;
         block < visible.end; block += block_positions) {
      const Real *partial =
          partials + row * partials_stride +
          block / block_positions * baton_attention_partial_width(value_dim);
      const bool first = visible.begin >= block;
      const Merge factors = result.take_weights(
          0, block, {partial[value_dim], partial[value_dim + 1]}, first);
      for_each_vector(value_dim, [&](int64_t column,
                                     int64_t width) BATON_INLINE_LAMBDA {
        result.take_elements(0, block, column, load(partial + column, width),
                             width, factors, first);
      });
    }
    result.finish(0, gate ? gate + row * gate_stride : nullptr, gate_width,
                  sink);
  }
}
