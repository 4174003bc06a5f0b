//===- attention_blocks.h - blocks of positions, each on its own ----------===//
//
// FlashAttention-2 (Dao 2023) with two changes for reproducible bits: blocks
// are 64 absolute positions, wherever a tile begins, and each block's
// contribution is computed on its own before it is merged. What becomes of it
// is the destination's: it joins the running result at once, or is kept for
// another task that merges.
//
// Queries (rows times heads of the group) are taken six at a time through both
// products. Scores want keys in panels, a lane a position; a state lies in
// memory so, other keys are transposed, once for all queries. A row by itself
// takes keys and values of a state in turn (attend_row). A row's chain
// over values covers exactly the positions that it sees: adding masked
// positions with weight zero would let a neighbour's NaN in.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_ATTENTION_BLOCKS_H
#define BATON_CODEGEN_CPU_LIBRARY_ATTENTION_BLOCKS_H

#include "codegen/cpu/library/activation.h"
#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/math.h"
#include "codegen/cpu/library/microkernel.h"
#include "codegen/cpu/library/stored_states.h"
#include "codegen/cpu/library/transpose.h"

namespace baton::cpu {

constexpr int64_t block_positions = 64;
constexpr int64_t block_panels = block_positions / lanes;

BATON_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
BATON_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// Positions [begin, end), empty if begin >= end.
struct Range {
  int64_t begin;
  int64_t end;
};

constexpr Range all_positions = {0, INT64_MAX};

BATON_INLINE Range intersection(Range one, Range other) {
  return {larger(one.begin, other.begin), smaller(one.end, other.end)};
}

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
  Real maximum;
  Real sum;
};

/// Scores of 16 positions, of which the first one is `first`: scaled, capped,
/// and -infinity where they are not seen.
BATON_INLINE Vector masked(Vector score, int64_t first, Range seen, Real scale,
                           Real softcap) {
  score *= scale;
  if (softcap != 0.0f)
    score = softcap * tanh(score / softcap);
  const IntegerVector index = lane_indices() + static_cast<Integer>(first);
  const IntegerVector begin(static_cast<Integer>(seen.begin));
  const IntegerVector end(static_cast<Integer>(seen.end));
  return ((index >= begin) & (index < end)) ? score : splat(-__builtin_inff());
}

