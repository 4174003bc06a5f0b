//===- attention_partial.h - the blocks of a part of the positions --------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_PARTIAL_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_PARTIAL_H

#include "codegen/cuda/library/attention_blocks.h"

BATON_DEVICE void baton_task_attention_partial(
    float *partials, int64_t partials_stride, const float *q, int64_t q_stride,
    const float *keys, int64_t key_stride, const float *values,
    int64_t value_stride, int64_t rows, int64_t position, int64_t group,
    int64_t head_dim, int64_t value_dim, float scale, float softcap,
    int64_t window, int64_t begin, int64_t positions, int64_t head_stride,
    float *scratch) {
  using namespace baton::cuda;
  const Range seen =
      intersection({visible_to(position, window).begin, position + rows},
                   {begin, begin + positions});
  if (rows == 0 || seen.begin >= seen.end)
    return;
  AttentionBlocks<> task{
      q,         q_stride, {keys, key_stride, values, value_stride},
      position,  group,    head_dim,
      value_dim, scale,    softcap,
      window,    seen};
  task.weights = scratch;

  // The scratch holds nothing but the weights of one turn.
  const int64_t queries = rows * group;
  const int64_t slots =
      baton_attention_scratch_bytes(rows, group, head_dim, value_dim) / 4 /
      block_positions;
  const int64_t batch = smaller(queries, slots);
  const int64_t at_once = slots / batch;
  auto place = [&](int64_t query, int64_t block) {
    return partials + task.row_of(query) * partials_stride +
           task.head_of(query) * head_stride +
           (block - begin) / block_positions *
               baton_attention_partial_width(value_dim);
  };
  for (int64_t first = 0; first < queries; first += batch) {
    task.first_query = first;
    task.queries = smaller(batch, queries - first);
    const Range range = task.blocks();
    for (int64_t next = range.begin; next < range.end; next += at_once) {
      const int64_t turn = next * block_positions;
      const int blocks = static_cast<int>(smaller(at_once, range.end - next));
      task.weigh(turn, blocks, [&](int64_t i, int64_t query, Weights weights) {
        const int64_t block = turn + i * block_positions;
        if (!task.sees(query, block))
          return;
        float *sums = place(query, block) + value_dim;
        sums[0] = weights.maximum;
        sums[1] = weights.sum;
      });
      __syncthreads();
      task.add_values(turn, blocks,
                      [&](int i, int64_t query, int64_t element, float value) {
                        const int64_t block = turn + i * block_positions;
                        if (task.sees(query, block))
                          place(query, block)[element] = value;
                      });
      __syncthreads();
    }
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_PARTIAL_H
