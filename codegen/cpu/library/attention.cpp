//===- attention.cpp - attention over fixed blocks of positions ---------===//
//
// FlashAttention-2 (Dao 2023) with two changes for reproducible bits: blocks
// are 64 absolute positions, wherever a tile begins, and each block's
// contribution is computed on its own before it is merged.
//
// Queries (rows times heads of the group) are taken six at a time through both
// products; a block's keys are transposed once for all of them. A row's chain
// over values covers exactly the positions that it sees: adding masked
// positions with weight zero would let a neighbour's NaN in.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/math.h"
#include "codegen/cpu/library/microkernel.h"
#include "codegen/cpu/library/transpose.h"

using namespace baton::cpu;

namespace {

constexpr int64_t block_positions = 64;
constexpr int64_t block_panels = block_positions / lanes;

BATON_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
BATON_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// Positions [begin, end), empty if begin >= end.
struct Range {
  int64_t begin;
  int64_t end;
};

/// What the row at absolute position `position` sees.
BATON_INLINE Range visible_to(int64_t position, int64_t window) {
  int64_t end = position + 1;
  return {window > 0 && end > window ? end - window : 0, end};
}

/// `range` within the block that begins at `first`, relative to it.
BATON_INLINE Range within_block(Range range, int64_t first) {
  return {larger(range.begin, first) - first,
          smaller(range.end, first + block_positions) - first};
}

/// Scores to weights, in place: scale, cap, mask, exponentiate.
struct Weights {
  float maximum;
  float sum;
};

BATON_INLINE Weights exponentiate(float *scores, Range seen, float scale,
                                  float softcap) {
  const float negative_infinity = -__builtin_inff();
  Vector value[block_panels];
  Vector maxima = splat(negative_infinity);
  const IntegerVector begin(static_cast<int32_t>(seen.begin));
  const IntegerVector end(static_cast<int32_t>(seen.end));
  BATON_UNROLL
  for (int panel = 0; panel < block_panels; ++panel) {
    Vector score = load(scores + panel * lanes) * scale;
    if (softcap != 0.0f)
      score = softcap * tanh(score / softcap);
    IntegerVector index = lane_indices() + static_cast<int32_t>(panel * lanes);
    value[panel] =
        ((index >= begin) & (index < end)) ? score : splat(negative_infinity);
    maxima = maximum(value[panel], maxima);
  }
  const float largest = reduce_maximum(maxima);
  const float shift = largest == negative_infinity ? 0.0f : largest;
  Vector sums = splat(0.0f);
  BATON_UNROLL
  for (int panel = 0; panel < block_panels; ++panel) {
    value[panel] = exp(value[panel] - shift);
    sums += value[panel];
    store(scores + panel * lanes, value[panel]);
  }
  return {largest, reduce_sum(sums)};
}

} // namespace

