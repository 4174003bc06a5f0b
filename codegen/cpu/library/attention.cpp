//===- attention.cpp - attention over fixed blocks of positions -----------===//
//
// FlashAttention-2 (Dao 2023) with two changes for reproducible bits: blocks
// are 64 absolute positions, wherever a tile begins, and each block's
// contribution is computed on its own before it is merged.
//
// Queries (rows times heads of the group) are taken six at a time through both
// products. Scores want keys in panels, a lane a position; a state lies in
// memory so, other keys are transposed, once for all queries. A row's chain
// over values covers exactly the positions that it sees: adding masked
// positions with weight zero would let a neighbour's NaN in.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/activation.h"
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

/// Of one query in one block.
struct Weights {
  float maximum;
  float sum;
};

/// Scores to weights, in place: scale, cap, mask, exponentiate. `ahead` is
/// called once a panel, to prefetch.
template <typename Ahead>
BATON_INLINE Weights exponentiate(float *scores, Range seen, float scale,
                                  float softcap, Ahead ahead) {
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
    ahead();
    value[panel] = exp(value[panel] - shift);
    sums += value[panel];
    store(scores + panel * lanes, value[panel]);
  }
  return {largest, reduce_sum(sums)};
}

/// How far a head's gates are open for elements [first, first + count): one
/// gate for all of them, or one each.
BATON_INLINE Vector opening(const float *gates, int64_t gate_width,
                            int64_t first, int64_t count) {
  return sigmoid(gate_width == 1 ? splat(gates[0])
                                 : load(gates + first, count));
}

/// Panels that run at once for this many queries: few queries alone cannot
/// hide the latency of an FMA.
constexpr int panels_at_once(int64_t queries) {
  return queries == 1 ? 4 : queries == 2 ? 2 : 1;
}

/// tile[i][p][16] += left[i][d] * right(d, p) for d in [begin, end), or, with
/// `FromZero`, = ; i counts `queries`, p `panels`, which is 1 or
/// panels_at_once(queries). Rows of the tile are `tile_stride` apart.
template <bool FromZero, typename Right>
BATON_INLINE void multiply(float *tile, int64_t tile_stride, const float *left,
                           int64_t left_stride, int64_t queries, int64_t panels,
                           int64_t begin, int64_t end, Right right) {
  auto kernel = [&]<int Queries, int Panels>() BATON_INLINE_LAMBDA {
    const float *rows[Queries];
    Vector sum[Queries][Panels];
    BATON_UNROLL
    for (int i = 0; i < Queries; ++i) {
      rows[i] = left + i * left_stride;
      BATON_UNROLL
      for (int p = 0; p < Panels; ++p)
        sum[i][p] =
            FromZero ? splat(0.0f) : load(tile + i * tile_stride + p * lanes);
    }
    accumulate<Queries, Panels>(sum, rows, begin, end, right);
    BATON_UNROLL
    for (int i = 0; i < Queries; ++i)
      BATON_UNROLL
    for (int p = 0; p < Panels; ++p)
      store(tile + i * tile_stride + p * lanes, sum[i][p]);
  };
  if (queries == 1 && panels == panels_at_once(1))
    return kernel.template operator()<1, panels_at_once(1)>();
  if (queries == 2 && panels == panels_at_once(2))
    return kernel.template operator()<2, panels_at_once(2)>();
  with_constant_rows(queries, [&]<int Queries>() BATON_INLINE_LAMBDA {
    kernel.template operator()<Queries, 1>();
  });
}

} // namespace

BATON_TASK void baton_task_append_keys(float *__restrict panels,
                                       const float *__restrict x,
                                       int64_t x_stride, int64_t position,
                                       int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows;) {
    const int64_t place = (position + row) % lanes;
    float *panel = panels + (position + row - place) * width;
    const int64_t count = smaller(lanes - place, rows - row);
    // Whole panels in squares; what lies beside the rows is not touched.
    if (count == lanes)
      transpose_to_panel(panel, x + row * x_stride, x_stride, 0, lanes, width);
    else
      for (int64_t i = 0; i < count; ++i)
        for (int64_t d = 0; d < width; ++d)
          panel[d * lanes + place + i] = x[(row + i) * x_stride + d];
    row += count;
  }
}

