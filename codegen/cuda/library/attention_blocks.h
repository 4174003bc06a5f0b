//===- attention_blocks.h - blocks of positions, each on its own ----------===//
//
// FlashAttention-2 (Dao 2023) with two changes for reproducible bits, as on the
// CPU: blocks are 64 absolute positions, wherever a tile begins, and each
// block's contribution is computed on its own before it is merged.
//
// Queries (rows times heads of the group) go in batches that fit the scratch. A
// batch walks over the blocks that it sees, several at once where queries alone
// would leave threads idle, as in decoding. A query in a block is a slot, and
// each turn has two parts, with barriers between:
// - scores and their exponentials: sixteen threads have four queries in one
//   block, each thread four positions, so that maximum and sum of a slot stay
//   among them;
// - values: a thread has one element of four queries in one block. The chain of
//   a query covers exactly the positions that it sees: adding others with
//   weight zero would let a neighbour's NaN in.
// Whoever calls them says what becomes of a slot's maximum and sum, and of its
// elements.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_BLOCKS_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_BLOCKS_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/microkernel.h"
#include "codegen/cuda/library/stored_states.h"

/// Bytes of `scratch` that baton_task_attention and its first part may use for
/// tiles of up to `rows` rows: as many as on the CPU, because the plan is the
/// same.
BATON_DEVICE constexpr int64_t
baton_attention_scratch_bytes(int64_t rows, int64_t group, int64_t head_dim,
                              int64_t value_dim) {
  const int64_t tile = 70 * head_dim;
  const int64_t row = group * ((value_dim + 15) / 16 * 16 + 130);
  return 4 * (2 * rows * group + (tile > row ? tile : row));
}

/// Elements of what a query makes of one block, as on the CPU.
BATON_DEVICE constexpr int64_t
baton_attention_partial_width(int64_t value_dim) {
  return value_dim + 2;
}

namespace baton::cuda {

constexpr int block_positions = 64;
constexpr int block_panels = block_positions / lanes;
/// Queries that share what a thread has read of keys or values.
constexpr int tile_queries = 4;
/// Steps of four elements of which a score, or a sum of values, has its loads
/// under way: few threads have one, and would wait for each. With four steps of
/// a score, a kernel of this alone spills registers.
template <typename Element>
constexpr int score_steps = ScaleOf<Element>::bytes == 0 ? 2 : 1;
template <typename Element>
constexpr int value_steps = ScaleOf<Element>::bytes == 0 ? 4 : 1;

/// Positions [begin, end), empty if begin >= end.
struct Range {
  int64_t begin;
  int64_t end;

  __device__ __forceinline__ bool has(int64_t position) const {
    return position >= begin && position < end;
  }
};

BATON_DEVICE Range intersection(Range one, Range other) {
  return {larger(one.begin, other.begin), smaller(one.end, other.end)};
}

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

/// An element of a query's running result takes in that of a block.
BATON_DEVICE float join(float running, float block, Merge factors, bool first) {
  return first ? block : fmaf(block, factors.take, running * factors.keep);
}

/// What a query's elements are when all blocks have joined.
BATON_DEVICE float quotient(float element, float sum) {
  return element / (sum == 0.0f ? 1.0f : sum);
}

/// A query's element when all blocks have come. A sink is one more block, whose
/// elements are zeros; where there is none, minus infinity changes no bit.
BATON_DEVICE float finished(float value, Weights running, float sink) {
  const float keep = merge(running, {sink, 1.0f}, false).keep;
  return quotient(sink == negative_infinity() ? value : value * keep,
                  running.sum);
}

/// A head's, of all or of none.
BATON_DEVICE float sink_of(const float *sinks, int64_t head) {
  return sinks ? sinks[head] : negative_infinity();
}

/// A head's gate for one element.
BATON_DEVICE float opening(const float *gates, int64_t gate_width,
                           int64_t element) {
  return sigmoid(gates[gate_width == 1 ? 0 : element]);
}

/// Numbers at equal distances.
struct DenseLine {
  const float *first;
  int64_t distance;

  __device__ __forceinline__ float at(int64_t index) const {
    return first[index * distance];
  }
};

/// Where keys and values lie whose positions are behind one another: in rows,
/// or with a stride of 0 in panels.
struct DenseStates {
  typedef float Stored;

  const float *keys;
  int64_t key_stride;
  const float *values;
  int64_t value_stride;

  /// A position's key.
  __device__ __forceinline__ DenseLine key(int64_t position,
                                           int64_t head_dim) const {
    return {key_stride
                ? keys + position * key_stride
                : keys + position / lanes * lanes * head_dim + position % lanes,
            key_stride ? 1 : lanes};
  }
  /// An element of the values of a block's positions: of a panel's from
  /// position to position, and from panel to panel.
  struct Values : DenseLine {
    int64_t panel_distance;

