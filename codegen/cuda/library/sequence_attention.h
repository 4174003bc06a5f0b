//===- sequence_attention.h - attention of rows of several sequences ------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SEQUENCE_ATTENTION_H
#define BATON_CODEGEN_CUDA_LIBRARY_SEQUENCE_ATTENTION_H

#include "codegen/cuda/library/attention.h"
#include "codegen/cuda/library/sequences.h"

/// As on the CPU, because the plan is the same.
BATON_DEVICE constexpr int64_t
baton_sequence_attention_scratch_bytes(int64_t rows, int64_t group,
                                       int64_t head_dim, int64_t value_dim) {
  const int64_t forward =
      baton_attention_scratch_bytes(rows, group, head_dim, value_dim);
  const int64_t gradient = 4 * 64 *
                           (head_dim + (head_dim + 15) / 16 * 16 + value_dim +
                            (value_dim + 15) / 16 * 16);
  return forward > gradient ? forward : gradient;
}

BATON_DEVICE void baton_task_sequence_attention(
    float *out, int64_t out_stride, float *statistics,
    int64_t statistics_stride, const float *q, int64_t q_stride,
    const float *keys, int64_t key_stride, const float *values,
    int64_t value_stride, const int32_t *positions, int64_t row, int64_t rows,
    int64_t group, int64_t head_dim, int64_t value_dim, float scale,
    float softcap, int64_t window, const float *sinks, float *scratch) {
  using namespace baton::cuda;
  for_each_run(
      positions, row, rows,
      [&](int64_t first, int64_t count, int64_t begin, int64_t position) {
        // The run before reads its sums to the end.
        __syncthreads();
        Attention<> task{
            {q + first * q_stride,
             q_stride,
             {keys + begin * key_stride, key_stride,
              values + begin * value_stride, value_stride},
             position,
             group,
             head_dim,
             value_dim,
             scale,
             softcap,
             window,
             {visible_to(position, window).begin, position + count}}};
        task.out = out + first * out_stride;
        task.out_stride = out_stride;
        attend(
            task, count, scratch,
            [&](int64_t query, Weights sums) {
              const int64_t head = task.head_of(query);
              float *place = statistics +
                             (first + task.row_of(query)) * statistics_stride +
                             head * 2;
              merge(sums, {sink_of(sinks, head), 1.0f}, false);
              place[0] = sums.maximum;
              place[1] = sums.sum;
            },
            [&](int64_t query, int64_t, float value, Weights running) {
              return finished(value, running,
                              sink_of(sinks, task.head_of(query)));
            });
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SEQUENCE_ATTENTION_H