BATON_TASK void baton_task_attention(
    float *__restrict out, int64_t out_stride, const float *__restrict q,
    int64_t q_stride, const float *__restrict keys, int64_t key_stride,
    const float *__restrict values, int64_t value_stride, int64_t rows,
    int64_t position, int64_t group, int64_t head_dim, int64_t value_dim,
    float scale, float softcap, int64_t window, const float *__restrict gate,
    int64_t gate_stride, int64_t gate_width, float *__restrict scratch) {
  const float negative_infinity = -__builtin_inff();
  const int64_t queries = rows * group;
  float *transposed = scratch; // [block_panels][head_dim][16]
  float *block_queries = transposed + block_positions * head_dim;
  float *maxima = block_queries + tile_rows * head_dim;
  float *sums = maxima + queries;
  const Range seen_by_tile = {visible_to(position, window).begin,
                              position + rows};

  for (int64_t block = seen_by_tile.begin / block_positions * block_positions;
       rows > 0 && block < seen_by_tile.end; block += block_positions) {
    const Range seen_in_block = within_block(seen_by_tile, block);
    const float *block_keys = keys + block * head_dim;
    if (key_stride) {
      block_keys = transposed;
      for (int64_t panel = 0; panel < block_panels; ++panel) {
        const int64_t first = panel * lanes;
        transpose_to_panel(transposed + first * head_dim,
                           keys + (block + first) * key_stride, key_stride,
                           larger(seen_in_block.begin - first, 0),
                           smaller(seen_in_block.end - first, lanes), head_dim);
      }
    }
    const float *block_values = values + block * value_stride;
    // Memory is asked, evenly over the arithmetic, for this block's values and
    // the next block's keys. Where nothing is left to ask for, the same
    // instructions touch what is in the cache.
    const float *next_keys =
        block + block_positions < seen_by_tile.end
            ? keys + (block + block_positions) *
                         (key_stride ? key_stride : head_dim)
            : block_keys;

    for_each_row_block(queries, [&](int64_t first_query,
                                    int64_t count) BATON_INLINE_LAMBDA {
      Range seen[tile_rows];
      Range common = {0, block_positions};
      bool any = false;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = (first_query + i) / group;
        seen[i] = within_block(visible_to(position + row, window), block);
        common.begin = larger(common.begin, seen[i].begin);
        common.end = smaller(common.end, seen[i].end);
        any |= seen[i].begin < seen[i].end;
      }
      if (!any)
        return;
      common.end = larger(common.begin, common.end);

      // Queries of several rows do not lie one stride apart.
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = (first_query + i) / group;
        const int64_t head = (first_query + i) % group;
        const float *query = q + row * q_stride + head * head_dim;
        for_each_vector(head_dim,
                        [&](int64_t first, int64_t width) BATON_INLINE_LAMBDA {
                          store(block_queries + i * head_dim + first,
                                load(query + first, width), width);
                        });
      }

      // The panels that the tile sees, several at once only if all are.
      alignas(64) float weights[tile_rows * block_positions];
      const int64_t panels_begin = seen_in_block.begin / lanes;
      const int64_t panels_end = (seen_in_block.end + lanes - 1) / lanes;
      for (int64_t panel = 0; panel < block_panels; ++panel)
        if (panel < panels_begin || panel >= panels_end)
          for (int64_t i = 0; i < count; ++i)
            store(weights + i * block_positions + panel * lanes, splat(0.0f));
      for (int64_t panel = panels_begin; panel < panels_end;) {
        const int64_t wide = panels_at_once(count);
        const int64_t width = panel + wide <= panels_end ? wide : 1;
        const float *right = block_keys + panel * head_dim * lanes;
        const float *ahead = panel < block_panels - 1
                                 ? block_values + panel * lanes * value_stride
                                 : right;
        multiply<true>(weights + panel * lanes, block_positions, block_queries,
                       head_dim, count, width, 0, head_dim,
                       [&](int64_t d, int p) BATON_INLINE_LAMBDA {
                         const int64_t line = (p * head_dim + d) * lanes;
                         __builtin_prefetch(ahead + line);
                         return load(right + line);
                       });
        panel += width;
      }

      // The running result is scaled by keep, the block's by take. The first
      // block that a row sees finds nothing to keep.
      const float *last_values =
          block_values + (block_positions - lanes) * value_stride;
      int64_t fetched = 0;
      const int64_t fetch_lines =
          (value_dim + head_dim) / (block_panels * count);
      auto fetch = [&]() BATON_INLINE_LAMBDA {
        for (int64_t i = 0; i < fetch_lines; ++i, ++fetched)
          __builtin_prefetch(fetched < value_dim
                                 ? last_values + fetched * lanes
                                 : next_keys + (fetched - value_dim) * lanes);
      };
      float keep[tile_rows], take[tile_rows];
      bool first_seen[tile_rows];
      for (int64_t i = 0; i < count; ++i) {
        if (seen[i].begin >= seen[i].end)
          continue;
        const Weights result = exponentiate(weights + i * block_positions,
                                            seen[i], scale, softcap, fetch);
        const int64_t query = first_query + i;
        const int64_t row = query / group;
        first_seen[i] = visible_to(position + row, window).begin >= block;
        if (first_seen[i]) {
          maxima[query] = result.maximum;
          sums[query] = result.sum;
          continue;
        }
        const float before = maxima[query];
        const float largest = result.maximum > before ? result.maximum : before;
        const float shift = largest == negative_infinity ? 0.0f : largest;
        keep[i] = exp(before - shift);
        take[i] = exp(result.maximum - shift);
        maxima[query] = largest;
        sums[query] =
            __builtin_fmaf(result.sum, take[i], sums[query] * keep[i]);
      }

      alignas(64) float tile[tile_rows * lanes];
      auto add_values = [&](int64_t column, int64_t panels,
                            int64_t width) BATON_INLINE_LAMBDA {
        const float *right = block_values + column;
        const float *ahead =
            next_keys + head_dim * lanes + column * block_positions;
        auto add_range = [&](int64_t i, int64_t p, int64_t begin, int64_t end,
                             Vector sum) BATON_INLINE_LAMBDA {
          for (int64_t key = begin; key < end; ++key)
            sum = fma(splat(weights[i * block_positions + key]),
                      load(right + key * value_stride + p * lanes, width), sum);
          return sum;
        };
        // Ascending positions: what only some queries see, what all see, and
        // again what only some see.
        for (int64_t i = 0; i < count; ++i)
          for (int64_t p = 0; p < panels; ++p)
            store(tile + (i * panels + p) * lanes,
                  add_range(i, p, seen[i].begin,
                            smaller(common.begin, seen[i].end), splat(0.0f)));
        multiply<false>(
            tile, panels * lanes, weights, block_positions, count, panels,
            common.begin, common.end,
            [&](int64_t key, int p) BATON_INLINE_LAMBDA {
              __builtin_prefetch(ahead + (p * block_positions + key) * lanes);
              return load(right + key * value_stride + p * lanes, width);
            });
        for (int64_t i = 0; i < count; ++i) {
          if (seen[i].begin >= seen[i].end)
            continue;
          const int64_t row = (first_query + i) / group;
          const int64_t head = (first_query + i) % group;
          float *target = out + row * out_stride + head * value_dim + column;
          for (int64_t p = 0; p < panels; ++p) {
            Vector sum =
                add_range(i, p, larger(common.end, seen[i].begin), seen[i].end,
                          load(tile + (i * panels + p) * lanes));
            if (!first_seen[i])
              sum = fma(sum, splat(take[i]),
                        load(target + p * lanes, width) * keep[i]);
            store(target + p * lanes, sum, width);
          }
        }
      };
      int64_t column = 0;
      while (column + lanes <= value_dim) {
        const int64_t wide = panels_at_once(count);
        const int64_t panels = column + wide * lanes <= value_dim ? wide : 1;
        add_values(column, panels, lanes);
        column += panels * lanes;
      }
      if (value_dim % lanes != 0)
        add_values(column, 1, value_dim % lanes);
    });
  }

  for (int64_t query = 0; query < queries; ++query) {
    float *target =
        out + query / group * out_stride + query % group * value_dim;
    const float sum = sums[query] == 0.0f ? 1.0f : sums[query];
    const float *gates =
        gate ? gate + query / group * gate_stride + query % group * gate_width
             : nullptr;
    for_each_vector(value_dim,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      Vector value = load(target + first, count) / sum;
                      if (gate)
                        value *= opening(gates, gate_width, first, count);
                      store(target + first, value, count);
                    });
  }
}

BATON_TASK void baton_task_gate(float *out, int64_t out_stride, const float *x,
                                int64_t x_stride, const float *__restrict gate,
                                int64_t gate_stride, int64_t rows,
                                int64_t heads, int64_t width,
                                int64_t gate_width) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < heads; ++head) {
      const float *source = x + row * x_stride + head * width;
      float *destination = out + row * out_stride + head * width;
      const float *gates = gate + row * gate_stride + head * gate_width;
      for_each_vector(width,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        store(destination + first,
                              load(source + first, count) *
                                  opening(gates, gate_width, first, count),
                              count);
                      });
    }
}
