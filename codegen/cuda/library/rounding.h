//===- rounding.h - what products see of their operands -------------------===//
//
// As codegen/cpu/library/rounding.h: a product in a 16-bit type rounds both
// sides to it and sums in F32.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ROUNDING_H
#define BATON_CODEGEN_CUDA_LIBRARY_ROUNDING_H

#include "codegen/cuda/library/body.h"

namespace baton::cuda {

struct Unrounded {
  static __device__ __forceinline__ float round(float value) { return value; }
};

struct ToBFloat16 {
  static __device__ __forceinline__ float round(float value) {
    return from_bfloat(to_bfloat(value));
  }
};

/// Infinity beyond 65504.
struct ToFloat16 {
  static __device__ __forceinline__ float round(float value) {
    return from_half(to_half(value));
  }
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_ROUNDING_H
