//===- stream.h - linears of one row, whose weights flow ahead ------------===//
//
// Decoding one token reads every weight once, so that nothing but the memory's
// bandwidth should count. The weights that a worker's tasks will read, in
// order, are known before any event has come: they flow through a ring in
// shared memory, copied asynchronously, across tasks, waits, phases and layers.
// What a task computes with is there when its wait ends.
//
// Only of experts a worker does not know which weights it will read, until the
// step has routed its rows. There the source ends before a phase, and goes on
// when the worker's first task of it has waited: that one lets in what the
// phases with these experts read, and all behind them, and the ring starts
// anew.
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
  Source *source;
  bool ended = true;
  BatonPanels panels = {nullptr, 0, 0};
  int64_t depth = 0;

  __device__ __forceinline__ BatonRing(unsigned char *shared, Source *source)
      : slots(shared + threadIdx.x * sizeof(BatonWeights)), source(source) {}

  /// Starts from where the source is. Nothing of what was before is left.
  __device__ __forceinline__ void begin() {
    ended = false;
#pragma unroll 1
    for (int i = 0; i < Stages; ++i)
      copy(i);
    stage = 0;
  }

  /// The source may read the table that its phase follows, in this iteration.
  /// Everything in front of the first such phase has been taken.
  __device__ __forceinline__ void admit(int32_t table, int64_t iteration) {
    if (source->admit(table, iteration))
      begin();
  }

  /// Weights of depth `threadIdx.x / 2` of each of the next `Count` stages,
  /// eight columns. Several at once, so that their latencies are one.
  template <int Count>
  __device__ __forceinline__ void take(BatonWeights (&weights)[Count]) {
    static_assert(Count <= Stages);
    // All but the latest Stages - Count groups are complete.
    baton_copies_wait<Stages - Count>();
    if (Count == 1 || stage + Count <= Stages) {
      const unsigned char *const first = slots + offset(stage);
#pragma unroll
      for (int i = 0; i < Count; ++i)
        weights[i] = *reinterpret_cast<const BatonWeights *>(first + offset(i));
    } else {
#pragma unroll
      for (int i = 0; i < Count; ++i)
        weights[i] =
            *reinterpret_cast<const BatonWeights *>(slots + offset(behind(i)));
    }
    copy<Count>();
    stage = behind(Count);
  }

private:
  static __device__ __forceinline__ uint32_t offset(uint32_t stage) {
    return stage * Threads * sizeof(BatonWeights);
  }
  __device__ __forceinline__ uint32_t behind(uint32_t stages) const {
    const uint32_t place = stage + stages;
    return place < Stages ? place : place - Stages;
  }

  /// Starts to fill the stages that take() has emptied. Most lie in one panel,
  /// and in the ring behind one another: then one address serves all.
  template <int Count> __device__ __forceinline__ void copy() {
    if (!ended && panels.count == 0)
      ended = !source->next(panels);
    if (Count > 1 && !ended && depth + Count * depths <= panels.k &&
        stage + Count <= Stages) {
      unsigned char *const to = slots + offset(stage);
      const uint16_t *const from = source_of(depth + threadIdx.x / 2);
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        baton_copy_async(to + offset(i), from + i * depths * 16);
        baton_copies_commit();
      }
      advance(Count * depths);
      return;
    }
#pragma unroll 1
    for (int i = 0; i < Count; ++i)
      copy(behind(i));
  }

  /// One group for each stage, empty ones too: take() counts them.
  __device__ __forceinline__ void copy(uint32_t to) {
    if (!ended && panels.count == 0)
      ended = !source->next(panels);
    if (!ended) {
      const int64_t own = depth + threadIdx.x / 2;
      if (own < panels.k)
        baton_copy_async(slots + offset(to), source_of(own));
      advance(depths);
    }
    baton_copies_commit();
  }

  /// The thread's eight columns of a depth.
  __device__ __forceinline__ const uint16_t *source_of(int64_t own) const {
    return panels.first + own * 16 + threadIdx.x % 2 * 8;
  }
  __device__ __forceinline__ void advance(int64_t by) {
    depth += by;
    if (depth < panels.k)
      return;
    depth = 0;
    panels.first += panels.k * 16;
    --panels.count;
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

/// Stages that a thread takes out of the ring at once.
constexpr int stages_at_once = 8;

/// Adds the products of `Count` stages' weights, depths from `depth` on, with
/// elements of x to the sums of eight columns. Depths behind k are left out.
template <int Count, typename Ring>
BATON_DEVICE void add_stages(float (&sum)[8], Ring &ring, const float *x,
                             int64_t depth, int64_t k) {
  float factor[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i)
    factor[i] = Count > 1 || depth < k ? x[depth + i * Ring::depths] : 0.0f;
  BatonWeights weights[Count];
  ring.take(weights);
  if (Count == 1 && depth >= k)
    return;
#pragma unroll
  for (int i = 0; i < Count; ++i)
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const uint32_t both = weights[i].pairs[pair];
      sum[2 * pair] =
          fmaf(factor[i], __uint_as_float(both << 16), sum[2 * pair]);
      sum[2 * pair + 1] = fmaf(factor[i], __uint_as_float(both & 0xffff0000u),
                               sum[2 * pair + 1]);
    }
}

