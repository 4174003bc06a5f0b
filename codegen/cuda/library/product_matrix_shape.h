//===- product_matrix_shape.h - tiles of products of training -------------===//
//
// Which tiles product_matrix.h computes on tensor cores, and how much shared
// memory a block needs for them. No primitives of a device here: the compiler
// includes it too.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SHAPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SHAPE_H

#include "codegen/cuda/library/constant.h"

/// A block of `threads` threads computes [rows, columns] of a product at a
/// time, in the instructions of compute capability `architecture` / 10.
struct BatonProductMatrixShape {
  int threads, rows, columns, architecture;

  /// Of a line in shared memory: 128 bytes of 16-bit numbers.
  static constexpr int line_depths = 64;
  static constexpr int line_bytes = 128;

  /// Where a target's tiles are wider than a thread's registers hold.
  static BATON_CONSTANT int columns_of(int wanted, int architecture) {
    return wanted > 128 && architecture < 90 ? 128 : wanted;
  }

  /// By warpgroups (sm_90a), each of which has 64 rows, else by warps (sm_80).
  BATON_CONSTANT bool by_warpgroups() const {
    return architecture >= 90 && threads % 128 == 0 && rows == threads / 2 &&
           (columns == 64 || columns == 128 || columns == 256);
  }

  /// Warps side by side, so many that a warp's share is about square.
  BATON_CONSTANT int warps_across() const {
    const int warps = threads / 32;
    int across = 1;
    while (across * 2 <= warps && columns % (across * 2 * 16) == 0 &&
           columns / across > rows * across / warps)
      across *= 2;
    return across;
  }
  BATON_CONSTANT int warps_down() const {
    return threads / 32 / warps_across();
  }

  /// Of one stage. It is on its way in registers, of which wide tiles leave
  /// few.
  BATON_CONSTANT int depths() const { return columns > 128 ? 32 : 64; }
  /// Stages in shared memory: one is multiplied while the next is stored;
  /// warpgroups may lag behind by one more.
  BATON_CONSTANT int stages() const {
    return by_warpgroups() ? (depths() == 32 ? 4 : 3) : 2;
  }

  BATON_CONSTANT bool is_valid() const {
    return threads >= 32 && threads <= 256 && (threads & (threads - 1)) == 0 &&
           is_shared_by_threads(rows) && is_shared_by_threads(columns) &&
           rows % (warps_down() * 16) == 0 &&
           columns % (warps_across() * 16) == 0;
  }

  /// In shared memory the right side's lines lie behind the left one's.
  BATON_CONSTANT int left_bytes() const { return rows * line_bytes; }
  /// Of as many stages as a line holds.
  BATON_CONSTANT int lines_bytes() const {
    return (rows + columns) * line_bytes;
  }
  /// The shared memory that a body needs, aligned to 1024.
  BATON_CONSTANT int shared_bytes() const {
    return stages() * depths() / line_depths * lines_bytes();
  }

private:
  /// Sixteen elements of each half line at a time, in eights of lines.
  BATON_CONSTANT bool is_shared_by_threads(int lines) const {
    return lines % 32 == 0 && lines * depths() % (16 * threads) == 0;
  }
};

#endif // BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SHAPE_H
