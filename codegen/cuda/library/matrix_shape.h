//===- matrix_shape.h - tiles of linears on tensor cores ------------------===//
//
// Which tiles matrix.h computes, and how much shared memory a block needs for
// them: constants of the language, for kernels and for the compiler that emits
// them alike.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_SHAPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_SHAPE_H

#include "codegen/cuda/library/constant.h"

/// A block of `threads` threads computes [rows, columns] of a product at a
/// time, in the instructions of compute capability `architecture` / 10.
struct BatonMatrixShape {
  int threads, rows, columns, architecture;

  /// Depths of the product in one stage: 128 bytes of BF16.
  static constexpr int depths = 64;
  /// Of the shared memory that bodies are given, in bytes: the pattern in which
  /// warpgroups read matrices repeats after so many.
  static constexpr int alignment = 1024;

  /// By warpgroups (sm_90a) if these fit, else by warps (sm_80).
  BATON_CONSTANT bool by_warpgroups() const {
    return architecture >= 90 && (rows == 64 || rows == 128) &&
           threads % 128 == 0 && columns % (threads / 2) == 0;
  }

  /// Warps that multiply, each 16 rows by 32 columns at least, which keep the
  /// two sides of a gated product together. In a tile of few rows the others
  /// only bring weights.
  BATON_CONSTANT int multiplying_warps() const {
    const int warps = threads / 32, shares = rows / 16 * (columns / 32);
    return shares < warps ? shares : warps;
  }
  /// Those side by side, so many that a warp's share is about square; the
  /// others are below.
  BATON_CONSTANT int warps_across() const {
    const int warps = multiplying_warps();
    int across = 1;
    while (across * 2 <= warps && columns % (across * 2 * 32) == 0 &&
           columns / across > rows * across / warps)
      across *= 2;
    return across;
  }
  BATON_CONSTANT int warps_down() const {
    return multiplying_warps() / warps_across();
  }

  BATON_CONSTANT bool is_valid() const {
    return (128 % threads == 0 || threads % 128 == 0) && threads >= 32 &&
           rows >= 16 && columns >= 32 &&
           (rows * 8 % threads == 0 || threads % (rows * 8) == 0) &&
           (columns * 8 % threads == 0 || threads % (columns * 8) == 0) &&
           rows % (warps_down() * 16) == 0 &&
           columns % (warps_across() * 32) == 0;
  }

  // Of one stage, in bytes.
  BATON_CONSTANT int activation_bytes() const { return rows * depths * 2; }
  BATON_CONSTANT int weight_bytes() const { return columns * depths * 2; }
  /// A tile of few rows is bound by memory: so many bytes of weights are on
  /// their way to shared memory, if that is more than the usual stages.
  BATON_CONSTANT int bytes_under_way() const {
    return multiplying_warps() * 32 < threads ? 1 << 16 : 0;
  }
  /// Stages of weights in shared memory.
  BATON_CONSTANT int weight_stages() const {
    constexpr int usual = 4;
    const int under_way = bytes_under_way() / weight_bytes();
    return under_way > usual ? under_way : usual;
  }
  /// Warpgroups may lag behind by one stage.
  BATON_CONSTANT int activation_stages() const {
    return by_warpgroups() ? 3 : 2;
  }
  BATON_CONSTANT int pipeline_bytes() const {
    return activation_stages() * activation_bytes() +
           weight_stages() * weight_bytes();
  }

  /// Floats between two rows of the finished product in shared memory, such
  /// that the threads of a warp store to different banks.
  BATON_CONSTANT int product_stride() const {
    return columns + (by_warpgroups() ? 4 : 8);
  }
  BATON_CONSTANT int product_bytes() const {
    return rows * product_stride() * 4;
  }

  /// The product takes the place of what it was computed from; behind both are
  /// the stages' barriers.
  BATON_CONSTANT int barrier_offset() const {
    return pipeline_bytes() > product_bytes() ? pipeline_bytes()
                                              : product_bytes();
  }
  /// The shared memory that a body needs, aligned to `alignment`.
  BATON_CONSTANT int shared_bytes() const {
    return barrier_offset() + weight_stages() * 8;
  }
};

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_SHAPE_H
