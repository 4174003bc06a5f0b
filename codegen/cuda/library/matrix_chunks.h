//===- matrix_chunks.h - blocks of quantised weights in shared memory -----===//
//
// Blocks of a tile's panels come by cp.async as they are in memory, chunks of
// whole blocks ahead of the stage that reads them. Readers (blocks.h) read them
// there. Panels of numbers as they are come so, too, in shorter chunks.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_CHUNKS_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_CHUNKS_H

#include "codegen/cuda/library/async.h"
#include "codegen/cuda/library/blocks.h"
#include "codegen/cuda/library/matrix_blocks_shape.h"

namespace baton::cuda {

/// The only format of the bits, or the first.
BATON_CONSTANT uint32_t first_format(uint32_t formats) {
  uint32_t format = 0;
  while ((formats >> format & 1) == 0)
    ++format;
  return format;
}

/// action.template run<Block>() of the format.
template <uint32_t Formats, typename Action>
BATON_DEVICE void with_format(uint32_t format, Action &&action) {
  switch (format) {
#define BATON_WITH_FORMAT(NAME, BLOCK)                                         \
  case blocks::NAME:                                                           \
    if constexpr ((Formats >> blocks::NAME & 1) != 0)                          \
      action.template run<blocks::BLOCK>();                                    \
    break;
    BATON_FOR_EACH_BLOCK(BATON_WITH_FORMAT)
    BATON_FOR_EACH_PLAIN_FORMAT(BATON_WITH_FORMAT)
#undef BATON_WITH_FORMAT
  }
}

/// Bytes of `inputs` inputs, whole blocks of the format.
struct BytesOf {
  int32_t inputs;
  int32_t bytes = 0;

  template <typename Block> __device__ __forceinline__ void run() {
    bytes = inputs / Block::inputs * static_cast<int32_t>(sizeof(Block));
  }
};

/// Consecutive panels of k inputs, of one format, or mixed_format.
template <uint32_t Formats> struct BlockPanels {
  const unsigned char *first;
  uint32_t format;
  int32_t k;

  /// Numbers as they are lie beside blocks, which may be another body's.
  static constexpr bool may_be_mixed =
      (Formats & (Formats - 1)) != 0 ||
      (Formats >> blocks::first_plain_format) != 0;

  __device__ __forceinline__ bool are_mixed() const {
    return may_be_mixed && format == mixed_format;
  }
  __device__ __forceinline__ int64_t stride() const {
    if (are_mixed())
      return head(first).stride;
    BytesOf panel{k};
    with_format<Formats>(format_of(first), panel);
    return panel.bytes;
  }
  __device__ __forceinline__ int32_t head_bytes() const {
    return are_mixed() ? static_cast<int32_t>(sizeof(blocks::MixedHead)) : 0;
  }
  /// Of the panel at `panel`.
  __device__ __forceinline__ uint32_t
  format_of(const unsigned char *panel) const {
    if constexpr ((Formats & (Formats - 1)) == 0)
      return first_format(Formats);
    return format == mixed_format ? head(panel).format : format;
  }

private:
  static __device__ __forceinline__ const blocks::MixedHead &
  head(const unsigned char *panel) {
    return *reinterpret_cast<const blocks::MixedHead *>(panel);
  }
};

/// Stages of 64 inputs of a tile's panels, which have `Formats`; others of
/// their layer may have any of `Listed`. `UnderWay` is the tile's
/// bytes_under_way(). All threads of the block call all
/// functions together; a copy of the object is as good as itself.
template <uint32_t Formats, int Threads, int Columns, int UnderWay,
          uint32_t Listed = Formats>
class MatrixChunks {
public:
  static constexpr BlockChunks shape{Columns, Formats, UnderWay};
  /// Of whose numbers there are products of bytes.
  static constexpr uint32_t integer_formats =
      Formats & ::baton::cuda::integer_formats;

  /// `memory` has shape.shared_bytes() bytes. Reads `count` panels, from the
  /// number `first` on.
  __device__ __forceinline__ MatrixChunks(unsigned char *memory,
                                          const BlockPanels<Listed> &of,
                                          int64_t first, int32_t count)
      : memory(memory), stride(of.stride()), head(of.head_bytes()),
        panels{of.first + first * stride, of.format, of.k}, count(count),
        thread(baton_thread()) {}

