//===- matrix_integers.h - products of bytes on tensor cores --------------===//
//
// integer_linear.h's products in steps of many rows. Rows and blocks come to
// shared memory as they are; a warp multiplies the bytes of a unit, whose exact
// sum a scale of the weights and one of the inputs makes a number that is added
// to the product.
//
// Numeric contract: that of integer_linear.h, bit for bit: sums of whole
// numbers are exact in any order, and units ascend.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_MATRIX_INTEGERS_H
#define BATON_CODEGEN_CUDA_LIBRARY_MATRIX_INTEGERS_H

#include "codegen/cuda/library/integer_linear.h"
#include "codegen/cuda/library/matrix_blocks.h"

namespace baton::cuda {

/// What a thread brings of a stage's rows, of each two QuantisedInputs, word by
/// word.
template <int Threads, int Rows> class MatrixIntegerRows {
public:
  static constexpr int row_bytes = BatonBlocksMatrixShape::integer_row_bytes;

  __device__
      __forceinline__ explicit MatrixIntegerRows(const MatrixOperands &operands)
      : operands(operands), thread(baton_thread()) {}

  /// Zeros for what is outside of the operand.
  __device__ __forceinline__ void load(int32_t stage) {
    const int32_t most = (operands.k - stage * BatonMatrixShape::depths) /
                         QuantisedInputs::inputs * words;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const bool inside = is_row(i) && row(i) < operands.rows && part(i) < most;
      const float *const source =
          operands.x + (inside ? row(i) : 0) * operands.x_stride;
      word[i] =
          inside ? __float_as_uint(source[stage * 2 * words + part(i)]) : 0;
    }
  }
  /// To a stage in shared memory.
  __device__ __forceinline__ void store(unsigned char *to) const {
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (is_row(i))
        *reinterpret_cast<uint32_t *>(to + row(i) * row_bytes + part(i) * 4) =
            word[i];
  }

private:
  static constexpr int words = sizeof(QuantisedInputs) / 4,
                       count = (Rows * 2 * words + Threads - 1) / Threads;

  __device__ __forceinline__ int32_t number(int i) const {
    return static_cast<int32_t>(thread) + i * Threads;
  }
  __device__ __forceinline__ bool is_row(int i) const {
    return number(i) < Rows * 2 * words;
  }
  __device__ __forceinline__ int32_t row(int i) const {
    return number(i) / (2 * words);
  }
  __device__ __forceinline__ int32_t part(int i) const {
    return number(i) % (2 * words);
  }

  const MatrixOperands &operands;
  const uint32_t thread;
  uint32_t word[count] = {};
};

/// The products of a warp's rows with eight columns, of 32 inputs: those of a
/// stage from `input` on.
template <typename Chunks, int Down, int Across> struct IntegerUnits {
  const Chunks &chunks;
  /// The warp's first row.
  const unsigned char *rows;
  const int32_t stage;
  const uint32_t panel, input;
  /// The first of the eight, and the thread's place.
  const uint32_t column, lane;
  const uint32_t (&left)[Down][4];
  float (&sums)[Down][Across][4];
  /// The number of the eight columns among the warp's.
  const int eight;

  template <typename Block> __device__ __forceinline__ void run() const {
    typedef Reader<Block> Read;
    constexpr int units = QuantisedInputs::inputs / Read::unit;
    const Block &block = chunks.template block<Block>(panel, stage, input);
    const int first = Chunks::template unit<Block>(stage, input);
#pragma unroll
    for (int half = 0; half < units; ++half) {
      // Of eight columns and sixteen depths a thread has four depths of one.
      uint32_t right[2 / units];
#pragma unroll
      for (int i = 0; i < 2 / units; ++i) {
        const uint32_t four = lane % 4 + i * 4;
        right[i] =
            Read::bytes(Read::load(block, first + half,
                                   static_cast<int>(four * 4 / Read::group),
                                   column + lane / 4),
                        static_cast<int>(four % (Read::group / 4)));
      }
      // Of the sums, two neighbouring columns of two rows.
      const UnitScales scales[2] = {
          Read::scales(block, first + half, column + lane % 4 * 2),
          Read::scales(block, first + half, column + lane % 4 * 2 + 1)};
#pragma unroll
      for (int i = 0; i < Down; ++i) {
        int32_t sum[4] = {};
        if constexpr (units == 1) {
          baton_multiply_bytes(sum, left[i], right);
        } else {
          const uint32_t bytes[2] = {left[i][half * 2], left[i][half * 2 + 1]};
          baton_multiply_bytes(sum, bytes, right);
        }
#pragma unroll
        for (int lower = 0; lower < 2; ++lower) {
          const auto &from = *reinterpret_cast<const QuantisedInputs *>(
              rows +
              (i * 16 + lower * 8 + lane / 4) *
                  BatonBlocksMatrixShape::integer_row_bytes +
              input / QuantisedInputs::inputs * sizeof(QuantisedInputs));
          const int of_unit =
              units > 1 ? from.sums[half] : from.sums[0] + from.sums[1];
#pragma unroll
          for (int e = 0; e < 2; ++e)
            add_unit<Block>(sums[i][eight][lower * 2 + e], sum[lower * 2 + e],
                            of_unit, scales[e], from.scale);
        }
      }
    }
  }
};

