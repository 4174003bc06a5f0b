//===- blocks.h - quantised weights in panels -----------------------------===//
//
// Each format of runtime/weight_blocks.h as a kind of weight. A weight is
// decoded in registers, as an F32 that is exact or rounded once, and then
// multiplied as any other: sums have the bits that they have with a table of
// those F32 numbers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_BLOCKS_H
#define BATON_CODEGEN_CPU_LIBRARY_BLOCKS_H

#include "codegen/cpu/library/dots.h"
#include "codegen/cpu/library/microkernel.h"

#include "runtime/weight_blocks.h"

namespace baton::cpu {

namespace blocks = baton::blocks;

// Numbers of `Lanes` neighbouring outputs. Weights are F32 where sums are
// wider, too.
template <int Lanes> struct Numbers {
  typedef float Floats __attribute__((ext_vector_type(Lanes)));
  typedef uint32_t Words __attribute__((ext_vector_type(Lanes)));
  typedef int32_t Integers __attribute__((ext_vector_type(Lanes)));
};
typedef Numbers<lanes>::Floats Floats;
typedef Numbers<lanes>::Words Words;
typedef Numbers<lanes>::Integers Integers;

/// Lanes of another type, as `Result` has them.
template <typename Result, typename Stored>
BATON_INLINE Result load_lanes(const Stored *source) {
  typedef Stored Lanes
      __attribute__((ext_vector_type(sizeof(Result) / sizeof(Result{}[0]))));
  Lanes stored;
  __builtin_memcpy(&stored, source, sizeof stored);
  return __builtin_convertvector(stored, Result);
}

template <int Lanes = lanes>
BATON_INLINE typename Numbers<Lanes>::Floats
load_halves(const uint16_t *source) {
  typedef _Float16 Halves __attribute__((ext_vector_type(Lanes)));
  Halves halves;
  __builtin_memcpy(&halves, source, sizeof halves);
  return __builtin_convertvector(halves, typename Numbers<Lanes>::Floats);
}

/// Scale and offset of each output in a unit.
template <int Lanes> struct ScalesOf {
  typename Numbers<Lanes>::Floats scale, offset;
};
typedef ScalesOf<lanes> UnitScales;

// How each format is read: inputs of a unit, inputs whose bits are loaded at
// once (a group), a unit's scales of so many outputs from `lane` on, and the
// numbers of a group. `Group` holds the loaded bits.

template <typename Block> struct Reader;

// Of some formats a weight is (number - zero) scale, and that needs few bits.
// Its number may then lie among the bits behind the point of an F32 from 1 to
// 2, of which it takes a fused multiply-add to make the weight, exactly:
//   (1 + number / 2^bits) (2^bits scale) - (2^bits + zero) scale
// as long as the last product is exact, too. Numbers are not converted.

/// Such a Reader has `bits`, `zero` and fraction(group, i), which has the
/// number from bit 23 - `bits` on, and nothing else.
template <typename Block>
constexpr bool has_fractions = requires { Reader<Block>::bits; };

constexpr uint32_t one_bits = 0x3f800000;

/// Where input i's `bits` bits begin in a word.
constexpr int bit_of(int bits, int i) { return 8 * (i % 4) + bits * (i / 4); }

/// `mask` of words shifted so that bit `from` comes to bit `to`.
BATON_INLINE Words moved(Words words, int from, int to, uint32_t mask) {
  return (from < to ? words << uint32_t(from < to ? to - from : 0)
                    : words >> uint32_t(from < to ? 0 : from - to)) &
         mask;
}

/// Whole bytes, which have a sign.
template <> struct Reader<blocks::Q8_0> {
  static constexpr int unit = 32, group = 4;
  typedef Words Group;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q8_0 &block, int,
                                             int lane = 0) {
    return {load_halves<Lanes>(block.scale + lane),
            typename Numbers<Lanes>::Floats(0.0f)};
  }
  BATON_INLINE static Words load(const blocks::Q8_0 &block, int, int group) {
    return load_lanes<Words>(block.quants[group]);
  }
  BATON_INLINE static Floats number(Words bytes, int i) {
    return __builtin_convertvector(
        (Integers)(bytes << uint32_t(24 - 8 * i)) >> 24, Floats);
  }
  // Numbers are 128 more, from 0 on.
  static constexpr int bits = 15;
  static constexpr float zero = 128;
  BATON_INLINE static Words fraction(Words bytes, int i) {
    return moved(bytes, 8 * i, 8, 0xff00) ^ 0x8000u;
  }
};

