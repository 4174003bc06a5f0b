//===- attention_gradient.h - adjoints of attention -----------------------===//
//
// As codegen/cpu/library/attention_gradient.cpp: rows of one side - queries, or
// keys - meet blocks of 64 of the other. Each block has two parts, with
// barriers between:
// - sixteen threads compute what four rows make of the block, each thread four
//   of its rows: weights P and gradients of scores dS, which rest in scratch;
// - a thread has one element of four rows' sums, whose chains cover exactly the
//   rows that see each other: adding others with weight zero would let a
//   neighbour's NaN in.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_H

#include "codegen/cuda/library/elementwise_gradient.h"
#include "codegen/cuda/library/sequence_attention.h"

namespace baton::cuda {

/// Rows of a matrix, `width` elements each.
struct MatrixRows {
  const float *data;
  int64_t stride;
  int64_t width;

  __device__ __forceinline__ const float *at(int64_t row) const {
    return data + row * stride;
  }
};

/// What is known of a query from the forward pass.
struct KnownQuery {
  float maximum;
  float inverse; // 1 / sum
  float delta;
};

/// Some rows of one side and a block of the other.
struct GradientBlock {
  /// Whose products make scores, and whose make gradients of weights.
  MatrixRows score_rows, gradient_rows;
  int64_t rows;
  /// From the block's first row on.
  MatrixRows score_block, gradient_block;
  /// What any row sees of the block; nothing else is read.
  Range seen;
  float scale;
  float softcap;
  /// [rows][64], the first null if nobody wants it.
  float *weights;
  float *gradients;

  /// products[i][p] = a row of `rows` from `first` on times the block's row
  /// lane
  /// + 16 p.
  __device__ __forceinline__ void
  multiply(float (&products)[tile_queries][block_panels],
           const MatrixRows &row_side, const MatrixRows &block_side,
           int64_t first, int lane) const {
    const float *left[tile_queries];
    const float *right[block_panels];
#pragma unroll
    for (int i = 0; i < tile_queries; ++i) {
      left[i] = row_side.at(smaller(first + i, rows - 1));
#pragma unroll
      for (int panel = 0; panel < block_panels; ++panel)
        products[i][panel] = 0.0f;
    }
#pragma unroll
    for (int panel = 0; panel < block_panels; ++panel)
      right[panel] = block_side.at(
          larger(seen.begin, smaller(seen.end - 1, panel * lanes + lane)));
    accumulate<tile_queries, block_panels, 1>(
        products, left, 0, row_side.width,
        [&](int64_t d, int panel) { return right[panel][d]; });
  }

  /// P and dS of all rows; known(row, place) tells of the query that one of
  /// them is.
  template <typename Known>
  __device__ __forceinline__ void weigh(Known known) const {
    const int teams = static_cast<int>(baton_threads()) / lanes;
    const int team = static_cast<int>(baton_thread()) / lanes;
    const int lane = static_cast<int>(baton_thread()) % lanes;
#pragma unroll 1
    for (int64_t first = team * tile_queries; first < rows;
         first += teams * tile_queries) {
      float scores[tile_queries][block_panels];
      float products[tile_queries][block_panels];
      multiply(scores, score_rows, score_block, first, lane);
      multiply(products, gradient_rows, gradient_block, first, lane);
#pragma unroll
      for (int i = 0; i < tile_queries; ++i)
#pragma unroll
        for (int panel = 0; panel < block_panels; ++panel) {
          const int place = panel * lanes + lane;
          if (first + i >= rows || !seen.has(place))
            continue;
          const KnownQuery of = known(first + i, place);
          float score = scores[i][panel] * scale;
          float slope = scale;
          if (softcap != 0.0f) {
            const float bent = tanh(score / softcap);
            score = softcap * bent;
            slope = (1.0f - bent * bent) * scale;
          }
          const float weight = exp(score - of.maximum) * of.inverse;
          const int64_t at = (first + i) * block_positions + place;
          if (weights)
            weights[at] = weight;
          gradients[at] = weight * (products[i][panel] - of.delta) * slope;
        }
    }
  }