/// finish(column, sums) for `columns` columns of the product of one row of k
/// elements with the ring's next panels, of which those of `Sides` alternate.
/// `Unrolled` sides have code of their own.
template <int Sides, int Unrolled, typename Ring, typename Finish>
BATON_DEVICE void stream_panels(Ring &ring, const float *x, int64_t k,
                                int64_t columns, Finish finish) {
  // Written for one panel while the one before may still be read.
  __shared__ float partial[2][Sides][Ring::warps][16];
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t warp = threadIdx.x / 32;
  // All panels read the same row: it waits for the second-level cache once.
  baton_touch(x, k);
  int turn = 0;
  for (int64_t first = 0; first < columns; first += 16, turn ^= 1) {
#pragma unroll(Unrolled)
    for (int side = 0; side < Sides; ++side) {
      float sum[8] = {};
      int64_t depth = threadIdx.x / 2;
      int64_t begin = 0;
#pragma unroll 1
      for (; begin + stages_at_once * Ring::depths <= k;
           begin += stages_at_once * Ring::depths) {
        add_stages<stages_at_once>(sum, ring, x, depth, k);
        depth += stages_at_once * Ring::depths;
      }
#pragma unroll 1
      for (; begin < k; begin += Ring::depths) {
        add_stages<1>(sum, ring, x, depth, k);
        depth += Ring::depths;
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
  baton::cuda::stream_panels<1, 1>(
      ring, x, k, columns, [&](int64_t column, const float(&sum)[1]) {
        float value = bias ? sum[0] + bias[column] : sum[0];
        value = baton::cuda::activate(value, activation);
        out[column] = residual ? value + residual[column] : value;
      });
}

template <int Unrolled = 2, typename Ring>
BATON_DEVICE void baton_stream_gated_linear_bf16(
    Ring &ring, float *out, int64_t, const float *x, int64_t, const uint16_t *,
    const float *bias_gate, const float *bias_up, int64_t, int64_t k,
    int64_t columns, int32_t activation) {
  baton::cuda::stream_panels<2, Unrolled>(
      ring, x, k, columns, [&](int64_t column, const float(&sum)[2]) {
        const float gate = bias_gate ? sum[0] + bias_gate[column] : sum[0];
        const float up = bias_up ? sum[1] + bias_up[column] : sum[1];
        out[column] = baton::cuda::activate_gated(gate, up, activation);
      });
}

// The same, called, for kernels with several products: their code is in the
// kernel once. The ring is in registers meanwhile.

template <typename Ring>
BATON_CALLED void baton_called_stream_linear_bf16(
    Ring &ring, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const uint16_t *panels, const float *bias,
    const float *residual, int64_t residual_stride, int64_t rows, int64_t k,
    int64_t columns, int32_t activation) {
  Ring own = ring;
  baton_stream_linear_bf16(own, out, out_stride, x, x_stride, panels, bias,
                           residual, residual_stride, rows, k, columns,
                           activation);
  ring = own;
}

template <typename Ring>
BATON_CALLED void baton_called_stream_gated_linear_bf16(
    Ring &ring, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const uint16_t *panels, const float *bias_gate,
    const float *bias_up, int64_t rows, int64_t k, int64_t columns,
    int32_t activation) {
  Ring own = ring;
  baton_stream_gated_linear_bf16<1>(own, out, out_stride, x, x_stride, panels,
                                    bias_gate, bias_up, rows, k, columns,
                                    activation);
  ring = own;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_STREAM_H
