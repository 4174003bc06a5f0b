//===- CompiledMatrixAttention.cu - attention on tensor cores -------------===//
//
// What ptxas says of baton_matrix_attention with shapes that are known, as in
// generated kernels: that it does not spill.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/library/attention_matrix.h"

/// 64 query heads in groups of four; `Special` stands for a window, a cap,
/// gates and sinks.
template <int64_t HeadDim, int64_t ValueDim, bool Panels, bool Special>
__device__ __forceinline__ void
attend(float *out, const float *q, const float *keys, const float *values,
       const float *gates, int64_t rows, int64_t position) {
  BATON_DYNAMIC_SHARED(shared);
  baton_matrix_attention<256>(
      shared, out, 64 * ValueDim, q, 64 * HeadDim, keys,
      Panels ? 0 : 16 * HeadDim, values, Panels ? 0 : 16 * ValueDim, rows,
      position, 4, HeadDim, ValueDim, 0.125f, Special ? 50.0f : 0.0f,
      Special ? 4096 : 0, Special ? gates : nullptr, 64 * ValueDim,
      Special ? ValueDim : 0, Special ? gates : nullptr, nullptr);
}

#define KERNEL(name, ...)                                                      \
  extern "C" __global__ void __launch_bounds__(256)                            \
      name(float *out, const float *q, const float *keys, const float *values, \
           const float *gates, int64_t rows, int64_t position) {               \
    attend<__VA_ARGS__>(out, q, keys, values, gates, rows, position);          \
  }

KERNEL(panels_128, 128, 128, true, false)
KERNEL(panels_256, 256, 256, true, false)
KERNEL(rows_128, 128, 128, false, false)
KERNEL(rows_256, 256, 256, false, false)
KERNEL(special_128, 128, 128, true, true)
KERNEL(special_256, 256, 256, true, true)