  /// out[i] += the chain over d in seen_by(i) of left[i][d] * the block's row
  /// d.
  template <typename Seen>
  __device__ __forceinline__ void
  add(float *out, int64_t out_stride, const float *left,
      const MatrixRows &block, Seen seen_by) const {
    for_each_element(
        (rows + tile_queries - 1) / tile_queries, block.width,
        [&](int64_t tile, int64_t column) {
          const int64_t first = tile * tile_queries;
          const float *line[tile_queries];
          Range range[tile_queries];
          float sum[tile_queries][1];
          // What all four see, around which only some do.
          Range any = {block_positions, 0}, common = {0, block_positions};
#pragma unroll
          for (int i = 0; i < tile_queries; ++i) {
            const int64_t row = smaller(first + i, rows - 1);
            line[i] = left + row * block_positions;
            range[i] = seen_by(row);
            any.begin = smaller(any.begin, range[i].begin);
            any.end = larger(any.end, range[i].end);
            common = intersection(common, range[i]);
            sum[i][0] = out[row * out_stride + column];
          }
          common.end = larger(common.begin, common.end);
          const float *source = block.data + column;
          auto add_some = [&](int64_t begin, int64_t end) {
#pragma unroll 1
            for (int64_t d = begin; d < end; ++d) {
              const float value = source[d * block.stride];
#pragma unroll
              for (int i = 0; i < tile_queries; ++i)
                if (range[i].has(d))
                  sum[i][0] = fmaf(line[i][d], value, sum[i][0]);
            }
          };
          add_some(any.begin, smaller(common.begin, any.end));
          accumulate<tile_queries, 1, 2>(
              sum, line, common.begin, common.end,
              [&](int64_t d, int) { return source[d * block.stride]; });
          add_some(larger(common.end, any.begin), any.end);
#pragma unroll
          for (int i = 0; i < tile_queries; ++i)
            if (first + i < rows)
              out[(first + i) * out_stride + column] = sum[i][0];
        });
  }
};

} // namespace baton::cuda

BATON_DEVICE void baton_task_attention_delta(float *delta, int64_t delta_stride,
                                             const float *dout,
                                             int64_t dout_stride,
                                             const float *out,
                                             int64_t out_stride, int64_t rows,
                                             int64_t heads, int64_t width) {
  baton::cuda::for_each_team(
      rows * heads, [&](int64_t vector, int64_t lane, bool is_own) {
        const int64_t row =
            static_cast<uint32_t>(vector) / static_cast<uint32_t>(heads);
        const int64_t head = vector - row * heads;
        const float product = baton::cuda::inner_product(
            dout + row * dout_stride + head * width,
            out + row * out_stride + head * width, width, lane);
        if (is_own && lane == 0)
          delta[row * delta_stride + head] = product;
      });
}

BATON_DEVICE void baton_task_attention_sink_gradient(
    float *dsinks, int64_t dsinks_stride, const float *delta,
    int64_t delta_stride, const float *statistics, int64_t statistics_stride,
    const float *sinks, int64_t rows, int64_t heads) {
  baton::cuda::fill_rows(
      dsinks, dsinks_stride, rows, heads, [&](int64_t row, int64_t head) {
        const float *of = statistics + row * statistics_stride + 2 * head;
        const float weight =
            baton::cuda::exp(sinks[head] - of[0]) * (1.0f / of[1]);
        return -weight * delta[row * delta_stride + head];
      });
}

BATON_DEVICE void baton_task_attention_query_gradient(
    float *dq, int64_t dq_stride, const float *dout, int64_t dout_stride,
    const float *q, int64_t q_stride, const float *keys, int64_t key_stride,
    const float *values, int64_t value_stride, const float *delta,
    int64_t delta_stride, const float *statistics, int64_t statistics_stride,
    const int32_t *positions, int64_t row, int64_t rows, int64_t group,
    int64_t head_dim, int64_t value_dim, float scale, float softcap,
    int64_t window, float *scratch) {
  using namespace baton::cuda;
  const int64_t batch =
      baton_sequence_attention_scratch_bytes(rows, group, head_dim, value_dim) /
      (4 * block_positions);
  fill_rows(dq, dq_stride, rows, group * head_dim,
            [](int64_t, int64_t) { return 0.0f; });
  auto run_batch = [&](int64_t place, int64_t count, int64_t begin,
                       int64_t position, int64_t head) {
    const Range seen_by_batch = {visible_to(position, window).begin,
                                 position + count};
    GradientBlock part{
        {q + place * q_stride + head * head_dim, q_stride, head_dim},
        {dout + place * dout_stride + head * value_dim, dout_stride, value_dim},
        count,
        {nullptr, key_stride, head_dim},
        {nullptr, value_stride, value_dim},
        {},
        scale,
        softcap,
        nullptr,
        scratch};
#pragma unroll 1
    for (int64_t block =
             seen_by_batch.begin / block_positions * block_positions;
         block < seen_by_batch.end; block += block_positions) {
      part.score_block.data = keys + (begin + block) * key_stride;
      part.gradient_block.data = values + (begin + block) * value_stride;
      part.seen = within_block(seen_by_batch, block);
      // Behind it the last block's gradients are no longer read.
      __syncthreads();
      part.weigh([&](int64_t i, int64_t) {
        const float *of =
            statistics + (place + i) * statistics_stride + 2 * head;
        return KnownQuery{of[0], 1.0f / of[1],
                          delta[(place + i) * delta_stride + head]};
      });
      __syncthreads();
      part.add(dq + place * dq_stride + head * head_dim, dq_stride,
               part.gradients, part.score_block, [&](int64_t i) {
                 return within_block(visible_to(position + i, window), block);
               });
    }
  };
  for_each_run(
      positions, row, rows,
      [&](int64_t first_row, int64_t run, int64_t begin, int64_t position) {
#pragma unroll 1
        for (int64_t first = 0; first < run; first += batch)
#pragma unroll 1
          for (int64_t head = 0; head < group; ++head)
            run_batch(first_row + first, smaller(batch, run - first), begin,
                      position + first, head);
      });
}

