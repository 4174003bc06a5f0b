//===- sequence_attention.cpp - attention of rows of several sequences ----===//
//
// The arithmetic, and so the bits, of attention_blocks.h, for keys and values
// that are rows of matrices: six rows of one head at a time, on blocks that are
// packed once for all heads of the group.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/packed_block.h"
#include "codegen/cpu/library/sequences.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

namespace {

/// What is kept of six rows, a lane each, between two blocks.
struct Running {
  Real *statistics; // of the first row: maximum and sum
  int64_t stride;
  const bool *is_first; // rows of which nothing is kept yet

  BATON_INLINE Vector get(int64_t rows, int64_t which) const {
    alignas(64) Real values[lanes] = {};
    for (int64_t i = 0; i < rows; ++i)
      if (!is_first[i])
        values[i] = statistics[i * stride + which];
    return load(values);
  }
};

/// Factors with which a block joins six rows' running results.
struct Merges {
  alignas(64) Real keep[lanes];
  alignas(64) Real take[lanes];
};

/// Scores of six rows to weights, of the panels that hold `any`, in place; and
/// the rows' maxima and sums take in those of the block, as merge() does. Rows
/// for which this is the first block keep nothing.
BATON_INLINE void weigh(Products &scores, Merges &merges, Running running,
                        int64_t rows, const Range *seen, Range any, Real scale,
                        Real softcap) {
  const Real negative_infinity = -__builtin_inff();
  const int64_t begin = any.begin / lanes * lanes;
  alignas(64) Real maxima[lanes] = {}, sums[lanes] = {};
  for (int64_t i = 0; i < rows; ++i) {
    Vector largest = splat(negative_infinity);
    for (int64_t first = begin; first < any.end; first += lanes) {
      const Vector score =
          masked(load(scores.row(i) + first), first, seen[i], scale, softcap);
      largest = maximum(score, largest);
      store(scores.row(i) + first, score);
    }
    maxima[i] = reduce_maximum(largest);
  }
  for (int64_t i = 0; i < rows; ++i) {
    const Real shift = maxima[i] == negative_infinity ? 0.0f : maxima[i];
    Vector sum = splat(0.0f);
    for (int64_t first = begin; first < any.end; first += lanes) {
      const Vector weight = exp(load(scores.row(i) + first) - shift);
      sum += weight;
      store(scores.row(i) + first, weight);
    }
    sums[i] = reduce_sum(sum);
  }
  const Vector before = running.get(rows, 0), maximum_of_block = load(maxima);
  const Vector largest = maximum(maximum_of_block, before);
  const Vector shift = largest == negative_infinity ? splat(0.0f) : largest;
  const Vector keep = exp(before - shift);
  const Vector take = exp(maximum_of_block - shift);
  const Vector sum = fma(load(sums), take, running.get(rows, 1) * keep);
  store(merges.keep, keep);
  store(merges.take, take);
  for (int64_t i = 0; i < rows; ++i) {
    if (seen[i].begin >= seen[i].end)
      continue;
    Real *place = running.statistics + i * running.stride;
    place[0] = running.is_first[i] ? maxima[i] : largest[i];
    place[1] = running.is_first[i] ? sums[i] : sum[i];
  }
}

} // namespace

BATON_TASK void baton_task_sequence_attention(
    Real *__restrict out, int64_t out_stride, Real *__restrict statistics,
    int64_t statistics_stride, const Real *__restrict q, int64_t q_stride,
    const Real *__restrict keys, int64_t key_stride,
    const Real *__restrict values, int64_t value_stride,
    const int32_t *__restrict positions, int64_t row, int64_t rows,
    int64_t group, int64_t head_dim, int64_t value_dim, Real scale,
    Real softcap, int64_t window, const Real *__restrict sinks,
    Real *__restrict scratch) {
  const PackedBlock key_block = {scratch, nullptr, head_dim};
  const PackedBlock value_block = {
      nullptr, scratch + block_positions * head_dim, value_dim};
  Products scores;
  Merges merges;
  for_each_run(
      positions, row, rows,
      [&](int64_t first_row, int64_t count, int64_t begin,
          int64_t position) BATON_INLINE_LAMBDA {
        const Range seen_by_run = {visible_to(position, window).begin,
                                   position + count};
        for (int64_t block =
                 seen_by_run.begin / block_positions * block_positions;
             block < seen_by_run.end; block += block_positions) {
          const Range seen_in_block = within_block(seen_by_run, block);
          key_block.transpose(keys + (begin + block) * key_stride, key_stride,
                              seen_in_block);
          value_block.copy(values + (begin + block) * value_stride,
                           value_stride, seen_in_block);
          for (int64_t head = 0; head < group; ++head)
            for (int64_t first = 0; first < count; first += tile_rows) {
              const int64_t size = smaller(tile_rows, count - first);
              Range seen[tile_rows];
              bool is_first[tile_rows];
              for (int64_t i = 0; i < size; ++i) {
                const Range visible = visible_to(position + first + i, window);
                seen[i] = within_block(visible, block);
                is_first[i] = visible.begin >= block;
              }
              const Range any = {seen[0].begin, seen[size - 1].end};
              if (any.begin >= any.end)
                continue;
              const int64_t place = first_row + first;
              multiply_block(scores, q + place * q_stride + head * head_dim,
                             q_stride, size, key_block, any);
              weigh(scores, merges,
                    {statistics + place * statistics_stride + 2 * head,
                     statistics_stride, is_first},
                    size, seen, any, scale, softcap);
              Real *results = out + place * out_stride + head * value_dim;
              add_block(
                  scores, size, seen, value_block,
                  [](int64_t, int64_t, int64_t)
                      BATON_INLINE_LAMBDA { return splat(0.0f); },
                  [&](int64_t i, int64_t column, int64_t width, Vector elements)
                      BATON_INLINE_LAMBDA {
                        if (seen[i].begin >= seen[i].end)
                          return;
                        Real *to = results + i * out_stride + column;
                        if (!is_first[i])
                          elements = fma(elements, splat(merges.take[i]),
                                         load(to, width) * merges.keep[i]);
                        store(to, elements, width);
                      });
            }
        }
      });
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t head = 0; head < group; ++head) {
      Real *of = statistics + r * statistics_stride + 2 * head;
      Real *place = out + r * out_stride + head * value_dim;
      // A sink is one more block, whose elements are zeros.
      Real keep = 1.0f;
      if (sinks)
        keep = merge(of[0], of[1], {sinks[head], 1.0f}, false).keep;
      const Real sum = of[1] == 0.0f ? 1.0f : of[1];
      for_each_vector(value_dim,
                      [&](int64_t first, int64_t width) BATON_INLINE_LAMBDA {
                        Vector value = load(place + first, width);
                        if (sinks)
                          value *= keep;
                        store(place + first, value / sum, width);
                      });
    }
}
