//===- dots.cpp - sums of products of bytes -------------------------------===//

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
