//===- stream_blocks_linears.h - linears of blocks, task by task ----------===//
//
// What a program's kernel does with codegen/cuda/library/stream_blocks.h,
// without a program, as stream_linears.h.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_LINEARS_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_LINEARS_H

#include "codegen/cuda/library/stream_blocks.h"

namespace baton::test {

/// As many bytes a thread as 24 stages have.
constexpr int block_ring_bytes = 384;

/// Panels of tasks of `tile` columns each; `sides` panels for each sixteen.
struct TaskBlockPanels {
  const unsigned char *panels;
  int64_t k, stride, columns, tile, sides;
  uint32_t format;
  int64_t first = 0;

  __device__ bool next(BatonBlockPanels &next) {
    if (first >= columns)
      return false;
    const int64_t count = columns - first < tile ? columns - first : tile;
    next = {panels + first / 16 * sides * stride, (count + 15) / 16 * sides, k,
            stride, format};
    first += tile;
    return true;
  }
};

/// A product of a row and panels of `Formats`, through a ring that holds those
/// of `Ring` too. Of bytes, x is what quantise_rows has made of `exact`, which
/// numbers as they are are multiplied by.
template <uint32_t Formats, uint32_t Ring, bool OfBytes, int Threads>
BATON_DEVICE void
stream_blocks(unsigned char *shared, float *out, const float *x,
              const float *exact, const unsigned char *panels,
              const float *bias, const float *other, int64_t k, int64_t stride,
              int64_t columns, int64_t tile, int32_t activation, bool gated) {
  typedef BatonBlockRing<TaskBlockPanels, Ring, block_ring_bytes * Threads,
                         Threads>
      TaskRing;
  const int64_t sides = gated ? 2 : 1;
  const uint32_t format = (Formats & (Formats - 1)) != 0
                              ? baton::cuda::mixed_format
                              : baton::cuda::first_format(Formats);
  TaskBlockPanels source = {panels, k, stride, columns, tile, sides, format};
  TaskRing ring(shared, &source);
  ring.begin();
  for (int64_t first = 0; first < columns; first += tile) {
    const int64_t left = columns - first;
    const int64_t count = left < tile ? left : tile;
    const unsigned char *const own = panels + first / 16 * sides * stride;
    // As the library's bodies finish their columns.
    if (gated)
      baton::cuda::stream_block_panels<Formats, 2, OfBytes>(
          ring, x, exact, k, own, count,
          [&](int64_t column, const float(&sum)[2]) {
            out[first + column] = baton::cuda::activate_gated(
                sum[0] + bias[first + column], sum[1] + other[first + column],
                activation);
          });
    else
      baton::cuda::stream_block_panels<Formats, 1, OfBytes>(
          ring, x, exact, k, own, count,
          [&](int64_t column, const float(&sum)[1]) {
            out[first + column] =
                baton::cuda::activate(sum[0] + bias[first + column],
                                      activation) +
                other[first + column];
          });
    __syncthreads();
  }
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_LINEARS_H
