//===- matrix_warps.h - products by warps, on the tensor cores of sm_80 ---===//
//
// A warp has a part of the tile in its registers. Weights of BF16 come through
// a ring of stages by cp.async, activations through two stages: while one is
// read, the next is stored. One barrier a stage hands both over, and says that
// the stages before have been read.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_WARPS_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_WARPS_H

#include "codegen/cuda/library/matrix_operands.h"

namespace baton::cuda {

/// Where in a stage of weights eight columns of a depth are, in bytes: the two
/// halves of a depth change places in every second four depths. ldmatrix reads
/// one half of eight consecutive depths, 32 bytes apart, at once: without that
/// the fifth would be in the banks of the first.
BATON_DEVICE uint32_t weight_offset(uint32_t panel, uint32_t depth,
                                    uint32_t half) {
  return (panel * BatonMatrixShape::depths + depth) * 32 +
         (half ^ depth / 4 % 2) * 16;
}

/// Two neighbouring sums by one store.
struct alignas(8) MatrixPair {
  float element[2];
};

/// Whether a warp has a part of the tile.
BATON_DEVICE bool multiplies(const BatonMatrixShape &shape, uint32_t warp) {
  return shape.multiplying_warps() * 32 == shape.threads ||
         warp < static_cast<uint32_t>(shape.multiplying_warps());
}

/// Puts what the warps have of the product [Rows][Columns] into shared memory,
/// at its beginning, with rows shape.product_stride() apart, behind a barrier.
template <int Threads, int Rows, int Columns, int Down, int Across>
BATON_DEVICE void store_product(unsigned char *shared,
                                const float (&sum)[Down][Across][4]) {
  constexpr BatonMatrixShape shape{Threads, Rows, Columns, 80};
  const uint32_t lane = baton_thread() % 32, warp = baton_thread() / 32;
  const uint32_t top = warp / shape.warps_across() * (Down * 16);
  const uint32_t left = warp % shape.warps_across() * (Across * 8);
  __syncthreads();
  float *const product = reinterpret_cast<float *>(shared);
  if (multiplies(shape, warp)) {
#pragma unroll
    for (int i = 0; i < Down; ++i)
#pragma unroll
      for (int j = 0; j < Across; ++j)
#pragma unroll
        for (int lower = 0; lower < 2; ++lower)
          *reinterpret_cast<MatrixPair *>(
              product +
              (top + i * 16 + lower * 8 + lane / 4) * shape.product_stride() +
              left + j * 8 + lane % 4 * 2) = {
              {sum[i][j][lower * 2], sum[i][j][lower * 2 + 1]}};
  }
  __syncthreads();
}

/// Panels of BF16 through a ring of stages.
template <int Threads, int Columns, int Stages> class WarpWeights {
public:
  /// `memory` has room for all stages.
  __device__ __forceinline__ WarpWeights(unsigned char *memory,
                                         const MatrixOperands &operands,
                                         const uint16_t *panels)
      : memory(memory), operands(operands), panels{panels, operands.k},
        thread(baton_thread()) {}

  static __device__ __forceinline__ uint32_t offset(uint32_t panel,
                                                    uint32_t depth,
                                                    uint32_t half) {
    return weight_offset(panel, depth, half);
  }
  __device__ __forceinline__ void begin() const {
#pragma unroll 1
    for (int stage = 0; stage < stages - 1; ++stage)
      copy(stage);
  }
  __device__ __forceinline__ void prepare(int32_t) const {}
  __device__ __forceinline__ void expect(int32_t) const {
    baton_copies_wait<stages - 2>();
  }
  __device__ __forceinline__ void follow(int32_t stage) const {
    copy(stage + stages - 1);
  }
  __device__ __forceinline__ const unsigned char *at(int32_t stage) const {
    return memory + stage % stages * bytes;
  }
  __device__ __forceinline__ void end() const { baton_copies_wait<0>(); }

private:
  static constexpr int stages = Stages, depths = BatonMatrixShape::depths,
                       bytes = Columns * depths * 2;

  // One group for each stage, empty ones too: the waits count them.
  __device__ __forceinline__ void copy(int32_t stage) const {
    if (stage < operands.stages()) {
      unsigned char *const to = memory + stage % stages * bytes;
#pragma unroll
      for (int i = 0; i < (Columns * 8 + Threads - 1) / Threads; ++i) {
        // 128 of a panel, in terms that are the same for every stage.
        const uint32_t panel = thread / 128 + i * Threads / 128;
        const uint32_t number = thread % 128 + i * Threads % 128;
        const uint32_t inner = number / 2, half = number % 2;
        const int32_t depth = stage * depths + static_cast<int32_t>(inner);
        if (panel >= static_cast<uint32_t>(operands.panel_count))
          continue;
        unsigned char *const target = to + offset(panel, inner, half);
        if (depth < operands.k)
          baton_copy_async(target, panels.at(panel, depth) + half * 8);
        else
          *reinterpret_cast<MatrixChunk *>(target) = {};
      }
    }
    baton_copies_commit();
  }

  unsigned char *const memory;
  const MatrixOperands &operands;
  const MatrixPanels panels;
  const uint32_t thread;
};

/// Adds the products of a stage of activations at `a` and of weights at `b`,
/// for the warp's rows from `top` on and its columns from `left` on.
template <typename Weights, int Down, int Across>
BATON_DEVICE void multiply_stage(float (&sum)[Down][Across][4],
                                 const unsigned char *a, const unsigned char *b,
                                 uint32_t top, uint32_t left, uint32_t lane) {
#pragma unroll
  for (int depth = 0; depth < BatonMatrixShape::depths; depth += 16) {
    uint32_t left_side[Down][4];
#pragma unroll
    for (int i = 0; i < Down; ++i)
      baton_load_matrices(left_side[i],
                          a + activation_offset(top + i * 16 + lane % 16,
                                                depth / 8 + lane / 16));
#pragma unroll
    for (int panel = 0; panel < Across / 2; ++panel) {
      uint32_t both[4];
      baton_load_matrices_transposed(
          both,
          b + Weights::offset(left / 16 + panel, depth + lane % 16, lane / 16));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint32_t right_side[2] = {both[half * 2], both[half * 2 + 1]};
#pragma unroll
        for (int i = 0; i < Down; ++i)
          baton_multiply_bf16(sum[i][panel * 2 + half], left_side[i],
                              right_side);
      }
    }
  }
}

