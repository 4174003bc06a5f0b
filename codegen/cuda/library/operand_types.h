//===- operand_types.h - what tensor cores multiply -----------------------===//
//
// The types of 16 bits that bodies round operands to, as template arguments:
// how two numbers are rounded, and how a warp multiplies them in registers, a
// warpgroup in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_OPERAND_TYPES_H
#define BATON_CODEGEN_CUDA_LIBRARY_OPERAND_TYPES_H

#include "codegen/cuda/library/async.h"

namespace baton::cuda {

struct BFloat16Operands {
  static __device__ __forceinline__ uint32_t pair(float lower, float upper) {
    return baton_bf16_pair(lower, upper);
  }
  static __device__ __forceinline__ void
  multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    baton_multiply_bf16(sum, a, b);
  }
  template <int Count>
  static __device__ __forceinline__ void
  multiply_shared(float (&sum)[Count], uint64_t a, uint64_t b) {
    baton_warpgroup_multiply_bf16(sum, a, b);
  }
};

/// Infinity beyond 65504.
struct Float16Operands {
  static __device__ __forceinline__ uint32_t pair(float lower, float upper) {
    return baton_f16_pair(lower, upper);
  }
  static __device__ __forceinline__ void
  multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    baton_multiply_f16(sum, a, b);
  }
  template <int Count>
  static __device__ __forceinline__ void
  multiply_shared(float (&sum)[Count], uint64_t a, uint64_t b) {
    baton_warpgroup_multiply_f16(sum, a, b);
  }
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_OPERAND_TYPES_H
