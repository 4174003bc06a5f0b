//===- attention_shape.h - attention on tensor cores ----------------------===//
//
// How much shared memory a block needs for it, and for its adjoints: constants
// of the language, for kernels and for the compiler that emits them alike.
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

/// How blocks of up to 256 threads compute adjoints of attention: rows of one
/// side - of queries, or of keys - meet blocks of 64 of the other.
struct BatonAttentionGradientShape {
  int threads, head_dim, value_dim;
  /// Whether gradients are of keys and values, else of queries.
  bool of_keys;

  /// Rows of a block, and at most those of a batch; elements behind a row in
  /// shared memory (attention_copies.h).
  static constexpr int rows = 64, gap = 8;

  BATON_CONSTANT bool is_valid() const {
    return threads >= 32 && threads <= 256 && (threads & (threads - 1)) == 0 &&
           head_dim > 0 && value_dim > 0 && head_dim % 16 == 0 &&
           value_dim % 16 == 0 && head_dim <= 256 && value_dim <= 256;
  }
  /// Warps that share sixteen rows: each has half of a block's rows, and of the
  /// result's columns. The others are below.
  BATON_CONSTANT int warps_across() const { return threads >= 64 ? 2 : 1; }
  BATON_CONSTANT int warps_down() const {
    return threads / 32 / warps_across();
  }
  BATON_CONSTANT int batch() const { return warps_down() * 16; }
  /// Blocks in shared memory: the next one is on its way where there is room.
  BATON_CONSTANT int stages() const {
    return head_dim + value_dim <= 256 ? 2 : 1;
  }

  // In elements of 16 bits.
  BATON_CONSTANT int score_stride() const { return head_dim + gap; }
  BATON_CONSTANT int gradient_stride() const { return value_dim + gap; }
  BATON_CONSTANT int weight_stride() const { return rows + gap; }
  /// Of one side, which is 64 rows of both kinds.
  BATON_CONSTANT int side() const {
    return rows * (score_stride() + gradient_stride());
  }
  BATON_CONSTANT int weights() const { return rows * weight_stride(); }

  /// Own rows, blocks, gradients of scores; of keys weights, too, and three
  /// numbers for each query of a block.
  BATON_CONSTANT int shared_bytes() const {
    return 2 * ((1 + stages()) * side() + (of_keys ? 2 : 1) * weights()) +
           (of_keys ? stages() * 3 * rows * 4 : 0);
  }
};

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_SHAPE_H
