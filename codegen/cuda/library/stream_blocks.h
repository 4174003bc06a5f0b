//===- stream_blocks.h - quantised weights that flow ahead ----------------===//
//
// stream.h's linears of one row, of weights in blocks: what they read flows
// through a ring in shared memory, too. Here a warp has a ring of its own. A
// slot has a chunk of a panel, some whole blocks, as they are in memory; warps
// take turns with the chunks of a task, across its panels. What a warp computes
// with it has copied itself, so that the ring takes no barriers of the block.
// Of a chunk each thread has one column and every second unit.
//
// Kernels whose weights are of BF16 only have stream.h's ring; where some are
// blocks, panels of BF16 flow through this one.
//
// Numeric contract of these tuned bodies: a thread's sums ascend in depth, its
// two halves of a column join, then the warps' in the order of their first
// chunks: results repeat bit for bit for any number of workers, and do not
// depend on the tile. They are not those of the portable bodies, nor of blocks
// with another number of threads. Of inputs of 8 bits the sum of a unit is
// exact; units are what is added in that order.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_H
#define BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_H

#include "codegen/cuda/library/integer_linear.h"
#include "codegen/cuda/library/matrix_chunks.h"
#include "codegen/cuda/library/stream.h"
#include "codegen/cuda/library/stream_blocks_shape.h"

/// Consecutive panels of one task.
struct BatonBlockPanels {
  const void *first;
  int64_t count;
  /// Elements of one column, and bytes from a panel to the next where panels do
  /// not say it.
  int64_t k, stride;
  /// An Index, or mixed_format: panels say which they have.
  uint32_t format;
};

namespace baton::cuda {

/// Where a chunk of a panel is, behind a head that it may have.
struct PanelChunk {
  int32_t k, chunk;
  int32_t offset = 0, bytes = 0;

  template <typename Block> __device__ __forceinline__ void run() {
    constexpr int inputs = stream_inputs<Block>;
    const int32_t first = chunk * inputs;
    offset = first / Block::inputs * static_cast<int32_t>(sizeof(Block));
    bytes = static_cast<int32_t>(smaller(k - first, inputs)) / Block::inputs *
            static_cast<int32_t>(sizeof(Block));
  }
};

/// How many chunks a panel has.
struct CountChunks {
  int32_t k;
  int32_t count = 0;

  template <typename Block> __device__ __forceinline__ void run() {
    count = (k + stream_inputs<Block> - 1) / stream_inputs<Block>;
  }
};

} // namespace baton::cuda

/// `Source` is as that of BatonRing, with BatonBlockPanels. Every thread of the
/// block has a ring of its own; those of a warp are the same.
template <typename Source, uint32_t Formats, int Bytes, int Threads>
struct BatonBlockRing {
  static constexpr BatonBlockRingShape shape{Bytes, Threads, Formats};
  static constexpr int warps = Threads / 32;
  static_assert(shape.slots() >= 2, "a ring that holds no two chunks");

  unsigned char *slots; // this warp's first one
  uint32_t slot = 0;
  // What is copied next: a chunk of a panel, of which there are some, behind
  // which come those of the list.
  Source *source;
  bool ended = true;
  BatonBlockPanels list = {nullptr, 0, 0, 0, 0};
  const unsigned char *panel = nullptr;
  uint32_t format = 0;
  int32_t chunk = 0, chunks = 0;
  /// Chunks of the task's panels before this one.
  uint32_t before = 0;

  __device__ __forceinline__ BatonBlockRing(unsigned char *shared,
                                            Source *source)
      : slots(shared + threadIdx.x / 32 * (shape.slots() * shape.slot_bytes())),
        source(source) {}

  /// Starts from where the source is. Nothing of what was before is left.
  __device__ __forceinline__ void begin() {
    ended = false;
    list.count = 0;
    chunk = chunks = 0;
#pragma unroll 1
    for (int i = 0; i < shape.slots(); ++i)
      copy(i);
    slot = 0;
  }
  /// As BatonRing::admit().
  __device__ __forceinline__ void admit(int32_t table, int64_t iteration) {
    if (source->admit(table, iteration))
      begin();
  }