  /// The first chunks start to come. Nobody uses the memory.
  __device__ __forceinline__ void begin() const {
    if constexpr (shape.are_several()) {
      if (thread < static_cast<uint32_t>(count))
        formats()[thread] = panels.format_of(panels.first + thread * stride);
      __syncthreads();
    }
#pragma unroll 1
    for (int32_t chunk = 0; chunk < shape.slots(); ++chunk)
      copy(0, chunk);
  }
  /// The next barrier lets all threads read `stage`, and those before it.
  __device__ __forceinline__ void expect(int32_t stage) const {
    if (stage % shape.stages() == 0)
      baton_copies_wait<shape.slots() - 2>();
  }
  /// That barrier is passed, and nobody reads a stage before this one: the
  /// next chunks come.
  __device__ __forceinline__ void follow(int32_t stage) const {
    if (stage > 0 && stage % shape.stages() == 0)
      copy(stage, shape.slots() - 1);
  }
  /// No copy is under way.
  __device__ __forceinline__ void end() const { baton_copies_wait<0>(); }

  __device__ __forceinline__ uint32_t format(uint32_t panel) const {
    if constexpr (shape.are_several())
      return formats()[panel];
    else
      return first_format(Formats);
  }
  /// The block of a panel of this format that has the stage's input `input`, or
  /// the line of numbers as they are.
  template <typename Block>
  __device__ __forceinline__ const Block &block(uint32_t panel, int32_t stage,
                                                uint32_t input) const {
    return reinterpret_cast<const Block *>(
        memory +
        stage / shape.template stages_of<Block>() % shape.slots() *
            shape.slot_bytes() +
        panel * shape.bytes())[inside<Block>(stage, input) / Block::inputs];
  }
  /// The unit of that block.
  template <typename Block>
  static __device__ __forceinline__ int unit(int32_t stage, uint32_t input) {
    return static_cast<int>(inside<Block>(stage, input) % Block::inputs) /
           Reader<Block>::unit;
  }

private:
  static constexpr int pieces = shape.bytes() / 16;

  /// The chunk of a panel that is `ahead` of the one which begins with `stage`;
  /// no bytes where none does, or behind the last.
  struct ChunkAhead {
    const int32_t k, stage, ahead;
    int32_t slot = 0, offset = 0, bytes = 0;

    template <typename Block> __device__ __forceinline__ void run() {
      constexpr int inputs = shape.template inputs_of<Block>();
      constexpr int stages = shape.template stages_of<Block>();
      const int32_t chunk = stage / stages + ahead, first = chunk * inputs;
      if ((stages > shape.stages() && stage % stages != 0) || first >= k)
        return;
      slot = chunk % shape.slots();
      offset = first / Block::inputs * static_cast<int32_t>(sizeof(Block));
      bytes = static_cast<int32_t>(smaller(k - first, inputs)) / Block::inputs *
              static_cast<int32_t>(sizeof(Block));
    }
  };

  /// The stage's input in its chunk.
  template <typename Block>
  static __device__ __forceinline__ uint32_t inside(int32_t stage,
                                                    uint32_t input) {
    return static_cast<uint32_t>(stage % shape.template stages_of<Block>()) *
               BatonMatrixShape::depths +
           input;
  }
  __device__ __forceinline__ uint32_t *formats() const {
    return reinterpret_cast<uint32_t *>(memory +
                                        shape.slots() * shape.slot_bytes());
  }

  // One group for each of the shortest chunks, empty ones too: the waits count
  // them. Of longer ones the wait is then for an earlier group than it need be.
  __device__ __forceinline__ void copy(int32_t stage, int32_t ahead) const {
#pragma unroll 4
    for (int i = static_cast<int>(thread); i < count * pieces; i += Threads) {
      const int panel = i / pieces, piece = i % pieces;
      ChunkAhead chunk{panels.k, stage, ahead};
      with_format<Formats>(format(panel), chunk);
      if (piece * 16 < chunk.bytes)
        baton_copy_async(memory + chunk.slot * shape.slot_bytes() +
                             panel * shape.bytes() + piece * 16,
                         panels.first + panel * stride + head + chunk.offset +
                             piece * 16);
    }
    baton_copies_commit();
  }

  unsigned char *const memory;
  const int64_t stride;
  const int32_t head;
  const BlockPanels<Listed> panels;
  const int32_t count;
  const uint32_t thread;
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_CHUNKS_H
