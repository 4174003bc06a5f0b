//===- sequence_attention.cpp - attention of rows of several sequences ----===//

#include "codegen/cpu/library/attention_blocks.h"
#include "codegen/cpu/library/sequences.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

BATON_TASK void baton_task_sequence_attention(
    Real *__restrict out, int64_t out_stride, Real *__restrict statistics,
    int64_t statistics_stride, const Real *__restrict q, int64_t q_stride,
    const Real *__restrict keys, int64_t key_stride,
    const Real *__restrict values, int64_t value_stride,
    const int32_t *__restrict positions, int64_t row, int64_t rows,
    int64_t group, int64_t head_dim, int64_t value_dim, Real scale,
    Real softcap, int64_t window, Real *__restrict scratch) {
  for_each_run(positions, row, rows,
               [&](int64_t first, int64_t count, int64_t begin,
                   int64_t position) BATON_INLINE_LAMBDA {
                 const int64_t queries = count * group;
                 Real *maxima = scratch;
                 Real *sums = maxima + queries;
                 const RunningResult result = {out + first * out_stride,
                                               out_stride,
                                               group,
                                               value_dim,
                                               maxima,
                                               sums};
                 attend(result, q + first * q_stride, q_stride,
                        keys + begin * key_stride, key_stride,
                        values + begin * value_stride, value_stride, count,
                        position, group, head_dim, value_dim, scale, softcap,
                        window, all_positions, sums + queries);
                 for (int64_t query = 0; query < queries; ++query) {
                   result.finish(query, nullptr, 0);
                   Real *place = statistics +
                                 (first + query / group) * statistics_stride +
                                 query % group * 2;
                   place[0] = maxima[query];
                   place[1] = sums[query];
                 }
               });
}
