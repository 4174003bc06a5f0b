//===- attention_gradient_matrix.h - adjoints on tensor cores -------------===//
//
// FlashAttention-2's backward (Dao 2023, algorithm 2) with mma.m16n8k16, as two
// tasks that have one shape: own rows - of queries, or of keys - meet blocks of
// 64 of the other side. With P = e^(score - maximum) / sum, delta = dout . out
// and dS = P (dout . v - delta):
//
//   copy of the next block under way:  P and dS of own rows and the block's
//   barrier
//   the same:                          dq += dS k, or dk += dS q, dv += P dout
//   barrier
//
// A warp has sixteen own rows. Two warps share them: each computes P and dS for
// half of the block's rows, which they exchange through shared memory, and sums
// half of the result's columns. So every element is one chain. A warp leaves
// out what none of its rows sees.
//
// Numeric contract: operands of products are rounded to BF16 or F16, to nearest
// even: queries, keys, values, dout, and P and dS, the latter before they are
// multiplied by the scale of scores. Scores, P, dS and sums are F32.
// Exponentials are baton_exp2. Sums ascend in heads of the group and in blocks
// of 64 absolute positions, so that a row's bits depend on its own sequence
// only, not on tiles, nor on the number of threads. What is not finite reaches
// every row that sees it, and may reach others of the same tile and sequence:
// zeros do not keep NaN and infinity out.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_MATRIX_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_MATRIX_H

#include "codegen/cuda/library/attention_copies.h"
#include "codegen/cuda/library/attention_gradient_sums.h"
#include "codegen/cuda/library/sequences.h"

namespace baton::cuda {

/// Rows of one head of one side: whose products make scores, and whose make
/// gradients of weights.
struct GradientSide {
  const float *scores;
  int64_t score_stride;
  const float *gradients;
  int64_t gradient_stride;
};

/// What the forward pass left of one head's queries.
struct QueryStatistics {
  const float *statistics;
  int64_t statistics_stride;
  const float *delta;
  int64_t delta_stride;
};

/// What scores need of a query: the maximum in powers of 2.
struct MatrixQuery {
  float maximum;
  float inverse; // 1 / sum
  float delta;

  static __device__ __forceinline__ MatrixQuery of(const QueryStatistics &all,
                                                   int64_t query) {
    const float log2_e = 0x1.715476p+0f;
    const float *two = all.statistics + query * all.statistics_stride;
    return {two[0] * log2_e, 1.0f / two[1],
            all.delta[query * all.delta_stride]};
  }
};

/// One call: its arguments, and the place of the thread in a batch.
///
/// In fragments of scores a thread has two own rows, eight apart, and of each
/// eight rows of the block two neighbours.
template <int Threads, int HeadDim, int ValueDim, bool OfKeys, typename Type>
struct MatrixGradient {
  using Shape = BatonAttentionGradientShape;
  static constexpr Shape shape{Threads, HeadDim, ValueDim, OfKeys};
  static_assert(shape.is_valid(), "tensor cores do not suit these");
  // Its numbers: device code does not refer to the shape itself.
  static constexpr int across = shape.warps_across(), batch = shape.batch();
  static constexpr int stages = shape.stages();
  static constexpr int score_stride = shape.score_stride();
  static constexpr int gradient_stride = shape.gradient_stride();
  static constexpr int weight_stride = shape.weight_stride();
  static constexpr int side_size = shape.side(), exchanged = shape.weights();
  /// Of a block, that a warp weighs at a time; eights of them.
  static constexpr int half = block_positions / 2, tiles = half / 8;
  static constexpr int queries_of_thread =
      (block_positions + Threads - 1) / Threads;
  using ScoreCopy = BlockCopy<Threads, HeadDim, Type>;
  using GradientCopy = BlockCopy<Threads, ValueDim, Type>;

  unsigned char *shared;
  float scale;
  float softcap;
  int window;
  uint32_t thread;

  // The batch.
  /// Of the sequence, where own rows begin, how many there are, and where those
  /// end that they see, or that see them.
  int position, count, end;
  /// Of the thread's own rows, if they are queries.
  MatrixQuery own[2] = {};
  GradientSums<HeadDim, across> sums;
  GradientSums<ValueDim, across> value_sums;

