//===- stream_blocks_shape.h - rings of quantised weights -----------------===//
//
// How the ring of stream_blocks.h divides its memory, for kernels and for the
// compiler that emits them alike. Formats are bits as in matrix_blocks_shape.h;
// panels of other parameters than those of blocks are of BF16.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_SHAPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_SHAPE_H

#include "codegen/cuda/library/constant.h"
#include "runtime/weight_blocks.h"

namespace baton::cuda {

/// Inputs of a chunk, so that it has some 2 KiB.
template <typename Block>
constexpr int stream_inputs = baton::blocks::IsPlain<Block>::value
                                  ? 2048 / static_cast<int>(sizeof(Block))
                              : Block::inputs > 128 ? Block::inputs
                                                    : 128;
template <typename Block>
constexpr int stream_bytes =
    stream_inputs<Block> / Block::inputs * static_cast<int>(sizeof(Block));

} // namespace baton::cuda

/// A ring of `bytes` bytes of shared memory, for a block of `threads` threads
/// and chunks of `formats`.
struct BatonBlockRingShape {
  int bytes, threads;
  uint32_t formats;

  /// Of the longest chunk.
  BATON_CONSTANT int slot_bytes() const {
    int most = 0;
#define BATON_LONGER(NAME, BLOCK)                                              \
  if ((formats >> baton::blocks::NAME & 1) != 0 &&                             \
      baton::cuda::stream_bytes<baton::blocks::BLOCK> > most)                  \
    most = baton::cuda::stream_bytes<baton::blocks::BLOCK>;
    BATON_FOR_EACH_BLOCK(BATON_LONGER)
    BATON_FOR_EACH_PLAIN_FORMAT(BATON_LONGER)
#undef BATON_LONGER
    return most;
  }
  /// Of each warp.
  BATON_CONSTANT int slots() const {
    return bytes / (threads / 32) / slot_bytes();
  }
};

#endif // BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_SHAPE_H
