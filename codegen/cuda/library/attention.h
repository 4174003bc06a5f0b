//===- attention.h - attention over fixed blocks of positions -------------===//
//
// FlashAttention-2 (Dao 2023) with two changes for reproducible bits, as on the
// CPU: blocks are 64 absolute positions, wherever a tile begins, and each
// block's contribution is computed on its own before it is merged.
//
// Queries (rows times heads of the group) go in batches that fit the scratch. A
// batch walks over the blocks that it sees, several at once where queries alone
// would leave threads idle, as in decoding. A query in a block is a slot, and
// each turn has these parts, with barriers between:
// - scores and their exponentials: sixteen threads have four queries in one
//   block, each thread four positions, so that maximum and sum of a slot stay
//   among them;
// - running maxima and sums take in those of the blocks, in ascending order;
// - values: a thread has one element of four queries in one block. The chain of
//   a query covers exactly the positions that it sees: adding others with
//   weight zero would let a neighbour's NaN in;
// - the results of the blocks join the running ones, in ascending order.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/microkernel.h"

/// Bytes of `scratch` that baton_task_attention may use for tiles of up to
/// `rows` rows: as many as on the CPU, because the plan is the same.
BATON_DEVICE constexpr int64_t
baton_attention_scratch_bytes(int64_t rows, int64_t group, int64_t head_dim,
                              int64_t value_dim) {
  const int64_t tile = 70 * head_dim;
  const int64_t row = group * ((value_dim + 15) / 16 * 16 + 130);
  return 4 * (2 * rows * group + (tile > row ? tile : row));
}

namespace baton::cuda {

constexpr int block_positions = 64;
constexpr int block_panels = block_positions / lanes;
/// Queries that share what a thread has read of keys or values.
constexpr int tile_queries = 4;

/// Positions [begin, end), empty if begin >= end.
struct Range {
  int64_t begin;
  int64_t end;

  __device__ __forceinline__ bool has(int64_t position) const {
    return position >= begin && position < end;
  }
};

/// What the row at absolute position `position` sees.
BATON_DEVICE Range visible_to(int64_t position, int64_t window) {
  const int64_t end = position + 1;
  return {window > 0 && end > window ? end - window : 0, end};
}

/// `range` within the block that begins at `first`, relative to it.
BATON_DEVICE Range within_block(Range range, int64_t first) {
  return {larger(range.begin - first, 0),
          smaller(range.end - first, block_positions)};
}

/// Maximum and sum of exponentials, of a slot or of all blocks so far.
struct Weights {
  float maximum;
  float sum;
};

/// Factors with which a block joins a query's running result.
struct Merge {
  float keep; // of the running result
  float take; // of the block's
};

/// The running maximum and sum of a query take in those of a block. The first
/// block that a query sees finds nothing to keep.
BATON_DEVICE Merge merge(Weights &running, Weights block, bool first) {
  if (first) {
    running = block;
    return {0.0f, 1.0f};
  }
  const float largest =
      block.maximum > running.maximum ? block.maximum : running.maximum;
  const float shift = largest == negative_infinity() ? 0.0f : largest;
  const Merge result = {exp(running.maximum - shift),
                        exp(block.maximum - shift)};
  running.maximum = largest;
  running.sum = fmaf(block.sum, result.take, running.sum * result.keep);
  return result;
}

/// A head's gate for one element.
BATON_DEVICE float opening(const float *gates, int64_t gate_width,
                           int64_t element) {
  return sigmoid(gates[gate_width == 1 ? 0 : element]);
}

/// One call of baton_task_attention: its arguments, a batch of its queries, and
/// the batch's scratch.
struct Attention {
  float *out;
  int64_t out_stride;
  const float *q;
  int64_t q_stride;
  const float *keys;
  int64_t key_stride;
  const float *values;
  int64_t value_stride;
  int64_t position;
  int64_t group;
  int64_t head_dim;
  int64_t value_dim;
  float scale;
  float softcap;
  int64_t window;
  /// What any row of the tile sees.
  Range seen;

  /// The batch: queries [first_query, first_query + queries).
  int64_t first_query = 0;
  int64_t queries = 0;

