//===- vector.h - sixteen lanes that fit every x86-64 ---------------------===//
//
// The vector type of all task bodies. The intermediate representation stays
// neutral: sixteen floats become four SSE, two AVX or one AVX-512 register when
// the function is given its target, and no lane's arithmetic changes with it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_VECTOR_H
#define BATON_CODEGEN_CPU_LIBRARY_VECTOR_H

#include "codegen/cpu/library/library.h"

#include <cstdint>

/// A helper that disappears into its callers: bodies are specialised by
/// inlining them with constant shapes, which must reach the innermost loop.
#define BATON_INLINE inline __attribute__((always_inline))
#define BATON_INLINE_LAMBDA __attribute__((always_inline))
/// An entry point of the library.
#define BATON_TASK extern "C" __attribute__((always_inline))
/// For loops over lanes, rows of a register tile and the like: their arrays
/// live in registers only if the loop is gone.
#define BATON_UNROLL _Pragma("clang loop unroll(full)")

namespace baton::cpu {

constexpr int64_t lanes = 16;

/// As wide as Real, for masks.
template <typename RealT> struct IntegerOf {
  typedef int32_t Type;
};
template <> struct IntegerOf<double> {
  typedef int64_t Type;
};
typedef IntegerOf<Real>::Type Integer;

typedef Real Vector __attribute__((ext_vector_type(16)));
typedef Integer IntegerVector __attribute__((ext_vector_type(16)));
typedef Real HalfVector __attribute__((ext_vector_type(8)));
typedef Real QuarterVector __attribute__((ext_vector_type(4)));
typedef Real PairVector __attribute__((ext_vector_type(2)));

BATON_INLINE Vector splat(Real value) { return Vector(value); }

BATON_INLINE Vector fma(Vector a, Vector b, Vector c) {
  return __builtin_elementwise_fma(a, b, c);
}

BATON_INLINE Vector load(const Real *source) {
  Vector value;
  __builtin_memcpy(&value, source, sizeof value);
  return value;
}

BATON_INLINE void store(Real *destination, Vector value) {
  __builtin_memcpy(destination, &value, sizeof value);
}

/// The first `count` (1 ..= 16) lanes; the others are zero and not touched in
/// memory.
BATON_INLINE Vector load(const Real *source, int64_t count) {
  if (count == lanes)
    return load(source);
  Vector value = splat(0.0f);
  __builtin_memcpy(&value, source, count * sizeof(Real));
  return value;
}

BATON_INLINE void store(Real *destination, Vector value, int64_t count) {
  if (count == lanes)
    return store(destination, value);
  __builtin_memcpy(destination, &value, count * sizeof(Real));
}

BATON_INLINE IntegerVector lane_indices() {
  return IntegerVector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

/// `value` with every lane from `count` on replaced by `filler`.
BATON_INLINE Vector keep_first(Vector value, int64_t count, Real filler) {
  if (count == lanes)
    return value;
  return lane_indices() < IntegerVector(static_cast<Integer>(count))
             ? value
             : splat(filler);
}

/// Not symmetric for NaN, which is harmless: every user also carries the NaN
/// itself into a sum.
BATON_INLINE Vector maximum(Vector a, Vector b) { return a > b ? a : b; }

/// The one summation tree of the library: lanes 8 apart, 4 apart, 2, 1.
BATON_INLINE Real reduce_sum(Vector value) {
  HalfVector half = value.lo + value.hi;
  QuarterVector quarter = half.lo + half.hi;
  PairVector pair = quarter.lo + quarter.hi;
  return pair.x + pair.y;
}

BATON_INLINE Real reduce_maximum(Vector value) {
  HalfVector half = value.lo > value.hi ? value.lo : value.hi;
  QuarterVector quarter = half.lo > half.hi ? half.lo : half.hi;
  PairVector pair = quarter.lo > quarter.hi ? quarter.lo : quarter.hi;
  return pair.x > pair.y ? pair.x : pair.y;
}

/// Calls body(first, count) for consecutive runs of 16 elements and a last,
/// possibly shorter one.
template <typename Body>
BATON_INLINE void for_each_vector(int64_t width, Body body) {
  int64_t first = 0;
  for (; first + lanes <= width; first += lanes)
    body(first, lanes);
  if (first < width)
    body(first, width - first);
}

BATON_INLINE void prefetch(const void *address, int64_t bytes) {
  const char *line = static_cast<const char *>(address);
  for (int64_t offset = 0; offset < bytes; offset += 64)
    __builtin_prefetch(line + offset, /*rw=*/0, /*locality=*/3);
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_VECTOR_H