/// Four bits of each of 32 inputs.
struct FourBits {
  static constexpr int group = 8;
  typedef Words Group;
  BATON_INLINE static Floats number(Words low, int i) {
    return __builtin_convertvector(moved(low, bit_of(4, i), 0, 15), Floats);
  }
};

/// Four bits, and a fifth of all inputs in one word.
struct FiveBits {
  static constexpr int group = 8;
  struct Group {
    Words low, high;
  };
  template <typename Block>
  BATON_INLINE static Group read(const Block &block, int group) {
    return {load_lanes<Words>(block.low[group]),
            load_lanes<Words>(block.high) >> uint32_t(2 * group)};
  }
  BATON_INLINE static Floats number(Group bits, int i) {
    return __builtin_convertvector(moved(bits.low, bit_of(4, i), 0, 15) |
                                       moved(bits.high, bit_of(1, i), 4, 16),
                                   Floats);
  }
};

/// d and a constant times d, or d and m.
template <int Lanes, typename Block>
BATON_INLINE ScalesOf<Lanes> scales_from(const Block &block, float zero,
                                         int lane) {
  const auto scale = load_halves<Lanes>(block.scale + lane);
  return {scale, scale * -zero};
}
template <int Lanes, typename Block>
BATON_INLINE ScalesOf<Lanes> scales_and_minimums(const Block &block, int lane) {
  return {load_halves<Lanes>(block.scale + lane),
          load_halves<Lanes>(block.minimum + lane)};
}

/// d times the unit's, and a constant times that.
template <int Lanes, typename Block>
BATON_INLINE ScalesOf<Lanes> scales_from_unit(const Block &block, int unit,
                                              float zero, int lane) {
  typedef typename Numbers<Lanes>::Floats Result;
  const Result scale = load_halves<Lanes>(block.scale + lane) *
                       load_lanes<Result>(block.units[unit] + lane);
  return {scale, scale * -zero};
}

/// d times a unit's scale, and -dmin times its minimum.
template <int Lanes, typename Block>
BATON_INLINE ScalesOf<Lanes> scales_of_unit(const Block &block, int unit,
                                            int lane) {
  typedef typename Numbers<Lanes>::Floats Result;
  return {load_halves<Lanes>(block.scale + lane) *
              load_lanes<Result>(block.units[unit] + lane),
          load_halves<Lanes>(block.minimum + lane) *
              -load_lanes<Result>(block.unit_minimums[unit] + lane)};
}

template <> struct Reader<blocks::Q4_0> : FourBits {
  static constexpr int unit = 32;
  static constexpr int bits = 7;
  static constexpr float zero = 8;
  BATON_INLINE static Words fraction(Words low, int i) {
    return moved(low, bit_of(4, i), 16, 15u << 16);
  }
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q4_0 &block, int,
                                             int lane = 0) {
    return scales_from<Lanes>(block, 8, lane);
  }
  BATON_INLINE static Words load(const blocks::Q4_0 &block, int, int group) {
    return load_lanes<Words>(block.low[group]);
  }
};

template <> struct Reader<blocks::Q4_1> : FourBits {
  static constexpr int unit = 32;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q4_1 &block, int,
                                             int lane = 0) {
    return scales_and_minimums<Lanes>(block, lane);
  }
  BATON_INLINE static Words load(const blocks::Q4_1 &block, int, int group) {
    return load_lanes<Words>(block.low[group]);
  }
};

template <> struct Reader<blocks::Q5_0> : FiveBits {
  static constexpr int unit = 32;
  static constexpr int bits = 7;
  static constexpr float zero = 16;
  BATON_INLINE static Words fraction(Group bits, int i) {
    return moved(bits.low, bit_of(4, i), 16, 15u << 16) |
           moved(bits.high, bit_of(1, i), 20, 1u << 20);
  }
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q5_0 &block, int,
                                             int lane = 0) {
    return scales_from<Lanes>(block, 16, lane);
  }
  BATON_INLINE static Group load(const blocks::Q5_0 &block, int, int group) {
    return read(block, group);
  }
};

template <> struct Reader<blocks::Q5_1> : FiveBits {
  static constexpr int unit = 32;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q5_1 &block, int,
                                             int lane = 0) {
    return scales_and_minimums<Lanes>(block, lane);
  }
  BATON_INLINE static Group load(const blocks::Q5_1 &block, int, int group) {
    return read(block, group);
  }
};

