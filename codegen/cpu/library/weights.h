//===- weights.h - storage types of weights -------------------------------===//
//
// How a stored weight becomes Real. Every conversion is exact.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_WEIGHTS_H
#define BATON_CODEGEN_CPU_LIBRARY_WEIGHTS_H

#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// The upper half of an F32.
struct BFloat16 {
  uint16_t bits;
};

/// IEEE binary16.
struct Float16 {
  uint16_t bits;
};

/// IEEE binary32, also where Real is wider.
struct Float32 {
  float number;
};

BATON_INLINE Vector load_weights(const Real *source) { return load(source); }

BATON_INLINE Vector load_weights(const BFloat16 *source) {
  typedef uint16_t Bits __attribute__((ext_vector_type(16)));
  typedef uint32_t WideBits __attribute__((ext_vector_type(16)));
  Bits bits;
  __builtin_memcpy(&bits, source, sizeof bits);
  typedef float Floats __attribute__((ext_vector_type(16)));
  return __builtin_convertvector(
      __builtin_bit_cast(Floats, __builtin_convertvector(bits, WideBits) << 16),
      Vector);
}

BATON_INLINE Vector load_weights(const Float16 *source) {
  typedef _Float16 Halves __attribute__((ext_vector_type(16)));
  Halves halves;
  __builtin_memcpy(&halves, source, sizeof halves);
  return __builtin_convertvector(halves, Vector);
}

BATON_INLINE Vector load_weights(const Float32 *source) {
  typedef float Floats __attribute__((ext_vector_type(16)));
  Floats floats;
  __builtin_memcpy(&floats, source, sizeof floats);
  return __builtin_convertvector(floats, Vector);
}

/// The first `count` (1 ..= 16) weights; the other lanes are zero.
template <typename Weight>
BATON_INLINE Vector load_weights(const Weight *source, int64_t count) {
  if (count == lanes)
    return load_weights(source);
  Weight padded[lanes] = {};
  __builtin_memcpy(padded, source, count * sizeof(Weight));
  return load_weights(padded);
}

/// How much of a panel [k][16] some of its depths take, in elements.
template <typename Weight> struct PanelSize {
  /// Depths that go together.
  static constexpr int64_t inputs = 1;
  BATON_INLINE static int64_t of(int64_t depth) { return depth * lanes; }
};

/// Whether elements come in blocks with scales of their own; see blocks.h.
template <typename Weight> constexpr bool is_quantised = false;

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_WEIGHTS_H