  // The scratch: slot `block * queries + query`, both counted within a turn.
  float *weights = nullptr;      // [slots][64]
  Weights *slot_sums = nullptr;  // [slots]
  Merge *merges = nullptr;       // [slots]
  Weights *running = nullptr;    // [queries]
  float *slot_results = nullptr; // [slots][value_dim], if blocks are several

  __device__ __forceinline__ int64_t row_of(int64_t query) const {
    return static_cast<uint32_t>(first_query + query) /
           static_cast<uint32_t>(group);
  }
  __device__ __forceinline__ int64_t head_of(int64_t query) const {
    return static_cast<uint32_t>(first_query + query) %
           static_cast<uint32_t>(group);
  }
  __device__ __forceinline__ Range visible(int64_t query) const {
    return visible_to(position + row_of(query), window);
  }
  __device__ __forceinline__ float *target(int64_t query) const {
    return out + row_of(query) * out_stride + head_of(query) * value_dim;
  }
  /// Tiles of queries in the batch. Where a tile has fewer than four, it
  /// repeats the last, and stores it once.
  __device__ __forceinline__ int64_t tiles() const {
    return (queries + tile_queries - 1) / tile_queries;
  }

  /// weights[query][position in the block] = q . k for the positions lane, lane
  /// + 16, ... Positions that nobody sees get the score of one that is seen.
  __device__ __forceinline__ void score(int64_t first, int64_t block,
                                        float *slots, int lane) const {
    const float *left[tile_queries];
    const float *right[block_panels];
    float sum[tile_queries][block_panels];
#pragma unroll
    for (int i = 0; i < tile_queries; ++i) {
      const int64_t query = smaller(first + i, queries - 1);
      left[i] = q + row_of(query) * q_stride + head_of(query) * head_dim;
#pragma unroll
      for (int panel = 0; panel < block_panels; ++panel)
        sum[i][panel] = 0.0f;
    }
#pragma unroll
    for (int panel = 0; panel < block_panels; ++panel) {
      const int64_t key = larger(
          seen.begin, smaller(seen.end - 1, block + panel * lanes + lane));
      right[panel] = key_stride
                         ? keys + key * key_stride
                         : keys + key / lanes * lanes * head_dim + key % lanes;
    }
    const int64_t distance = key_stride ? 1 : lanes;
    accumulate<tile_queries, block_panels, 1>(
        sum, left, 0, head_dim,
        [&](int64_t d, int panel) { return right[panel][d * distance]; });
#pragma unroll
    for (int i = 0; i < tile_queries; ++i)
      if (first + i < queries)
#pragma unroll
        for (int panel = 0; panel < block_panels; ++panel)
          slots[(first + i) * block_positions + panel * lanes + lane] =
              sum[i][panel];
  }

  /// Scores to weights, in place, for the positions that score() gave this
  /// thread: scale, cap, mask, exponentiate. Called by whole warps; `scores` is
  /// null for sixteen threads that have nothing.
  __device__ __forceinline__ Weights exponentiate(float *scores, Range visible,
                                                  int lane) const {
    float value[block_panels];
    float maximum = negative_infinity();
#pragma unroll
    for (int panel = 0; panel < block_panels; ++panel) {
      const int index = panel * lanes + lane;
      value[panel] = negative_infinity();
      if (scores && visible.has(index)) {
        value[panel] = scores[index] * scale;
        if (softcap != 0.0f)
          value[panel] = softcap * tanh(value[panel] / softcap);
      }
      maximum = value[panel] > maximum ? value[panel] : maximum;
    }
    const float largest = maximum_of_lanes(maximum);
    const float shift = largest == negative_infinity() ? 0.0f : largest;
    float sum = 0.0f;
#pragma unroll
    for (int panel = 0; panel < block_panels; ++panel) {
      const float weight = exp(value[panel] - shift);
      sum += weight;
      if (scores)
        scores[panel * lanes + lane] = weight;
    }
    return {largest, sum_of_lanes(sum)};
  }

