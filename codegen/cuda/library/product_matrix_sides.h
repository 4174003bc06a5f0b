//===- product_matrix_sides.h - rounded sides of a product ----------------===//
//
// Both sides of a product come as F32 in any order of lines and depths, and lie
// in shared memory as tensor cores read them: a line has 64 depths of 16 bits,
// in chunks of 16 bytes that change places (matrix_operands.h). On the way, in
// registers, they are rounded, and transposed where lines are neighbours in
// memory.
//
// A thread brings pieces of four lines by four depths, or of four lines apart
// with four depths each: four loads of 16 bytes, four stores of 8. Eight
// neighbouring threads have 32 depths of the same lines; the next eight have
// lines whose chunks lie in the other banks.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SIDES_H
#define BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SIDES_H

#include "codegen/cuda/library/matrix_operands.h"
#include "codegen/cuda/library/operand_types.h"
#include "codegen/cuda/library/product.h"
#include "codegen/cuda/library/product_matrix_shape.h"

namespace baton::cuda {

/// Four neighbouring depths of a line.
struct alignas(8) MatrixHalfChunk {
  uint32_t pairs[2];
};

/// A thread's part of a stage of one side of a tile, `Lines` lines of `Depths`
/// depths: load() a stage, then store() it.
template <typename Numbers, int Threads, int Lines, int Depths>
class MatrixSide {
public:
  /// Of `lines` lines, from the side's line `first` on. All are asked again for
  /// each stage.
  __device__ __forceinline__ MatrixSide(const ProductSide &side,
                                        const int64_t &first,
                                        const int32_t &lines,
                                        const int64_t &depth)
      : side(side), first_line(first), lines(lines), depth(depth),
        along_depth(side.depth_stride == 1) {
    const float *const data = side.data + first * side.line_stride;
    const int64_t stride = along_depth ? side.line_stride : side.depth_stride;
    const bool aligned = (reinterpret_cast<uint64_t>(data) |
                          static_cast<uint64_t>(stride) * sizeof(float)) %
                             sizeof(Quad) ==
                         0;
    in_quads =
        aligned && (along_depth || side.line_stride == 1) && lines >= Lines;
  }

  /// Zeros for what is outside of the side.
  __device__ __forceinline__ void load(int32_t stage) {
    const int32_t first = stage * Depths;
    if (along_depth)
      load_all<true>(first);
    else
      load_all<false>(first);
  }

  /// To where the stage's lines are in shared memory, from chunk `chunk` on.
  __device__ __forceinline__ void store(unsigned char *to, uint32_t chunk,
                                        int32_t stage) {
    if (side.weights)
      leave_out(stage * Depths);
    if (along_depth)
      store_all<true>(to, chunk);
    else
      store_all<false>(to, chunk);
  }

private:
  static constexpr int pieces = Lines * Depths / 16 / Threads;

  /// Where a thread's pieces are in a stage: in 32 depths of all lines, then
  /// the next 32. Asked again for each stage, so that nothing that follows from
  /// it is held all the while.
  template <bool AlongDepth> struct Place {
    const uint32_t thread = baton_thread();

    __device__ __forceinline__ uint32_t number(int piece) const {
      return thread + piece * Threads;
    }
    __device__ __forceinline__ uint32_t half(int piece) const {
      return number(piece) % 8 + number(piece) / (Lines * 2) * 8;
    }
    /// The first element of the piece's quad `i`.
    __device__ __forceinline__ int32_t line(int piece, int i) const {
      const uint32_t group = number(piece) / 8 % (Lines / 4);
      return static_cast<int32_t>(
          AlongDepth ? group % 2 * 4 + group / 2 % 4 + group / 8 * 8 +
                           static_cast<uint32_t>(i) * (Lines / 4)
                     : group * 4);
    }
    __device__ __forceinline__ int32_t depth(int piece, int i) const {
      return static_cast<int32_t>(half(piece) * 4) + (AlongDepth ? 0 : i);
    }
  };

  template <bool AlongDepth>
  __device__ __forceinline__ void load_all(int32_t first) {
    const Place<AlongDepth> place;
    const int64_t line_step = baton_again(side.line_stride);
    const int64_t depth_step = AlongDepth ? 1 : baton_again(side.depth_stride);
    const float *const data = side.data + first_line * line_step;
    auto source = [&](int piece, int i) {
      return data + place.line(piece, i) * line_step +
             (first + place.depth(piece, i)) * depth_step;
    };
    if (in_quads && first + Depths <= depth) {
#pragma unroll
      for (int piece = 0; piece < pieces; ++piece)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          quads[piece][i] = load_quad(source(piece, i));
      return;
    }
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t line = place.line(piece, i);
        const int32_t d = first + place.depth(piece, i);
        const float *const begin = source(piece, i);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const bool inside = AlongDepth ? line < lines && d + e < depth
                                         : line + e < lines && d < depth;
          quads[piece][i].element[e] =
              inside ? begin[e * (AlongDepth ? 1 : line_step)] : 0.0f;
        }
      }
  }

  template <bool AlongDepth>
  __device__ __forceinline__ void store_all(unsigned char *to,
                                            uint32_t chunk) const {
    const Place<AlongDepth> place;
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        auto element = [&](int e) {
          return AlongDepth ? quads[piece][i].element[e]
                            : quads[piece][e].element[i];
        };
        const uint32_t line = place.line(piece, i) + (AlongDepth ? 0 : i);
        const uint32_t half = place.half(piece);
        *reinterpret_cast<MatrixHalfChunk *>(
            to + activation_offset(line, chunk + half / 2) +
            half % 2 * 8) = {{Numbers::pair(element(0), element(1)),
                              Numbers::pair(element(2), element(3))}};
      }
  }

  /// Zeros for depths whose weight is 0.
  __device__ __forceinline__ void leave_out(int32_t first) {
    const float *const weights = side.weights;
    const Place<true> place;
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t d = first + place.depth(piece, 0) + i;
        if (d >= depth || weights[d] != 0.0f)
          continue;
#pragma unroll
        for (int e = 0; e < 4; ++e)
          (along_depth ? quads[piece][e].element[i]
                       : quads[piece][i].element[e]) = 0.0f;
      }
  }

  const ProductSide &side;
  const int64_t &first_line;
  const int32_t &lines;
  const int64_t &depth;
  const bool along_depth;
  /// Whether all of a stage within the depth may be read so.
  bool in_quads;
  /// Begins with zeros, as in MatrixActivations.
  Quad quads[pieces][4] = {};
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_PRODUCT_MATRIX_SIDES_H