  __device__ __forceinline__ uint32_t lane() const { return thread % 32; }
  /// Which half of columns, and of a block's rows.
  __device__ __forceinline__ int column() const {
    return static_cast<int>(thread / 32) % across;
  }
  /// The warp's first own row.
  __device__ __forceinline__ int first_row() const {
    return static_cast<int>(thread / 32) / across * 16;
  }

  // Shared memory, in the order of BatonAttentionGradientShape's formula.
  /// Own rows are side 0, blocks follow.
  __device__ __forceinline__ uint16_t *scores_of(int side) const {
    return reinterpret_cast<uint16_t *>(shared) + side * side_size;
  }
  __device__ __forceinline__ uint16_t *gradients_of(int side) const {
    return scores_of(side) + block_positions * score_stride;
  }
  /// dS, then P, as [own rows][64].
  __device__ __forceinline__ uint16_t *exchange(int which) const {
    return scores_of(1 + stages) + which * exchanged;
  }
  /// Three numbers of each query of a block, one after the other.
  __device__ __forceinline__ float *queries_of(int side) const {
    return reinterpret_cast<float *>(exchange(2)) +
           (side - 1) * 3 * block_positions;
  }

  /// How far the query of an own row and of a row of the block at the position
  /// `other` is behind the key.
  __device__ __forceinline__ int distance(int own_row, int other) const {
    return OfKeys ? other - position - own_row : position + own_row - other;
  }
  __device__ __forceinline__ bool is_seen(int distance) const {
    return distance >= 0 && (window == 0 || distance < window);
  }
  /// The least and the most between the warp's rows and `rows` from `first` on.
  __device__ __forceinline__ int least_distance(int first, int rows) const {
    return OfKeys ? distance(first_row() + 15, first)
                  : distance(first_row(), first + rows - 1);
  }
  __device__ __forceinline__ int most_distance(int first, int rows) const {
    return OfKeys ? distance(first_row(), first + rows - 1)
                  : distance(first_row() + 15, first);
  }
  /// Whether any of them see each other.
  __device__ __forceinline__ bool any_seen(int first, int rows) const {
    return first_row() < count && most_distance(first, rows) >= 0 &&
           (window == 0 || least_distance(first, rows) < window);
  }
  __device__ __forceinline__ bool all_seen(int first, int rows) const {
    return is_seen(least_distance(first, rows)) &&
           is_seen(most_distance(first, rows));
  }

  /// products += sixteen own rows times `half` of a block's.
  template <int Dim>
  __device__ __forceinline__ void multiply(float (&products)[tiles][4],
                                           const uint16_t *rows,
                                           const uint16_t *block) const {
    constexpr int stride = Dim + Shape::gap;
    // Wide rows, and two gradients, leave few registers for matrices on their
    // way.
#pragma unroll(OfKeys ? 2 : Dim > 64 ? 4 : 8)
    for (int depth = 0; depth < Dim; depth += 16) {
      uint32_t left[4];
      baton_load_matrices(left, rows + lane() % 16 * stride + depth +
                                    lane() / 16 * 8);
#pragma unroll
      for (int tile = 0; tile < tiles; tile += 2) {
        uint32_t right[4];
        baton_load_matrices(
            right, block + (tile * 8 + lane() / 16 * 8 + lane() % 8) * stride +
                       depth + lane() / 8 % 2 * 8);
        Type::multiply(products[tile], left, {right[0], right[1]});
        Type::multiply(products[tile + 1], left, {right[2], right[3]});
      }
    }
  }

  /// P and dS of a score, which has been through a cap, and of what dout . v
  /// is.
  __device__ __forceinline__ void weigh(float &score, float &product,
                                        const MatrixQuery &query) const {
    // 2^(x log2 e) = e^x.
    const float log2_e = 0x1.715476p+0f;
    const bool capped = softcap != 0.0f;
    const float weight = baton_exp2(
        fmaf(score, (capped ? softcap : scale) * log2_e, -query.maximum));
    product = weight * query.inverse * (product - query.delta);
    if (capped)
      product *= 1.0f - score * score;
    score = weight * query.inverse;
  }

