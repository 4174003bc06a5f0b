//===- attention_matrix.h - attention of many queries, on tensor cores ----===//
//
// FlashAttention-2 (Dao 2023) with mma.m16n8k16: a warp has sixteen queries
// (rows times heads of the group), the block a batch of up to Threads / 2, all
// against the same 64 positions at a time.
//
//   copy of values under way:  scores = queries x keys, online softmax
//   barrier
//   copy of next keys:         result += weights x values
//   barrier
//
// Scores, weights and results stay in registers, where the accumulators of one
// product are the left-hand side of the next. A warp leaves out blocks of which
// none of its queries sees anything.
//
// Numeric contract: queries, keys, values and weights are rounded to BF16, or
// to F16 where that is said, to nearest even; scores, maxima, sums (of weights
// before they are rounded) and results are F32. Exponentials are baton_exp2.
// Blocks are 64 absolute positions in ascending order, so that a row's bits
// depend on its own position only, not on its tile, nor on the number of
// threads; they are not those of the portable body. A result that is zero is
// +0. The values of positions that some rows of a tile see and others do not
// have to be finite: a weight of zero does not keep NaN and infinity out.
//
// What bounds it: for 128 queries a block of keys and values is 64 FLOP for
// each byte of F32 that comes from the second-level cache, which gives some 40
// bytes a clock to each multiprocessor: enough for the 2048 FLOP a clock of an
// sm_80's tensor cores. 64 queries halve the first number, so that they gain
// little from warps that have none; tiles should have rows * group of about
// 128. In shared memory, 16 FLOP for each byte that ldmatrix reads are just
// what 128 bytes a clock sustain. Of 128 columns a block takes a warp 200
// instructions for the products, 176 for softmax, 64 more where maxima change,
// and 64 for the copies.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_MATRIX_H
#define BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_MATRIX_H

#include "codegen/cuda/library/attention_copies.h"
#include "codegen/cuda/library/attention_shape.h"

