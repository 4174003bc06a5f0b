//===- blocks.h - quantised weights in panels -----------------------------===//
//
// Each format of runtime/weight_blocks.h as a kind of weight: one weight of a
// panel, as an F32 that is exact or rounded once.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_BLOCKS_H
#define BATON_CODEGEN_CUDA_LIBRARY_BLOCKS_H

#include "codegen/cuda/library/microkernel.h"
#include "runtime/weight_blocks.h"

namespace baton::cuda {

namespace blocks = baton::blocks;

/// Scale and offset of an output in a unit.
struct UnitScales {
  float scale, offset;
};

// How each format is read: inputs of a unit, inputs whose bits are loaded at
// once (a group), a unit's scales, and the numbers of a group, one by one and
// as the bytes of four neighbours. `Group` holds the loaded bits of one output.

template <typename Block> struct Reader;

/// Whole bytes, which have a sign.
template <> struct Reader<blocks::Q8_0> {
  static constexpr int unit = 32, group = 4;
  typedef uint32_t Group;
  static __device__ __forceinline__ UnitScales scales(const blocks::Q8_0 &block,
                                                      int, int64_t lane) {
    // Of which a product keeps the sign of its zero.
    return {baton_half_to_float(block.scale[lane]), -0.0f};
  }
  static __device__ __forceinline__ uint32_t load(const blocks::Q8_0 &block,
                                                  int, int group,
                                                  int64_t lane) {
    return block.quants[group][lane];
  }
  static __device__ __forceinline__ float number(uint32_t bytes, int i) {
    return static_cast<float>(static_cast<int8_t>(bytes >> (8 * i)));
  }
  static __device__ __forceinline__ uint32_t bytes(uint32_t bytes, int) {
    return bytes;
  }
};

/// Input i's `bits` bits of a word.
template <int bits> BATON_DEVICE uint32_t bits_at(uint32_t word, int i) {
  return word >> (8 * (i % 4) + bits * (i / 4)) & ((1u << bits) - 1);
}
/// The bytes of four neighbours, the fours' number `four`.
template <int bits> BATON_DEVICE uint32_t bytes_at(uint32_t word, int four) {
  return word >> (bits * four) & 0x01010101u * ((1u << bits) - 1);
}

/// Four bits of each of 32 inputs.
struct FourBits {
  static constexpr int unit = 32, group = 8;
  typedef uint32_t Group;
  static __device__ __forceinline__ float number(uint32_t low, int i) {
    return static_cast<float>(bits_at<4>(low, i));
  }
  static __device__ __forceinline__ uint32_t bytes(uint32_t low, int four) {
    return bytes_at<4>(low, four);
  }
};

/// Four bits, and a fifth of all inputs in one word.
struct FiveBits {
  static constexpr int unit = 32, group = 8;
  struct Group {
    uint32_t low, high;
  };
  template <typename Bits>
  static __device__ __forceinline__ Group read(const Bits &bits, int group,
                                               int64_t lane) {
    return {bits.low[group][lane], bits.high[lane] >> (2 * group)};
  }
  static __device__ __forceinline__ float number(const Group &group, int i) {
    return static_cast<float>(bits_at<4>(group.low, i) |
                              bits_at<1>(group.high, i) << 4);
  }
  static __device__ __forceinline__ uint32_t bytes(const Group &group,
                                                   int four) {
    return bytes_at<4>(group.low, four) | bytes_at<1>(group.high, four) << 4;
  }
};

/// d and a constant times d, or d and m.
BATON_DEVICE UnitScales scales_from(uint16_t scale, float zero) {
  const float factor = baton_half_to_float(scale);
  return {factor, factor * -zero};
}
template <typename Block>
BATON_DEVICE UnitScales scales_and_minimums(const Block &block, int64_t lane) {
  return {baton_half_to_float(block.scale[lane]),
          baton_half_to_float(block.minimum[lane])};
}
/// d times the unit's, and a constant times that.
template <typename Block>
BATON_DEVICE UnitScales scales_from_unit(const Block &block, int unit,
                                         int64_t lane, float zero) {
  const float factor = baton_half_to_float(block.scale[lane]) *
                       static_cast<float>(block.units[unit][lane]);
  return {factor, factor * -zero};
}
/// d times a unit's scale, and -dmin times its minimum.
template <typename Block>
BATON_DEVICE UnitScales scales_of_unit(const Block &block, int unit,
                                       int64_t lane) {
  return {baton_half_to_float(block.scale[lane]) *
              static_cast<float>(block.units[unit][lane]),
          baton_half_to_float(block.minimum[lane]) *
              -static_cast<float>(block.unit_minimums[unit][lane])};
}

template <> struct Reader<blocks::Q4_0> : FourBits {
  static __device__ __forceinline__ UnitScales scales(const blocks::Q4_0 &block,
                                                      int, int64_t lane) {
    return scales_from(block.scale[lane], 8);
  }
  static __device__ __forceinline__ uint32_t load(const blocks::Q4_0 &block,
                                                  int, int group,
                                                  int64_t lane) {
    return block.low[group][lane];
  }
};

template <> struct Reader<blocks::Q4_1> : FourBits {
  static __device__ __forceinline__ UnitScales scales(const blocks::Q4_1 &block,
                                                      int, int64_t lane) {
    return scales_and_minimums(block, lane);
  }
  static __device__ __forceinline__ uint32_t load(const blocks::Q4_1 &block,
                                                  int, int group,
                                                  int64_t lane) {
    return block.low[group][lane];
  }
};

template <> struct Reader<blocks::Q5_0> : FiveBits {
  static __device__ __forceinline__ UnitScales scales(const blocks::Q5_0 &block,
                                                      int, int64_t lane) {
    return scales_from(block.scale[lane], 16);
  }
  static __device__ __forceinline__ Group load(const blocks::Q5_0 &block, int,
                                               int group, int64_t lane) {
    return read(block, group, lane);
  }
};

template <> struct Reader<blocks::Q5_1> : FiveBits {
  static __device__ __forceinline__ UnitScales scales(const blocks::Q5_1 &block,
                                                      int, int64_t lane) {
    return scales_and_minimums(block, lane);
  }
  static __device__ __forceinline__ Group load(const blocks::Q5_1 &block, int,
                                               int group, int64_t lane) {
    return read(block, group, lane);
  }
};

template <> struct Reader<blocks::Q2_K> {
  static constexpr int unit = 16, group = 16;
  typedef uint32_t Group;
  static __device__ __forceinline__ UnitScales scales(const blocks::Q2_K &block,
                                                      int unit, int64_t lane) {
    const uint32_t both = block.units[unit][lane];
    return {baton_half_to_float(block.scale[lane]) *
                static_cast<float>(both & 15u),
            baton_half_to_float(block.minimum[lane]) *
                -static_cast<float>(both >> 4)};
  }
  static __device__ __forceinline__ uint32_t load(const blocks::Q2_K &block,
                                                  int unit, int, int64_t lane) {
    return block.low[unit][lane];
  }
  static __device__ __forceinline__ float number(uint32_t low, int i) {
    return static_cast<float>(bits_at<2>(low, i));
  }
  static __device__ __forceinline__ uint32_t bytes(uint32_t low, int four) {
    return bytes_at<2>(low, four);
  }
};

template <> struct Reader<blocks::Q3_K> {
  static constexpr int unit = 16, group = 16;
  struct Group {
    uint32_t low, high;
  };
  static __device__ __forceinline__ UnitScales scales(const blocks::Q3_K &block,
                                                      int unit, int64_t lane) {
    return scales_from_unit(block, unit, lane, 4);
  }
  static __device__ __forceinline__ Group load(const blocks::Q3_K &block,
                                               int unit, int, int64_t lane) {
    const auto &quants = block.quants[unit / 2];
    return {quants.low[unit % 2][lane], quants.high[lane] >> (unit % 2 * 4)};
  }
  static __device__ __forceinline__ float number(const Group &group, int i) {
    return static_cast<float>(bits_at<2>(group.low, i) |
                              bits_at<1>(group.high, i) << 2);
  }
  static __device__ __forceinline__ uint32_t bytes(const Group &group,
                                                   int four) {
    return bytes_at<2>(group.low, four) | bytes_at<1>(group.high, four) << 2;
  }
};

template <> struct Reader<blocks::Q4_K> : FourBits {
  static __device__ __forceinline__ UnitScales scales(const blocks::Q4_K &block,
                                                      int unit, int64_t lane) {
    return scales_of_unit(block, unit, lane);
  }
  static __device__ __forceinline__ uint32_t load(const blocks::Q4_K &block,
                                                  int unit, int group,
                                                  int64_t lane) {
    return block.low[unit][group][lane];
  }
};

template <> struct Reader<blocks::Q5_K> : FiveBits {
  static __device__ __forceinline__ UnitScales scales(const blocks::Q5_K &block,
                                                      int unit, int64_t lane) {
    return scales_of_unit(block, unit, lane);
  }
  static __device__ __forceinline__ Group load(const blocks::Q5_K &block,
                                               int unit, int group,
                                               int64_t lane) {
    return read(block.quants[unit], group, lane);
  }
};

template <> struct Reader<blocks::Q6_K> {
  static constexpr int unit = 16, group = 8;
  struct Group {
    uint32_t low, high;
  };
  static __device__ __forceinline__ UnitScales scales(const blocks::Q6_K &block,
                                                      int unit, int64_t lane) {
    return scales_from_unit(block, unit, lane, 32);
  }
  static __device__ __forceinline__ Group load(const blocks::Q6_K &block,
                                               int unit, int group,
                                               int64_t lane) {
    return {block.quants[unit].low[group][lane],
            block.quants[unit].high[lane] >> (4 * group)};
  }
  static __device__ __forceinline__ float number(const Group &group, int i) {
    return static_cast<float>(bits_at<4>(group.low, i) |
                              bits_at<2>(group.high, i) << 4);
  }
  static __device__ __forceinline__ uint32_t bytes(const Group &group,
                                                   int four) {
    return bytes_at<4>(group.low, four) | bytes_at<2>(group.high, four) << 4;
  }
};

/// Four bits and a zero of each output.
template <int Inputs> struct Reader<blocks::Int4<Inputs>> : FourBits {
  typedef blocks::Int4<Inputs> Block;
  static __device__ __forceinline__ UnitScales scales(const Block &block, int,
                                                      int64_t lane) {
    const float scale = block.scale[lane];
    return {scale, -static_cast<float>(block.zero[lane]) * scale};
  }
  static __device__ __forceinline__ uint32_t load(const Block &block, int unit,
                                                  int group, int64_t lane) {
    return block.low[unit][group][lane];
  }
};

/// An F32 for the whole block, and no offset.
template <typename Block> struct OneScale {
  static __device__ __forceinline__ UnitScales scales(const Block &block, int,
                                                      int64_t lane) {
    return {block.scale[lane], -0.0f};
  }
};

/// E4M3 numbers. In the bits of an F16 their exponents are too small by 8, also
/// where there is no leading one.
BATON_DEVICE float e4m3_number(uint32_t byte) {
  return baton_half_to_float(
             static_cast<uint16_t>((byte & 0x80) << 8 | (byte & 0x7f) << 7)) *
         256.0f;
}

/// E2M1 numbers, whose exponents are too small by 14.
BATON_DEVICE float e2m1_number(uint32_t code) {
  return baton_half_to_float(
             static_cast<uint16_t>((code & 8) << 12 | (code & 7) << 9)) *
         16384.0f;
}

/// Table::numbers[code] of those from `First` on: registers have no places that
/// a number could choose.
template <typename Table, int First = 0, int Count = 16>
BATON_DEVICE float look_up(uint32_t code) {
  if constexpr (Count == 1) {
    constexpr float number = Table::numbers[First];
    return number;
  } else {
    const float low = look_up<Table, First, Count / 2>(code);
    const float high = look_up<Table, First + Count / 2, Count / 2>(code);
    return code & (Count / 2) ? high : low;
  }
}

template <> struct Reader<blocks::Int8_G64> : OneScale<blocks::Int8_G64> {
  static constexpr int unit = 32, group = 4;
  typedef uint32_t Group;
  static __device__ __forceinline__ uint32_t load(const blocks::Int8_G64 &block,
                                                  int unit, int group,
                                                  int64_t lane) {
    return block.quants[8 * unit + group][lane];
  }
  static __device__ __forceinline__ float number(uint32_t bytes, int i) {
    return static_cast<float>(static_cast<int8_t>(bytes >> (8 * i)));
  }
  static __device__ __forceinline__ uint32_t bytes(uint32_t bytes, int) {
    return bytes;
  }
};

template <> struct Reader<blocks::FP8_G64> : OneScale<blocks::FP8_G64> {
  static constexpr int unit = 32, group = 4;
  typedef uint32_t Group;
  static __device__ __forceinline__ uint32_t load(const blocks::FP8_G64 &block,
                                                  int unit, int group,
                                                  int64_t lane) {
    return block.quants[8 * unit + group][lane];
  }
  static __device__ __forceinline__ float number(uint32_t bytes, int i) {
    return e4m3_number(bytes >> (8 * i));
  }
};

template <> struct Reader<blocks::NVFP4> {
  static constexpr int unit = 16, group = 8;
  typedef uint32_t Group;
  static __device__ __forceinline__ UnitScales
  scales(const blocks::NVFP4 &block, int unit, int64_t lane) {
    return {e4m3_number(block.units[unit][lane]) / block.divisor[lane], -0.0f};
  }
  static __device__ __forceinline__ uint32_t load(const blocks::NVFP4 &block,
                                                  int unit, int group,
                                                  int64_t lane) {
    return block.low[unit][group][lane];
  }
  static __device__ __forceinline__ float number(uint32_t low, int i) {
    return e2m1_number(bits_at<4>(low, i));
  }
};

template <> struct Reader<blocks::MXFP4> {
  static constexpr int unit = 32, group = 8;
  typedef uint32_t Group;
  static __device__ __forceinline__ UnitScales
  scales(const blocks::MXFP4 &block, int, int64_t lane) {
    const uint32_t exponent = block.exponent[lane];
    // The smallest power has no leading one.
    return {__uint_as_float(exponent == 0 ? 1u << 22 : exponent << 23), -0.0f};
  }
  static __device__ __forceinline__ uint32_t load(const blocks::MXFP4 &block,
                                                  int, int group,
                                                  int64_t lane) {
    return block.low[group][lane];
  }
  static __device__ __forceinline__ float number(uint32_t low, int i) {
    return e2m1_number(bits_at<4>(low, i));
  }
};

template <typename Block> struct CodeWordsReader : OneScale<Block> {
  static constexpr int unit = 32, group = 8;
  typedef uint32_t Group;
  static __device__ __forceinline__ uint32_t load(const Block &block, int unit,
                                                  int group, int64_t lane) {
    return block.low[unit][group][lane];
  }
  static __device__ __forceinline__ float number(uint32_t low, int i) {
    return look_up<Block>(bits_at<4>(low, i));
  }
};
template <> struct Reader<blocks::NF4> : CodeWordsReader<blocks::NF4> {};
template <> struct Reader<blocks::FP4> : CodeWordsReader<blocks::FP4> {};

template <typename Block>
BATON_DEVICE float decode(const typename Reader<Block>::Group &group, int i,
                          UnitScales scales) {
  return fmaf(Reader<Block>::number(group, i), scales.scale, scales.offset);
}

/// A byte of panels of such blocks: what pointers to them point to.
template <typename Block> struct Quantised {
  uint8_t byte;
};

/// Bytes of a panel of whole blocks.
template <typename Block> BATON_DEVICE int64_t panel_bytes(int64_t inputs) {
  return inputs / Block::inputs * static_cast<int64_t>(sizeof(Block));
}

template <typename Block>
BATON_DEVICE float weight_at(const Quantised<Block> *panel, int64_t input,
                             int64_t lane) {
  typedef Reader<Block> Read;
  const Block &block =
      reinterpret_cast<const Block *>(panel)[input / Block::inputs];
  const int place = static_cast<int>(input % Block::inputs);
  const int unit = place / Read::unit, inside = place % Read::unit;
  return decode<Block>(Read::load(block, unit, inside / Read::group, lane),
                       inside % Read::group, Read::scales(block, unit, lane));
}

/// sum[r][s] += left[r][d] * weight(d, s) for d in [0, depth), ascending, of an
/// output of `Sides` panels. Scales are computed once for each unit. Rows that
/// are aligned to 16 bytes are read four inputs at a time.
template <int Rows, int Sides, typename Block>
BATON_DEVICE void accumulate_blocks(float (&sum)[Rows][Sides],
                                    const float *const (&left)[Rows],
                                    const Block *const (&panels)[Sides],
                                    int64_t lane, int64_t depth) {
  typedef Reader<Block> Read;
  const bool aligned = are_aligned<Rows>(left);
  int64_t place = 0;
#pragma unroll 1
  for (int64_t block = 0; block * Block::inputs < depth; ++block)
#pragma unroll 1
    for (int unit = 0; unit < Block::inputs / Read::unit; ++unit) {
      UnitScales scales[Sides];
#pragma unroll
      for (int side = 0; side < Sides; ++side)
        scales[side] = Read::scales(panels[side][block], unit, lane);
#pragma unroll
      for (int group = 0; group < Read::unit / Read::group; ++group) {
        typename Read::Group bits[Sides];
#pragma unroll
        for (int side = 0; side < Sides; ++side)
          bits[side] = Read::load(panels[side][block], unit, group, lane);
#pragma unroll
        for (int i = 0; i < Read::group; i += 4, place += 4) {
          Quad quads[Rows];
#pragma unroll
          for (int row = 0; row < Rows; ++row)
            quads[row] = aligned ? load_quad(left[row] + place)
                                 : gather_quad(left[row] + place);
#pragma unroll
          for (int step = 0; step < 4; ++step)
#pragma unroll
            for (int side = 0; side < Sides; ++side) {
              const float weight =
                  decode<Block>(bits[side], i + step, scales[side]);
#pragma unroll
              for (int row = 0; row < Rows; ++row)
                sum[row][side] =
                    fmaf(quads[row].element[step], weight, sum[row][side]);
            }
        }
      }
    }
}

/// Sums over blocks: of which formats, of what rows a pointer to floats points
/// to, and how they are multiplied.
struct Decoded {
  template <typename Block> static constexpr bool multiplies = true;

