//===- product_shape.h - tiles of products in F32 -------------------------===//
//
// What batonc and the bodies of product.h agree on. No primitives of a device
// here: the compiler includes it too.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_SHAPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_SHAPE_H

#include "codegen/cuda/library/constant.h"

/// How a block of `threads` threads stages a product: a thread has 8 by 8
/// elements of a tile, and both sides of two pieces of 16 depths are in shared
/// memory, a depth's lines behind one another.
struct BatonProductShape {
  int threads;

  /// A power of 2, of at least a warp; with more threads there are too few
  /// registers for each.
  BATON_CONSTANT bool is_valid() const {
    return threads >= 32 && threads <= 256 && (threads & (threads - 1)) == 0;
  }
  BATON_CONSTANT int depth() const { return 16; }
  /// Threads side by side, and below one another.
  BATON_CONSTANT int across() const { return threads == 256 ? 16 : 8; }
  BATON_CONSTANT int down() const { return threads / across(); }
  BATON_CONSTANT int rows() const { return 8 * down(); }
  BATON_CONSTANT int columns() const { return 8 * across(); }
  /// Floats from one depth to the next: four more keep writers of neighbouring
  /// depths apart, and lines aligned.
  BATON_CONSTANT int left_stride() const { return rows() + 4; }
  BATON_CONSTANT int right_stride() const { return columns() + 4; }
  /// Of one of the two pieces.
  BATON_CONSTANT int piece() const {
    return depth() * (left_stride() + right_stride());
  }
  BATON_CONSTANT int shared_bytes() const { return 2 * 4 * piece(); }
};

#endif // BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_SHAPE_H