template <> struct Reader<blocks::Q2_K> {
  static constexpr int unit = 16, group = 16;
  typedef Words Group;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q2_K &block,
                                             int unit, int lane = 0) {
    typedef typename Numbers<Lanes>::Floats Result;
    const auto both =
        load_lanes<typename Numbers<Lanes>::Words>(block.units[unit] + lane);
    return {load_halves<Lanes>(block.scale + lane) *
                __builtin_convertvector(both & 15u, Result),
            load_halves<Lanes>(block.minimum + lane) *
                -__builtin_convertvector(both >> 4u, Result)};
  }
  BATON_INLINE static Words load(const blocks::Q2_K &block, int unit, int) {
    return load_lanes<Words>(block.low[unit]);
  }
  BATON_INLINE static Floats number(Words low, int i) {
    return __builtin_convertvector(moved(low, bit_of(2, i), 0, 3), Floats);
  }
};

template <> struct Reader<blocks::Q3_K> {
  static constexpr int unit = 16, group = 16;
  static constexpr int bits = 7;
  static constexpr float zero = 4;
  struct Group {
    Words low, high;
  };
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q3_K &block,
                                             int unit, int lane = 0) {
    return scales_from_unit<Lanes>(block, unit, 4, lane);
  }
  BATON_INLINE static Group load(const blocks::Q3_K &block, int unit, int) {
    const auto &quants = block.quants[unit / 2];
    return {load_lanes<Words>(quants.low[unit % 2]),
            load_lanes<Words>(quants.high) >> uint32_t(unit % 2 * 4)};
  }
  BATON_INLINE static Floats number(Group bits, int i) {
    return __builtin_convertvector(moved(bits.low, bit_of(2, i), 0, 3) |
                                       moved(bits.high, bit_of(1, i), 2, 4),
                                   Floats);
  }
  BATON_INLINE static Words fraction(Group bits, int i) {
    return moved(bits.low, bit_of(2, i), 16, 3u << 16) |
           moved(bits.high, bit_of(1, i), 18, 1u << 18);
  }
};

template <> struct Reader<blocks::Q4_K> : FourBits {
  static constexpr int unit = 32;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q4_K &block,
                                             int unit, int lane = 0) {
    return scales_of_unit<Lanes>(block, unit, lane);
  }
  BATON_INLINE static Words load(const blocks::Q4_K &block, int unit,
                                 int group) {
    return load_lanes<Words>(block.low[unit][group]);
  }
};

template <> struct Reader<blocks::Q5_K> : FiveBits {
  static constexpr int unit = 32;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q5_K &block,
                                             int unit, int lane = 0) {
    return scales_of_unit<Lanes>(block, unit, lane);
  }
  BATON_INLINE static Group load(const blocks::Q5_K &block, int unit,
                                 int group) {
    return read(block.quants[unit], group);
  }
};

template <> struct Reader<blocks::Q6_K> {
  static constexpr int unit = 16, group = 8;
  static constexpr int bits = 7;
  static constexpr float zero = 32;
  struct Group {
    Words low, high;
  };
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::Q6_K &block,
                                             int unit, int lane = 0) {
    return scales_from_unit<Lanes>(block, unit, 32, lane);
  }
  BATON_INLINE static Group load(const blocks::Q6_K &block, int unit,
                                 int group) {
    return {load_lanes<Words>(block.quants[unit].low[group]),
            load_lanes<Words>(block.quants[unit].high) >> uint32_t(4 * group)};
  }
  BATON_INLINE static Floats number(Group bits, int i) {
    return __builtin_convertvector(moved(bits.low, bit_of(4, i), 0, 15) |
                                       moved(bits.high, bit_of(2, i), 4, 48),
                                   Floats);
  }
  BATON_INLINE static Words fraction(Group bits, int i) {
    return moved(bits.low, bit_of(4, i), 16, 15u << 16) |
           moved(bits.high, bit_of(2, i), 20, 3u << 20);
  }
};

/// Four bits and a zero of each output.
template <int Inputs> struct Reader<blocks::Int4<Inputs>> : FourBits {
  typedef blocks::Int4<Inputs> Block;
  static constexpr int unit = 32;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const Block &block, int,
                                             int lane = 0) {
    typedef typename Numbers<Lanes>::Floats Result;
    const Result scale = load_lanes<Result>(block.scale + lane);
    return {scale, -load_lanes<Result>(block.zero + lane) * scale};
  }
  BATON_INLINE static Words load(const Block &block, int unit, int group) {
    return load_lanes<Words>(block.low[unit][group]);
  }
};

/// An F32 for the whole block, and no offset.
template <typename Block> struct OneScale {
  static constexpr int unit = 32;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const Block &block, int,
                                             int lane = 0) {
    typedef typename Numbers<Lanes>::Floats Result;
    return {load_lanes<Result>(block.scale + lane), Result(0.0f)};
  }
};

