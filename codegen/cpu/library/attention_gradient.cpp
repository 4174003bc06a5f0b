//===- attention_gradient.cpp - adjoints of attention ---------------------===//
//
// With P = e^(score - maximum) / sum and dP = dout . v, a score's gradient is
// dS = P (dP - delta), delta = dout . out (FlashAttention-2, Dao 2023,
// algorithm 2). The gradient of queries and that of keys and values have one
// shape: six rows - of queries, or of keys - meet a block of 64 of the other
// side, whose rows are packed in both orders, transposed for the products that
// give scores and dP, as they are for those that sum. Both take P and dS from
// the same arithmetic.
//
// A chain covers exactly the rows that see each other, wherever blocks and
// tiles begin: neither bits nor a neighbour's NaN come through a mask.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/packed_block.h"
#include "codegen/cpu/library/sequences.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

namespace {

/// What is known of a query from the forward pass, of 16 of them or of one.
struct Known {
  Vector maximum;
  Vector inverse; // 1 / sum
  Vector delta;
};

/// In place: inner products of queries and keys become P, those of dout and
/// values dS times the slopes of what made scores of the former. What nobody
/// sees becomes anything. known(i, first) tells of row i and of the block's
/// rows from `first` on.
template <typename Knows>
BATON_INLINE void weigh(Products &scores, Products &gradients, int64_t rows,
                        Range seen, Real scale, Real softcap, Knows known) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t first = seen.begin / lanes * lanes; first < seen.end;
         first += lanes) {
      Real *score_place = scores.row(i) + first;
      Real *gradient_place = gradients.row(i) + first;
      const Known of = known(i, first);
      Vector score = load(score_place) * scale;
      Vector slope = splat(scale);
      if (softcap != 0.0f) {
        const Vector bent = tanh(score / softcap);
        score = softcap * bent;
        slope = (1.0f - bent * bent) * scale;
      }
      const Vector weight = exp(score - of.maximum) * of.inverse;
      store(score_place, weight);
      store(gradient_place, weight * (load(gradient_place) - of.delta) * slope);
    }
}

/// out[i] += the chain of add_block.
BATON_INLINE void add_to(Real *__restrict out, int64_t stride,
                         const Products &left, int64_t rows, const Range *seen,
                         const PackedBlock &block) {
  add_block(
      left, rows, seen, block,
      [&](int64_t i, int64_t column, int64_t width) BATON_INLINE_LAMBDA {
        return load(out + i * stride + column, width);
      },
      [&](int64_t i, int64_t column, int64_t width, Vector chain)
          BATON_INLINE_LAMBDA {
            store(out + i * stride + column, chain, width);
          });
}

BATON_INLINE void clear(Real *out, int64_t stride, int64_t rows,
                        int64_t width) {
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      store(out + row * stride + first, splat(0.0f), count);
                    });
}

} // namespace

BATON_TASK void
baton_task_attention_delta(Real *__restrict delta, int64_t delta_stride,
                           const Real *__restrict dout, int64_t dout_stride,
                           const Real *__restrict out, int64_t out_stride,
                           int64_t rows, int64_t heads, int64_t width) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < heads; ++head) {
      const Real *left = dout + row * dout_stride + head * width;
      const Real *right = out + row * out_stride + head * width;
      Vector products = splat(0.0f);
      for_each_vector(width,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        products = fma(load(left + first, count),
                                       load(right + first, count), products);
                      });
      delta[row * delta_stride + head] = reduce_sum(products);
    }
}

BATON_TASK void baton_task_attention_sink_gradient(
    Real *__restrict dsinks, int64_t dsinks_stride,
    const Real *__restrict delta, int64_t delta_stride,
    const Real *__restrict statistics, int64_t statistics_stride,
    const Real *__restrict sinks, int64_t rows, int64_t heads) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < heads; ++head) {
      const Real *of = statistics + row * statistics_stride + 2 * head;
      const Real weight = exp(sinks[head] - of[0]) * (1.0f / of[1]);
      dsinks[row * dsinks_stride + head] =
          -weight * delta[row * delta_stride + head];
    }
}

BATON_TASK void baton_task_attention_query_gradient(
    Real *__restrict dq, int64_t dq_stride, const Real *__restrict dout,
    int64_t dout_stride, const Real *__restrict q, int64_t q_stride,
    const Real *__restrict keys, int64_t key_stride,
    const Real *__restrict values, int64_t value_stride,
    const Real *__restrict delta, int64_t delta_stride,
    const Real *__restrict statistics, int64_t statistics_stride,
    const int32_t *__restrict positions, int64_t row, int64_t rows,
    int64_t group, int64_t head_dim, int64_t value_dim, Real scale,
    Real softcap, int64_t window, Real *__restrict scratch) {
  const PackedBlock key_block = {scratch, scratch + block_positions * head_dim,
                                 head_dim};
  const PackedBlock value_block = {key_block.panels +
                                       block_positions * padded(head_dim),
                                   nullptr, value_dim};
  Products scores, gradients;
  clear(dq, dq_stride, rows, group * head_dim);
  for_each_run(
      positions, row, rows,
      [&](int64_t first_row, int64_t count, int64_t begin, int64_t position)
          BATON_INLINE_LAMBDA {
            const Range seen_by_run = {visible_to(position, window).begin,
                                       position + count};
            for (int64_t block =
                     seen_by_run.begin / block_positions * block_positions;
                 block < seen_by_run.end; block += block_positions) {
              const Range seen_in_block = within_block(seen_by_run, block);
              const Real *block_keys = keys + (begin + block) * key_stride;
              key_block.transpose(block_keys, key_stride, seen_in_block);
              key_block.copy(block_keys, key_stride, seen_in_block);
              value_block.transpose(values + (begin + block) * value_stride,
                                    value_stride, seen_in_block);
              for (int64_t head = 0; head < group; ++head)
                for (int64_t first = 0; first < count; first += tile_rows) {
                  const int64_t size = smaller(tile_rows, count - first);
                  Range seen[tile_rows];
                  for (int64_t i = 0; i < size; ++i)
                    seen[i] = within_block(
                        visible_to(position + first + i, window), block);
                  const Range any = {seen[0].begin, seen[size - 1].end};
                  if (any.begin >= any.end)
                    continue;
                  const int64_t place = first_row + first;
                  multiply_block(scores, q + place * q_stride + head * head_dim,
                                 q_stride, size, key_block, any);
                  multiply_block(gradients,
                                 dout + place * dout_stride + head * value_dim,
                                 dout_stride, size, value_block, any);
                  weigh(scores, gradients, size, any, scale, softcap,
                        [&](int64_t i, int64_t) BATON_INLINE_LAMBDA {
                          const Real *of = statistics +
                                           (place + i) * statistics_stride +
                                           2 * head;
                          return Known{
                              splat(of[0]), splat(1.0f / of[1]),
                              splat(delta[(place + i) * delta_stride + head])};
                        });
                  add_to(dq + place * dq_stride + head * head_dim, dq_stride,
                         gradients, size, seen, key_block);
                }
            }
          });
}