/// Leaves the product [Rows][Columns] of F32 in shared memory, at its
/// beginning, with rows shape.product_stride() apart, behind a barrier.
/// `weights` lie behind the stages of activations.
template <int Threads, int Rows, int Columns, typename Weights>
BATON_DEVICE void multiply_by_warps(unsigned char *shared,
                                    const MatrixOperands &operands,
                                    Weights weights) {
  constexpr BatonMatrixShape shape{Threads, Rows, Columns, 80};
  constexpr int warp_rows = Rows / shape.warps_down();
  constexpr int warp_columns = Columns / shape.warps_across();
  const uint32_t thread = baton_thread();
  const uint32_t lane = thread % 32, warp = thread / 32;
  const uint32_t top = warp / shape.warps_across() * warp_rows;
  const uint32_t left = warp % shape.warps_across() * warp_columns;
  const int32_t count = operands.stages();

  // Whatever was in shared memory has been read.
  __syncthreads();
  weights.begin();
  MatrixActivations<Threads, Rows> activations(operands, thread);
  float sum[warp_rows / 16][warp_columns / 8][4] = {};
  // Begins with the first stage's activations: loaded two stages ahead, stored
  // one stage ahead.
#pragma unroll 1
  for (int32_t stage = -2; stage < count; ++stage) {
    if (stage >= 0) {
      weights.expect(stage);
      __syncthreads();
      weights.follow(stage);
      const unsigned char *const a =
          shared + stage % 2 * shape.activation_bytes();
      const unsigned char *const b = weights.at(stage);
      if (multiplies(shape, warp))
        multiply_stage<Weights>(sum, a, b, top, left, lane);
    }
    if (stage + 1 >= 0 && stage + 1 < count)
      activations.store(shared + (stage + 1) % 2 * shape.activation_bytes());
    if (stage + 2 < count)
      activations.load(stage + 2);
    if (stage + 1 >= 0 && stage + 1 < count)
      weights.prepare(stage + 1);
  }

  weights.end();
  store_product<Threads, Rows, Columns>(shared, sum);
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_WARPS_H