template <> struct Reader<blocks::Int8_G64> : OneScale<blocks::Int8_G64> {
  static constexpr int group = 4;
  typedef Words Group;
  BATON_INLINE static Words load(const blocks::Int8_G64 &block, int unit,
                                 int group) {
    return load_lanes<Words>(block.quants[8 * unit + group]);
  }
  BATON_INLINE static Floats number(Words bytes, int i) {
    return Reader<blocks::Q8_0>::number(bytes, i);
  }
};

/// E4M3 numbers in the lowest bytes of words. In the bits of an F16 their
/// exponents are too small by 8, also where there is no leading one.
template <typename Result, typename Integers>
BATON_INLINE Result e4m3_numbers(Integers bytes) {
  typedef uint16_t Bits
      __attribute__((ext_vector_type(sizeof(Result) / sizeof(Result{}[0]))));
  typedef _Float16 Halves
      __attribute__((ext_vector_type(sizeof(Result) / sizeof(Result{}[0]))));
  const Bits bits = __builtin_convertvector(
      (bytes & 0x80u) << 8u | (bytes & 0x7fu) << 7u, Bits);
  return __builtin_convertvector(__builtin_bit_cast(Halves, bits), Result) *
         Result(256.0f);
}

template <> struct Reader<blocks::FP8_G64> : OneScale<blocks::FP8_G64> {
  static constexpr int group = 4;
  typedef Words Group;
  BATON_INLINE static Words load(const blocks::FP8_G64 &block, int unit,
                                 int group) {
    return load_lanes<Words>(block.quants[8 * unit + group]);
  }
  BATON_INLINE static Floats number(Words bytes, int i) {
    return e4m3_numbers<Floats>(bytes >> uint32_t(8 * i));
  }
};

/// numbers[places % 8], a permutation where the processor has such.
BATON_INLINE Floats permute(const float *numbers, Words places) {
  typedef Numbers<8>::Floats Eight;
  typedef Numbers<8>::Words Places;
  Eight eight;
  __builtin_memcpy(&eight, numbers, sizeof eight);
  auto half = [&](Places places) BATON_INLINE_LAMBDA {
    places &= 7u;
    Eight result;
    BATON_UNROLL
    for (int i = 0; i < 8; ++i)
      result[i] = eight[places[i]];
    return result;
  };
  Floats result;
  result.lo = half(places.lo);
  result.hi = half(places.hi);
  return result;
}

/// Four bits that choose one of 16 numbers.
template <typename Chosen> struct FourBitsOfTable {
  typedef Chosen Table;
  static constexpr int group = 8;
  typedef Words Group;
  BATON_INLINE static Floats number(Words low, int i) {
    const Words code = moved(low, bit_of(4, i), 0, 15);
    const Integers is_second =
        (Integers)(low << uint32_t(28 - bit_of(4, i))) < 0;
    return is_second ? permute(Table::numbers + 8, code)
                     : permute(Table::numbers, code);
  }
};

/// Three bits that choose one of eight numbers, and a sign.
struct FourBitsOfE2M1 {
  typedef blocks::E2M1 Table;
  static constexpr int group = 8;
  typedef Words Group;
  BATON_INLINE static Floats number(Words low, int i) {
    const Floats magnitude =
        permute(blocks::E2M1::numbers, moved(low, bit_of(4, i), 0, 7));
    return __builtin_bit_cast(
        Floats, __builtin_bit_cast(Words, magnitude) |
                    moved(low, bit_of(4, i) + 3, 31, 0x80000000u));
  }
};

/// Whether a format's numbers are those of a table.
template <typename Block>
constexpr bool has_table = requires { typename Reader<Block>::Table; };

/// The bytes of a table's numbers, the lowest of all first.
template <typename Table> struct BytesOfTable {
  uint8_t bytes[4][16];
  constexpr BytesOfTable() : bytes{} {
    for (int plane = 0; plane < 4; ++plane)
      for (int i = 0; i < 16; ++i)
        bytes[plane][i] =
            __builtin_bit_cast(uint32_t, Table::numbers[i]) >> (8 * plane);
  }
  /// Whether the two lower bytes are 0 in all of them.
  constexpr bool are_short() const {
    for (int i = 0; i < 16; ++i)
      if (bytes[0][i] || bytes[1][i])
        return false;
    return true;
  }
};
template <typename Table> constexpr BytesOfTable<Table> bytes_of_table;

