//===- attention.h - attention, its states and its gate -------------------===//
//
// One task has all blocks that its rows see. Between the two parts of a turn
// (attention_blocks.h) running maxima and sums take in those of the turn's
// blocks, in ascending order; behind them the blocks' results join the running
// ones, in ascending order too.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_H

#include "codegen/cuda/library/attention_blocks.h"

namespace baton::cuda {

/// One call of baton_task_attention, or of a body like it.
template <typename States = DenseStates>
struct Attention : AttentionBlocks<States> {
  using Blocks = AttentionBlocks<States>;
  using Blocks::add_values;
  using Blocks::head_of;
  using Blocks::queries;
  using Blocks::row_of;
  using Blocks::sees;
  using Blocks::value_dim;
  using Blocks::visible;

  float *out = nullptr;
  int64_t out_stride = 0;

  // The rest of the scratch.
  Weights *slot_sums = nullptr;  // [slots]
  Merge *merges = nullptr;       // [slots]
  Weights *running = nullptr;    // [queries]
  float *slot_results = nullptr; // [slots][value_dim], if blocks are several

  __device__ __forceinline__ float *target(int64_t query) const {
    return out + row_of(query) * out_stride + head_of(query) * value_dim;
  }
  /// Maxima and sums of `blocks` blocks from `turn` on join the running ones.
  __device__ __forceinline__ void merge_sums(int64_t turn, int blocks) const {
    for (int64_t query = threadIdx.x; query < queries; query += blockDim.x) {
      const Range range = visible(query);
#pragma unroll 1
      for (int i = 0; i < blocks; ++i) {
        const int64_t block = turn + i * block_positions;
        const int64_t slot = i * queries + query;
        if (sees(query, block))
          merges[slot] =
              merge(running[query], slot_sums[slot], range.begin >= block);
      }
    }
  }

  /// Results of `blocks` blocks from `turn` on join the running one in `out`;
  /// `result(i)` is that of block i.
  template <typename Result>
  __device__ __forceinline__ void merge_results(int64_t query, int64_t element,
                                                int64_t turn, int blocks,
                                                Result result) const {
    const Range range = visible(query);
    float *place = target(query) + element;
    float value = range.begin < turn ? *place : 0.0f;
#pragma unroll 1
    for (int i = 0; i < blocks; ++i) {
      const int64_t block = turn + i * block_positions;
      if (sees(query, block))
        value = join(value, result(i), merges[i * queries + query],
                     range.begin >= block);
    }
    *place = value;
  }

