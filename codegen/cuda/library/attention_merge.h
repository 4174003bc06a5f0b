//===- attention_merge.h - blocks of attention become its result ----------===//
//
// A warp has 32 elements of a row. The factors with which blocks join depend on
// maxima alone, which have no order but the larger one's: each lane computes
// those of one block of 32, and the chains of elements and sums, in ascending
// order, get them from there.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_MERGE_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_MERGE_H

#include "codegen/cuda/library/attention_blocks.h"

namespace baton::cuda {

constexpr unsigned all_lanes = 0xffffffffu;

/// The largest value of this lane and those before it, and of `before`.
BATON_DEVICE float maximum_until(float value, float before, int lane) {
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    const float other = __shfl_up_sync(all_lanes, value, apart);
    value = lane >= apart && other > value ? other : value;
  }
  return before > value ? before : value;
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_attention_merge(
    float *out, int64_t out_stride, const float *partials,
    int64_t partials_stride, int64_t rows, int64_t position, int64_t value_dim,
    int64_t window, const float *gate, int64_t gate_stride, int64_t gate_width,
    const float *sink) {
  using namespace baton::cuda;
  // Loads that are under way at once.
  constexpr int ahead = 8;
  const float own_sink = sink_of(sink, 0);
  const int64_t width = baton_attention_partial_width(value_dim);
  const int lane = threadIdx.x % 32;
  const uint32_t chunks = static_cast<uint32_t>((value_dim + 31) / 32);
  const uint32_t jobs = static_cast<uint32_t>(rows) * chunks;
  for (uint32_t job = threadIdx.x / 32; job < jobs; job += blockDim.x / 32) {
    const int64_t row = job / chunks;
    const int64_t element = job % chunks * 32 + lane;
    const bool has_element = element < value_dim;
    const Range visible = visible_to(position + row, window);
    const int64_t begin = visible.begin / block_positions;
    const int64_t end = (visible.end + block_positions - 1) / block_positions;
    const float *blocks = partials + row * partials_stride;
    float largest = negative_infinity();
    float value = 0.0f, sum = 0.0f;
    for (int64_t turn = begin; turn < end; turn += 32) {
      const int count = static_cast<int>(smaller(end - turn, 32));
      Weights own = {negative_infinity(), 0.0f};
      if (lane < count) {
        const float *sums = blocks + (turn + lane) * width + value_dim;
        own = {sums[0], sums[1]};
      }
      const float until = maximum_until(own.maximum, largest, lane);
      const float before = __shfl_up_sync(all_lanes, until, 1);
      Weights running = {lane ? before : largest, 0.0f};
      const Merge factors = merge(running, own, turn + lane == begin);
      largest = __shfl_sync(all_lanes, until, 31);

#pragma unroll 1
      for (int first = 0; first < count; first += ahead) {
        float result[ahead];
#pragma unroll
        for (int i = 0; i < ahead; ++i)
          result[i] = has_element && first + i < count
                          ? blocks[(turn + first + i) * width + element]
                          : 0.0f;
#pragma unroll
        for (int i = 0; i < ahead; ++i) {
          const int from = first + i;
          const Merge join_by = {__shfl_sync(all_lanes, factors.keep, from),
                                 __shfl_sync(all_lanes, factors.take, from)};
          const float block_sum = __shfl_sync(all_lanes, own.sum, from);
          if (from >= count)
            continue;
          const bool is_first = turn + from == begin;
          value = join(value, result[i], join_by, is_first);
          sum = join(sum, block_sum, join_by, is_first);
        }
      }
    }
    if (!has_element)
      continue;
    value = finished(value, {largest, sum}, own_sink);
    if (gate)
      value *= opening(gate + row * gate_stride, gate_width, element);
    out[row * out_stride + element] = value;
  }
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_MERGE_H