/// The numbers that four codes of each of 16 outputs choose: `words` has those
/// of inputs `first` to `first` + 3 of a group. Bytes of numbers are looked up
/// and put together, where that takes less than permutations of F32s.
template <typename Table>
BATON_INLINE void look_up_four(Floats (&numbers)[4], Words words, int first) {
  typedef uint8_t Bytes __attribute__((ext_vector_type(4 * lanes)));
  typedef uint16_t Halves __attribute__((ext_vector_type(2 * lanes)));
  // In each 16 bytes, of four outputs, the bytes of an input become neighbours.
  const Bytes codes = __builtin_bit_cast(
      Bytes, words >> uint32_t(bit_of(4, first)) & 0x0f0f0f0fu);
#define BATON_BY_INPUT(AT)                                                     \
  AT, AT + 4, AT + 8, AT + 12, AT + 1, AT + 5, AT + 9, AT + 13, AT + 2,        \
      AT + 6, AT + 10, AT + 14, AT + 3, AT + 7, AT + 11, AT + 15
  const Bytes places = __builtin_shufflevector(
      codes, codes, BATON_BY_INPUT(0), BATON_BY_INPUT(16), BATON_BY_INPUT(32),
      BATON_BY_INPUT(48));
#undef BATON_BY_INPUT
  auto plane = [&](int index) BATON_INLINE_LAMBDA {
    uint8_t found[4 * lanes];
    __builtin_memcpy(found, &places, sizeof found);
    BATON_UNROLL
    for (int i = 0; i < 4 * lanes; i += dot_bytes)
      baton_look_up_bytes(found + i, bytes_of_table<Table>.bytes[index]);
    Bytes bytes;
    __builtin_memcpy(&bytes, found, sizeof bytes);
    return bytes;
  };
  // Of the first two inputs and of the last two.
  auto pairs = [](Bytes low, Bytes high,
                  Halves(&halves)[2]) BATON_INLINE_LAMBDA {
#define BATON_PAIRS(AT)                                                        \
  AT, AT + 64, AT + 1, AT + 65, AT + 2, AT + 66, AT + 3, AT + 67, AT + 4,      \
      AT + 68, AT + 5, AT + 69, AT + 6, AT + 70, AT + 7, AT + 71
    halves[0] = __builtin_bit_cast(
        Halves,
        __builtin_shufflevector(low, high, BATON_PAIRS(0), BATON_PAIRS(16),
                                BATON_PAIRS(32), BATON_PAIRS(48)));
    halves[1] = __builtin_bit_cast(
        Halves,
        __builtin_shufflevector(low, high, BATON_PAIRS(8), BATON_PAIRS(24),
                                BATON_PAIRS(40), BATON_PAIRS(56)));
#undef BATON_PAIRS
  };
  Halves lower[2] = {Halves(0), Halves(0)}, upper[2];
  if constexpr (!bytes_of_table<Table>.are_short())
    pairs(plane(0), plane(1), lower);
  pairs(plane(2), plane(3), upper);
  BATON_UNROLL
  for (int i = 0; i < 2; ++i) {
#define BATON_WORDS(AT)                                                        \
  AT, AT + 32, AT + 1, AT + 33, AT + 2, AT + 34, AT + 3, AT + 35
    numbers[2 * i] = __builtin_bit_cast(
        Floats, __builtin_shufflevector(lower[i], upper[i], BATON_WORDS(0),
                                        BATON_WORDS(8), BATON_WORDS(16),
                                        BATON_WORDS(24)));
    numbers[2 * i + 1] = __builtin_bit_cast(
        Floats, __builtin_shufflevector(lower[i], upper[i], BATON_WORDS(4),
                                        BATON_WORDS(12), BATON_WORDS(20),
                                        BATON_WORDS(28)));
#undef BATON_WORDS
  }
}

template <> struct Reader<blocks::NVFP4> : FourBitsOfE2M1 {
  static constexpr int unit = 16;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::NVFP4 &block,
                                             int unit, int lane = 0) {
    typedef typename Numbers<Lanes>::Floats Result;
    const auto bytes =
        load_lanes<typename Numbers<Lanes>::Words>(block.units[unit] + lane);
    return {e4m3_numbers<Result>(bytes) /
                load_lanes<Result>(block.divisor + lane),
            Result(0.0f)};
  }
  BATON_INLINE static Words load(const blocks::NVFP4 &block, int unit,
                                 int group) {
    return load_lanes<Words>(block.low[unit][group]);
  }
};