  /// Weights of all queries in `blocks` blocks from `turn` on.
  __device__ __forceinline__ void weigh(int64_t turn, int blocks) const {
    const int teams = blockDim.x / lanes;
    const int team = threadIdx.x / lanes;
    const int lane = threadIdx.x % lanes;
    const int count = static_cast<int>(tiles());
    const int jobs = count * blocks;
    // All threads go around equally often, for the shuffles.
    for (int first_job = 0; first_job < jobs; first_job += teams) {
      const int job = first_job + team;
      const bool active = job < jobs;
      const int64_t first = job % count * tile_queries;
      const int64_t first_slot = job / count * queries;
      const int64_t block = turn + job / count * block_positions;
      float *slots = weights + first_slot * block_positions;
      if (active)
        score(first, block, slots, lane);
#pragma unroll 1
      for (int64_t query = first; query < first + tile_queries; ++query) {
        const bool has_query = active && query < queries;
        const Weights result =
            exponentiate(has_query ? slots + query * block_positions : nullptr,
                         within_block(visible(query), block), lane);
        if (has_query && lane == 0)
          slot_sums[first_slot + query] = result;
      }
    }
  }

  /// Maxima and sums of `blocks` blocks from `turn` on join the running ones.
  __device__ __forceinline__ void merge_sums(int64_t turn, int blocks) const {
    for (int64_t query = threadIdx.x; query < queries; query += blockDim.x) {
      const Range range = visible(query);
#pragma unroll 1
      for (int i = 0; i < blocks; ++i) {
        const int64_t block = turn + i * block_positions;
        const Range within = within_block(range, block);
        const int64_t slot = i * queries + query;
        if (within.begin < within.end)
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
      const Range within = within_block(range, block);
      if (within.begin >= within.end)
        continue;
      const Merge factors = merges[i * queries + query];
      value = range.begin >= block
                  ? result(i)
                  : fmaf(result(i), factors.take, value * factors.keep);
    }
    *place = value;
  }

  /// Weights times values, for one element of four queries in one block.
  __device__ __forceinline__ void add_values(float (&sum)[tile_queries][1],
                                             int64_t first, const float *slots,
                                             int64_t block,
                                             int64_t element) const {
    const float *left[tile_queries];
    Range range[tile_queries];
#pragma unroll
    for (int i = 0; i < tile_queries; ++i) {
      const int64_t query = smaller(first + i, queries - 1);
      left[i] = slots + query * block_positions;
      range[i] = within_block(visible(query), block);
      sum[i][0] = 0.0f;
    }
    const int64_t chunk = element / lanes;
    const int64_t distance =
        value_stride ? value_stride : smaller(value_dim - chunk * lanes, lanes);
    const int64_t panel_distance =
        lanes * (value_stride ? value_stride : value_dim);
    const float *line = value_stride
                            ? values + block * value_stride + element
                            : values + block * value_dim +
                                  chunk * lanes * lanes + element % lanes;
#pragma unroll 1
    for (int key = 0; key < block_positions;
         key += lanes, line += panel_distance) {
      // All four see the same of most panels. In others rows or windows end.
      int64_t begin = block_positions, last_begin = key;
      int64_t end = 0, first_end = key + lanes;
#pragma unroll
      for (int i = 0; i < tile_queries; ++i) {
        begin = smaller(begin, range[i].begin);
        end = larger(end, range[i].end);
        last_begin = larger(last_begin, range[i].begin);
        first_end = smaller(first_end, range[i].end);
      }
      begin = larger(begin, key);
      end = smaller(end, key + lanes);
      if (begin == last_begin && end == first_end) {
        accumulate<tile_queries, 1, 2>(
            sum, left, begin, end,
            [&](int64_t k, int) { return line[(k - key) * distance]; });
        continue;
      }
#pragma unroll 1
      for (int64_t k = begin; k < end; ++k) {
        const float value = line[(k - key) * distance];
#pragma unroll
        for (int i = 0; i < tile_queries; ++i)
          if (range[i].has(k))
            sum[i][0] = fmaf(left[i][k], value, sum[i][0]);
      }
    }
  }

  /// Weights times values for all queries in `blocks` blocks from `turn` on. Of
  /// several blocks the results rest in the scratch.
  __device__ __forceinline__ void add_values(int64_t turn, int blocks) const {
    const int64_t count = tiles();
    for_each_element(
        blocks * count, value_dim, [&](int64_t job, int64_t element) {
          const int i =
              static_cast<uint32_t>(job) / static_cast<uint32_t>(count);
          const int64_t first = (job - i * count) * tile_queries;
          float sum[tile_queries][1];
          add_values(sum, first, weights + i * queries * block_positions,
                     turn + i * block_positions, element);
#pragma unroll
          for (int j = 0; j < tile_queries; ++j) {
            const int64_t query = first + j;
            if (query >= queries)
              continue;
            if (blocks == 1)
              merge_results(query, element, turn, 1,
                            [&](int) { return sum[j][0]; });
            else
              slot_results[(i * queries + query) * value_dim + element] =
                  sum[j][0];
          }
        });
  }
};

} // namespace baton::cuda

BATON_DEVICE void baton_task_append_keys(float *panels, const float *x,
                                         int64_t x_stride, int64_t position,
                                         int64_t rows, int64_t width) {
  using baton::cuda::lanes;
  if (rows == 0)
    return;
  // Rows are neighbours, as they are in panels.
  baton::cuda::fill(
      baton::cuda::walk_of_block(rows), width,
      [&](int64_t d, int64_t row) {
        const int64_t place = position + row;
        return panels + (place / lanes * width + d) * lanes + place % lanes;
      },
      [&](int64_t d, int64_t row) { return x[row * x_stride + d]; });
}

BATON_DEVICE void baton_task_append_values(float *panels, const float *x,
                                           int64_t x_stride, int64_t position,
                                           int64_t rows, int64_t width) {
  using baton::cuda::lanes;
  baton::cuda::fill(
      baton::cuda::walk_of_block(width), rows,
      [&](int64_t row, int64_t d) {
        const int64_t place = position + row;
        const int64_t chunk = d / lanes * lanes;
        return panels + (place / lanes * width + chunk) * lanes +
               place % lanes * baton::cuda::smaller(width - chunk, lanes) +
               d % lanes;
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
                     int64_t gate_width, float *scratch) {
  using namespace baton::cuda;
  if (rows == 0)
    return;
  Attention task = {
      out,      out_stride,
      q,        q_stride,
      keys,     key_stride,
      values,   value_stride,
      position, group,
      head_dim, value_dim,
      scale,    softcap,
      window,   {visible_to(position, window).begin, position + rows}};

  // A query needs 70 floats for one block, which the scratch always has; for
  // several at once it needs its results in each as well. They are as many as
  // give all threads a part of the scores.
  const int64_t queries = rows * group;
  const int64_t size =
      baton_attention_scratch_bytes(rows, group, head_dim, value_dim) / 4;
  const int64_t batch = smaller(queries, size / (block_positions + 6));
  const int64_t teams = blockDim.x / lanes;
  const int64_t tiles = (batch + tile_queries - 1) / tile_queries;
  const int64_t fitting =
      (size - 2 * batch) / (batch * (block_positions + 4 + value_dim));
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
    const int64_t begin = task.visible(0).begin / block_positions;
    const int64_t end =
        (task.visible(task.queries - 1).end + block_positions - 1) /
        block_positions;
    for (int64_t block = begin; block < end; block += at_once) {
      const int64_t turn = block * block_positions;
      const int blocks = static_cast<int>(smaller(at_once, end - block));
      task.weigh(turn, blocks);
      __syncthreads();
      task.merge_sums(turn, blocks);
      if (blocks == 1)
        __syncthreads();
      task.add_values(turn, blocks);
      __syncthreads();
      if (blocks > 1)
        for_each_element(
            task.queries, value_dim, [&](int64_t query, int64_t element) {
              task.merge_results(query, element, turn, blocks, [&](int i) {
                return task
                    .slot_results[(i * task.queries + query) * value_dim +
                                  element];
              });
            });
    }
    // Either these elements are the thread's own, or a barrier lies behind the
    // last merge. The next batch changes the sums behind a barrier.
    for_each_element(
        task.queries, value_dim, [&](int64_t query, int64_t element) {
          const float sum = task.running[query].sum;
          float *place = task.target(query) + element;
          float value = *place / (sum == 0.0f ? 1.0f : sum);
          if (gate)
            value *= opening(gate + task.row_of(query) * gate_stride +
                                 task.head_of(query) * gate_width,
                             gate_width, element);
          *place = value;
        });
  }
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