BATON_TASK void baton_task_attention_key_value_gradient(
    Real *__restrict dk, int64_t dk_stride, Real *__restrict dv,
    int64_t dv_stride, const Real *__restrict dout, int64_t dout_stride,
    const Real *__restrict q, int64_t q_stride, const Real *__restrict keys,
    int64_t key_stride, const Real *__restrict values, int64_t value_stride,
    const Real *__restrict delta, int64_t delta_stride,
    const Real *__restrict statistics, int64_t statistics_stride,
    const int32_t *__restrict positions, int64_t row, int64_t rows,
    int64_t all_rows, int64_t group, int64_t head_dim, int64_t value_dim,
    Real scale, Real softcap, int64_t window, Real *__restrict scratch) {
  const PackedBlock query_block = {
      scratch, scratch + block_positions * head_dim, head_dim};
  Real *rest = query_block.panels + block_positions * padded(head_dim);
  const PackedBlock dout_block = {rest, rest + block_positions * value_dim,
                                  value_dim};
  Products scores, gradients;
  alignas(64) Real maxima[block_positions];
  alignas(64) Real inverses[block_positions];
  alignas(64) Real deltas[block_positions];
  clear(dk, dk_stride, rows, head_dim);
  clear(dv, dv_stride, rows, value_dim);
  for_each_run(
      positions, row, rows,
      [&](int64_t first_row, int64_t count, int64_t begin,
          int64_t position) BATON_INLINE_LAMBDA {
        const int64_t length =
            end_of_sequence(positions, row + first_row + count, all_rows) -
            begin;
        auto seen_from = [&](int64_t key) BATON_INLINE_LAMBDA {
          return Range{key,
                       window > 0 ? smaller(key + window, length) : length};
        };
        const Range seen_from_run = {position,
                                     seen_from(position + count - 1).end};
        for (int64_t head = 0; head < group; ++head)
          for (int64_t block =
                   seen_from_run.begin / block_positions * block_positions;
               block < seen_from_run.end; block += block_positions) {
            const Range seen_in_block = within_block(seen_from_run, block);
            const Real *block_queries =
                q + (begin + block) * q_stride + head * head_dim;
            const Real *block_dout =
                dout + (begin + block) * dout_stride + head * value_dim;
            query_block.transpose(block_queries, q_stride, seen_in_block);
            query_block.copy(block_queries, q_stride, seen_in_block);
            dout_block.transpose(block_dout, dout_stride, seen_in_block);
            dout_block.copy(block_dout, dout_stride, seen_in_block);
            for (int64_t i = 0; i < block_positions; ++i) {
              const bool is_seen =
                  i >= seen_in_block.begin && i < seen_in_block.end;
              const int64_t query = begin + block + i;
              const Real *of =
                  statistics + query * statistics_stride + 2 * head;
              maxima[i] = is_seen ? of[0] : 0.0f;
              inverses[i] = is_seen ? 1.0f / of[1] : 0.0f;
              deltas[i] = is_seen ? delta[query * delta_stride + head] : 0.0f;
            }
            for (int64_t first = 0; first < count; first += tile_rows) {
              const int64_t size = smaller(tile_rows, count - first);
              Range seen[tile_rows];
              for (int64_t i = 0; i < size; ++i)
                seen[i] = within_block(seen_from(position + first + i), block);
              const Range any = {seen[0].begin, seen[size - 1].end};
              if (any.begin >= any.end)
                continue;
              const int64_t key = begin + position + first;
              multiply_block(scores, keys + key * key_stride, key_stride, size,
                             query_block, any);
              multiply_block(gradients, values + key * value_stride,
                             value_stride, size, dout_block, any);
              weigh(scores, gradients, size, any, scale, softcap,
                    [&](int64_t, int64_t from) BATON_INLINE_LAMBDA {
                      return Known{load(maxima + from), load(inverses + from),
                                   load(deltas + from)};
                    });
              const int64_t place = first_row + first;
              add_to(dk + place * dk_stride, dk_stride, gradients, size, seen,
                     query_block);
              add_to(dv + place * dv_stride, dv_stride, scores, size, seen,
                     dout_block);
            }
          }
      });
}
