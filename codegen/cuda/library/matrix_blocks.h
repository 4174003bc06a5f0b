//===- matrix_blocks.h - linears of quantised weights on tensor cores -----===//
//
// matrix.h's products of weights in blocks. Blocks come to shared memory as
// they are; threads decode a stage of them while the one before is multiplied,
// and round what they have decoded to BF16. So they do with numbers as they are
// of panels beside blocks.
//
// Numeric contract: that of matrix.h, where the weight is the format's F32
// number rounded to BF16, to nearest even.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_H

#include "codegen/cuda/library/matrix.h"
#include "codegen/cuda/library/matrix_chunks.h"

namespace baton::cuda {

// Eight numbers of a line, rounded.

BATON_DEVICE MatrixChunk rounded_eight(const blocks::BF16 &line, int half) {
  return reinterpret_cast<const MatrixChunk *>(line.numbers)[half];
}
BATON_DEVICE MatrixChunk rounded_eight(const blocks::F16 &line, int half) {
  MatrixChunk eight = reinterpret_cast<const MatrixChunk *>(line.numbers)[half];
#pragma unroll
  for (uint32_t &pair : eight.pairs)
    pair =
        baton_bf16_pair(baton_half_to_float(static_cast<uint16_t>(pair)),
                        baton_half_to_float(static_cast<uint16_t>(pair >> 16)));
  return eight;
}
BATON_DEVICE MatrixChunk rounded_eight(const blocks::F32 &line, int half) {
  MatrixChunk eight;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const Quad quad = load_quad(line.numbers + half * 8 + i * 4);
    eight.pairs[i * 2] = baton_bf16_pair(quad.element[0], quad.element[1]);
    eight.pairs[i * 2 + 1] = baton_bf16_pair(quad.element[2], quad.element[3]);
  }
  return eight;
}

/// Decoded stages of panels, in the places in which warps or warpgroups read
/// them.
template <uint32_t Formats, int Threads, int Columns, int UnderWay,
          bool ByWarpgroups>
class DecodedWeights {
public:
  static constexpr int panel_bytes = BatonBlocksMatrixShape::panel_bytes;

  /// `memory` has two stages of decoded weights, and the chunks behind them.
  __device__ __forceinline__ DecodedWeights(unsigned char *memory,
                                            const MatrixOperands &operands,
                                            const BlockPanels<Formats> &panels,
                                            int64_t first)
      : memory(memory), operands(operands),
        chunks(memory + BatonBlocksMatrixShape::decoded_stages * bytes, panels,
               first, operands.panel_count) {}

  /// Of eight columns of a depth, in bytes.
  static __device__ __forceinline__ uint32_t offset(uint32_t panel,
                                                    uint32_t depth,
                                                    uint32_t half) {
    const uint32_t place = ByWarpgroups ? half : half ^ depth / 4 % 2;
    return panel * panel_bytes + depth * 32 + place * 16;
  }

  __device__ __forceinline__ void begin() const { chunks.begin(); }
  /// Two neighbouring panels' outputs are those of 32 neighbouring threads, who
  /// decode some inputs each.
  __device__ __forceinline__ void prepare(int32_t stage) const {
    if (stage == 0) {
      chunks.expect(0);
      __syncthreads();
    }
    unsigned char *const to = memory + stage % 2 * bytes;
    const uint32_t thread = baton_thread();
#pragma unroll 1
    for (uint32_t item = thread; item < Columns * (depths / inputs_at_once);
         item += Threads) {
      const uint32_t lane = item % 16;
      const uint32_t input =
          item / 32 % (depths / inputs_at_once) * inputs_at_once;
      const uint32_t panel =
          item / (32 * (depths / inputs_at_once)) * 2 + item / 16 % 2;
      if (panel >= static_cast<uint32_t>(operands.panel_count))
        continue;
      Decoding decoding{chunks,
                        to,
                        stage,
                        panel,
                        input,
                        lane,
                        stage * depths + static_cast<int32_t>(input) <
                            operands.k};
      with_format<Formats>(chunks.format(panel), decoding);
    }
  }
  __device__ __forceinline__ void expect(int32_t stage) const {
    chunks.expect(stage + 1);
  }
  __device__ __forceinline__ void follow(int32_t stage) const {
    chunks.follow(stage + 1);
  }
  __device__ __forceinline__ const unsigned char *at(int32_t stage) const {
    return memory + stage % 2 * bytes;
  }
  __device__ __forceinline__ void end() const { chunks.end(); }

private:
  typedef MatrixChunks<Formats, Threads, Columns, UnderWay> Chunks;
  static constexpr int depths = BatonMatrixShape::depths,
                       bytes = Columns / 16 * panel_bytes;
  /// Inputs that a thread decodes at a time.
  static constexpr uint32_t inputs_at_once = 16;

