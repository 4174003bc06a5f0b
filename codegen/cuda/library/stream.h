//===- stream.h - linears of one row, whose weights flow ahead ------------===//
//
// Decoding one token reads every weight once, so that nothing but the memory's
// bandwidth should count. The weights that a worker's tasks will read, in
// order, are known before any event has come: they flow through a ring in
// shared memory, copied asynchronously, across tasks, waits, phases and layers.
// What a task computes with is there when its wait ends.
//
// A stage of the ring has 16 bytes for each thread. A thread computes with
// exactly what it has copied itself, so that the ring takes no barriers. A
// panel
// ([k][16] of BF16, contiguous) takes ceil(k / depth) stages, where two
// neighbouring threads have the columns of one depth.
//
// Numeric contract of these tuned bodies: a thread's sums ascend in depth, and
// those of a panel join in a fixed tree, so that results repeat bit for bit for
// any number of workers. They are not those of the portable bodies, nor of
// blocks with another number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_STREAM_H
#define BATON_CODEGEN_CUDA_LIBRARY_STREAM_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/async.h"

/// Consecutive panels of one task.
struct BatonPanels {
  const uint16_t *first;
  int64_t count;
  /// Elements of one column.
  int64_t k;
};

/// 16 bytes of weights by one load: eight columns of one depth.
struct alignas(16) BatonWeights {
  uint32_t pairs[4];
};

/// `Source::next(BatonPanels &)` gives the panels of the worker's tasks of one
/// step, in the order in which stream_panels() asks for them, and false at the
/// end. Every thread of the block has a ring of its own, and all do the same.
template <typename Source, int Stages, int Threads> struct BatonRing {
  static constexpr int warps = Threads / 32;
  /// Depths of a panel in one stage.
  static constexpr int64_t depths = Threads / 2;

  unsigned char *slots; // this thread's first one
  uint32_t stage = 0;
  // What is copied next.
  Source source;
  bool ended = true;
  BatonPanels panels = {nullptr, 0, 0};
  int64_t depth = 0;

  __device__ __forceinline__ BatonRing(unsigned char *shared, Source source)
      : slots(shared + threadIdx.x * sizeof(BatonWeights)), source(source) {}

  /// Starts a step. Nothing of the step before is left.
  __device__ __forceinline__ void begin(Source of_step) {
    source = of_step;
    ended = false;
    for (int i = 0; i < Stages; ++i)
      copy(i);
    stage = 0;
  }

  /// Weights of depth `threadIdx.x / 2` of the next stage, eight columns.
  __device__ __forceinline__ BatonWeights take() {
    // All but the latest Stages - 1 groups are complete: the oldest is this.
    baton_copies_wait<Stages - 1>();
    const BatonWeights weights =
        *reinterpret_cast<const BatonWeights *>(slots + offset(stage));
    copy(stage);
    stage = stage + 1 == Stages ? 0 : stage + 1;
    return weights;
  }

private:
  static __device__ __forceinline__ uint32_t offset(uint32_t stage) {
    return stage * Threads * sizeof(BatonWeights);
  }

  /// One group for each stage, empty ones too: take() counts them.
  __device__ __forceinline__ void copy(uint32_t to) {
    if (!ended && panels.count == 0)
      ended = !source.next(panels);
    if (!ended) {
      const int64_t own = depth + threadIdx.x / 2;
      if (own < panels.k)
        baton_copy_async(slots + offset(to),
                         panels.first + own * 16 + threadIdx.x % 2 * 8);
      depth += depths;
      if (depth >= panels.k) {
        depth = 0;
        panels.first += panels.k * 16;
        --panels.count;
      }
    }
    baton_copies_commit();
  }
};