  /// The warp's share of P and dS of own rows and of the block at `block`.
  __device__ __forceinline__ void weigh_block(int block, int side) const {
#pragma unroll 1
    for (int part = column(); part < 2; part += across) {
      const int first = block + part * half;
      if (!any_seen(first, half))
        continue;
      float scores[tiles][4] = {}, products[tiles][4] = {};
      multiply<HeadDim>(scores, scores_of(0) + first_row() * score_stride,
                        scores_of(side) + part * half * score_stride);
      multiply<ValueDim>(products,
                         gradients_of(0) + first_row() * gradient_stride,
                         gradients_of(side) + part * half * gradient_stride);
      if (softcap != 0.0f)
#pragma unroll
        for (int i = 0; i < tiles * 4; ++i)
          scores[i / 4][i % 4] = tanh(scores[i / 4][i % 4] * (scale / softcap));
      const bool masked = !all_seen(first, half);
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        const int place =
            part * half + tile * 8 + static_cast<int>(lane() % 4 * 2);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float *of = queries_of(side) + place + i % 2;
          const MatrixQuery query =
              OfKeys ? MatrixQuery{of[0], of[block_positions],
                                   of[2 * block_positions]}
                     : own[i / 2];
          weigh(scores[tile][i], products[tile][i], query);
          const int row =
              first_row() + static_cast<int>(lane() / 4) + i / 2 * 8;
          if (masked && !is_seen(distance(row, block + place + i % 2)))
            scores[tile][i] = products[tile][i] = 0.0f;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int at = (first_row() + static_cast<int>(lane() / 4) + i * 8) *
                             weight_stride +
                         place;
          *reinterpret_cast<uint32_t *>(exchange(0) + at) =
              Type::pair(products[tile][i * 2], products[tile][i * 2 + 1]);
          if (OfKeys)
            *reinterpret_cast<uint32_t *>(exchange(1) + at) =
                Type::pair(scores[tile][i * 2], scores[tile][i * 2 + 1]);
        }
      }
    }
  }

  /// Adds what the block makes of sums.
  __device__ __forceinline__ void add_block(int block, int side) {
#pragma unroll
    for (int step = 0; step < block_positions; step += 16) {
      if (!any_seen(block + step, 16))
        continue;
      const int at = first_row() * weight_stride + step;
      sums.template add<Type>(exchange(0) + at, weight_stride,
                              scores_of(side) + step * score_stride, column(),
                              lane());
      if (OfKeys)
        value_sums.template add<Type>(
            exchange(1) + at, weight_stride,
            gradients_of(side) + step * gradient_stride, column(), lane());
    }
  }

  /// Numbers of a block's queries on their way to shared memory; those that
  /// nobody has are zeros, which make zeros.
  struct QueryCopy {
    MatrixQuery held[queries_of_thread] = {};

    __device__ __forceinline__ void load(const QueryStatistics &from, int block,
                                         int begin, int end, uint32_t thread) {
#pragma unroll
      for (int i = 0; i < queries_of_thread; ++i) {
        const int query = block + static_cast<int>(thread) + i * Threads;
        held[i] = {};
        if (thread < block_positions && query >= begin && query < end)
          held[i] = MatrixQuery::of(from, query);
      }
    }
    __device__ __forceinline__ void store(float *to, uint32_t thread) const {
#pragma unroll
      for (int i = 0; i < queries_of_thread; ++i) {
        float *place = to + thread + i * Threads;
        if (thread >= block_positions)
          continue;
        place[0] = held[i].maximum;
        place[block_positions] = held[i].inverse;
        place[2 * block_positions] = held[i].delta;
      }
    }
  };

  /// Own rows to shared memory, zeros behind the last. A barrier comes before
  /// they are read.
  __device__ __forceinline__ void copy_own(const GradientSide &rows) const {
    copy_rows(rows, 0, 0, count, 0);
  }
  __device__ __forceinline__ void copy_rows(const GradientSide &rows, int block,
                                            int begin, int end,
                                            int side) const {
    ScoreCopy scores(rows.scores, rows.score_stride, HeadDim, false,
                     scores_of(side), thread);
    GradientCopy gradients(rows.gradients, rows.gradient_stride, ValueDim,
                           false, gradients_of(side), thread);
    scores.begin(block, begin, end);
    gradients.begin(block, begin, end);
    copy_during<0>(scores, [](int) {});
    copy_during<0>(gradients, [](int) {});
  }
  __device__ __forceinline__ void copy_block(const GradientSide &rows,
                                             const QueryStatistics &statistics,
                                             int block, int begin,
                                             int side) const {
    QueryCopy queries;
    if (OfKeys)
      queries.load(statistics, block, begin, end, thread);
    copy_rows(rows, block, begin, end, side);
    if (OfKeys)
      queries.store(queries_of(side), thread);
  }

  /// Walks over the blocks of the other side that hold positions from `begin`
  /// on. Nobody reads shared memory before or behind it, but own rows, which
  /// are there or stored by the thread.
  __device__ __forceinline__ void
  run(const GradientSide &other, const QueryStatistics &statistics, int begin) {
    int block = begin / block_positions * block_positions;
    copy_block(other, statistics, block, begin, 1);
    __syncthreads();
    if constexpr (stages == 1) {
#pragma unroll 1
      for (; block < end; block += block_positions) {
        weigh_block(block, 1);
        __syncthreads();
        add_block(block, 1);
        // Behind it nobody reads the block any more.
        __syncthreads();
        copy_block(other, statistics, block + block_positions, begin, 1);
        __syncthreads();
      }
      return;
    }
    ScoreCopy scores(other.scores, other.score_stride, HeadDim, false, nullptr,
                     thread);
    GradientCopy gradients(other.gradients, other.gradient_stride, ValueDim,
                           false, nullptr, thread);
    QueryCopy queries;
    int side = 1;
#pragma unroll 1
    for (; block < end; block += block_positions) {
      // Nobody has read the other one's place since the barrier.
      const int following = block + block_positions, place = 3 - side;
      scores.turn_to(scores_of(place));
      gradients.turn_to(gradients_of(place));
      scores.begin(following, begin, end);
      gradients.begin(following, begin, end);
      if (OfKeys)
        queries.load(statistics, following, begin, end, thread);
      copy_during<1>(scores, [&](int) { weigh_block(block, side); });
      if (OfKeys)
        queries.store(queries_of(place), thread);
      __syncthreads();
      copy_during<1>(gradients, [&](int) { add_block(block, side); });
      side = place;
      // The next block is there, and nobody reads what was exchanged.
      __syncthreads();
    }
  }

  template <typename Known>
  __device__ __forceinline__ void begin(int first, int rows, Known known) {
    position = first;
    count = rows;
    sums.clear();
    value_sums.clear();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = first_row() + static_cast<int>(lane() / 4) + i * 8;
      own[i] = row < count ? known(row) : MatrixQuery{};
    }
  }
};

} // namespace baton::cuda

