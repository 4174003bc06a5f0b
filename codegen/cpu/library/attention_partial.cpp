//===- attention_partial.cpp - the blocks of a part of the positions ------===//

#include "codegen/cpu/library/attention_blocks.h"

using namespace baton::cpu;

BATON_TASK void baton_task_attention_partial(
    Real *__restrict partials, int64_t partials_stride,
    const Real *__restrict q, int64_t q_stride, const Real *__restrict keys,
    int64_t key_stride, const Real *__restrict values, int64_t value_stride,
    int64_t rows, int64_t position, int64_t group, int64_t head_dim,
    int64_t value_dim, Real scale, Real softcap, int64_t window, int64_t begin,
    int64_t positions, int64_t head_stride, Real *__restrict scratch) {
  attend(PartialResults{partials, partials_stride, head_stride, group,
                        value_dim, begin},
         q, q_stride, DenseBlocks{keys, key_stride, head_dim},
         DenseBlocks{values, value_stride, value_dim}, rows, position, group,
         scale, softcap, window, {begin, begin + positions}, scratch);
}