  template <int Rows, int Sides, typename Block>
  static __device__ __forceinline__ void
  add(float (&sum)[Rows][Sides], const float *const (&left)[Rows],
      const Block *const (&panels)[Sides], int64_t lane, int64_t depth) {
    accumulate_blocks(sum, left, panels, lane, depth);
  }
};

/// The sums of a tile of `Sides` panels that alternate. No lambda: NVRTC takes
/// a generic one for a function of the host.
template <int Sides, typename Products, typename Block> struct PanelTile {
  const Quantised<Block> *panels;
  int64_t stride, k;

  template <int Rows>
  __device__ __forceinline__ void operator()(float (&sum)[Rows][Sides],
                                             const float *const (&left)[Rows],
                                             int64_t column) const {
    const Block *places[Sides];
#pragma unroll
    for (int side = 0; side < Sides; ++side)
      places[side] = reinterpret_cast<const Block *>(
          panels + (column / lanes * Sides + side) * stride);
    Products::add(sum, left, places, column % lanes, k);
  }
};

template <int Sides, typename Products = Decoded, typename Block,
          typename Finish>
BATON_DEVICE void multiply_panels(const float *x, int64_t x_stride,
                                  const Quantised<Block> *panels, int64_t rows,
                                  int64_t k, int64_t columns, Finish finish) {
  const PanelTile<Sides, Products, Block> tile{panels, panel_bytes<Block>(k),
                                               k};
  if (rows == 1)
    for_each_tile<1, Sides>(x, x_stride, rows, columns, tile, finish);
  else
    // Numbers of tables take more registers.
    for_each_tile<(blocks::IsInteger<Block>::value ? 4 : 2) / Sides, Sides>(
        x, x_stride, rows, columns, tile, finish);
}

// The formats that panels may have where each says which it has: the bits of
// their numbers. A kernel's source defines those of its program, because code
// for a format takes seconds to compile.
#ifndef BATON_MIXED_FORMATS
#define BATON_MIXED_FORMATS 0xffffffffu
#endif
static_assert(blocks::format_count <= 32, "a bit for each format");

/// Weights that nobody has quantised, in panels as those of other parameters.
template <typename Format> struct PlainWeight;
template <> struct PlainWeight<blocks::F16> {
  typedef Float16 Weight;
};
template <> struct PlainWeight<blocks::BF16> {
  typedef BFloat16 Weight;
};
template <> struct PlainWeight<blocks::F32> {
  typedef float Weight;
};

/// A weight of a panel [inputs][16].
template <typename Format>
BATON_DEVICE float plain_weight_at(const int8_t *panel, int64_t input,
                                   int64_t lane) {
  typedef typename PlainWeight<Format>::Weight Weight;
  return load_weight(reinterpret_cast<const Weight *>(panel) + input * lanes +
                     lane);
}

/// The sums of a tile of a panel of such weights.
template <typename Format, int Rows>
BATON_DEVICE void
accumulate_plain(float (&sum)[Rows][1], const float *const (&left)[Rows],
                 const int8_t *panel, int64_t lane, int64_t depth) {
  accumulate<Rows, 1, Rows == 1 ? 4 : 2>(
      sum, left, 0, depth,
      [&](int64_t d, int) { return plain_weight_at<Format>(panel, d, lane); });
}

/// Rows of x that panels are multiplied by which nobody has quantised: those
/// that `rows` are, or where others have as many rows of numbers of 8 bits, the
/// same rows of `exact`.
struct ExactRows {
  const float *rows;
  int64_t stride;
  const float *exact;
  int64_t exact_stride;