  /// The warp's next chunk, for all its threads to read.
  __device__ __forceinline__ const unsigned char *front() {
    baton_copies_wait<shape.slots() - 1>();
    __syncwarp();
    return slots + slot * shape.slot_bytes();
  }
  /// It has been read.
  __device__ __forceinline__ void pop() {
    __syncwarp();
    copy(slot);
    slot = slot + 1 == shape.slots() ? 0 : slot + 1;
  }
  /// The warp's first chunk of a panel, behind `before` of the task's.
  static __device__ __forceinline__ int32_t first_chunk(uint32_t before) {
    return static_cast<int32_t>((threadIdx.x / 32 + warps - before % warps) %
                                warps);
  }
  static __device__ __forceinline__ int32_t chunks_of(uint32_t format,
                                                      int64_t k) {
    baton::cuda::CountChunks count{static_cast<int32_t>(k)};
    baton::cuda::with_format<Formats>(format, count);
    return count.count;
  }

private:
  /// One group for each slot, empty ones too: front() counts them.
  __device__ __forceinline__ void copy(uint32_t to) {
    while (!ended && chunk >= chunks)
      next_panel();
    if (!ended) {
      baton::cuda::PanelChunk place{static_cast<int32_t>(list.k), chunk};
      baton::cuda::with_format<Formats>(format, place);
      const uint32_t lane = threadIdx.x % 32;
      const unsigned char *const from = panel + place.offset;
      unsigned char *const target = slots + to * shape.slot_bytes();
#pragma unroll 4
      for (int32_t at = static_cast<int32_t>(lane) * 16; at < place.bytes;
           at += 32 * 16)
        baton_copy_async(target + at, from + at);
      chunk += warps;
    }
    baton_copies_commit();
  }
  __device__ __forceinline__ void next_panel() {
    before += static_cast<uint32_t>(chunks);
    if (list.count == 0) {
      before = 0;
      ended = !source->next(list);
      if (ended)
        return;
    }
    panel = static_cast<const unsigned char *>(list.first);
    format = list.format;
    if (format == baton::cuda::mixed_format) {
      const auto &head =
          *reinterpret_cast<const baton::blocks::MixedHead *>(panel);
      format = head.format;
      list.stride = head.stride;
      panel += sizeof(head);
    }
    list.first = static_cast<const unsigned char *>(list.first) + list.stride;
    --list.count;
    chunks = chunks_of(format, list.k);
    chunk = first_chunk(before);
  }
};

