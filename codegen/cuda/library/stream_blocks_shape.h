//===- stream_blocks_shape.h - rings of quantised weights -----------------===//
//
// How the ring of stream_blocks.h divides its memory, for kernels and for the
// compiler that emits them alike. Formats are bits as in matrix_blocks_shape.h,
// with one more for panels of BF16.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_SHAPE_H
#define BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_SHAPE_H

#include "codegen/cuda/library/constant.h"
#include "runtime/weight_blocks.h"

namespace baton::cuda {

/// A depth of a panel of BF16, as if it were a block.
struct BFloat16Depth {
  static constexpr int inputs = 1;
  uint16_t columns[baton::blocks::lanes];
};
constexpr uint32_t bf16_format = 31, bf16_bit = 1u << bf16_format;
static_assert(baton::blocks::format_count <= bf16_format);

/// Inputs of a chunk, so that one of either has some 2 KiB.
template <typename Block>
constexpr int stream_inputs = Block::inputs > 128 ? Block::inputs : 128;
template <> inline constexpr int stream_inputs<BFloat16Depth> = 64;
template <typename Block>
constexpr int stream_bytes = stream_inputs<Block> / Block::inputs *
                             static_cast<int>(sizeof(Block));

} // namespace baton::cuda

/// A ring of `bytes` bytes of shared memory, for a block of `threads` threads
/// and chunks of `formats`.
struct BatonBlockRingShape {
  int bytes, threads;
  uint32_t formats;

  /// Of the longest chunk.
  BATON_CONSTANT int slot_bytes() const {
    int most = 0;
    if ((formats & baton::cuda::bf16_bit) != 0)
      most = baton::cuda::stream_bytes<baton::cuda::BFloat16Depth>;
#define BATON_LONGER(NAME, BLOCK)                                              \
  if ((formats >> baton::blocks::NAME & 1) != 0 &&                             \
      baton::cuda::stream_bytes<baton::blocks::BLOCK> > most)                  \
    most = baton::cuda::stream_bytes<baton::blocks::BLOCK>;
    BATON_FOR_EACH_BLOCK(BATON_LONGER)
#undef BATON_LONGER
    return most;
  }
  /// Of each warp.
  BATON_CONSTANT int slots() const {
    return bytes / (threads / 32) / slot_bytes();
  }
};

#endif // BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_SHAPE_H
