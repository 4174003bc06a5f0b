//===- matrix_warpgroups.h - products by warpgroups, on those of sm_90a ---===//
//
// Of wgmma's operands, the left one can be in registers and the right one is in
// shared memory, described by a word. Here weights are on the left and the
// product is computed transposed, [columns, rows]: what a descriptor has to
// describe are activations, which are stored as it wants them, while panels of
// weights stay as they are in memory. So bulk copies bring them, one per panel
// and stage, and a warp loads those of its sixteen columns into registers.
//
// A stage's activations are written by ordinary stores and read by the
// asynchronous proxy: whoever has stored executes a proxy fence, then comes the
// barrier. That barrier also says that all warps have left the stage before, in
// whose place the next bulk copies go. Multiplications of up to four steps of
// 16 depths are under way at a time, so that a warpgroup has left behind its
// reading of a stage of activations when it comes to the end of the next: there
// are three.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_WARPGROUPS_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_WARPGROUPS_H

#include "codegen/cuda/library/matrix_operands.h"

namespace baton::cuda {

/// Describes 16 depths of a stage of activations, the first being `depth`: as
/// PTX has it, a K-major matrix in the 128-byte swizzle. Its rows are 128 bytes
/// apart; eight of them make the pattern, whose beginnings are aligned to 1024
/// bytes and as far apart ("stride byte offset"). The hardware swaps chunks by
/// bits of the address, so that the depths within a row are reached by moving
/// the start.
///
///   bits  0-13  start / 16
///   bits 16-29  leading byte offset / 16: 1, without meaning in swizzles
///   bits 32-45  stride byte offset / 16
///   bits 49-51  offset of the pattern: 0, as it is aligned
///   bits 62-63  1: 128-byte swizzle
BATON_DEVICE uint64_t describe_activations(const unsigned char *stage,
                                           int depth) {
  const uint32_t start = baton_shared_address(stage) + depth * 2;
  return static_cast<uint64_t>((start & 0x3ffff) >> 4) | uint64_t{1} << 16 |
         uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

/// The left operand of 16 columns, those of a panel's stage, and 16 depths, the
/// first being `depth`.
///
/// ldmatrix reads eight rows of 16 bytes at once. Eight depths of the same half
/// of the columns are 32 bytes apart: the fifth is in the banks of the first.
/// So the lower four are read of one half, the upper four of the other, which
/// are in all banks, and lanes with the upper ones exchange two registers.
BATON_DEVICE void load_weights(uint32_t (&fragment)[4],
                               const unsigned char *panel, int depth,
                               uint32_t lane) {
  const uint32_t row = lane % 8, half = lane / 8 % 2 ^ row / 4;
  uint32_t loaded[4];
  baton_load_matrices_transposed(
      loaded, panel + (depth + lane / 16 * 8 + row) * 32 + half * 16);
  const bool upper = lane % 4 >= 2;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    fragment[i] = upper ? loaded[i ^ 1] : loaded[i];
}

/// Panels of BF16 through a ring of stages, by bulk copies.
template <int Threads, int Columns, int Stages> class WarpgroupWeights {
public:
  static constexpr int panel_bytes = BatonMatrixShape::depths * 32;

  /// `memory` has room for all stages; `full` has a barrier for each.
  __device__ __forceinline__ WarpgroupWeights(unsigned char *memory,
                                              uint64_t *full,
                                              const MatrixOperands &operands,
                                              const uint16_t *panels)
      : memory(memory), full(full), operands(operands),
        panels{panels, operands.k}, thread(baton_thread()) {}

  __device__ __forceinline__ void begin() const {
    if (thread != 0)
      return;
    for (int slot = 0; slot < stages; ++slot)
      baton_barrier_init(&full[slot], 1);
    baton_barrier_init_fence();
    // Behind the stores and loads of whoever used the memory before.
    baton_shared_proxy_fence();
#pragma unroll 1
    for (int stage = 0; stage < stages - 1; ++stage)
      copy(stage);
  }
  __device__ __forceinline__ void prepare(int32_t) const {}
  __device__ __forceinline__ void expect(int32_t) const {}
  /// Waits for the copies; a warp may then read its own panels, once it is
  /// together.
  __device__ __forceinline__ void follow(int32_t stage) const {
    if (thread == 0)
      copy(stage + stages - 1);
    baton_barrier_wait(&full[stage % stages], stage / stages % 2);
    // What is behind the last depth is of the stage before, or anything.
    if ((stage + 1) * depths > operands.k)
      for (uint32_t panel = thread / 32; panel < Columns / 16;
           panel += Threads / 32)
        for (int32_t at = (operands.k - stage * depths) * 2 +
                          static_cast<int32_t>(thread % 32);
             at < depths * 2; at += 32)
          *reinterpret_cast<MatrixChunk *>(memory + stage % stages * bytes +
                                           panel * panel_bytes + at * 16) = {};
  }
  __device__ __forceinline__ const unsigned char *at(int32_t stage) const {
    return memory + stage % stages * bytes;
  }
  /// Behind a barrier.
  __device__ __forceinline__ void end() const {
    if (thread == 0)
      for (int slot = 0; slot < stages; ++slot)
        baton_barrier_invalidate(&full[slot]);
  }

private:
  static constexpr int stages = Stages, depths = BatonMatrixShape::depths,
                       bytes = Columns / 16 * panel_bytes;

  // By one thread.
  __device__ __forceinline__ void copy(int32_t stage) const {
    if (stage >= operands.stages())
      return;
    const int slot = stage % stages;
    const uint32_t of_panel =
        static_cast<uint32_t>(smaller(operands.k - stage * depths, depths)) *
        32;
    baton_barrier_arrive_expect(&full[slot], operands.panel_count * of_panel);
    for (int32_t panel = 0; panel < operands.panel_count; ++panel)
      baton_bulk_copy(memory + slot * bytes + panel * panel_bytes,
                      panels.at(panel, stage * depths), of_panel, &full[slot]);
  }

  unsigned char *const memory;
  uint64_t *const full;
  const MatrixOperands &operands;
  const MatrixPanels panels;
  const uint32_t thread;
};

/// As multiply_by_warps().
template <int Threads, int Rows, int Columns, typename Weights>
BATON_DEVICE void multiply_by_warpgroups(unsigned char *shared,
                                         const MatrixOperands &operands,
                                         Weights weights) {
  constexpr BatonMatrixShape shape{Threads, Rows, Columns, 90};
  constexpr int steps = shape.depths / 16;
  /// Panels of a warp: the four of a warpgroup multiply 64 columns.
  constexpr int blocks = Columns / (Threads / 2);
  const uint32_t thread = baton_thread();
  const uint32_t lane = thread % 32, warp = thread / 32;
  const int32_t count = operands.stages();

  // Whatever was in shared memory has been read.
  __syncthreads();
  weights.begin();
  MatrixActivations<Threads, Rows> activations(operands, thread);
  float sum[blocks][Rows / 2] = {};
  // Zeros as in MatrixActivations.
  uint32_t fragments[steps][blocks][4] = {};
#pragma unroll
  for (int block = 0; block < blocks; ++block)
    baton_warpgroup_hold(sum[block]);
  // Begins with the first stage's activations: loaded two stages ahead, stored
  // one stage ahead.
#pragma unroll 1
  for (int32_t stage = -2; stage < count; ++stage) {
    if (stage >= 0) {
      weights.expect(stage);
      __syncthreads();
      weights.follow(stage);
      const unsigned char *const b = weights.at(stage);
      // A warp reads its own panels only; it must be together to do so.
      __syncwarp();
      const unsigned char *const a =
          shared + stage % 3 * shape.activation_bytes();
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        // The multiplication that reads this step's fragment is complete.
        baton_warpgroup_wait<steps - 1>();
#pragma unroll
        for (int block = 0; block < blocks; ++block) {
          load_weights(fragments[step][block],
                       b + (block * (Threads / 32) + warp) *
                               Weights::panel_bytes,
                       step * 16, lane);
          baton_warpgroup_hold(fragments[step][block]);
        }
        baton_warpgroup_fence();
#pragma unroll
        for (int block = 0; block < blocks; ++block)
          baton_warpgroup_multiply_bf16(sum[block], fragments[step][block],
                                        describe_activations(a, step * 16));
        baton_warpgroup_commit();
      }
    }
    if (stage + 1 >= 0 && stage + 1 < count) {
      activations.store(shared + (stage + 1) % 3 * shape.activation_bytes());
      baton_shared_proxy_fence();
    }
    if (stage + 2 < count)
      activations.load(stage + 2);
    if (stage + 1 >= 0 && stage + 1 < count)
      weights.prepare(stage + 1);
  }

  baton_warpgroup_wait<0>();
#pragma unroll
  for (int block = 0; block < blocks; ++block)
    baton_warpgroup_hold(sum[block]);
  __syncthreads();
  weights.end();
  float *const product = reinterpret_cast<float *>(shared);
#pragma unroll
  for (int block = 0; block < blocks; ++block)
#pragma unroll
    for (int i = 0; i < Rows / 2; ++i) {
      const uint32_t row = i / 4 * 8 + lane % 4 * 2 + i % 2;
      const uint32_t column =
          (block * (Threads / 32) + warp) * 16 + i / 2 % 2 * 8 + lane / 4;
      product[row * shape.product_stride() + column] = sum[block][i];
    }
  __syncthreads();
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_WARPGROUPS_H