BATON_DEVICE void baton_task_attention_key_value_gradient(
    float *dk, int64_t dk_stride, float *dv, int64_t dv_stride,
    const float *dout, int64_t dout_stride, const float *q, int64_t q_stride,
    const float *keys, int64_t key_stride, const float *values,
    int64_t value_stride, const float *delta, int64_t delta_stride,
    const float *statistics, int64_t statistics_stride,
    const int32_t *positions, int64_t row, int64_t rows, int64_t all_rows,
    int64_t group, int64_t head_dim, int64_t value_dim, float scale,
    float softcap, int64_t window, float *scratch) {
  using namespace baton::cuda;
  const int64_t batch =
      baton_sequence_attention_scratch_bytes(rows, group, head_dim, value_dim) /
      (8 * block_positions);
  auto none = [](int64_t, int64_t) { return 0.0f; };
  fill_rows(dk, dk_stride, rows, head_dim, none);
  fill_rows(dv, dv_stride, rows, value_dim, none);
  auto run_batch = [&](int64_t place, int64_t count, int64_t begin,
                       int64_t position, int64_t length, int64_t head) {
    // Positions of the queries that see a key.
    auto seen_from = [&](int64_t key) {
      return Range{key, window > 0 ? smaller(key + window, length) : length};
    };
    const Range seen_from_batch = {position,
                                   seen_from(position + count - 1).end};
    const int64_t key = begin + position;
    GradientBlock part{{keys + key * key_stride, key_stride, head_dim},
                       {values + key * value_stride, value_stride, value_dim},
                       count,
                       {nullptr, q_stride, head_dim},
                       {nullptr, dout_stride, value_dim},
                       {},
                       scale,
                       softcap,
                       scratch,
                       scratch + batch * block_positions};
#pragma unroll 1
    for (int64_t block =
             seen_from_batch.begin / block_positions * block_positions;
         block < seen_from_batch.end; block += block_positions) {
      part.score_block.data = q + (begin + block) * q_stride + head * head_dim;
      part.gradient_block.data =
          dout + (begin + block) * dout_stride + head * value_dim;
      part.seen = within_block(seen_from_batch, block);
      __syncthreads();
      part.weigh([&](int64_t, int64_t i) {
        const int64_t query = begin + block + i;
        const float *of = statistics + query * statistics_stride + 2 * head;
        return KnownQuery{of[0], 1.0f / of[1],
                          delta[query * delta_stride + head]};
      });
      __syncthreads();
      auto seen_by = [&](int64_t i) {
        return within_block(seen_from(position + i), block);
      };
      part.add(dk + place * dk_stride, dk_stride, part.gradients,
               part.score_block, seen_by);
      part.add(dv + place * dv_stride, dv_stride, part.weights,
               part.gradient_block, seen_by);
    }
  };
  for_each_run(
      positions, row, rows,
      [&](int64_t first_row, int64_t run, int64_t begin, int64_t position) {
        const int64_t length =
            end_of_sequence(positions, row + first_row + run, all_rows) - begin;
#pragma unroll 1
        for (int64_t first = 0; first < run; first += batch)
#pragma unroll 1
          for (int64_t head = 0; head < group; ++head)
            run_batch(first_row + first, smaller(batch, run - first), begin,
                      position + first, length, head);
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_H