  /// Sixteen inputs of an output; zeros behind the last.
  struct Decoding {
    const Chunks &chunks;
    unsigned char *const to;
    const int32_t stage;
    const uint32_t panel, input, lane;
    const bool inside;

    template <typename Block> __device__ __forceinline__ void run() const {
      if (!inside) {
#pragma unroll
        for (int i = 0; i < 16; ++i)
          at(i) = 0;
      } else if constexpr (blocks::IsPlain<Block>::value) {
        round<Block>();
      } else {
        decode_unit<Block>();
      }
    }

  private:
    /// The sixteen threads that have the panel's outputs have as many inputs:
    /// each does all outputs of one instead.
    template <typename Format> __device__ __forceinline__ void round() const {
      const Format &line =
          chunks.template block<Format>(panel, stage, input + lane);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<MatrixChunk *>(
            to + DecodedWeights::offset(panel, input + lane,
                                        static_cast<uint32_t>(half))) =
            rounded_eight(line, half);
    }
    template <typename Block>
    __device__ __forceinline__ void decode_unit() const {
      typedef Reader<Block> Read;
      const Block &block = chunks.template block<Block>(panel, stage, input);
      const int unit = Chunks::template unit<Block>(stage, input);
      const UnitScales scales = Read::scales(block, unit, lane);
      // A unit of 32 is two threads'.
      const int first = static_cast<int>(input % Read::unit) / Read::group;
#pragma unroll
      for (int group = 0; group < 16 / Read::group; ++group) {
        const typename Read::Group bits =
            Read::load(block, unit, first + group, lane);
#pragma unroll
        for (int i = 0; i < Read::group; i += 2) {
          const uint32_t pair =
              baton_bf16_pair(decode<Block>(bits, i, scales),
                              decode<Block>(bits, i + 1, scales));
          at(group * Read::group + i) = static_cast<uint16_t>(pair);
          at(group * Read::group + i + 1) = static_cast<uint16_t>(pair >> 16);
        }
      }
    }

    /// `input` is a multiple of sixteen, so that it changes no place within
    /// its depth.
    __device__ __forceinline__ uint16_t &at(int i) const {
      return reinterpret_cast<uint16_t *>(
          to +
          DecodedWeights::offset(panel, static_cast<uint32_t>(i), lane / 8) +
          input * 32)[lane % 8];
    }
  };

  unsigned char *const memory;
  const MatrixOperands &operands;
  const Chunks chunks;
};

template <uint32_t Formats>
BATON_DEVICE BlockPanels<Formats> panels_of(const BatonMatrixLinear &linear) {
  return {static_cast<const unsigned char *>(linear.panels), linear.format,
          static_cast<int32_t>(linear.k)};
}

/// Neighbouring columns of a linear, from `begin` to `end`, whose panels have
/// one of the formats that it asks for.
struct AskedColumns {
  int32_t begin, end = 0;

  /// The first ones.
  __device__
      __forceinline__ explicit AskedColumns(const BatonMatrixLinear &linear) {
    advance(linear);
  }
  __device__ __forceinline__ bool are_any() const { return begin < end; }
  /// The next ones.
  __device__ __forceinline__ void advance(const BatonMatrixLinear &linear) {
    begin = end;
    if (linear.formats == ~0u) {
      end = static_cast<int32_t>(linear.columns);
      return;
    }
    while (begin < linear.columns && !is_asked(linear, begin))
      begin += 16;
    end = begin;
    while (end < linear.columns && is_asked(linear, end))
      end += 16;
    end = static_cast<int32_t>(smaller(end, linear.columns));
  }

private:
  static __device__ __forceinline__ bool
  is_asked(const BatonMatrixLinear &linear, int32_t column) {
    const auto *const first = static_cast<const unsigned char *>(linear.panels);
    const int64_t stride =
        reinterpret_cast<const blocks::MixedHead *>(first)->stride;
    return (linear.formats >> reinterpret_cast<const blocks::MixedHead *>(
                                  first + column / 16 * stride)
                                  ->format &
            1) != 0;
  }
};