namespace baton::cuda {

/// One call: its arguments, and the place of the thread and its warp in a
/// batch. Both dimensions are multiples of 16 up to `Dim`.
///
/// In all fragments a thread has two queries, `half` 0 and 1, eight apart, and
/// of each eight positions or columns two neighbours. The four threads of a
/// query are neighbours.
template <int Threads, int Dim, typename Type> struct MatrixAttention {
  using Copy = BlockCopy<Threads, Dim, Type>;
  static constexpr int gap = Copy::gap;
  /// Queries of a warp, and the depth of a tensor core's operation.
  static constexpr int fragment = 16;
  static constexpr int batch = Threads / 32 * fragment;
  static constexpr int position_tiles = block_positions / 8;

  float *out;
  int64_t out_stride;
  const float *q;
  int64_t q_stride;
  int position;
  int group;
  int head_dim;
  int value_dim;
  float scale;
  float softcap;
  int window;
  const float *gate;
  int64_t gate_stride;
  int gate_width;
  /// One for each head of the group, or null.
  const float *sinks;
  /// Two numbers for each query, if not null: maximum and sum of exponentials.
  float *statistics;
  int64_t statistics_stride;
  bool keys_in_panels;
  /// Rows times group.
  int queries;

  uint16_t *shared_queries; // [batch][head_dim + gap], a warp's its own
  uint16_t *shared_keys;    // [64][head_dim + gap] or [head_dim][64 + gap]
  uint16_t *shared_values;  // [64][value_dim + gap]

  uint32_t thread;
  // The warp and the thread in the current batch.
  int first_query;
  /// Positions of the warp's first and last query; the last is -1 if there is
  /// none.
  int first_position, last_position;
  /// Of the thread's queries.
  int own_position[2];
  float scores[position_tiles][4] = {};
  uint32_t weights[block_positions / fragment][4] = {};
  float maximum[2] = {};
  float sum[2] = {};
  float result[Dim / 8][4] = {};

  static __device__ __forceinline__ float maximum_of_query(float value) {
#pragma unroll
    for (int apart = 1; apart < 4; apart *= 2)
      value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, apart));
    return value;
  }
  static __device__ __forceinline__ float sum_of_query(float value) {
#pragma unroll
    for (int apart = 1; apart < 4; apart *= 2)
      value += __shfl_xor_sync(0xffffffffu, value, apart);
    return value;
  }
  static __device__ __forceinline__ int least(int a, int b) {
    return a < b ? a : b;
  }
  __device__ __forceinline__ int lane() const { return thread % 32; }
  __device__ __forceinline__ int row_of(int query) const {
    return static_cast<uint32_t>(query) / static_cast<uint32_t>(group);
  }
  __device__ __forceinline__ int position_of(int query) const {
    return position + row_of(query);
  }
  /// The first position that the row at `position` sees; the last is its own.
  __device__ __forceinline__ int first_seen(int position) const {
    return window > 0 && position >= window ? position - window + 1 : 0;
  }

  /// Queries of the warp to shared memory, zeros behind the last. A barrier of
  /// the block comes before they are read.
  __device__ __forceinline__ void copy_queries() const {
    // Half of the queries have the loads of 64 columns under way at once.
    constexpr int at_once = fragment / 2;
#pragma unroll 1
    for (int i = 0; i < fragment; i += at_once) {
      const float *source[at_once];
#pragma unroll
      for (int j = 0; j < at_once; ++j) {
        const int query = first_query + i + j;
        const int64_t row = row_of(query);
        source[j] = query < queries
                        ? q + row * q_stride + (query - row * group) * head_dim
                        : nullptr;
      }
#pragma unroll 1
      for (int column = lane() * 2; column < head_dim; column += 64) {
        float pair[at_once][2];
#pragma unroll
        for (int j = 0; j < at_once; ++j) {
          pair[j][0] = source[j] ? source[j][column] : 0.0f;
          pair[j][1] = source[j] ? source[j][column + 1] : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < at_once; ++j)
          *reinterpret_cast<uint32_t *>(own_queries() +
                                        (i + j) * (head_dim + gap) + column) =
              Type::pair(pair[j][0], pair[j][1]);
      }
    }
  }
  __device__ __forceinline__ uint16_t *own_queries() const {
    return shared_queries + thread / 32 * fragment * (head_dim + gap);
  }

  /// Turns to the batch of which the warp has the queries from `first` on.
  __device__ __forceinline__ void begin(int first) {
    first_query = first;
    first_position = position_of(first);
    last_position = first < queries
                        ? position_of(least(first + fragment, queries) - 1)
                        : -1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      own_position[half] = position_of(first + lane() / 4 + half * 8);
      maximum[half] = negative_infinity();
      sum[half] = 0.0f;
    }
  }

  /// Adds sixteen columns, from `depth` on, to the scores.
  __device__ __forceinline__ void add_scores(int depth) {
    uint32_t left[4];
    baton_load_matrices(left, own_queries() + lane() % 16 * (head_dim + gap) +
                                  depth + lane() / 16 * 8);
#pragma unroll
    for (int tile = 0; tile < position_tiles; tile += 2) {
      uint32_t right[4];
      if (keys_in_panels)
        baton_load_matrices_transposed(right, shared_keys +
                                                  (depth + lane() % 16) *
                                                      (block_positions + gap) +
                                                  tile * 8 + lane() / 16 * 8);
      else
        baton_load_matrices(right,
                            shared_keys +
                                (tile * 8 + lane() / 16 * 8 + lane() % 8) *
                                    (head_dim + gap) +
                                depth + lane() / 8 % 2 * 8);
      Type::multiply(scores[tile], left, {right[0], right[1]});
      Type::multiply(scores[tile + 1], left, {right[2], right[3]});
    }
  }

  /// use(half, place, score) for the thread's scores, ascending in place, which
  /// counts from the thread's first position in the block.
  template <typename Use>
  __device__ __forceinline__ void for_each_score(Use use) {
#pragma unroll
    for (int tile = 0; tile < position_tiles; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        use(i / 2, tile * 8 + i % 2, scores[tile][i]);
  }

  /// Scores of the block at `block` to weights; sums and results so far change
  /// their scale where the maximum does.
  __device__ __forceinline__ void weigh(int block) {
    // 2^(x log2 e) = e^x.
    const float log2_e = 0x1.715476p+0f;
    const float factor = softcap != 0.0f ? softcap * log2_e : scale * log2_e;
    for_each_score([&](int, int, float &score) {
      if (softcap != 0.0f)
        score = tanh(score * (scale / softcap));
      score *= factor;
    });
    // The warp's queries differ in what they see of few blocks.
    if (first_position < block + block_positions - 1 ||
        first_seen(last_position) > block)
      for_each_score([&](int half, int place, float &score) {
        const int key = block + lane() % 4 * 2 + place;
        if (key > own_position[half] ||
            (window > 0 && key < first_seen(own_position[half])))
          score = negative_infinity();
      });
    float largest[2] = {maximum[0], maximum[1]};
    for_each_score([&](int half, int, float &score) {
      largest[half] = fmaxf(largest[half], score);
    });
    float shift[2], keep[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      largest[half] = maximum_of_query(largest[half]);
      shift[half] = largest[half] == negative_infinity() ? 0.0f : largest[half];
      keep[half] = baton_exp2(maximum[half] - shift[half]);
      maximum[half] = largest[half];
      sum[half] *= keep[half];
    }
    for_each_score([&](int half, int, float &score) {
      score = baton_exp2(score - shift[half]);
      sum[half] += score;
    });
#pragma unroll
    for (int step = 0; step < block_positions / fragment; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&tile)[4] = scores[step * 2 + i / 2];
        weights[step][i] = Type::pair(tile[i % 2 * 2], tile[i % 2 * 2 + 1]);
      }
    // Maxima seldom change after the first blocks.
    if (__any_sync(0xffffffffu, keep[0] != 1.0f || keep[1] != 1.0f))
#pragma unroll
      for (int tile = 0; tile < Dim / 8; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          result[tile][i] *= keep[i / 2];
  }

  /// Adds sixteen positions' values to the results.
  __device__ __forceinline__ void add_values(int step) {
#pragma unroll
    for (int tile = 0; tile < Dim / 8; tile += 2) {
      if (tile * 8 >= value_dim)
        continue;
      uint32_t right[4];
      baton_load_matrices_transposed(
          right, shared_values +
                     (step * fragment + lane() % 16) * (value_dim + gap) +
                     tile * 8 + lane() / 16 * 8);
      Type::multiply(result[tile], weights[step], {right[0], right[1]});
      Type::multiply(result[tile + 1], weights[step], {right[2], right[3]});
    }
  }

  __device__ __forceinline__ void finish() const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = first_query + lane() / 4 + half * 8;
      float total = sum_of_query(sum[half]);
      if (query >= queries)
        continue;
      const int64_t row = row_of(query);
      const int64_t head = query - row * group;
      float keep = 1.0f, largest = maximum[half];
      if (sinks) {
        // Maxima are those of logarithms to the base 2.
        const float sink = sinks[head] * 0x1.715476p+0f;
        largest = sink > largest ? sink : largest;
        keep = baton_exp2(maximum[half] - largest);
        total = total * keep + baton_exp2(sink - largest);
      }
      const float inverse = total == 0.0f ? 1.0f : keep / total;
      if (statistics && lane() % 4 == 0) {
        const float log_2 = 0x1.62e43p-1f;
        float *place = statistics + row * statistics_stride + 2 * head;
        place[0] = largest * log_2;
        place[1] = total;
      }
      float *target = out + row * out_stride + head * value_dim;
      const float *gates =
          gate ? gate + row * gate_stride + head * gate_width : nullptr;
#pragma unroll
      for (int tile = 0; tile < Dim / 8; ++tile)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int column = tile * 8 + lane() % 4 * 2 + i;
          if (tile * 8 >= value_dim)
            continue;
          // Blocks that a row does not see leave zeros, but not their signs.
          float value = result[tile][half * 2 + i] * inverse + 0.0f;
          if (gate)
            value *= opening(gates, gate_width, column);
          target[column] = value;
        }
    }
  }

  __device__ __forceinline__ void run(Copy &keys, Copy &values) {
#pragma unroll 1
    for (int first = 0; first < queries; first += batch) {
      begin(first + thread / 32 * fragment);
      const int seen_begin = first_seen(position_of(first));
      const int seen_end = position_of(least(first + batch, queries) - 1) + 1;
      int block = seen_begin / block_positions * block_positions;
      keys.begin(block, seen_begin, seen_end);
      copy_during<1>(keys, [&](int) { copy_queries(); });
#pragma unroll
      for (int tile = 0; tile < Dim / 8; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          result[tile][i] = 0.0f;
      __syncthreads();
#pragma unroll 1
      for (; block < seen_end; block += block_positions) {
        const bool active =
            last_position >= block &&
            first_seen(first_position) < block + block_positions;
#pragma unroll
        for (int tile = 0; tile < position_tiles; ++tile)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            scores[tile][i] = 0.0f;
        values.begin(block, seen_begin, seen_end);
        copy_during<Dim / fragment>(values, [&](int step) {
          if (active && step * fragment < head_dim)
            add_scores(step * fragment);
        });
        if (active)
          weigh(block);
        // The block's values are there, and its keys done with.
        __syncthreads();
        keys.begin(block + block_positions, seen_begin, seen_end);
        copy_during<block_positions / fragment>(keys, [&](int step) {
          if (active)
            add_values(step);
        });
        // The next block's keys are there, and these values done with.
        __syncthreads();
      }
      finish();
    }
  }
};