template <> struct Reader<blocks::MXFP4> : FourBitsOfE2M1 {
  static constexpr int unit = 32;
  template <int Lanes = lanes>
  BATON_INLINE static ScalesOf<Lanes> scales(const blocks::MXFP4 &block, int,
                                             int lane = 0) {
    typedef typename Numbers<Lanes>::Floats Result;
    typedef typename Numbers<Lanes>::Words Bits;
    const Bits exponent = load_lanes<Bits>(block.exponent + lane);
    // The smallest power has no leading one.
    const Bits bits = exponent == 0u ? Bits(1u << 22) : exponent << 23u;
    return {__builtin_bit_cast(Result, bits), Result(0.0f)};
  }
  BATON_INLINE static Words load(const blocks::MXFP4 &block, int, int group) {
    return load_lanes<Words>(block.low[group]);
  }
};

template <typename Block>
struct CodeWordsReader : OneScale<Block>, FourBitsOfTable<Block> {
  BATON_INLINE static Words load(const Block &block, int unit, int group) {
    return load_lanes<Words>(block.low[unit][group]);
  }
};
template <> struct Reader<blocks::NF4> : CodeWordsReader<blocks::NF4> {};
template <> struct Reader<blocks::FP4> : CodeWordsReader<blocks::FP4> {};

template <typename Block, typename... Blocks>
constexpr bool is_one_of = (__is_same(Block, Blocks) || ...);

/// Whether a format has scales without offsets.
template <typename Block>
constexpr bool is_product =
    is_one_of<Block, blocks::Q8_0, blocks::Int8_G64, blocks::FP8_G64,
              blocks::NVFP4, blocks::MXFP4, blocks::NF4, blocks::FP4>;

/// A byte of panels of such blocks: what pointers to them point to.
template <typename Block> struct Quantised {
  uint8_t byte;
};

template <typename Block> constexpr bool is_quantised<Quantised<Block>> = true;

template <typename Block> struct PanelSize<Quantised<Block>> {
  static constexpr int64_t inputs = Block::inputs;
  BATON_INLINE static int64_t of(int64_t depth) {
    return depth / Block::inputs * int64_t(sizeof(Block));
  }
};

template <typename Block>
BATON_INLINE const Block *blocks_at(const Quantised<Block> *panel) {
  return reinterpret_cast<const Block *>(panel);
}

/// Decoded, an F32 that is widened where sums are.
template <typename Block>
BATON_INLINE Vector decode(typename Reader<Block>::Group group, int i,
                           UnitScales scales) {
  const Floats number = Reader<Block>::number(group, i);
  const Floats weight =
      is_product<Block>
          ? number * scales.scale
          : __builtin_elementwise_fma(number, scales.scale, scales.offset);
  return __builtin_convertvector(weight, Vector);
}

/// The same of what is multiplied by and not looked at: a weight of 0 has no
/// sign, and those of infinite scales are no numbers.
template <typename Block>
BATON_INLINE Vector decode_factor(typename Reader<Block>::Group group, int i,
                                  UnitScales scales) {
  if constexpr (has_fractions<Block>) {
    const Floats number = __builtin_bit_cast(
        Floats, Reader<Block>::fraction(group, i) | one_bits);
    return __builtin_convertvector(
        __builtin_elementwise_fma(number, scales.scale, scales.offset), Vector);
  } else {
    return decode<Block>(group, i, scales);
  }
}

/// Scale and offset as decode_factor() takes them.
template <typename Block>
BATON_INLINE UnitScales factor_scales(const Block &block, int unit) {
  typedef Reader<Block> Read;
  UnitScales scales = Read::scales(block, unit);
  if constexpr (has_fractions<Block>) {
    constexpr float steps = 1 << Read::bits;
    scales = {scales.scale * steps, scales.scale * -(steps + Read::zero)};
  }
  return scales;
}

/// Groups of a block, whose bits are loaded at once.
template <typename Block>
constexpr int group_count = Block::inputs / Reader<Block>::group;