/// baton_task_attention_query_gradient on tensor cores, operands rounded to
/// `Type`.
///
/// `q`, `dout`, `keys` and `values` are aligned to 16 bytes, their strides are
/// multiples of 4. `shared` is aligned to 16 bytes, and has the bytes of
/// BatonAttentionGradientShape. Behind the call as before it, the block needs a
/// barrier.
template <int Threads, int HeadDim, int ValueDim, typename Type>
BATON_CALLED void baton_matrix_attention_query_gradient(
    unsigned char *shared, float *dq, int64_t dq_stride, const float *dout,
    int64_t dout_stride, const float *q, int64_t q_stride, const float *keys,
    int64_t key_stride, const float *values, int64_t value_stride,
    const float *delta, int64_t delta_stride, const float *statistics,
    int64_t statistics_stride, const int32_t *positions, int64_t row,
    int64_t rows, int64_t group, int64_t, int64_t, float scale, float softcap,
    int64_t window, float *) {
  using namespace baton::cuda;
  using Task = MatrixGradient<Threads, HeadDim, ValueDim, false, Type>;
  Task task;
  task.shared = shared;
  task.scale = scale;
  task.softcap = softcap;
  task.window = static_cast<int>(window);
  task.thread = baton_thread();
  for_each_run(
      positions, row, rows,
      [&](int64_t first_row, int64_t run, int64_t begin, int64_t position) {
        const GradientSide other = {keys + begin * key_stride, key_stride,
                                    values + begin * value_stride,
                                    value_stride};
#pragma unroll 1
        for (int64_t first = 0; first < run; first += Task::batch)
#pragma unroll 1
          for (int64_t head = 0; head < group; ++head) {
            const int64_t place = first_row + first;
            const QueryStatistics known = {
                statistics + place * statistics_stride + 2 * head,
                statistics_stride, delta + place * delta_stride + head,
                delta_stride};
            task.begin(static_cast<int>(position + first),
                       static_cast<int>(smaller(Task::batch, run - first)),
                       [&](int own) { return MatrixQuery::of(known, own); });
            task.end = task.position + task.count;
            task.copy_own({q + place * q_stride + head * HeadDim, q_stride,
                           dout + place * dout_stride + head * ValueDim,
                           dout_stride});
            task.run(other, {},
                     static_cast<int>(visible_to(task.position, window).begin));
            const int own = task.first_row();
            task.sums.store(dq + (place + own) * dq_stride + head * HeadDim,
                            dq_stride, task.count - own, task.column(), scale,
                            task.lane());
          }
      });
}