namespace baton::cuda {

/// What a thread has of the product of a row and a chunk, which it adds to the
/// sum of its column.
template <bool OfBytes> struct StreamedChunk {
  const unsigned char *const place;
  /// The row, and the one that numbers as they are are multiplied by.
  const float *const x, *const exact;
  /// The chunk's number in it.
  const int32_t chunk, k;
  float &sum;

  template <typename Block> __device__ __forceinline__ void run() const {
    constexpr int most = stream_inputs<Block>;
    const auto inputs = static_cast<int32_t>(smaller(k - chunk * most, most));
    const auto *const own = reinterpret_cast<const Block *>(place);
    if constexpr (blocks::IsPlain<Block>::value) {
      add_plain(own, exact + static_cast<int64_t>(chunk) * most, inputs);
    } else if constexpr (OfBytes) {
      if constexpr (blocks::IsInteger<Block>::value)
        add_bytes(own,
                  reinterpret_cast<const blocks::QuantisedInputs *>(x) +
                      chunk * (most / blocks::QuantisedInputs::inputs),
                  inputs);
    } else {
      add(own, x + static_cast<int64_t>(chunk) * most, inputs);
    }
  }

private:
  static __device__ __forceinline__ uint32_t lane() { return threadIdx.x % 16; }
  static __device__ __forceinline__ uint32_t half() {
    return threadIdx.x / 16 % 2;
  }

  /// Of numbers as they are a thread has every second.
  template <typename Format>
  __device__ __forceinline__ void
  add_plain(const Format *lines, const float *left, int32_t inputs) const {
    const auto *const panel = reinterpret_cast<const int8_t *>(lines);
#pragma unroll 8
    for (auto at = static_cast<int32_t>(half()); at < inputs; at += 2)
      sum = fmaf(left[at], plain_weight_at<Format>(panel, at, lane()), sum);
  }
  template <typename Block>
  __device__ __forceinline__ void add(const Block *blocks, const float *row,
                                      int32_t inputs) const {
    typedef Reader<Block> Read;
    constexpr int units = Block::inputs / Read::unit;
    const float *const rows[1] = {row};
    const bool aligned = are_aligned<1>(rows);
#pragma unroll 1
    for (auto at = static_cast<int32_t>(half()); at * Read::unit < inputs;
         at += 2) {
      const Block &block = blocks[at / units];
      const int unit = at % units;
      const float *left = row + at * Read::unit;
      const UnitScales scales = Read::scales(block, unit, lane());
#pragma unroll
      for (int group = 0; group < Read::unit / Read::group; ++group) {
        const typename Read::Group bits =
            Read::load(block, unit, group, lane());
#pragma unroll
        for (int i = 0; i < Read::group; i += 4, left += 4) {
          const Quad quad = aligned ? load_quad(left) : gather_quad(left);
#pragma unroll
          for (int step = 0; step < 4; ++step)
            sum = fmaf(quad.element[step],
                       decode<Block>(bits, i + step, scales), sum);
        }
      }
    }
  }
  /// Of inputs of 8 bits.
  template <typename Block>
  __device__ __forceinline__ void add_bytes(const Block *blocks,
                                            const blocks::QuantisedInputs *row,
                                            int32_t inputs) const {
    typedef Reader<Block> Read;
    constexpr int units = Block::inputs / Read::unit;
    constexpr int of_inputs = blocks::QuantisedInputs::inputs / Read::unit;
#pragma unroll 1
    for (auto at = static_cast<int32_t>(half()); at * Read::unit < inputs;
         at += 2) {
      const Block &block = blocks[at / units];
      const int unit = at % units, part = at % of_inputs;
      const blocks::QuantisedInputs &left = row[at / of_inputs];
      int product = 0;
#pragma unroll
      for (int group = 0; group < Read::unit / Read::group; ++group) {
        const typename Read::Group bits =
            Read::load(block, unit, group, lane());
#pragma unroll
        for (int four = 0; four < Read::group / 4; ++four)
          product = baton_dot_bytes(
              product, Read::bytes(bits, four),
              four_of(left,
                      part * Read::unit + group * Read::group + 4 * four));
      }
      add_unit<Block>(sum, product,
                      of_inputs > 1 ? left.sums[part]
                                    : left.sums[0] + left.sums[1],
                      Read::scales(block, unit, lane()), left.scale);
    }
  }
};

/// finish(column, sums) for `columns` columns of the product of one row of k
/// elements with the ring's next panels, of which those of `Sides` alternate.
/// They have one of `Formats`, the first of them being at `panels`. Of bytes,
/// `exact` is what numbers as they are are multiplied by, if there are any;
/// else it is x.
template <uint32_t Formats, int Sides, bool OfBytes, typename Ring,
          typename Finish>
BATON_DEVICE void
stream_block_panels(Ring &ring, const float *x, const float *exact, int64_t k,
                    const void *panels, int64_t columns, Finish finish) {
  // Written for one panel while the one before may still be read.
  __shared__ float partial[2][Sides][Ring::warps][16];
  constexpr bool is_mixed = (Formats & (Formats - 1)) != 0;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t warp = threadIdx.x / 32;
  const auto *panel = static_cast<const unsigned char *>(panels);
  // All panels read the same row, or most of them: it waits for the
  // second-level cache once.
  bool are_exact = !OfBytes;
  if constexpr (OfBytes && (Formats >> blocks::first_plain_format) != 0)
    are_exact = reinterpret_cast<const blocks::MixedHead *>(panel)->format >=
                blocks::first_plain_format;
  baton_touch(are_exact ? exact : x,
              are_exact ? k
                        : k / blocks::QuantisedInputs::inputs *
                              static_cast<int64_t>(
                                  sizeof(blocks::QuantisedInputs) / 4));
  uint32_t before = 0;
  int turn = 0;
  for (int64_t first = 0; first < columns; first += 16, turn ^= 1) {
    uint32_t begins[Sides];
#pragma unroll 1
    for (int side = 0; side < Sides; ++side) {
      uint32_t format = first_format(Formats);
      if constexpr (is_mixed) {
        const auto &head = *reinterpret_cast<const blocks::MixedHead *>(panel);
        format = head.format;
        panel += head.stride;
      }
      const int32_t chunks = Ring::chunks_of(format, k);
      float sum = 0.0f;
#pragma unroll 1
      for (int32_t chunk = Ring::first_chunk(before); chunk < chunks;
           chunk += Ring::warps) {
        const StreamedChunk<OfBytes> streamed{
            ring.front(), x, exact, chunk, static_cast<int32_t>(k), sum};
        with_format<Formats>(format, streamed);
        ring.pop();
      }
      const float total = sum + __shfl_xor_sync(0xffffffffu, sum, 16);
      if (lane < 16)
        partial[turn][side][warp][lane] = total;
      begins[side] = before % Ring::warps;
      before += static_cast<uint32_t>(chunks);
    }
    __syncthreads();
    const int64_t column = first + threadIdx.x;
    if (threadIdx.x < 16 && column < columns) {
      float sum[Sides];
#pragma unroll
      for (int side = 0; side < Sides; ++side) {
        sum[side] = 0.0f;
        // From the warp that had the panel's first chunk on.
#pragma unroll
        for (int i = 0; i < Ring::warps; ++i)
          sum[side] += partial[turn][side][(begins[side] + i) % Ring::warps]
                              [threadIdx.x];
      }
      finish(column, sum);
    }
  }
}

} // namespace baton::cuda

