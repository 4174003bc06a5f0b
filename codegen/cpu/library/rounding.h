//===- rounding.h - what products see of their operands -------------------===//
//
// A product in a 16-bit type rounds both sides to it, to nearest and ties to
// even, as hardware that multiplies such matrices would read them; products of
// two such numbers are exact in F32, and sums are F32.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_ROUNDING_H
#define BATON_CODEGEN_CPU_LIBRARY_ROUNDING_H

#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// Operands as they are.
struct Unrounded {};

struct ToBFloat16 {
  static BATON_INLINE Vector round(Vector value) {
    typedef float Floats __attribute__((ext_vector_type(16)));
    typedef uint32_t Bits __attribute__((ext_vector_type(16)));
    Bits bits =
        __builtin_bit_cast(Bits, __builtin_convertvector(value, Floats));
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    const Vector rounded =
        __builtin_convertvector(__builtin_bit_cast(Floats, bits), Vector);
    // Rounding would carry a NaN's bits into infinity, or zero.
    // NOLINTNEXTLINE(misc-redundant-expression)
    return value == value ? rounded : value;
  }
};

/// Infinity beyond 65504.
struct ToFloat16 {
  static BATON_INLINE Vector round(Vector value) {
    typedef _Float16 Halves __attribute__((ext_vector_type(16)));
    return __builtin_convertvector(__builtin_convertvector(value, Halves),
                                   Vector);
  }
};

/// Rounds `count` elements in place.
template <typename Rounding>
BATON_INLINE void round_all(Real *__restrict values, int64_t count) {
  for_each_vector(count, [&](int64_t first, int64_t size) BATON_INLINE_LAMBDA {
    store(values + first, Rounding::round(load(values + first, size)), size);
  });
}
template <> BATON_INLINE void round_all<Unrounded>(Real *__restrict, int64_t) {}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_ROUNDING_H
