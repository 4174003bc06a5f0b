//===- sequence_attention_matrix.h - of sequences, on tensor cores --------===//
//
// sequence_attention.h with attention_matrix.h's arithmetic: a run of rows of
// one sequence is a tile. Maxima and sums are those of portable bodies but for
// rounding, so that either kind of adjoint reads them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SEQUENCE_ATTENTION_MATRIX_H
#define BATON_CODEGEN_CUDA_LIBRARY_SEQUENCE_ATTENTION_MATRIX_H

#include "codegen/cuda/library/attention_matrix.h"
#include "codegen/cuda/library/sequences.h"

/// baton_task_sequence_attention on tensor cores, operands rounded to `Type`.
///
/// `keys` and `values` are aligned to 16 bytes, their strides are multiples of
/// 4. `shared` is aligned to 16 bytes, and has
/// baton_matrix_attention_shared_bytes(Threads, HeadDim, ValueDim). Behind the
/// call as before it, the block needs a barrier.
template <int Threads, int HeadDim, int ValueDim, typename Type>
BATON_CALLED void baton_matrix_sequence_attention(
    unsigned char *shared, float *out, int64_t out_stride, float *statistics,
    int64_t statistics_stride, const float *q, int64_t q_stride,
    const float *keys, int64_t key_stride, const float *values,
    int64_t value_stride, const int32_t *positions, int64_t row, int64_t rows,
    int64_t group, int64_t, int64_t, float scale, float softcap, int64_t window,
    const float *sinks, float *) {
  using namespace baton::cuda;
  static_assert(
      baton_matrix_attention_shared_bytes(Threads, HeadDim, ValueDim) != 0);
  constexpr int dim = HeadDim > ValueDim ? HeadDim : ValueDim;
  constexpr int registers = dim <= 64 ? 64 : dim <= 128 ? 128 : 256;
  // As for_each_run, with as little as can be in registers meanwhile.
  const int count = static_cast<int>(rows);
#pragma unroll 1
  for (int first = 0; first < count;) {
    const int position = positions[row + first];
    const int end = static_cast<int>(
        end_of_sequence(positions, row + first + 1, row + rows) - row);
    const int64_t begin = row + first - position;
    matrix_attention<Threads, registers, Type>(
        shared, out + first * out_stride, out_stride, q + first * q_stride,
        q_stride, keys + begin * key_stride, key_stride,
        values + begin * value_stride, value_stride, end - first, position,
        group, HeadDim, ValueDim, scale, softcap, window, nullptr, 0, 0, sinks,
        statistics + first * statistics_stride, statistics_stride);
    first = end;
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SEQUENCE_ATTENTION_MATRIX_H