// The task library's bodies of the same names, for one row, where the ring is
// one of blocks. Behind the call as before it, the block needs a barrier.
// FORMATS are those of the panels.

#define BATON_STREAM_LINEAR(NAME, TYPE, FORMATS, OF_BYTES)                     \
  template <typename Ring>                                                     \
  BATON_DEVICE void baton_stream_blocks_##NAME(                                \
      Ring &ring, float *out, int64_t, const float *x, int64_t,                \
      const TYPE *panels, const float *bias, const float *residual, int64_t,   \
      int64_t, int64_t k, int64_t columns, int32_t activation) {               \
    baton::cuda::stream_block_panels<(FORMATS), 1, OF_BYTES>(                  \
        ring, x, x, k, panels, columns,                                        \
        [&](int64_t column, const float(&sum)[1]) {                            \
          baton::cuda::LinearEnd{out, 0, bias, residual, 0, activation}(       \
              0, column, sum);                                                 \
        });                                                                    \
  }                                                                            \
  template <typename Ring>                                                     \
  BATON_CALLED void baton_called_stream_blocks_##NAME(                         \
      Ring &ring, float *out, int64_t out_stride, const float *x,              \
      int64_t x_stride, const TYPE *panels, const float *bias,                 \
      const float *residual, int64_t residual_stride, int64_t rows, int64_t k, \
      int64_t columns, int32_t activation) {                                   \
    Ring own = ring;                                                           \
    baton_stream_blocks_##NAME(own, out, out_stride, x, x_stride, panels,      \
                               bias, residual, residual_stride, rows, k,       \
                               columns, activation);                           \
    ring = own;                                                                \
  }
