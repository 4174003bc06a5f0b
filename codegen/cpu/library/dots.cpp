//===- dots.cpp - sums of products of short numbers -----------------------===//

#include "codegen/cpu/library/dots.h"

#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

namespace {

typedef uint32_t Words __attribute__((ext_vector_type(dot_lanes)));
typedef int32_t Integers __attribute__((ext_vector_type(dot_lanes)));

/// Byte `place` of each, with its sign.
BATON_INLINE Integers byte_of(Words words, int place) {
  return (Integers)(words << uint32_t(24 - 8 * place)) >> 24;
}

/// Unsigned weights are less than 128: their bytes have the same sign either
/// way.
BATON_INLINE Integers products(const uint32_t *weights, uint32_t x) {
  Words words;
  __builtin_memcpy(&words, weights, sizeof words);
  Integers sum(0);
  BATON_UNROLL
  for (int place = 0; place < 4; ++place)
    sum += byte_of(words, place) * byte_of(Words(x), place);
  return sum;
}

BATON_INLINE void add(int32_t *sums, Integers more) {
  Integers before;
  __builtin_memcpy(&before, sums, sizeof before);
  before += more;
  __builtin_memcpy(sums, &before, sizeof before);
}

typedef float PairFloats __attribute__((ext_vector_type(wide_dot_lanes)));
typedef double PairDoubles __attribute__((ext_vector_type(wide_dot_lanes)));
typedef uint32_t PairWords __attribute__((ext_vector_type(wide_dot_lanes)));

/// Denormal numbers as zeros.
BATON_INLINE PairWords without_denormals(PairWords bits) {
  return (bits & 0x7f800000) != 0 ? bits : bits & 0x80000000;
}

BATON_INLINE PairDoubles widened(PairWords bits) {
  return __builtin_convertvector(
      __builtin_bit_cast(PairFloats, without_denormals(bits)), PairDoubles);
}

/// A sum as F32. In F64 it was rounded to more than twice the bits of an F32,
/// so that rounding again changes nothing. What is less than halfway from
/// 2^-126 to the F32 below it, if there were one, is 0.
BATON_INLINE PairWords narrowed(PairDoubles sum) {
  typedef int64_t Mask __attribute__((ext_vector_type(wide_dot_lanes)));
  const Mask is_zero =
      __builtin_elementwise_abs(sum) < PairDoubles(0x1p-126 - 0x1p-151);
  const PairWords bits =
      __builtin_bit_cast(PairWords, __builtin_convertvector(sum, PairFloats));
  return __builtin_convertvector(is_zero, PairWords) != 0 ? bits & 0x80000000
                                                          : bits;
}

/// sums + a b, of which the product is exact in F64.
BATON_INLINE PairWords add_product(PairWords sums, PairWords a, PairWords b) {
  return narrowed(widened(sums) + widened(a) * widened(b));
}

BATON_INLINE PairWords load_words(const float *place) {
  PairWords words;
  __builtin_memcpy(&words, place, sizeof words);
  return words;
}

/// BF16 numbers as F32.
BATON_INLINE PairWords load_halves(const uint16_t *place) {
  typedef uint16_t Halves __attribute__((ext_vector_type(wide_dot_lanes)));
  Halves halves;
  __builtin_memcpy(&halves, place, sizeof halves);
  return __builtin_convertvector(halves, PairWords) << 16;
}

} // namespace

// Not inlined before code generation has chosen their bodies.

extern "C" __attribute__((noinline)) void
baton_dots_unsigned(int32_t *sums, const uint32_t *weights, uint32_t first,
                    uint32_t second) {
  add(sums, products(weights, first) + products(weights + dot_lanes, second));
}

extern "C" __attribute__((noinline)) void
baton_dots_signed(int32_t *sums, const uint32_t *weights, uint32_t x) {
  add(sums, products(weights, x));
}

#ifndef BATON_HAS_WIDE_DOTS
#define BATON_HAS_WIDE_DOTS 0
#endif
extern "C" __attribute__((noinline)) int32_t baton_has_wide_dots() {
  return BATON_HAS_WIDE_DOTS;
}

extern "C" __attribute__((noinline)) void
baton_dots_wide(int32_t *sums, const uint32_t *a, const uint32_t *b) {
  for (int lane = 0; lane < wide_dot_lanes; ++lane)
    for (int place = 0; place < 4; ++place)
      sums[lane] += static_cast<uint8_t>(a[lane] >> (8 * place)) *
                    static_cast<int8_t>(b[lane] >> (8 * place));
}

#ifndef BATON_HAS_BYTE_LOOKUPS
#define BATON_HAS_BYTE_LOOKUPS 0
#endif
extern "C" __attribute__((noinline)) int32_t baton_has_byte_lookups() {
  return BATON_HAS_BYTE_LOOKUPS;
}

extern "C" __attribute__((noinline)) void
baton_look_up_bytes(uint8_t *bytes, const uint8_t *table) {
  for (int i = 0; i < dot_bytes; ++i)
    bytes[i] = table[bytes[i]];
}

#ifndef BATON_HAS_PAIR_DOTS
#define BATON_HAS_PAIR_DOTS 0
#endif
extern "C" __attribute__((noinline)) int32_t baton_has_pair_dots() {
  return BATON_HAS_PAIR_DOTS;
}

extern "C" __attribute__((noinline)) void
baton_dots_pairs(float *sums, const uint16_t *weights, uint32_t x) {
  PairWords sum = load_words(sums);
  sum = add_product(sum, load_halves(weights + wide_dot_lanes),
                    PairWords(x & 0xffff0000));
  sum = add_product(sum, load_halves(weights), PairWords(x << 16));
  __builtin_memcpy(sums, &sum, sizeof sum);
}

extern "C" __attribute__((noinline)) void
baton_chain_pairs(float *even, float *odd, const uint16_t *weights,
                  uint32_t x) {
  const PairWords first =
      add_product(load_words(even), load_halves(weights), PairWords(x << 16));
  const PairWords second =
      add_product(load_words(odd), load_halves(weights + wide_dot_lanes),
                  PairWords(x & 0xffff0000));
  __builtin_memcpy(even, &first, sizeof first);
  __builtin_memcpy(odd, &second, sizeof second);
}

extern "C" __attribute__((noinline)) void
baton_join_chains(float *sums, const float *even, const float *odd) {
  const PairWords joined =
      narrowed(widened(load_words(even)) + widened(load_words(odd)));
  const PairWords sum = narrowed(widened(load_words(sums)) + widened(joined));
  __builtin_memcpy(sums, &sum, sizeof sum);
}

extern "C" __attribute__((noinline)) uint32_t baton_begin_pairs() { return 0; }
extern "C" __attribute__((noinline)) void baton_end_pairs(uint32_t) {}
extern "C" __attribute__((noinline)) uint32_t baton_begin_chains() { return 0; }
extern "C" __attribute__((noinline)) void baton_end_chains(uint32_t) {}