BATON_TASK void baton_task_attention(
    float *__restrict out, int64_t out_stride, const float *__restrict q,
    int64_t q_stride, const float *__restrict keys, int64_t key_stride,
    const float *__restrict values, int64_t value_stride, int64_t rows,
    int64_t position, int64_t group, int64_t head_dim, int64_t value_dim,
    float scale, float softcap, int64_t window, float *__restrict scratch) {
  const float negative_infinity = -__builtin_inff();
  const int64_t queries = rows * group;
  float *transposed = scratch; // [block_panels][head_dim][16]
  float *maxima = transposed + block_positions * head_dim;
  float *sums = maxima + queries;
  const Range seen_by_tile = {visible_to(position, window).begin,
                              position + rows};

  for (int64_t block = seen_by_tile.begin / block_positions * block_positions;
       rows > 0 && block < seen_by_tile.end; block += block_positions) {
    const Range seen_in_block = within_block(seen_by_tile, block);
    for (int64_t panel = 0; panel < block_panels; ++panel) {
      const int64_t first = panel * lanes;
      const int64_t begin = larger(seen_in_block.begin - first, 0);
      const int64_t end = smaller(seen_in_block.end - first, lanes);
      // Values are read after all keys, which hides their way from memory; the
      // rows of one head lie far apart, out of a hardware prefetcher's sight.
      for (int64_t i = begin; i < end; ++i)
        prefetch(values + (block + first + i) * value_stride,
                 value_dim * static_cast<int64_t>(sizeof(float)));
      transpose_to_panel(transposed + panel * head_dim * lanes,
                         keys + (block + first) * key_stride, key_stride, begin,
                         end, head_dim);
    }

    for_each_row_block(queries, [&](int64_t first_query,
                                    int64_t count) BATON_INLINE_LAMBDA {
      with_constant_rows(count, [&]<int Queries>() BATON_INLINE_LAMBDA {
        constexpr int panels_at_once = Queries == 1 ? 4 : Queries == 2 ? 2 : 1;
        Range seen[tile_rows];
        float *outputs[tile_rows];
        const float *left[tile_rows];
        Range common = {0, block_positions};
        bool any = false;
        for (int64_t i = 0; i < Queries; ++i) {
          const int64_t row = (first_query + i) / group;
          const int64_t head = (first_query + i) % group;
          left[i] = q + row * q_stride + head * head_dim;
          outputs[i] = out + row * out_stride + head * value_dim;
          seen[i] = within_block(visible_to(position + row, window), block);
          common.begin = larger(common.begin, seen[i].begin);
          common.end = smaller(common.end, seen[i].end);
          any |= seen[i].begin < seen[i].end;
        }
        if (!any)
          return;
        common.end = larger(common.begin, common.end);

        alignas(64) float weights[tile_rows * block_positions];
        for (int64_t panel = 0; panel < block_panels; panel += panels_at_once) {
          const float *right = transposed + panel * head_dim * lanes;
          Vector sum[Queries][panels_at_once] = {};
          accumulate<Queries, panels_at_once>(
              sum, left, 0, head_dim,
              [&](int64_t d, int p) BATON_INLINE_LAMBDA {
                return load(right + (p * head_dim + d) * lanes);
              });
          BATON_UNROLL
          for (int i = 0; i < Queries; ++i)
            BATON_UNROLL
          for (int p = 0; p < panels_at_once; ++p)
            store(weights + i * block_positions + (panel + p) * lanes,
                  sum[i][p]);
        }

        // The running result is scaled by keep, the block's by take. The first
        // block that a row sees finds nothing to keep.
        float keep[tile_rows], take[tile_rows];
        bool first_seen[tile_rows];
        for (int64_t i = 0; i < Queries; ++i) {
          left[i] = weights + i * block_positions;
          if (seen[i].begin >= seen[i].end)
            continue;
          Weights result = exponentiate(weights + i * block_positions, seen[i],
                                        scale, softcap);
          const int64_t query = first_query + i;
          const int64_t row = query / group;
          first_seen[i] = visible_to(position + row, window).begin >= block;
          if (first_seen[i]) {
            maxima[query] = result.maximum;
            sums[query] = result.sum;
            continue;
          }
          const float before = maxima[query];
          const float largest =
              result.maximum > before ? result.maximum : before;
          const float shift = largest == negative_infinity ? 0.0f : largest;
          keep[i] = exp(before - shift);
          take[i] = exp(result.maximum - shift);
          maxima[query] = largest;
          sums[query] =
              __builtin_fmaf(result.sum, take[i], sums[query] * keep[i]);
        }

        const float *right = values + block * value_stride;
        auto add_values = [&]<int Panels>(int64_t column,
                                          int64_t width) BATON_INLINE_LAMBDA {
          Vector sum[Queries][Panels] = {};
          auto load_values = [&](int64_t key, int p) BATON_INLINE_LAMBDA {
            return load(right + key * value_stride + column + p * lanes, width);
          };
          // Ascending positions: what only some queries see, what all see, and
          // again what only some see.
          BATON_UNROLL
          for (int i = 0; i < Queries; ++i)
            accumulate<1, Panels>(sum + i, left + i, seen[i].begin,
                                  smaller(common.begin, seen[i].end),
                                  load_values);
          accumulate<Queries, Panels>(sum, left, common.begin, common.end,
                                      load_values);
          BATON_UNROLL
          for (int i = 0; i < Queries; ++i)
            accumulate<1, Panels>(sum + i, left + i,
                                  larger(common.end, seen[i].begin),
                                  seen[i].end, load_values);
          BATON_UNROLL
          for (int i = 0; i < Queries; ++i) {
            if (seen[i].begin >= seen[i].end)
              continue;
            BATON_UNROLL
            for (int p = 0; p < Panels; ++p) {
              float *target = outputs[i] + column + p * lanes;
              Vector result = sum[i][p];
              if (!first_seen[i])
                result =
                    fma(result, splat(take[i]), load(target, width) * keep[i]);
              store(target, result, width);
            }
          }
        };
        int64_t column = 0;
        for (; column + panels_at_once * lanes <= value_dim;
             column += panels_at_once * lanes)
          add_values.template operator()<panels_at_once>(column, lanes);
        for (; column < value_dim; column += lanes)
          add_values.template operator()<1>(column,
                                            smaller(value_dim - column, lanes));
      });
    });
  }

  for (int64_t query = 0; query < queries; ++query) {
    float *target =
        out + query / group * out_stride + query % group * value_dim;
    const float sum = sums[query] == 0.0f ? 1.0f : sums[query];
    for_each_vector(
        value_dim, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(target + first, load(target + first, count) / sum, count);
        });
  }
}