#define BATON_STREAM_GATED_LINEAR(NAME, TYPE, FORMATS, OF_BYTES)               \
  template <typename Ring>                                                     \
  BATON_DEVICE void baton_stream_blocks_##NAME(                                \
      Ring &ring, float *out, int64_t, const float *x, int64_t,                \
      const TYPE *panels, const float *bias_gate, const float *bias_up,        \
      int64_t, int64_t k, int64_t columns, int32_t activation) {               \
    baton::cuda::stream_block_panels<(FORMATS), 2, OF_BYTES>(                  \
        ring, x, x, k, panels, columns,                                        \
        [&](int64_t column, const float(&sum)[2]) {                            \
          baton::cuda::GatedEnd{out, 0, bias_gate, bias_up,                    \
                                activation}(0, column, sum);                   \
        });                                                                    \
  }                                                                            \
  template <typename Ring>                                                     \
  BATON_CALLED void baton_called_stream_blocks_##NAME(                         \
      Ring &ring, float *out, int64_t out_stride, const float *x,              \
      int64_t x_stride, const TYPE *panels, const float *bias_gate,            \
      const float *bias_up, int64_t rows, int64_t k, int64_t columns,          \
      int32_t activation) {                                                    \
    Ring own = ring;                                                           \
    baton_stream_blocks_##NAME(own, out, out_stride, x, x_stride, panels,      \
                               bias_gate, bias_up, rows, k, columns,           \
                               activation);                                    \
    ring = own;                                                                \
  }
#define BATON_STREAM_BLOCKS(NAME, BLOCK)                                       \
  BATON_STREAM_LINEAR(linear_##NAME, int8_t, 1u << baton::blocks::NAME, false) \
  BATON_STREAM_GATED_LINEAR(gated_linear_##NAME, int8_t,                       \
                            1u << baton::blocks::NAME, false)
#define BATON_STREAM_INTEGERS(NAME, BLOCK)                                     \
  BATON_STREAM_LINEAR(integer_linear_##NAME, int8_t,                           \
                      1u << baton::blocks::NAME, true)                         \
  BATON_STREAM_GATED_LINEAR(integer_gated_linear_##NAME, int8_t,               \
                            1u << baton::blocks::NAME, true)
BATON_FOR_EACH_BLOCK(BATON_STREAM_BLOCKS)
BATON_FOR_EACH_INTEGER_BLOCK(BATON_STREAM_INTEGERS)
BATON_STREAM_LINEAR(linear_mixed, int8_t, BATON_MIXED_FORMATS, false)
BATON_STREAM_LINEAR(integer_linear_mixed, int8_t,
                    BATON_MIXED_FORMATS &baton::cuda::integer_formats, true)
BATON_STREAM_LINEAR(linear_bf16, uint16_t, 1u << baton::blocks::bf16, false)
BATON_STREAM_GATED_LINEAR(gated_linear_bf16, uint16_t,
                          1u << baton::blocks::bf16, false)
#undef BATON_STREAM_INTEGERS
#undef BATON_STREAM_BLOCKS
#undef BATON_STREAM_GATED_LINEAR
#undef BATON_STREAM_LINEAR

template <typename Ring>
BATON_DEVICE void baton_stream_blocks_partly_integer_linear_mixed(
    Ring &ring, float *out, int64_t, const float *x, int64_t,
    const float *exact, int64_t, const int8_t *panels, const float *bias,
    const float *residual, int64_t, int64_t, int64_t k, int64_t columns,
    int32_t activation) {
  baton::cuda::stream_block_panels<BATON_MIXED_FORMATS, 1, true>(
      ring, x, exact, k, panels, columns,
      [&](int64_t column, const float(&sum)[1]) {
        baton::cuda::LinearEnd{out, 0, bias, residual, 0, activation}(0, column,
                                                                      sum);
      });
}
template <typename Ring>
BATON_CALLED void baton_called_stream_blocks_partly_integer_linear_mixed(
    Ring &ring, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const float *exact, int64_t exact_stride,
    const int8_t *panels, const float *bias, const float *residual,
    int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,
    int32_t activation) {
  Ring own = ring;
  baton_stream_blocks_partly_integer_linear_mixed(
      own, out, out_stride, x, x_stride, exact, exact_stride, panels, bias,
      residual, residual_stride, rows, k, columns, activation);
  ring = own;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_STREAM_BLOCKS_H
