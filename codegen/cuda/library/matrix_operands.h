//===- matrix_operands.h - both sides of a product in shared memory -------===//
//
// A stage has 64 depths. Of activations it is [Rows][64] of BF16, rows of 128
// bytes, in chunks of 16 bytes that change places within their row: chunk c of
// row r is the (c ^ r % 8)th. Eight rows' chunks of the same depths, which
// tensor cores read together, then lie in different banks, and so do the eight
// chunks of a row, which eight threads store together. PTX calls it the
// 128-byte swizzle.
//
// Of weights a stage is [Columns / 16][64][16] of BF16, panels as in memory.
// How stages come there is a class's business. The multiplications ask for them
// in this order, all threads at once, behind a barrier that lets what they
// wrote be read:
//
//   begin()          whatever was in shared memory has been read
//   prepare(stage)   the next one; the stage before it may still be read
//   expect(stage)    the next barrier lets all read it
//   follow(stage)    that barrier is passed: nobody reads an earlier stage
//   at(stage)        where it is
//   end()            behind the last
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_OPERANDS_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_OPERANDS_H

#include "codegen/cuda/library/async.h"
#include "codegen/cuda/library/math.h"
#include "codegen/cuda/library/matrix_shape.h"
#include "codegen/cuda/library/microkernel.h"

namespace baton::cuda {

/// [rows, k] of x, and `panel_count` panels of weights.
struct MatrixOperands {
  const float *x;
  int64_t x_stride;
  // Of 32 bits, which is what their arithmetic takes least time with.
  int32_t rows, k, panel_count;

  __device__ __forceinline__ int32_t stages() const {
    return (k + BatonMatrixShape::depths - 1) / BatonMatrixShape::depths;
  }
};

/// Panels of BF16.
struct MatrixPanels {
  const uint16_t *first;
  int32_t k;

  /// Of a panel's depth, 16 columns.
  __device__ __forceinline__ const uint16_t *at(uint32_t panel,
                                                int32_t depth) const {
    return first + (static_cast<int64_t>(panel) * k + depth) * 16;
  }
};

/// Eight neighbouring elements of BF16.
struct alignas(16) MatrixChunk {
  uint32_t pairs[4];
};

/// Where in a stage of activations chunk `chunk` of row `row` is, in bytes.
BATON_DEVICE uint32_t activation_offset(uint32_t row, uint32_t chunk) {
  return row * 128 + (chunk ^ row % 8) * 16;
}

/// What a thread brings of a stage's activations, on the way in its registers:
/// eight threads share a row.
template <int Threads, int Rows> class MatrixActivations {
public:
  __device__ __forceinline__ MatrixActivations(const MatrixOperands &operands,
                                               uint32_t thread)
      : operands(operands), thread(thread),
        aligned((reinterpret_cast<uint64_t>(operands.x) |
                 static_cast<uint64_t>(operands.x_stride) * sizeof(float)) %
                    sizeof(Quad) ==
                0) {}

  /// Zeros for what is outside of the operand.
  __device__ __forceinline__ void load(int32_t stage) {
    const int32_t depth =
        stage * BatonMatrixShape::depths + static_cast<int32_t>(thread % 8 * 8);
    if (aligned && depth + 8 <= operands.k) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const bool inside = row(i) < operands.rows;
        const float *const source = at(inside ? row(i) : 0, depth);
        chunks[i][0] = inside ? load_quad(source) : Quad{};
        chunks[i][1] = inside ? load_quad(source + 4) : Quad{};
      }
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const bool inside = row(i) < operands.rows;
        const float *const source = at(inside ? row(i) : 0, depth);
#pragma unroll
        for (int e = 0; e < 8; ++e)
          chunks[i][e / 4].element[e % 4] =
              inside && depth + e < operands.k ? source[e] : 0.0f;
      }
    }
  }

  /// To a stage in shared memory.
  __device__ __forceinline__ void store(unsigned char *to) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (row(i) >= Rows)
        continue;
      MatrixChunk rounded;
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        const Quad &quad = chunks[i][pair / 2];
        rounded.pairs[pair] = baton_bf16_pair(quad.element[pair % 2 * 2],
                                              quad.element[pair % 2 * 2 + 1]);
      }
      *reinterpret_cast<MatrixChunk *>(
          to + activation_offset(row(i), thread % 8)) = rounded;
    }
  }

private:
  static constexpr int count = (Rows * 8 + Threads - 1) / Threads;

  /// Of the thread's chunk `i`; behind the last where a stage has fewer chunks
  /// than there are threads.
  __device__ __forceinline__ int32_t row(int i) const {
    return static_cast<int32_t>(thread / 8) + i * (Threads / 8);
  }
  __device__ __forceinline__ const float *at(int32_t row, int32_t depth) const {
    return operands.x + row * operands.x_stride + depth;
  }

  const MatrixOperands &operands;
  const uint32_t thread;
  const bool aligned;
  /// Begins with zeros: registers that a loop reads before it writes them, in
  /// whatever case, would be kept free from the kernel's start on.
  Quad chunks[count][2] = {};
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_OPERANDS_H
