//===- weights.h - storage types of weights -------------------------------===//
//
// How a stored weight becomes F32. Every conversion is exact.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_WEIGHTS_H
#define BATON_CODEGEN_CUDA_LIBRARY_WEIGHTS_H

#include "codegen/cuda/library/device.h"

namespace baton::cuda {

/// The upper half of an F32.
struct BFloat16 {
  uint16_t bits;
};

/// IEEE binary16.
struct Float16 {
  uint16_t bits;
};

BATON_DEVICE float load_weight(const float *source) { return *source; }

BATON_DEVICE float load_weight(const BFloat16 *source) {
  return __uint_as_float(static_cast<uint32_t>(source->bits) << 16);
}

BATON_DEVICE float load_weight(const Float16 *source) {
  return baton_half_to_float(source->bits);
}

/// The types by which the contract passes them.
BATON_DEVICE const BFloat16 *as_bfloat16(const uint16_t *weights) {
  return reinterpret_cast<const BFloat16 *>(weights);
}
BATON_DEVICE const Float16 *as_float16(const uint16_t *weights) {
  return reinterpret_cast<const Float16 *>(weights);
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_WEIGHTS_H