/// Calls body(depth, weights) for a block's inputs in order, `Panels` panels at
/// a time, of which `weights` has 16 outputs each; and before(group) before a
/// group's bits are loaded.
template <int Panels, typename Block, typename Before, typename Body>
BATON_INLINE void for_each_weight(const Block *const *panels, Before before,
                                  Body body) {
  typedef Reader<Block> Read;
  for (int unit = 0; unit < Block::inputs / Read::unit; ++unit) {
    UnitScales scales[Panels];
    BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel)
      scales[panel] = factor_scales(*panels[panel], unit);
    for (int group = 0; group < Read::unit / Read::group; ++group) {
      before(unit * (Read::unit / Read::group) + group);
      typename Read::Group bits[Panels];
      BATON_UNROLL
      for (int panel = 0; panel < Panels; ++panel)
        bits[panel] = Read::load(*panels[panel], unit, group);
      const int first = unit * Read::unit + group * Read::group;
      if constexpr (has_table<Block>)
        if (baton_has_byte_lookups()) {
          BATON_UNROLL
          for (int four = 0; four < Read::group; four += 4) {
            Floats numbers[Panels][4];
            BATON_UNROLL
            for (int panel = 0; panel < Panels; ++panel)
              look_up_four<typename Read::Table>(numbers[panel], bits[panel],
                                                 four);
            BATON_UNROLL
            for (int i = 0; i < 4; ++i) {
              Vector weights[Panels];
              BATON_UNROLL
              for (int panel = 0; panel < Panels; ++panel)
                weights[panel] = __builtin_convertvector(
                    numbers[panel][i] * scales[panel].scale, Vector);
              body(first + four + i, weights);
            }
          }
          continue;
        }
      BATON_UNROLL
      for (int i = 0; i < Read::group; ++i) {
        Vector weights[Panels];
        BATON_UNROLL
        for (int panel = 0; panel < Panels; ++panel)
          weights[panel] = decode_factor<Block>(bits[panel], i, scales[panel]);
        body(first + i, weights);
      }
    }
  }
}

/// How far ahead lone rows ask for what they read. Nearer by half, Q4_0 is a
/// quarter slower with AVX-512; farther is no faster.
constexpr int64_t bytes_ahead = 2048;

/// Asks for what a block has where `next` is, with the part of it that falls to
/// one of its groups: each of its lines once, or, where groups have one and a
/// part of one, some twice.
template <int Panels, typename Block>
BATON_INLINE void prefetch_blocks(const uint8_t *next, int64_t panel_stride,
                                  int group) {
  constexpr int groups = group_count<Block>;
  constexpr int lines = (sizeof(Block) + 63) / 64, each = lines / groups,
                left = lines - each * groups;
  auto fetch = [&](int line) BATON_INLINE_LAMBDA {
    BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel)
      __builtin_prefetch(next + panel * panel_stride + line * 64);
  };
  if constexpr (left <= 1) {
    BATON_UNROLL
    for (int i = 0; i < each; ++i)
      fetch(group * each + i);
    if (left && group == 0)
      fetch(lines - 1);
  } else {
    BATON_UNROLL
    for (int i = 0; i <= each; ++i)
      fetch(group * lines / groups + i);
  }
}

template <int Rows, int Panels, typename Block>
BATON_INLINE void multiply_panels(Real *tile, const Real *__restrict x,
                                  int64_t x_stride,
                                  const Quantised<Block> *__restrict panels,
                                  int64_t panel_stride, int64_t k) {
  constexpr int64_t inputs = Block::inputs;
  Vector sum[Rows][Panels];
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row)
    BATON_UNROLL
  for (int panel = 0; panel < Panels; ++panel)
    sum[row][panel] = splat(0.0f);
  const Block *places[Panels];
  BATON_UNROLL
  for (int panel = 0; panel < Panels; ++panel)
    places[panel] = blocks_at(panels + panel * panel_stride);
  // Behind a panel's end comes what this stream reads next: the panel of the
  // next tile.
  const uint8_t *end = reinterpret_cast<const uint8_t *>(panels + panel_stride);
  for (int64_t begin = 0; begin < k; begin += inputs) {
    const auto *next =
        reinterpret_cast<const uint8_t *>(places[0]) + bytes_ahead;
    if (next >= end)
      next += (Panels - 1) * panel_stride;
    for_each_weight<Panels>(
        places,
        [&](int group) BATON_INLINE_LAMBDA {
          prefetch_blocks<Panels, Block>(next, panel_stride, group);
        },
        [&](int depth, const Vector *weights) BATON_INLINE_LAMBDA {
          BATON_UNROLL
          for (int row = 0; row < Rows; ++row)
            BATON_UNROLL
          for (int panel = 0; panel < Panels; ++panel)
            sum[row][panel] = fma(splat(x[row * x_stride + begin + depth]),
                                  weights[panel], sum[row][panel]);
        });
    BATON_UNROLL
    for (int panel = 0; panel < Panels; ++panel)
      ++places[panel];
  }
  BATON_UNROLL
  for (int row = 0; row < Rows; ++row)
    BATON_UNROLL
  for (int panel = 0; panel < Panels; ++panel)
    store(tile + (row * Panels + panel) * lanes, sum[row][panel]);
}