    __device__ __forceinline__ void next_panel() { first += panel_distance; }
  };
  __device__ __forceinline__ Values value(int64_t block, int64_t element,
                                          int64_t value_dim) const {
    if (value_stride)
      return {{values + block * value_stride + element, value_stride},
              lanes * value_stride};
    return {{values + block * value_dim + element / lanes * lanes * lanes +
                 element % lanes,
             smaller(value_dim - element / lanes * lanes, lanes)},
            lanes * value_dim};
  }
};

/// The same where each block has a page, in panels, of rows as they are stored.
template <typename Element> struct PagedStates {
  typedef Element Stored;

  const Element *keys;
  int64_t key_page_stride;
  const Element *values;
  int64_t value_page_stride;
  const int32_t *pages;

  struct Key {
    const Element *first;
    float scale;

    __device__ __forceinline__ float at(int64_t index) const {
      return number_of(first[index * lanes], scale);
    }
  };
  __device__ __forceinline__ Key key(int64_t position, int64_t head_dim) const {
    const int64_t place = position % block_positions;
    const Element *panel = keys +
                           pages[position / block_positions] * key_page_stride +
                           place / lanes * lanes * row_of(head_dim);
    return {panel + place % lanes,
            scale_of<KeyPlaces>(panel, place % lanes, head_dim)};
  }
  struct Values {
    const Element *panel;
    int64_t element;
    int64_t value_dim;

    __device__ __forceinline__ float at(int64_t place) const {
      return number_of(
          panel[ValuePlaces::of(place, element, row_of(value_dim))],
          scale_of<ValuePlaces>(panel, place, value_dim));
    }
    __device__ __forceinline__ void next_panel() {
      panel += lanes * row_of(value_dim);
    }
  };
  __device__ __forceinline__ Values value(int64_t block, int64_t element,
                                          int64_t value_dim) const {
    return {values + pages[block / block_positions] * value_page_stride,
            element, value_dim};
  }

  static __device__ __forceinline__ int64_t row_of(int64_t width) {
    return width + ScaleOf<Element>::bytes;
  }
};

/// The same where a position's values are the first elements of its key.
template <typename Element> struct PagedLatentStates {
  typedef Element Stored;

  PagedStates<Element> pages;
  int64_t head_dim;

  typedef typename PagedStates<Element>::Key Key;
  __device__ __forceinline__ Key key(int64_t position, int64_t dim) const {
    return pages.key(position, dim);
  }
  struct Values {
    const Element *panel;
    int64_t element;
    int64_t head_dim;

    __device__ __forceinline__ float at(int64_t place) const {
      return number_of(panel[KeyPlaces::of(place, element, head_dim)],
                       scale_of<KeyPlaces>(panel, place, head_dim));
    }
    __device__ __forceinline__ void next_panel() {
      panel += lanes * PagedStates<Element>::row_of(head_dim);
    }
  };
  __device__ __forceinline__ Values value(int64_t block, int64_t element,
                                          int64_t) const {
    return {pages.keys +
                pages.pages[block / block_positions] * pages.key_page_stride,
            element, head_dim};
  }
};

/// Blocks of attention: the arguments of a call, a batch of its queries, and
/// the batch's scratch.
template <typename States = DenseStates> struct AttentionBlocks {
  const float *q;
  int64_t q_stride;
  States states;
  int64_t position;
  int64_t group;
  int64_t head_dim;
  int64_t value_dim;
  float scale;
  float softcap;
  int64_t window;
  /// What any row of the tile sees of the positions that are asked for.
  Range seen;

  /// The batch: queries [first_query, first_query + queries).
  int64_t first_query = 0;
  int64_t queries = 0;

  /// [slots][64]: slot `block * queries + query`, both counted within a turn.
  float *weights = nullptr;

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
  /// Whether a query sees a position of the block that begins at `block`.
  __device__ __forceinline__ bool sees(int64_t query, int64_t block) const {
    const Range within = within_block(visible(query), block);
    return within.begin < within.end;
  }
  /// The blocks that the batch sees: [begin, end), in blocks.
  __device__ __forceinline__ Range blocks() const {
    return {
        larger(visible(0).begin, seen.begin) / block_positions,
        (smaller(visible(queries - 1).end, seen.end) + block_positions - 1) /
            block_positions};
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
    decltype(states.key(0, 0)) right[block_panels];
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
      right[panel] = states.key(key, head_dim);
    }
    accumulate<tile_queries, block_panels,
               score_steps<typename States::Stored>>(
        sum, left, 0, head_dim,
        [&](int64_t d, int panel) { return right[panel].at(d); });
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

  /// Weights of all queries in `blocks` blocks from `turn` on. Maxima and sums
  /// go to keep(block, query, Weights), called by one thread for each slot.
  template <typename Keep>
  __device__ __forceinline__ void weigh(int64_t turn, int blocks,
                                        Keep keep) const {
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
          keep(job / count, query, result);
      }
    }
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
    auto line = states.value(block, element, value_dim);
#pragma unroll 1
    for (int key = 0; key < block_positions; key += lanes, line.next_panel()) {
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
        accumulate<tile_queries, 1, value_steps<typename States::Stored>>(
            sum, left, begin, end,
            [&](int64_t k, int) { return line.at(k - key); });
        continue;
      }
#pragma unroll 1
      for (int64_t k = begin; k < end; ++k) {
        const float value = line.at(k - key);
#pragma unroll
        for (int i = 0; i < tile_queries; ++i)
          if (range[i].has(k))
            sum[i][0] = fmaf(left[i][k], value, sum[i][0]);
      }
    }
  }

  /// Weights times values for all queries in `blocks` blocks from `turn` on.
  /// What they are for an element goes to keep(block, query, element, value).
  template <typename Keep>
  __device__ __forceinline__ void add_values(int64_t turn, int blocks,
                                             Keep keep) const {
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
          for (int j = 0; j < tile_queries; ++j)
            if (first + j < queries)
              keep(i, first + j, element, sum[j][0]);
        });
  }
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_BLOCKS_H