  __device__ __forceinline__ const float *of(const float *row) const {
    return exact == rows ? row : exact + (row - rows) / stride * exact_stride;
  }
};

/// The same of panels each of which says which format it has.
template <typename Products> struct MixedTile {
  const int8_t *panels;
  int64_t stride, k;
  ExactRows rows;

  template <int Rows>
  __device__ __forceinline__ void operator()(float (&sum)[Rows][1],
                                             const float *const (&left)[Rows],
                                             int64_t column) const {
    const int8_t *panel = panels + column / lanes * stride;
    const int8_t *place = panel + sizeof(blocks::MixedHead);
    switch (reinterpret_cast<const blocks::MixedHead *>(panel)->format) {
#define BATON_MIXED_TILE(NAME, BLOCK)                                          \
  case blocks::NAME:                                                           \
    if constexpr (Products::template multiplies<blocks::BLOCK> &&              \
                  (BATON_MIXED_FORMATS >> blocks::NAME & 1) != 0) {            \
      const blocks::BLOCK *places[1] = {                                       \
          reinterpret_cast<const blocks::BLOCK *>(place)};                     \
      Products::add(sum, left, places, column % lanes, k);                     \
    }                                                                          \
    break;
#define BATON_PLAIN_TILE(NAME, FORMAT)                                         \
  case blocks::NAME:                                                           \
    if constexpr ((BATON_MIXED_FORMATS >> blocks::NAME & 1) != 0) {            \
      const float *exact[Rows];                                                \
      for (int row = 0; row < Rows; ++row)                                     \
        exact[row] = rows.of(left[row]);                                       \
      accumulate_plain<blocks::FORMAT>(sum, exact, place, column % lanes, k);  \
    }                                                                          \
    break;
      BATON_FOR_EACH_BLOCK(BATON_MIXED_TILE)
      BATON_FOR_EACH_PLAIN_FORMAT(BATON_PLAIN_TILE)
#undef BATON_PLAIN_TILE
#undef BATON_MIXED_TILE
    }
  }
};

template <typename Products = Decoded, typename Finish>
BATON_DEVICE void multiply_mixed(const float *x, int64_t x_stride,
                                 const float *exact, int64_t exact_stride,
                                 const int8_t *panels, int64_t rows, int64_t k,
                                 int64_t columns, Finish finish) {
  const MixedTile<Products> tile{
      panels,
      reinterpret_cast<const blocks::MixedHead *>(panels)->stride,
      k,
      {x, x_stride, exact, exact_stride}};
  if (rows == 1)
    for_each_tile<1, 1>(x, x_stride, rows, columns, tile, finish);
  else
    // Numbers as they are beside blocks take more registers.
    for_each_tile<
        (BATON_MIXED_FORMATS >> blocks::first_plain_format) != 0 ? 2 : 4, 1>(
        x, x_stride, rows, columns, tile, finish);
}

} // namespace baton::cuda

/// A panel of a layer whose panels each say which format they have, and how far
/// the next one is.
BATON_DEVICE const int8_t *baton_panel_at(const int8_t *layer, int64_t panel) {
  return layer +
         panel *
             reinterpret_cast<const baton::blocks::MixedHead *>(layer)->stride;
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_BLOCKS_H