/// All tiles of the columns that it asks for.
template <typename Product>
BATON_DEVICE void multiply_asked_tiles(unsigned char *shared,
                                       const BatonMatrixLinear &linear) {
#pragma unroll 1
  for (AskedColumns asked(linear); asked.are_any(); asked.advance(linear))
    multiply_tiles<Product>(shared, linear, asked.begin, asked.end);
}

/// How baton_matrix_multiply's tiles are multiplied where weights are blocks.
template <uint32_t Formats, int Threads, int Rows, int Columns,
          int Architecture>
struct BlocksProduct {
  static BATON_CONSTANT BatonMatrixShape tile() {
    return {Threads, Rows, Columns, Architecture};
  }
  static __device__ __forceinline__ void
  multiply(unsigned char *shared, const MatrixOperands &operands,
           const BatonMatrixLinear &linear, int64_t panel) {
    constexpr BatonMatrixShape shape = tile();
    unsigned char *const memory =
        shared + shape.activation_stages() * shape.activation_bytes();
    typedef DecodedWeights<Formats, Threads, Columns, shape.bytes_under_way(),
                           shape.by_warpgroups()>
        Weights;
    const Weights weights(memory, operands, panels_of<Formats>(linear), panel);
    if constexpr (shape.by_warpgroups())
      multiply_by_warpgroups<Threads, Rows, Columns>(shared, operands, weights);
    else
      multiply_by_warps<Threads, Rows, Columns>(shared, operands, weights);
  }
};

} // namespace baton::cuda

// As baton_matrix_multiply(), with BatonBlocksMatrixShape::shared_bytes() bytes
// of shared memory. `Formats` has a bit for each format that weights may have.

template <uint32_t Formats, int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_DEVICE void
baton_matrix_multiply_blocks(unsigned char *shared,
                             const BatonMatrixLinear &linear) {
  baton::cuda::multiply_asked_tiles<baton::cuda::BlocksProduct<
      Formats, Threads, Rows, Columns, Architecture>>(shared, linear);
}

/// Whether the body has anything to compute: of a call that two bodies share.
BATON_DEVICE bool baton_asks_for_columns(const BatonMatrixLinear &linear) {
  return baton::cuda::AskedColumns(linear).are_any();
}

// Calls of the task library's bodies of the same names, to be handed over: as
// baton_hand_linear_bf16() and baton_hand_gated_linear_bf16().

#define BATON_HAND_LINEAR(NAME, FORMAT)                                        \
  BATON_DEVICE BatonMatrixLinear baton_hand_##NAME(                            \
      float *out, int64_t out_stride, const float *x, int64_t x_stride,        \
      const int8_t *panels, const float *bias, const float *residual,          \
      int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,       \
      int32_t activation) {                                                    \
    return {out,  out_stride, x,          x_stride,        panels,             \
            bias, nullptr,    residual,   residual_stride, rows,               \
            k,    columns,    activation, false,           FORMAT};            \
  }
#define BATON_HAND_GATED_LINEAR(NAME, FORMAT)                                  \
  BATON_DEVICE BatonMatrixLinear baton_hand_##NAME(                            \
      float *out, int64_t out_stride, const float *x, int64_t x_stride,        \
      const int8_t *panels, const float *bias_gate, const float *bias_up,      \
      int64_t rows, int64_t k, int64_t columns, int32_t activation) {          \
    return {out,       out_stride, x,          x_stride, panels,               \
            bias_gate, bias_up,    nullptr,    0,        rows,                 \
            k,         columns,    activation, true,     FORMAT};              \
  }
#define BATON_HAND_LINEARS(NAME, BLOCK)                                        \
  BATON_HAND_LINEAR(linear_##NAME, baton::blocks::NAME)                        \
  BATON_HAND_GATED_LINEAR(gated_linear_##NAME, baton::blocks::NAME)
BATON_FOR_EACH_BLOCK(BATON_HAND_LINEARS)
BATON_HAND_LINEAR(linear_mixed, baton::cuda::mixed_format)

// Of partly_integer_linear_mixed, those columns whose weights are numbers as
// they are.

BATON_DEVICE BatonMatrixLinear baton_hand_exact_columns(
    float *out, int64_t out_stride, const float *, int64_t, const float *exact,
    int64_t exact_stride, const int8_t *panels, const float *bias,
    const float *residual, int64_t residual_stride, int64_t rows, int64_t k,
    int64_t columns, int32_t activation) {
  BatonMatrixLinear linear = baton_hand_linear_mixed(
      out, out_stride, exact, exact_stride, panels, bias, residual,
      residual_stride, rows, k, columns, activation);
  linear.formats = ~0u << baton::blocks::first_plain_format;
  return linear;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_H