template <int Threads, int Dim, typename Type>
BATON_DEVICE void
matrix_attention(unsigned char *shared, float *out, int64_t out_stride,
                 const float *q, int64_t q_stride, const float *keys,
                 int64_t key_stride, const float *values, int64_t value_stride,
                 int64_t rows, int64_t position, int64_t group,
                 int64_t head_dim, int64_t value_dim, float scale,
                 float softcap, int64_t window, const float *gate,
                 int64_t gate_stride, int64_t gate_width, const float *sinks,
                 float *statistics = nullptr, int64_t statistics_stride = 0) {
  MatrixAttention<Threads, Dim, Type> task;
  task.thread = baton_thread();
  task.out = out;
  task.out_stride = out_stride;
  task.q = q;
  task.q_stride = q_stride;
  task.position = static_cast<int>(position);
  task.group = static_cast<int>(group);
  task.head_dim = static_cast<int>(head_dim);
  task.value_dim = static_cast<int>(value_dim);
  task.scale = scale;
  task.softcap = softcap;
  task.window = static_cast<int>(window);
  task.gate = gate;
  task.gate_stride = gate_stride;
  task.gate_width = static_cast<int>(gate_width);
  task.sinks = sinks;
  task.statistics = statistics;
  task.statistics_stride = statistics_stride;
  task.keys_in_panels = key_stride == 0;
  task.queries = static_cast<int>(rows * group);
  task.shared_queries = reinterpret_cast<uint16_t *>(shared);
  task.shared_keys = task.shared_queries + task.batch * (head_dim + task.gap);
  task.shared_values =
      task.shared_keys + (block_positions + task.gap) * (head_dim + task.gap);
  BlockCopy<Threads, Dim, Type> key_copy(keys, key_stride, head_dim,
                                         task.keys_in_panels, task.shared_keys,
                                         task.thread);
  BlockCopy<Threads, Dim, Type> value_copy(
      values, value_stride, value_dim, false, task.shared_values, task.thread);
  task.run(key_copy, value_copy);
}

} // namespace baton::cuda

