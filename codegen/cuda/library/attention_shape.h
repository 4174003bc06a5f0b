//===- attention_shape.h - attention on tensor cores ----------------------===//
//
// How much shared memory a block needs for it: a constant of the language, for
// kernels and for the compiler that emits them alike.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_SHAPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_SHAPE_H

#include "codegen/cuda/library/constant.h"

/// Bytes of shared memory that baton_matrix_attention takes with so many
/// threads, whatever the rows, the group and the layout of keys; 0 for
/// dimensions that it leaves to baton_task_attention. Queries are [threads / 2]
/// [head_dim], keys [64][head_dim] or [head_dim][64], values [64][value_dim],
/// two bytes each and with gaps of 8 elements behind rows:
///
///   2 * ((threads / 2 + 72) * (head_dim + 8) + 64 * (value_dim + 8))
BATON_CONSTANT long baton_matrix_attention_shared_bytes(long threads,
                                                        long head_dim,
                                                        long value_dim) {
  if (head_dim % 16 != 0 || value_dim % 16 != 0 || head_dim > 256 ||
      value_dim > 256)
    return 0;
  return 2 * ((threads / 2 + 72) * (head_dim + 8) + 64 * (value_dim + 8));
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_SHAPE_H