  /// Of several blocks the results rest in the scratch.
  __device__ __forceinline__ void add_results(int64_t turn, int blocks) const {
    add_values(
        turn, blocks, [&](int i, int64_t query, int64_t element, float value) {
          if (blocks == 1)
            merge_results(query, element, turn, 1, [&](int) { return value; });
          else
            slot_results[(i * queries + query) * value_dim + element] = value;
        });
  }
};

/// Where element `d` of a position's key lies in panels, and of its value.
BATON_DEVICE int64_t key_place(int64_t position, int64_t d, int64_t width) {
  return (position / lanes * width + d) * lanes + position % lanes;
}
BATON_DEVICE int64_t value_place(int64_t position, int64_t d, int64_t width) {
  const int64_t chunk = d / lanes * lanes;
  return (position / lanes * width + chunk) * lanes +
         position % lanes * smaller(width - chunk, lanes) + d % lanes;
}

/// Attention of all `rows` of a task whose batches are not known yet; `scratch`
/// is that of as many rows. Of each query keep(query, sums) gets maximum and
/// sum, and finish(query, element, value) what to make of an element: both
/// number queries of the batch.
template <typename States, typename Keep, typename Finish>
BATON_DEVICE void attend(Attention<States> &task, int64_t rows, float *scratch,
                         Keep keep, Finish finish) {
  // A query needs 70 floats for one block, which the scratch always has; for
  // several at once it needs its results in each as well. They are as many as
  // give all threads a part of the scores.
  const int64_t queries = rows * task.group;
  const int64_t size = baton_attention_scratch_bytes(
                           rows, task.group, task.head_dim, task.value_dim) /
                       4;
  const int64_t batch = smaller(queries, size / (block_positions + 6));
  const int64_t teams = blockDim.x / lanes;
  const int64_t tiles = (batch + tile_queries - 1) / tile_queries;
  const int64_t fitting =
      (size - 2 * batch) / (batch * (block_positions + 4 + task.value_dim));
  const int64_t at_once =
      larger(smaller(fitting, (teams + tiles - 1) / tiles), 1);
  const int64_t slots = at_once * batch;
  task.weights = scratch;
  task.slot_sums =
      reinterpret_cast<Weights *>(scratch + slots * block_positions);
  task.merges = reinterpret_cast<Merge *>(task.slot_sums + slots);
  task.running = reinterpret_cast<Weights *>(task.merges + slots);
  task.slot_results = reinterpret_cast<float *>(task.running + batch);

  for (int64_t first = 0; first < queries; first += batch) {
    task.first_query = first;
    task.queries = smaller(batch, queries - first);
    const Range seen = task.blocks();
    for (int64_t block = seen.begin; block < seen.end; block += at_once) {
      const int64_t turn = block * block_positions;
      const int blocks = static_cast<int>(smaller(at_once, seen.end - block));
      task.weigh(turn, blocks, [&](int64_t i, int64_t query, Weights sums) {
        task.slot_sums[i * task.queries + query] = sums;
      });
      __syncthreads();
      task.merge_sums(turn, blocks);
      if (blocks == 1)
        __syncthreads();
      task.add_results(turn, blocks);
      __syncthreads();
      if (blocks > 1)
        for_each_element(
            task.queries, task.value_dim, [&](int64_t query, int64_t element) {
              task.merge_results(query, element, turn, blocks, [&](int i) {
                return task
                    .slot_results[(i * task.queries + query) * task.value_dim +
                                  element];
              });
            });
    }
    // Either these elements are the thread's own, or a barrier lies behind the
    // last merge. The next batch changes the sums behind a barrier.
    for_each_element(
        task.queries, task.value_dim, [&](int64_t query, int64_t element) {
          float *place = task.target(query) + element;
          *place = finish(query, element, *place, task.running[query]);
          if (element == 0)
            keep(query, task.running[query]);
        });
  }
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_append_keys(float *panels, const float *x,
                                         int64_t x_stride, int64_t position,
                                         int64_t rows, int64_t width) {
  if (rows == 0)
    return;
  // Rows are neighbours, as they are in panels.
  baton::cuda::fill(
      baton::cuda::walk_of_block(rows), width,
      [&](int64_t d, int64_t row) {
        return panels + baton::cuda::key_place(position + row, d, width);
      },
      [&](int64_t d, int64_t row) { return x[row * x_stride + d]; });
}

BATON_DEVICE void baton_task_append_values(float *panels, const float *x,
                                           int64_t x_stride, int64_t position,
                                           int64_t rows, int64_t width) {
  baton::cuda::fill(
      baton::cuda::walk_of_block(width), rows,
      [&](int64_t row, int64_t d) {
        return panels + baton::cuda::value_place(position + row, d, width);
      },
      [&](int64_t row, int64_t d) { return x[row * x_stride + d]; });
}

BATON_DEVICE void
baton_task_attention(float *out, int64_t out_stride, const float *q,
                     int64_t q_stride, const float *keys, int64_t key_stride,
                     const float *values, int64_t value_stride, int64_t rows,
                     int64_t position, int64_t group, int64_t head_dim,
                     int64_t value_dim, float scale, float softcap,
                     int64_t window, const float *gate, int64_t gate_stride,
                     int64_t gate_width, const float *sinks, float *scratch) {
  using namespace baton::cuda;
  if (rows == 0)
    return;
  Attention<> task{{q,
                    q_stride,
                    {keys, key_stride, values, value_stride},
                    position,
                    group,
                    head_dim,
                    value_dim,
                    scale,
                    softcap,
                    window,
                    {visible_to(position, window).begin, position + rows}}};
  task.out = out;
  task.out_stride = out_stride;
  attend(
      task, rows, scratch, [](int64_t, Weights) {},
      [&](int64_t query, int64_t element, float value, Weights running) {
        value = finished(value, running, sink_of(sinks, task.head_of(query)));
        return gate ? value * opening(gate + task.row_of(query) * gate_stride +
                                          task.head_of(query) * gate_width,
                                      gate_width, element)
                    : value;
      });
}

BATON_DEVICE void baton_task_gate(float *out, int64_t out_stride,
                                  const float *x, int64_t x_stride,
                                  const float *gate, int64_t gate_stride,
                                  int64_t rows, int64_t heads, int64_t width,
                                  int64_t gate_width) {
  baton::cuda::fill_rows(
      out, out_stride, rows, heads * width, [&](int64_t row, int64_t column) {
        const int64_t head =
            static_cast<uint32_t>(column) / static_cast<uint32_t>(width);
        return x[row * x_stride + column] *
               baton::cuda::opening(gate + row * gate_stride +
                                        head * gate_width,
                                    gate_width, column - head * width);
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_H
