//===- numbers.h - what tensor cores multiply -----------------------------===//

#ifndef BATON_RUNTIME_CUDA_EMULATION_NUMBERS_H
#define BATON_RUNTIME_CUDA_EMULATION_NUMBERS_H

#include <stdint.h>

namespace baton::emulation {

/// Types of 16 bits.
enum class Numbers { bf16, f16 };

inline double value_of(Numbers numbers, uint32_t bits) {
  if (numbers == Numbers::bf16)
    return __builtin_bit_cast(float, bits << 16);
  // Subnormal numbers too: the power of two makes them normal.
  float magnitude = __builtin_bit_cast(float, (bits & 0x7fff) << 13) * 0x1p112f;
  if ((bits & 0x7c00) == 0x7c00)
    magnitude = __builtin_bit_cast(float, 0x7f800000 | (bits & 0x3ff) << 13);
  return bits & 0x8000 ? -magnitude : magnitude;
}

} // namespace baton::emulation

#endif // BATON_RUNTIME_CUDA_EMULATION_NUMBERS_H
