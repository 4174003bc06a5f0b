//===- elements.h - who computes which element ----------------------------===//
//
// Deals the elements of a matrix out to the threads of a block, so that
// neighbouring threads have neighbouring elements.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ELEMENTS_H
#define BATON_CODEGEN_CUDA_LIBRARY_ELEMENTS_H

#include "codegen/cuda/library/device.h"

namespace baton::cuda {

/// A thread's way through [rows, width]. It has arrived when `row` is not below
/// the number of rows.
struct Walk {
  int64_t row, column;
  int64_t row_step, column_step;
  int64_t width;

  __device__ __forceinline__ void advance() {
    row += row_step;
    column += column_step;
    if (column >= width) {
      column -= width;
      ++row;
    }
  }
};

/// All threads of the block, side by side; `width` is at least 1. The division
/// is here, and of 32 bits, so that there is none per element.
BATON_DEVICE Walk walk_of_block(int64_t width) {
  const uint32_t thread = baton_thread(), threads = baton_threads();
  if (width > threads)
    return {0, thread, 0, threads, width};
  const uint32_t narrow = static_cast<uint32_t>(width);
  return {thread / narrow, thread % narrow, threads / narrow, threads % narrow,
          width};
}

/// Calls body(row, column) for every element of [rows, width].
template <typename Body>
BATON_DEVICE void for_each_element(int64_t rows, int64_t width, Body body) {
  for (Walk walk = walk_of_block(width); walk.row < rows; walk.advance())
    body(walk.row, walk.column);
}

/// *place(row, column) = value(row, column) on the way through `rows` rows.
/// Several elements at a time: what they load is asked for before the first is
/// stored. The compiler cannot arrange that, because for all it knows the
/// stores change what is loaded; they may change that of their own element
/// only.
template <int AtOnce = 4, typename Place, typename Value>
BATON_DEVICE void fill(Walk walk, int64_t rows, Place place, Value value) {
  while (walk.row < rows) {
    const Walk first = walk;
    float *target[AtOnce];
    float result[AtOnce];
#pragma unroll
    for (int i = 0; i < AtOnce; ++i) {
      // Behind the end the first element once more: no second copy of `value`.
      const bool inside = walk.row < rows;
      const int64_t row = inside ? walk.row : first.row;
      const int64_t column = inside ? walk.column : first.column;
      target[i] = place(row, column);
      result[i] = value(row, column);
      walk.advance();
    }
#pragma unroll
    for (int i = 0; i < AtOnce; ++i)
      *target[i] = result[i];
  }
}

/// out[row][column] = value(row, column) for [rows, width], by the whole block.
template <typename Value>
BATON_DEVICE void fill_rows(float *out, int64_t out_stride, int64_t rows,
                            int64_t width, Value value) {
  fill(
      walk_of_block(width), rows,
      [&](int64_t row, int64_t column) {
        return out + row * out_stride + column;
      },
      value);
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_ELEMENTS_H