/// baton_task_attention on tensor cores; for dimensions that these do not suit,
/// and for rows of keys or values whose stride is not a multiple of 4, that
/// itself, in `scratch`, which is otherwise not used.
///
/// For blocks of `Threads` threads, a power of two; positions and
/// rows * group are below 2^31. `shared` is aligned to 16
/// bytes and has baton_matrix_attention_shared_bytes(Threads, head_dim,
/// value_dim); no asynchronous copies into it are under way. `keys` and
/// `values` are aligned to 16 bytes. Reads what the tile's rows see of them,
/// and no other position. Behind the call as before it, the block needs a
/// barrier.
template <int Threads>
BATON_DEVICE void baton_matrix_attention(
    unsigned char *shared, float *out, int64_t out_stride, const float *q,
    int64_t q_stride, const float *keys, int64_t key_stride,
    const float *values, int64_t value_stride, int64_t rows, int64_t position,
    int64_t group, int64_t head_dim, int64_t value_dim, float scale,
    float softcap, int64_t window, const float *gate, int64_t gate_stride,
    int64_t gate_width, const float *sinks, float *scratch) {
  using namespace baton::cuda;
  if (baton_matrix_attention_shared_bytes(Threads, head_dim, value_dim) == 0 ||
      key_stride % 4 != 0 || value_stride % 4 != 0) {
    baton_task_attention(out, out_stride, q, q_stride, keys, key_stride, values,
                         value_stride, rows, position, group, head_dim,
                         value_dim, scale, softcap, window, gate, gate_stride,
                         gate_width, sinks, scratch);
    return;
  }
  // Registers, and the code that fills them, for no more than there is.
  const int64_t dim = larger(head_dim, value_dim);
#define BATON_RUN(Dim)                                                         \
  matrix_attention<Threads, Dim, BFloat16Operands>(                            \
      shared, out, out_stride, q, q_stride, keys, key_stride, values,          \
      value_stride, rows, position, group, head_dim, value_dim, scale,         \
      softcap, window, gate, gate_stride, gate_width, sinks)
  if (dim <= 64)
    BATON_RUN(64);
  else if (dim <= 128)
    BATON_RUN(128);
  else
    BATON_RUN(256);
#undef BATON_RUN
}

/// The same for keys and values in panels and constant dimensions that tensor
/// cores suit, which head_dim and value_dim are.
template <int Threads, int HeadDim, int ValueDim>
BATON_CALLED void baton_matrix_attention(
    unsigned char *shared, float *out, int64_t out_stride, const float *q,
    int64_t q_stride, const float *keys, int64_t, const float *values, int64_t,
    int64_t rows, int64_t position, int64_t group, int64_t, int64_t,
    float scale, float softcap, int64_t window, const float *gate,
    int64_t gate_stride, int64_t gate_width, const float *sinks, float *) {
  static_assert(
      baton_matrix_attention_shared_bytes(Threads, HeadDim, ValueDim) != 0);
  constexpr int dim = HeadDim > ValueDim ? HeadDim : ValueDim;
  constexpr int registers = dim <= 64 ? 64 : dim <= 128 ? 128 : 256;
  baton::cuda::matrix_attention<Threads, registers,
                                baton::cuda::BFloat16Operands>(
      shared, out, out_stride, q, q_stride, keys, 0, values, 0, rows, position,
      group, HeadDim, ValueDim, scale, softcap, window, gate, gate_stride,
      gate_width, sinks);
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_ATTENTION_MATRIX_H