/// Weights of one output for 16 inputs, from `first` on, a multiple of 16.
template <typename Block>
BATON_INLINE Vector weights_of_output(const Quantised<Block> *panel,
                                      int64_t lane, int64_t first) {
  typedef Reader<Block> Read;
  const Block &block = blocks_at(panel)[first / Block::inputs];
  const int place = static_cast<int>(first % Block::inputs);
  const int unit = place / Read::unit, group = place % Read::unit / Read::group;
  const UnitScales scales = Read::scales(block, unit);
  Real weights[lanes];
  BATON_UNROLL
  for (int more = 0; more < lanes / Read::group; ++more) {
    typename Read::Group bits = Read::load(block, unit, group + more);
    BATON_UNROLL
    for (int i = 0; i < Read::group; ++i) {
      Real numbers[lanes];
      store(numbers, decode<Block>(bits, i, scales));
      weights[more * Read::group + i] = numbers[lane];
    }
  }
  return load(weights);
}

/// [depth][16] weights, of whole blocks, as numbers in `buffer`. A call of its
/// own: what it keeps in registers would take those of the product's sums.
template <typename Block>
__attribute__((noinline)) const Real *
unpack(Real *buffer, const Quantised<Block> *weights, int64_t depth) {
  const Block *place = blocks_at(weights);
  for (int64_t begin = 0; begin < depth; begin += Block::inputs) {
    for_each_weight<1>(
        &place, [](int) BATON_INLINE_LAMBDA {},
        [&](int d, const Vector *numbers) BATON_INLINE_LAMBDA {
          store(buffer + (begin + d) * lanes, *numbers);
        });
    ++place;
  }
  return buffer;
}

/// Behind a panel's head: what pointers to a format's weights point to.
template <typename Format> struct Stored {
  typedef Quantised<Format> Weight;
};
template <> struct Stored<blocks::F16> {
  typedef Float16 Weight;
};
template <> struct Stored<blocks::BF16> {
  typedef BFloat16 Weight;
};
template <> struct Stored<blocks::F32> {
  typedef Float32 Weight;
};

/// Rows of x, by the distance of two.
struct Rows {
  const Real *x;
  int64_t stride;
};

/// A linear whose panels say which format they have. Neighbours of one format
/// are one call of what task_of<Format>() is, which takes bytes between panels
/// behind these; null where no panel has that format. Rows are `exact` where
/// weights are numbers that nobody has quantised.
template <typename TaskOf>
BATON_INLINE void
linear_of_runs(TaskOf task_of, Real *out, int64_t out_stride, Rows rows_of_x,
               Rows exact, const int8_t *panels, const Real *bias,
               const Real *residual, int64_t residual_stride, int64_t rows,
               int64_t k, int64_t columns, int32_t activation) {
  auto head_of = [&](int64_t panel, int64_t stride) BATON_INLINE_LAMBDA {
    blocks::MixedHead head;
    __builtin_memcpy(&head, panels + panel * stride, sizeof head);
    return head;
  };
  const int64_t panel_count = (columns + lanes - 1) / lanes;
  const int64_t stride = head_of(0, 0).stride;
  for (int64_t first = 0, end; first < panel_count; first = end) {
    const uint32_t format = head_of(first, stride).format;
    for (end = first + 1; end < panel_count; ++end)
      if (head_of(end, stride).format != format)
        break;
    const int64_t column = first * lanes;
    decltype(task_of.template operator()<blocks::Q8_0>()) task = nullptr;
    switch (format) {
#define BATON_TASK_OF_FORMAT(NAME, FORMAT)                                     \
  case blocks::NAME:                                                           \
    task = task_of.template operator()<blocks::FORMAT>();                      \
    break;
      BATON_FOR_EACH_BLOCK(BATON_TASK_OF_FORMAT)
      BATON_FOR_EACH_PLAIN_FORMAT(BATON_TASK_OF_FORMAT)
#undef BATON_TASK_OF_FORMAT
    }
    if (!task)
      __builtin_trap();
    const Rows read = blocks::is_plain(format) ? exact : rows_of_x;
    task(out + column, out_stride, read.x, read.stride,
         reinterpret_cast<const uint8_t *>(panels) + first * stride +
             sizeof(blocks::MixedHead),
         stride, bias ? bias + column : nullptr,
         residual ? residual + column : nullptr, residual_stride, rows, k,
         (end * lanes < columns ? end * lanes : columns) - column, activation);
  }
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_BLOCKS_H