/// Scores to weights, in place: scale, cap, mask, exponentiate. `ahead` is
/// called once a panel, to prefetch.
template <typename Ahead>
BATON_INLINE Weights exponentiate(Real *scores, Range seen, Real scale,
                                  Real softcap, Ahead ahead) {
  const Real negative_infinity = -__builtin_inff();
  Vector value[block_panels];
  Vector maxima = splat(negative_infinity);
  BATON_UNROLL
  for (int panel = 0; panel < block_panels; ++panel) {
    value[panel] = masked(load(scores + panel * lanes), panel * lanes, seen,
                          scale, softcap);
    maxima = maximum(value[panel], maxima);
  }
  const Real largest = reduce_maximum(maxima);
  const Real shift = largest == negative_infinity ? 0.0f : largest;
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

/// That of one row among a panel's.
BATON_INLINE NoScale scale_at(NoScale, int64_t) { return {}; }
BATON_INLINE Vector scale_at(Vector scales, int64_t place) {
  return splat(scales[place]);
}

/// How far a head's gates are open for elements [first, first + count): one
/// gate for all of them, or one each.
BATON_INLINE Vector opening(const Real *gates, int64_t gate_width,
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
/// `from_zero`, = ; i counts `queries`, p `panels`, which is 1 or
/// panels_at_once(queries). Rows of the tile are `tile_stride` apart.
template <typename Right>
BATON_INLINE void multiply(bool from_zero, Real *tile, int64_t tile_stride,
                           const Real *left, int64_t left_stride,
                           int64_t queries, int64_t panels, int64_t begin,
                           int64_t end, Right right) {
  auto kernel = [&]<int Queries, int Panels>() BATON_INLINE_LAMBDA {
    const Real *rows[Queries];
    Vector sum[Queries][Panels];
    BATON_UNROLL
    for (int i = 0; i < Queries; ++i) {
      rows[i] = left + i * left_stride;
      BATON_UNROLL
      for (int p = 0; p < Panels; ++p)
        sum[i][p] =
            from_zero ? splat(0.0f) : load(tile + i * tile_stride + p * lanes);
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

/// Calls body(column, panels, width) for the columns [0, columns): runs of
/// `wide` panels, single ones, and a last one of fewer than 16 columns.
template <typename Body>
BATON_INLINE void for_each_column_run(int64_t columns, int64_t wide,
                                      Body body) {
  int64_t column = 0;
  while (column + lanes <= columns) {
    const int64_t panels = column + wide * lanes <= columns ? wide : 1;
    body(column, panels, lanes);
    column += panels * lanes;
  }
  if (column < columns)
    body(column, 1, columns - column);
}

/// Factors with which a block joins a query's running result.
struct Merge {
  Real keep; // of the running result
  Real take; // of the block's
};

/// The running maximum and sum of a query take in those of a block. The first
/// block that a query sees finds nothing to keep.
BATON_INLINE Merge merge(Real &maximum, Real &sum, Weights block, bool first) {
  const Real negative_infinity = -__builtin_inff();
  if (first) {
    maximum = block.maximum;
    sum = block.sum;
    return {0.0f, 1.0f};
  }
  const Real largest = block.maximum > maximum ? block.maximum : maximum;
  const Real shift = largest == negative_infinity ? 0.0f : largest;
  const Merge result = {exp(maximum - shift), exp(block.maximum - shift)};
  maximum = largest;
  sum = __builtin_elementwise_fma(block.sum, result.take, sum * result.keep);
  return result;
}

/// A destination that merges: a query's results, in `out`, of all blocks so
/// far.
struct RunningResult {
  Real *out;
  int64_t out_stride;
  int64_t group;
  int64_t value_dim;
  Real *maxima; // [queries]
  Real *sums;   // [queries]

  BATON_INLINE Real *target(int64_t query) const {
    return out + query / group * out_stride + query % group * value_dim;
  }
  /// Blocks come in ascending order, their weights before their elements.
  BATON_INLINE Merge take_weights(int64_t query, int64_t /*block*/,
                                  Weights weights, bool first) const {
    return merge(maxima[query], sums[query], weights, first);
  }
  BATON_INLINE void take_elements(int64_t query, int64_t /*block*/,
                                  int64_t column, Vector elements,
                                  int64_t width, Merge factors,
                                  bool first) const {
    Real *place = target(query) + column;
    if (!first)
      elements =
          fma(elements, splat(factors.take), load(place, width) * factors.keep);
    store(place, elements, width);
  }
  /// When all blocks have come: quotients, times how far gates are open. A
  /// sink is one more block, whose elements are zeros.
  BATON_INLINE void finish(int64_t query, const Real *gates, int64_t gate_width,
                           const Real *sink) const {
    Real *place = target(query);
    Real keep = 1.0f;
    if (sink)
      keep = merge(maxima[query], sums[query], {*sink, 1.0f}, false).keep;
    const Real sum = sums[query] == 0.0f ? 1.0f : sums[query];
    for_each_vector(value_dim,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      Vector value = load(place + first, count);
                      if (sink)
                        value *= keep;
                      value /= sum;
                      if (gates)
                        value *= opening(gates, gate_width, first, count);
                      store(place + first, value, count);
                    });
  }
};

/// A destination that keeps every block's part: [row][head][block], in each the
/// elements, the maximum and the sum.
struct PartialResults {
  Real *partials; // of the block that begins at `begin`
  int64_t row_stride;
  int64_t head_stride;
  int64_t group;
  int64_t value_dim;
  int64_t begin;

  BATON_INLINE Real *target(int64_t query, int64_t block) const {
    return partials + query / group * row_stride + query % group * head_stride +
           (block - begin) / block_positions *
               baton_attention_partial_width(value_dim);
  }
  BATON_INLINE Merge take_weights(int64_t query, int64_t block, Weights weights,
                                  bool /*first*/) const {
    Real *place = target(query, block) + value_dim;
    place[0] = weights.maximum;
    place[1] = weights.sum;
    return {};
  }
  BATON_INLINE void take_elements(int64_t query, int64_t block, int64_t column,
                                  Vector elements, int64_t width,
                                  Merge /*factors*/, bool /*first*/) const {
    store(target(query, block) + column, elements, width);
  }
};

/// Where blocks of positions lie that are behind one another: rows `stride`
/// apart, or with 0 panels of `width`.
struct DenseBlocks {
  typedef Real Element;
  const Real *base;
  int64_t stride;
  int64_t width;

  BATON_INLINE int64_t row() const { return width; }
  BATON_INLINE const Real *at(int64_t block) const {
    return base + block * (stride ? stride : width);
  }
  /// A block's keys in panels, `seen` of it; made in `room`, of a block, if
  /// they do not lie so.
  BATON_INLINE const Real *keys_at(int64_t block, Range seen,
                                   Real *room) const {
    const Real *rows = at(block);
    if (!stride)
      return rows;
    for (int64_t first = 0; first < block_positions; first += lanes)
      transpose_to_panel(room + first * width, rows + first * stride, stride,
                         larger(seen.begin - first, 0),
                         smaller(seen.end - first, lanes), width);
    return room;
  }
  /// Values as they lie.
  BATON_INLINE const Real *values_at(int64_t block, Range /*seen*/,
                                     Real * /*room*/) const {
    return at(block);
  }
};

/// The same of blocks in pages, in panels, of rows as they are stored.
template <typename Stored> struct PagedBlocks {
  typedef Stored Element;
  const Stored *base; // of page 0
  int64_t page_stride;
  const int32_t *pages; // of each block
  static constexpr int64_t stride = 0;
  int64_t width;

  BATON_INLINE int64_t row() const { return width + ScaleOf<Stored>::bytes; }
  BATON_INLINE const Stored *at(int64_t block) const {
    return base + pages[block / block_positions] * page_stride;
  }
  BATON_INLINE const Real *keys_at(int64_t block, Range seen,
                                   Real *room) const {
    const Stored *stored = at(block);
    if constexpr (__is_same(Stored, Real)) {
      return stored;
    } else {
      for_each_panel(seen, [&](int64_t first) BATON_INLINE_LAMBDA {
        const Stored *panel = stored + first * row();
        const auto scale = scales_of<KeyPlaces>(panel, width);
        for (int64_t d = 0; d < width; ++d)
          store(room + first * width + d * lanes,
                read(panel + d * lanes, lanes, scale));
      });
      return room;
    }
  }
  BATON_INLINE const Real *values_at(int64_t block, Range seen,
                                     Real *room) const {
    const Stored *stored = at(block);
    if constexpr (__is_same(Stored, Real)) {
      return stored;
    } else {
      for_each_panel(seen, [&](int64_t first) BATON_INLINE_LAMBDA {
        const Stored *panel = stored + first * row();
        const auto scales = scales_of<ValuePlaces>(panel, width);
        for (int64_t place = 0; place < lanes; ++place)
          for_each_vector(width, [&](int64_t column,
                                     int64_t count) BATON_INLINE_LAMBDA {
            store(room + first * width + ValuePlaces::of(place, column, width),
                  read(panel + ValuePlaces::of(place, column, row()), count,
                       scale_at(scales, place)),
                  count);
          });
      });
      return room;
    }
  }

private:
  template <typename Body>
  static BATON_INLINE void for_each_panel(Range seen, Body body) {
    for (int64_t first = seen.begin / lanes * lanes; first < seen.end;
         first += lanes)
      body(first);
  }
};

/// Values that are the first elements of keys in pages, as rows in `room`.
template <typename Stored> struct PartsOfKeys {
  PagedBlocks<Stored> keys;
  int64_t stride;
  int64_t width;

  BATON_INLINE PartsOfKeys(PagedBlocks<Stored> keys, int64_t width)
      : keys(keys), stride(width), width(width) {}

  BATON_INLINE const Real *values_at(int64_t block, Range seen,
                                     Real *room) const {
    const Stored *stored = keys.at(block);
    for (int64_t first = seen.begin / lanes * lanes; first < seen.end;
         first += lanes) {
      const Stored *panel = stored + first * keys.row();
      const auto scale = scales_of<KeyPlaces>(panel, keys.width);
      for (int64_t d = 0; d < width; ++d) {
        const Vector numbers = read(panel + d * lanes, lanes, scale);
        BATON_UNROLL
        for (int place = 0; place < lanes; ++place)
          room[(first + place) * width + d] = numbers[place];
      }
    }
    return room;
  }
};

/// One row on keys and values in panels: decoding, which memory bounds. Keys
/// and values are read as two streams in turn, 1 KiB of each, because the
/// hardware fetches two streams ahead much faster than one; hence values run a
/// block behind the keys, whose scores they wait for.
template <typename Destination, typename Blocks>
BATON_INLINE void
attend_row(Destination destination, const Real *__restrict q, Blocks keys,
           Blocks values, int64_t position, int64_t group, Real scale,
           Real softcap, int64_t window, Range part, Real *__restrict scratch) {
  const int64_t head_dim = keys.width, value_dim = values.width;
  const int64_t value_row = values.row();
  typedef typename Blocks::Element Element;
  // Nearer than for linears: what is in use and what is asked for share L1.
  constexpr int64_t ahead = 512 / sizeof(Element);
  constexpr int64_t square = lanes * lanes;
  const int64_t chunks = (value_dim + lanes - 1) / lanes;
  const int64_t parts = larger((head_dim + lanes - 1) / lanes, chunks);
  const int64_t scores_size = group * block_positions;
  Real *tile = scratch;                         // [group][chunks][16]
  Real *scores = tile + group * chunks * lanes; // [group][64]
  Real *weights = scores + scores_size;         // of the block before
  Merge *merges = reinterpret_cast<Merge *>(weights + scores_size); // [group]
  const Range row_sees = visible_to(position, window);
  const Range visible = intersection(row_sees, part);
  if (visible.begin >= visible.end)
    return;
  const int64_t first_block = visible.begin / block_positions * block_positions;
  Range weighed = {0, 0}; // what is seen of the block before

  for (int64_t block = first_block; block < visible.end + block_positions;
       block += block_positions) {
    const Range seen = within_block(visible, block);
    const Element *block_keys =
        seen.begin < seen.end ? keys.at(block) : keys.base;
    const Element *block_values =
        block != first_block ? values.at(block - block_positions) : values.base;
    for (int64_t panel = 0; panel < block_panels; ++panel) {
      const int64_t first = panel * lanes;
      const bool is_seen = first < seen.end && first + lanes > seen.begin;
      const Element *panel_keys = block_keys + first * keys.row();
      const Element *panel_values = block_values + first * value_row;
      const int64_t begin = larger(first, weighed.begin);
      const int64_t end = smaller(first + lanes, weighed.end);
      const auto key_scales =
          scales_of<KeyPlaces>(panel_keys, head_dim, is_seen);
      const auto value_scales =
          scales_of<ValuePlaces>(panel_values, value_dim, begin < end);
      if (!is_seen)
        for (int64_t query = 0; query < group; ++query)
          store(scores + query * block_positions + first, splat(0.0f));

      for (int64_t part = 0; part < parts; ++part) {
        if (is_seen && part * lanes < head_dim)
          for_each_row_block(
              group, [&](int64_t query, int64_t count) BATON_INLINE_LAMBDA {
                multiply(part == 0, scores + query * block_positions + first,
                         block_positions, q + query * head_dim, head_dim, count,
                         1, part * lanes, smaller((part + 1) * lanes, head_dim),
                         [&](int64_t d, int) BATON_INLINE_LAMBDA {
                           const Element *line = panel_keys + d * lanes;
                           __builtin_prefetch(line + ahead);
                           return read(line, lanes, key_scales);
                         });
              });
        if (begin < end && part < chunks)
          for_each_row_block(group, [&](int64_t query,
                                        int64_t count) BATON_INLINE_LAMBDA {
            const int64_t width =
                value_dim % lanes == 0
                    ? lanes
                    : smaller(value_dim - part * lanes, lanes);
            // A chunk may have scales behind its values.
            const int64_t distance =
                value_row % lanes == 0 || value_dim % lanes == 0
                    ? lanes
                    : smaller(value_row - part * lanes, lanes);
            const Element *chunk_values = panel_values + part * square;
            multiply(
                begin == weighed.begin, tile + (query * chunks + part) * lanes,
                chunks * lanes, weights + query * block_positions,
                block_positions, count, 1, begin, end,
                [&](int64_t key, int) BATON_INLINE_LAMBDA {
                  const Element *line = chunk_values + (key - first) * distance;
                  __builtin_prefetch(line + ahead);
                  return read(line, width, scale_at(value_scales, key - first));
                });
          });
      }
    }

    if (block != first_block) {
      const int64_t before = block - block_positions;
      for (int64_t query = 0; query < group; ++query)
        for_each_vector(value_dim,
                        [&](int64_t column, int64_t width) BATON_INLINE_LAMBDA {
                          destination.take_elements(
                              query, before, column,
                              load(tile + query * chunks * lanes + column),
                              width, merges[query], row_sees.begin >= before);
                        });
    }
    weighed = seen;
    if (seen.begin >= seen.end)
      break;
    for (int64_t query = 0; query < group; ++query)
      merges[query] = destination.take_weights(
          query, block,
          exponentiate(scores + query * block_positions, seen, scale, softcap,
                       []() BATON_INLINE_LAMBDA {}),
          row_sees.begin >= block);
    Real *swap = scores;
    scores = weights;
    weights = swap;
  }
}

/// Rows of a tile on keys and values in any layout.
template <typename Destination, typename Keys, typename Values>
BATON_INLINE void attend_tile(Destination destination, const Real *__restrict q,
                              int64_t q_stride, Keys keys, Values values,
                              int64_t rows, int64_t position, int64_t group,
                              Real scale, Real softcap, int64_t window,
                              Range part, Real *__restrict scratch) {
  const int64_t head_dim = keys.width, value_dim = values.width;
  const int64_t value_stride = values.stride;
  const int64_t queries = rows * group;
  Real *transposed = scratch; // [block_panels][head_dim][16]
  Real *block_queries = transposed + block_positions * head_dim;
  Real *converted = block_queries + tile_rows * head_dim; // of stored values
  const Range seen_by_tile =
      intersection({visible_to(position, window).begin, position + rows}, part);

  for (int64_t block = seen_by_tile.begin / block_positions * block_positions;
       block < seen_by_tile.end; block += block_positions) {
    const Range seen_in_block = within_block(seen_by_tile, block);
    const Real *block_keys = keys.keys_at(block, seen_in_block, transposed);
    const int64_t value_span = value_stride ? value_stride : value_dim;
    const Real *block_values =
        values.values_at(block, seen_in_block, converted);
    // Memory is asked, evenly over the arithmetic, for this block's values and
    // the next block's keys. Where nothing is left to ask for, the same
    // instructions touch what is in the cache.
    const Real *next_keys =
        block + block_positions < seen_by_tile.end
            ? reinterpret_cast<const Real *>(keys.at(block + block_positions))
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
        const Real *query = q + row * q_stride + head * head_dim;
        for_each_vector(head_dim,
                        [&](int64_t first, int64_t width) BATON_INLINE_LAMBDA {
                          store(block_queries + i * head_dim + first,
                                load(query + first, width), width);
                        });
      }

      // The panels that the tile sees, several at once only if all are.
      alignas(64) Real weights[tile_rows * block_positions];
      const int64_t panels_begin = seen_in_block.begin / lanes;
      const int64_t panels_end = (seen_in_block.end + lanes - 1) / lanes;
      for (int64_t panel = 0; panel < block_panels; ++panel)
        if (panel < panels_begin || panel >= panels_end)
          for (int64_t i = 0; i < count; ++i)
            store(weights + i * block_positions + panel * lanes, splat(0.0f));
      for (int64_t panel = panels_begin; panel < panels_end;) {
        const int64_t wide = panels_at_once(count);
        const int64_t width = panel + wide <= panels_end ? wide : 1;
        const Real *right = block_keys + panel * head_dim * lanes;
        const Real *ahead = panel < block_panels - 1
                                ? block_values + panel * lanes * value_span
                                : right;
        multiply(true, weights + panel * lanes, block_positions, block_queries,
                 head_dim, count, width, 0, head_dim,
                 [&](int64_t d, int p) BATON_INLINE_LAMBDA {
                   const int64_t line = (p * head_dim + d) * lanes;
                   __builtin_prefetch(ahead + line);
                   return load(right + line);
                 });
        panel += width;
      }

      const Real *last_values =
          block_values + (block_positions - lanes) * value_span;
      int64_t fetched = 0;
      const int64_t fetch_lines =
          (value_dim + head_dim) / (block_panels * count);
      auto fetch = [&]() BATON_INLINE_LAMBDA {
        for (int64_t i = 0; i < fetch_lines; ++i, ++fetched)
          __builtin_prefetch(fetched < value_dim
                                 ? last_values + fetched * lanes
                                 : next_keys + (fetched - value_dim) * lanes);
      };
      Merge merges[tile_rows];
      bool first_seen[tile_rows];
      for (int64_t i = 0; i < count; ++i) {
        if (seen[i].begin >= seen[i].end)
          continue;
        const Weights result = exponentiate(weights + i * block_positions,
                                            seen[i], scale, softcap, fetch);
        const int64_t query = first_query + i;
        first_seen[i] =
            visible_to(position + query / group, window).begin >= block;
        merges[i] =
            destination.take_weights(query, block, result, first_seen[i]);
      }

      alignas(64) Real tile[tile_rows * lanes];
      auto add_values = [&](int64_t column, int64_t panels,
                            int64_t width) BATON_INLINE_LAMBDA {
        auto value = [&](int64_t key, int64_t p) BATON_INLINE_LAMBDA {
          const Real *right =
              value_stride
                  ? block_values + key * value_stride + column + p * lanes
                  : block_values + key / lanes * lanes * value_dim +
                        (column + p * lanes) * lanes + key % lanes * width;
          return load(right, width);
        };
        const Real *ahead =
            next_keys + head_dim * lanes + column * block_positions;
        auto add_range = [&](int64_t i, int64_t p, int64_t begin, int64_t end,
                             Vector sum) BATON_INLINE_LAMBDA {
          for (int64_t key = begin; key < end; ++key)
            sum = fma(splat(weights[i * block_positions + key]), value(key, p),
                      sum);
          return sum;
        };
        // Ascending positions: what only some queries see, what all see, and
        // again what only some see.
        for (int64_t i = 0; i < count; ++i)
          for (int64_t p = 0; p < panels; ++p)
            store(tile + (i * panels + p) * lanes,
                  add_range(i, p, seen[i].begin,
                            smaller(common.begin, seen[i].end), splat(0.0f)));
        multiply(false, tile, panels * lanes, weights, block_positions, count,
                 panels, common.begin, common.end,
                 [&](int64_t key, int p) BATON_INLINE_LAMBDA {
                   __builtin_prefetch(ahead +
                                      (p * block_positions + key) * lanes);
                   return value(key, p);
                 });
        for (int64_t i = 0; i < count; ++i) {
          if (seen[i].begin >= seen[i].end)
            continue;
          for (int64_t p = 0; p < panels; ++p)
            destination.take_elements(
                first_query + i, block, column + p * lanes,
                add_range(i, p, larger(common.end, seen[i].begin), seen[i].end,
                          load(tile + (i * panels + p) * lanes)),
                width, merges[i], first_seen[i]);
        }
      };
      for_each_column_run(value_dim, panels_at_once(count), add_values);
    });
  }
}

/// Gives `destination` all blocks within `part`, whose ends are multiples of
/// 64, in ascending order. The parameters are those of baton_task_attention;
/// `scratch` is what baton_attention_scratch_bytes has beside maxima and sums.
template <typename Destination, typename Keys, typename Values>
BATON_INLINE void attend(Destination destination, const Real *__restrict q,
                         int64_t q_stride, Keys keys, Values values,
                         int64_t rows, int64_t position, int64_t group,
                         Real scale, Real softcap, int64_t window, Range part,
                         Real *__restrict scratch) {
  if constexpr (__is_same(Keys, Values))
    if (rows == 1 && keys.stride == 0 && values.stride == 0)
      return attend_row(destination, q, keys, values, position, group, scale,
                        softcap, window, part, scratch);
  if (rows > 0)
    attend_tile(destination, q, q_stride, keys, values, rows, position, group,
                scale, softcap, window, part, scratch);
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_ATTENTION_BLOCKS_H
