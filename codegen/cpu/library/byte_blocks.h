//===- byte_blocks.h - quantised weights as bytes -------------------------===//
//
// What products of whole numbers read of a block: the bytes of four
// neighbouring inputs of each output, in a word.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_BYTE_BLOCKS_H
#define BATON_CODEGEN_CPU_LIBRARY_BYTE_BLOCKS_H

#include "codegen/cpu/library/blocks.h"
#include "codegen/cpu/library/dots.h"

namespace baton::cpu {

typedef Numbers<dot_lanes>::Words DotWords;
typedef Numbers<dot_lanes>::Floats DotFloats;
typedef Numbers<dot_lanes>::Integers DotIntegers;

template <int Lanes> using WordsOf = typename Numbers<Lanes>::Words;

template <int Lanes>
BATON_INLINE WordsOf<Lanes> load_words(const uint32_t *source) {
  return load_lanes<WordsOf<Lanes>>(source);
}

/// The lowest `bits` bits of each byte, `shift` above.
template <typename Words>
BATON_INLINE Words bits_of_bytes(Words words, int shift, int bits) {
  return words >> uint32_t(shift) & 0x01010101u * ((1u << bits) - 1);
}

// Of each format the bytes of the unit's four inputs number `four`, of so many
// outputs from `lane` on.

template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q8_0 &block, int, int four,
                                     int lane) {
  return load_words<Lanes>(block.quants[four] + lane);
}

/// Of four bits in `low`.
template <int Lanes, typename Low>
BATON_INLINE WordsOf<Lanes> four_bits(const Low &low, int four, int lane) {
  return bits_of_bytes(load_words<Lanes>(low[four / 2] + lane), 4 * (four % 2),
                       4);
}

/// And a fifth in `high`.
template <int Lanes, typename Bits>
BATON_INLINE WordsOf<Lanes> five_bits(const Bits &bits, int four, int lane) {
  return four_bits<Lanes>(bits.low, four, lane) |
         bits_of_bytes(load_words<Lanes>(bits.high + lane), four, 1) << 4u;
}

template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q4_0 &block, int, int four,
                                     int lane) {
  return four_bits<Lanes>(block.low, four, lane);
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q4_1 &block, int, int four,
                                     int lane) {
  return four_bits<Lanes>(block.low, four, lane);
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q5_0 &block, int, int four,
                                     int lane) {
  return five_bits<Lanes>(block, four, lane);
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q5_1 &block, int, int four,
                                     int lane) {
  return five_bits<Lanes>(block, four, lane);
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q2_K &block, int unit,
                                     int four, int lane) {
  return bits_of_bytes(load_words<Lanes>(block.low[unit] + lane), 2 * four, 2);
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q3_K &block, int unit,
                                     int four, int lane) {
  const auto &quants = block.quants[unit / 2];
  return bits_of_bytes(load_words<Lanes>(quants.low[unit % 2] + lane), 2 * four,
                       2) |
         bits_of_bytes(load_words<Lanes>(quants.high + lane),
                       unit % 2 * 4 + four, 1)
             << 2u;
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q4_K &block, int unit,
                                     int four, int lane) {
  return four_bits<Lanes>(block.low[unit], four, lane);
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q5_K &block, int unit,
                                     int four, int lane) {
  return five_bits<Lanes>(block.quants[unit], four, lane);
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Q6_K &block, int unit,
                                     int four, int lane) {
  const auto &quants = block.quants[unit];
  return four_bits<Lanes>(quants.low, four, lane) |
         bits_of_bytes(load_words<Lanes>(quants.high + lane), 2 * four, 2)
             << 4u;
}

template <int Lanes, int Inputs>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Int4<Inputs> &block,
                                     int unit, int four, int lane) {
  return four_bits<Lanes>(block.low[unit], four, lane);
}
template <int Lanes>
BATON_INLINE WordsOf<Lanes> bytes_of(const blocks::Int8_G64 &block, int unit,
                                     int four, int lane) {
  return load_words<Lanes>(block.quants[8 * unit + four] + lane);
}

/// Whether bytes have a sign; then no number is added to a weight.
template <typename Block> constexpr bool has_sign = false;
template <> inline constexpr bool has_sign<blocks::Q8_0> = true;
template <> inline constexpr bool has_sign<blocks::Int8_G64> = true;

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_BYTE_BLOCKS_H