namespace baton::cuda {

/// Adds up eight sums of each of the sixteen threads of a warp that have the
/// same columns: the thread whose number within them has the upper three bits j
/// gets column j. In each step a thread gives one half of its columns away.
BATON_DEVICE float sum_of_columns(float (&sum)[8]) {
  const uint32_t lane = threadIdx.x % 32;
  int count = 8;
#pragma unroll
  for (int apart = 16; apart >= 4; apart /= 2) {
    count /= 2;
    const bool upper = lane & apart;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i >= count)
        continue;
      const float given = upper ? sum[i] : sum[i + count];
      const float kept = upper ? sum[i + count] : sum[i];
      sum[i] = kept + __shfl_xor_sync(0xffffffffu, given, apart);
    }
  }
  return sum[0] + __shfl_xor_sync(0xffffffffu, sum[0], 2);
}

/// finish(column, sums) for `columns` columns of the product of one row of k
/// elements with the ring's next panels, of which those of `Sides` alternate.
template <int Sides, typename Ring, typename Finish>
BATON_DEVICE void stream_panels(Ring &ring, const float *x, int64_t k,
                                int64_t columns, Finish finish) {
  // Written for one panel while the one before may still be read.
  __shared__ float partial[2][Sides][Ring::warps][16];
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t warp = threadIdx.x / 32;
  int turn = 0;
  for (int64_t first = 0; first < columns; first += 16, turn ^= 1) {
#pragma unroll
    for (int side = 0; side < Sides; ++side) {
      float sum[8] = {};
      for (int64_t begin = 0; begin < k; begin += Ring::depths) {
        const BatonWeights weights = ring.take();
        const int64_t depth = begin + threadIdx.x / 2;
        if (depth >= k)
          continue;
        const float factor = x[depth];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sum[2 * i] =
              fmaf(factor, __uint_as_float(weights.pairs[i] << 16), sum[2 * i]);
          sum[2 * i + 1] =
              fmaf(factor, __uint_as_float(weights.pairs[i] & 0xffff0000u),
                   sum[2 * i + 1]);
        }
      }
      const float total = sum_of_columns(sum);
      // Column `lane / 4` of the half that the thread has; bit 1 of the lane
      // tells two that have the same.
      if ((lane & 2) == 0)
        partial[turn][side][warp][lane % 2 * 8 + lane / 4] = total;
    }
    __syncthreads();
    const int64_t column = first + threadIdx.x;
    if (threadIdx.x < 16 && column < columns) {
      float sum[Sides];
#pragma unroll
      for (int side = 0; side < Sides; ++side) {
        sum[side] = 0.0f;
#pragma unroll
        for (int i = 0; i < Ring::warps; ++i)
          sum[side] += partial[turn][side][i][threadIdx.x];
      }
      finish(column, sum);
    }
  }
}

} // namespace baton::cuda

// The task library's bodies of the same names, for one row. Behind the call as
// before it, the block needs a barrier.

template <typename Ring>
BATON_DEVICE void
baton_stream_linear_bf16(Ring &ring, float *out, int64_t, const float *x,
                         int64_t, const uint16_t *, const float *bias,
                         const float *residual, int64_t, int64_t, int64_t k,
                         int64_t columns, int32_t activation) {
  baton::cuda::stream_panels<1>(
      ring, x, k, columns, [&](int64_t column, const float(&sum)[1]) {
        float value = bias ? sum[0] + bias[column] : sum[0];
        value = baton::cuda::activate(value, activation);
        out[column] = residual ? value + residual[column] : value;
      });
}

template <typename Ring>
BATON_DEVICE void baton_stream_gated_linear_bf16(
    Ring &ring, float *out, int64_t, const float *x, int64_t, const uint16_t *,
    const float *bias_gate, const float *bias_up, int64_t, int64_t k,
    int64_t columns, int32_t activation) {
  baton::cuda::stream_panels<2>(
      ring, x, k, columns, [&](int64_t column, const float(&sum)[2]) {
        const float gate = bias_gate ? sum[0] + bias_gate[column] : sum[0];
        const float up = bias_up ? sum[1] + bias_up[column] : sum[1];
        out[column] = baton::cuda::activate(gate, activation) * up;
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_STREAM_H