/// As multiply_by_warps(), of rows that quantise_rows has made. `chunks` lie
/// behind two stages of rows.
template <int Threads, int Rows, int Columns, typename Chunks>
BATON_DEVICE void multiply_integers(unsigned char *shared,
                                    const MatrixOperands &operands,
                                    const Chunks chunks) {
  constexpr BatonMatrixShape shape{Threads, Rows, Columns, 80};
  constexpr int row_bytes = BatonBlocksMatrixShape::integer_row_bytes;
  constexpr int down = Rows / shape.warps_down() / 16;
  constexpr int across = Columns / shape.warps_across() / 8;
  const uint32_t lane = baton_thread() % 32, warp = baton_thread() / 32;
  const uint32_t top = warp / shape.warps_across() * (down * 16);
  const uint32_t left = warp % shape.warps_across() * (across * 8);
  const int32_t count = operands.stages();

  // Whatever was in shared memory has been read.
  __syncthreads();
  chunks.begin();
  MatrixIntegerRows<Threads, Rows> rows(operands);
  float sum[down][across][4] = {};
  // As multiply_by_warps(), rows instead of activations.
#pragma unroll 1
  for (int32_t stage = -2; stage < count; ++stage) {
    if (stage >= 0) {
      chunks.expect(stage);
      __syncthreads();
      chunks.follow(stage);
      const unsigned char *const own =
          shared + stage % 2 * (Rows * row_bytes) + top * row_bytes;
#pragma unroll 1
      for (uint32_t input = 0;
           multiplies(shape, warp) && input < BatonMatrixShape::depths &&
           stage * BatonMatrixShape::depths + static_cast<int32_t>(input) <
               operands.k;
           input += QuantisedInputs::inputs) {
        uint32_t bytes[down][4];
#pragma unroll
        for (int i = 0; i < down; ++i)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            bytes[i][e] = reinterpret_cast<const uint32_t *>(
                own + (i * 16 + e % 2 * 8 + lane / 4) * row_bytes +
                input / QuantisedInputs::inputs *
                    sizeof(QuantisedInputs))[e / 2 * 4 + lane % 4];
#pragma unroll
        for (int j = 0; j < across; ++j) {
          const uint32_t panel = left / 16 + j / 2;
          if (panel >= static_cast<uint32_t>(operands.panel_count))
            continue;
          const IntegerUnits<Chunks, down, across> units{
              chunks,     own,  stage, panel, input,
              j % 2 * 8U, lane, bytes, sum,   j};
          with_format<Chunks::integer_formats>(chunks.format(panel), units);
        }
      }
    }
    if (stage + 1 >= 0 && stage + 1 < count)
      rows.store(shared + (stage + 1) % 2 * (Rows * row_bytes));
    if (stage + 2 < count)
      rows.load(stage + 2);
  }
  chunks.end();
  store_product<Threads, Rows, Columns>(shared, sum);
}

/// How multiply_tiles() multiplies them. Its tiles are those of warps, on
/// sm_90a too: sums of units are registers that arithmetic reads.
template <uint32_t Formats, int Threads, int Rows, int Columns>
struct IntegersProduct {
  static BATON_CONSTANT BatonMatrixShape tile() {
    return {Threads, Rows, Columns, 80};
  }
  static __device__ __forceinline__ void
  multiply(unsigned char *shared, const MatrixOperands &operands,
           const BatonMatrixLinear &linear, int64_t panel) {
    constexpr BatonBlocksMatrixShape shape{tile(), Formats};
    constexpr uint32_t own = shape.integer_chunks().formats;
    multiply_integers<Threads, Rows, Columns>(
        shared, operands,
        MatrixChunks<own, Threads, Columns, tile().bytes_under_way(), Formats>(
            shared + shape.integer_chunk_offset(), panels_of<Formats>(linear),
            panel, operands.panel_count));
  }
};

} // namespace baton::cuda

// As baton_matrix_multiply_blocks(), with integer_shared_bytes(). Of those of
// `Formats` whose numbers are no whole ones the linear asks for no columns.

template <uint32_t Formats, int Threads, int Rows, int Columns>
BATON_DEVICE void
baton_matrix_multiply_integers(unsigned char *shared,
                               const BatonMatrixLinear &linear) {
  baton::cuda::multiply_asked_tiles<
      baton::cuda::IntegersProduct<Formats, Threads, Rows, Columns>>(shared,
                                                                     linear);
}

#define BATON_HAND_INTEGER_LINEARS(NAME, BLOCK)                                \
  BATON_HAND_LINEAR(integer_linear_##NAME, baton::blocks::NAME)                \
  BATON_HAND_GATED_LINEAR(integer_gated_linear_##NAME, baton::blocks::NAME)
BATON_FOR_EACH_INTEGER_BLOCK(BATON_HAND_INTEGER_LINEARS)
BATON_HAND_LINEAR(integer_linear_mixed, baton::cuda::mixed_format)

// Those columns whose weights are blocks.

BATON_DEVICE BatonMatrixLinear baton_hand_partly_integer_linear_mixed(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const float *, int64_t, const int8_t *panels, const float *bias,
    const float *residual, int64_t residual_stride, int64_t rows, int64_t k,
    int64_t columns, int32_t activation) {
  BatonMatrixLinear linear = baton_hand_integer_linear_mixed(
      out, out_stride, x, x_stride, panels, bias, residual, residual_stride,
      rows, k, columns, activation);
  linear.formats = baton::cuda::integer_formats;
  return linear;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_MATRIX_INTEGERS_H
