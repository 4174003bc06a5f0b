//===- dots.h - sums of products of short numbers, and lookups ------------===//
//
// Sums have the same bits, whatever computes them: of bytes they are exact, and
// of pairs in BF16 rounded in one order. Code generation gives these functions
// the body that the chosen CPU has instructions for
// (codegen/cpu/MachineBodies.h); what dots.cpp says is for all others. Vectors
// lie in memory, which inlining makes registers.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_DOTS_H
#define BATON_CODEGEN_CPU_LIBRARY_DOTS_H

#include <stdint.h>

namespace baton::cpu {

/// Outputs that one call has sums of.
constexpr int dot_lanes = 8;
constexpr int dot_bytes = 4 * dot_lanes;
constexpr int wide_dot_lanes = 16;
constexpr int wide_dot_bytes = 4 * wide_dot_lanes;

} // namespace baton::cpu

extern "C" {

/// sums[lane] += the products of the four bytes of weights[lane], 0 to 63, with
/// those of `first`, and of weights[8 + lane] with those of `second`, -127 to
/// 127.
void baton_dots_unsigned(int32_t *sums, const uint32_t *weights, uint32_t first,
                         uint32_t second);

/// The same of bytes with a sign, -128 to 127, and of four of them.
void baton_dots_signed(int32_t *sums, const uint32_t *weights, uint32_t x);

/// Whether one instruction computes the next function.
int32_t baton_has_wide_dots();

/// sums[lane] += the products of the four bytes of a[lane], 0 to 255, with
/// those of b[lane], -128 to 127, of 16 lanes.
void baton_dots_wide(int32_t *sums, const uint32_t *a, const uint32_t *b);

/// Whether one instruction computes the next function, and a larger table takes
/// several.
int32_t baton_has_byte_lookups();

/// bytes[i] = table[bytes[i]] of 32 bytes, each less than 16.
void baton_look_up_bytes(uint8_t *bytes, const uint8_t *table);

/// Whether one instruction computes the next function.
int32_t baton_has_pair_dots();

/// sums[lane] += the product of weights[16 + lane] with the upper half of x,
/// then that of weights[lane] with the lower one, BF16 numbers all, of 16
/// lanes. Each is one fused multiply-add in F32, to the nearest, ties to even.
/// Operands, sums among them, that are denormal are zeros of their sign, and so
/// are results that would be less than 2^-126 if exponents had no limit. That
/// is AVX512-BF16's VDPBF16PS; and x86's fused multiply-add, where MXCSR says
/// so.
void baton_dots_pairs(float *sums, const uint16_t *weights, uint32_t x);

/// Calls of the last function stand between these two. What the first returns
/// is the second's. Others' arithmetic does not: its denormal numbers may be
/// lost.
uint32_t baton_begin_pairs();
void baton_end_pairs(uint32_t state);

/// even[lane] += the product of weights[lane] with the lower half of x, and
/// odd[lane] += that of weights[16 + lane] with the upper one, as above.
void baton_chain_pairs(float *even, float *odd, const uint16_t *weights,
                       uint32_t x);

/// sums[lane] += even[lane] + odd[lane], the latter two first; numbers are as
/// above.
void baton_join_chains(float *sums, const float *even, const float *odd);

/// As baton_begin_pairs() and baton_end_pairs(), for the last two functions.
uint32_t baton_begin_chains();
void baton_end_chains(uint32_t state);
}

#endif // BATON_CODEGEN_CPU_LIBRARY_DOTS_H