/// baton_task_attention_key_value_gradient, likewise.
template <int Threads, int HeadDim, int ValueDim, typename Type>
BATON_CALLED void baton_matrix_attention_key_value_gradient(
    unsigned char *shared, float *dk, int64_t dk_stride, float *dv,
    int64_t dv_stride, const float *dout, int64_t dout_stride, const float *q,
    int64_t q_stride, const float *keys, int64_t key_stride,
    const float *values, int64_t value_stride, const float *delta,
    int64_t delta_stride, const float *statistics, int64_t statistics_stride,
    const int32_t *positions, int64_t row, int64_t rows, int64_t all_rows,
    int64_t group, int64_t, int64_t, float scale, float softcap, int64_t window,
    float *) {
  using namespace baton::cuda;
  using Task = MatrixGradient<Threads, HeadDim, ValueDim, true, Type>;
  Task task;
  task.shared = shared;
  task.scale = scale;
  task.softcap = softcap;
  task.window = static_cast<int>(window);
  task.thread = baton_thread();
  for_each_run(
      positions, row, rows,
      [&](int64_t first_row, int64_t run, int64_t begin, int64_t position) {
        const int64_t length =
            end_of_sequence(positions, row + first_row + run, all_rows) - begin;
#pragma unroll 1
        for (int64_t first = 0; first < run; first += Task::batch) {
          const int64_t at = position + first;
          task.begin(static_cast<int>(at),
                     static_cast<int>(smaller(Task::batch, run - first)),
                     [](int) { return MatrixQuery{}; });
          const int64_t last = at + task.count - 1;
          task.end = static_cast<int>(
              window > 0 ? smaller(last + window, length) : length);
          task.copy_own({keys + (begin + at) * key_stride, key_stride,
                         values + (begin + at) * value_stride, value_stride});
#pragma unroll 1
          for (int64_t head = 0; head < group; ++head)
            task.run({q + begin * q_stride + head * HeadDim, q_stride,
                      dout + begin * dout_stride + head * ValueDim,
                      dout_stride},
                     {statistics + begin * statistics_stride + 2 * head,
                      statistics_stride, delta + begin * delta_stride + head,
                      delta_stride},
                     static_cast<int>(at));
          const int own = task.first_row();
          const int64_t place = first_row + first + own;
          task.sums.store(dk + place * dk_stride, dk_stride, task.count - own,
                          task.column(), scale, task.lane());
          task.value_sums.store(dv + place * dv_stride, dv_stride,
                                task.count - own, task.column(), 1.0f,
                                task.lane());
        }
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_GRADIENT_MATRIX_H
