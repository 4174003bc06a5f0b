//===- attention_copies.h - keys and values for tensor cores --------------===//
//
// Blocks of 64 positions on their way from F32 in global memory to 16 bits in
// shared memory. They pass through registers, which converts them: the loads of
// a part are under way while the caller computes, and are stored behind that.
//
// What is copied are lines, 16 consecutive floats of global memory, by four
// threads each: sixteen columns of one position, or, of keys in panels, one
// column of sixteen positions. A line stays a line in shared memory, so that
// keys from panels lie there as [head_dim][64], all else as [64][dim].
//
// Shared rows have 8 elements more than they need. A row is then an odd number
// of 16 bytes long, which puts the sixteen bytes that ldmatrix reads of eight
// consecutive rows into eight different groups of four banks, and the lines
// that half a warp stores at once, of which it takes every other one, too.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_COPIES_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_COPIES_H

#include "codegen/cuda/library/attention.h"
#include "codegen/cuda/library/operand_types.h"

namespace baton::cuda {

/// Copies blocks of keys or values of up to `Dim` columns, in `parts` parts:
/// begin(), and for each part load() and later store(). All threads of the
/// block do the same.
template <int Threads, int Dim, typename Type = BFloat16Operands>
class BlockCopy {
  static_assert(Threads >= 32 && (Threads & (Threads - 1)) == 0,
                "lines divide evenly");
  static_assert(Dim % lanes == 0);
  /// That the block's threads have at once.
  static constexpr int lines = Threads / 4;
  /// Four floats each, of a thread; and how many pass through its registers at
  /// once: fewer where results take most of these.
  static constexpr int quads =
      (Dim * block_positions / 4 + Threads - 1) / Threads;
  static constexpr int most_at_once = Dim > 128 ? 4 : 8;
  static constexpr int quads_at_once =
      quads < most_at_once ? quads : most_at_once;

public:
  /// Elements between the end of a row in shared memory and the next.
  static constexpr int gap = 8;
  static constexpr int parts = (quads + quads_at_once - 1) / quads_at_once;

  /// `first` is position 0, aligned to 16 bytes; `stride` is that of rows, a
  /// multiple of 4, or 0 for panels. `along_positions` says that the lines of
  /// panels are.
  __device__ __forceinline__ BlockCopy(const float *first, int64_t stride,
                                       int64_t dim, bool along_positions,
                                       uint16_t *shared, uint32_t thread)
      : first(first), stride(stride), dim(dim),
        along_positions(along_positions), shared(shared) {
    const int lane = thread % 32;
    const int line = thread / 32 * 8 + lane / 4 % 4 * 2 + lane / 16;
    own_place = line % block_positions;
    own_chunk = lines > block_positions ? line / block_positions : 0;
    element = lane % 4 * 4;
  }

  /// Turns to the block at `position`, a multiple of 64, of which the positions
  /// [begin, end) count, which are absolute. Others are zeros and are not read.
  /// Behind `end` the copy does nothing.
  __device__ __forceinline__ void begin(int position, int begin, int end) {
    block = first + position * (stride ? stride : dim);
    begin_position = begin - position;
    end_position = end - position;
  }

  /// Other shared memory is the target from now on.
  __device__ __forceinline__ void turn_to(uint16_t *to) { shared = to; }

  __device__ __forceinline__ void load(int part) {
    if (end_position <= 0)
      return;
#pragma unroll
    for (int i = 0; i < quads_at_once; ++i) {
      const int number = part * quads_at_once + i;
      held[i] = {};
      if (chunk(number) < dim / lanes)
        load(held[i], place(number), chunk(number));
    }
  }

  __device__ __forceinline__ void store(int part) {
    if (end_position <= 0)
      return;
#pragma unroll
    for (int i = 0; i < quads_at_once; ++i) {
      const int number = part * quads_at_once + i;
      if (chunk(number) < dim / lanes)
        *reinterpret_cast<Pairs *>(target(place(number), chunk(number))) = {
            {Type::pair(held[i].element[0], held[i].element[1]),
             Type::pair(held[i].element[2], held[i].element[3])}};
    }
  }

private:
  /// Eight bytes by one store.
  struct alignas(8) Pairs {
    uint32_t pair[2];
  };

  // Lines are counted 64 at a time: `place` within them, and `chunk`, which
  // sixteen columns they have. With 256 threads a thread's place is fixed.
  __device__ __forceinline__ int place(int number) const {
    return number * lines % block_positions + own_place;
  }
  __device__ __forceinline__ int chunk(int number) const {
    return number * lines / block_positions + own_chunk;
  }

  __device__ __forceinline__ void load(Quad &quad, int place, int chunk) const {
    const float *source =
        stride ? block + place * stride + chunk * lanes + element
               : block + (place / lanes * dim + chunk * lanes) * lanes +
                     place % lanes * lanes + element;
    const int position =
        along_positions ? place / lanes * lanes + element : place;
    const int last = along_positions ? position + 3 : position;
    if (position >= begin_position && last < end_position) {
      quad = load_quad(source);
    } else if (along_positions) {
      // Visible and other positions meet in this quad.
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (position + i >= begin_position && position + i < end_position)
          quad.element[i] = source[i];
    }
  }

  __device__ __forceinline__ uint16_t *target(int place, int chunk) const {
    if (along_positions)
      return shared +
             (chunk * lanes + place % lanes) * (block_positions + gap) +
             place / lanes * lanes + element;
    return shared + place * (dim + gap) + chunk * lanes + element;
  }

  const float *first;
  int64_t stride;
  int64_t dim;
  bool along_positions;
  uint16_t *shared;
  int own_place, own_chunk;
  /// Of the line.
  int element;

  const float *block = nullptr;
  int begin_position = 0, end_position = 0;
  Quad held[quads_at_once] = {};
};

/// The caller's `Steps` steps, step(0) first, with a block's copy under way.
template <int Steps, int Threads, int Dim, typename Type, typename Step>
BATON_DEVICE void copy_during(BlockCopy<Threads, Dim, Type> &copy, Step step) {
  constexpr int parts = BlockCopy<Threads, Dim, Type>::parts;
#pragma unroll
  for (int part = 0; part < parts; ++part) {
    copy.load(part);
#pragma unroll
    for (int i = part * Steps / parts; i < (part + 1) * Steps / parts; ++i)
      step(i);
    copy.store(part);
  }
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_COPIES_H
