//===- CompiledSequenceMatrix.cu - attention of training, tensor cores ----===//
//
// What ptxas says of attention of sequences and its adjoints on tensor cores:
// that nothing is spilled. 32 query heads in groups of four.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/library/attention_gradient_matrix.h"
#include "codegen/cuda/library/sequence_attention_matrix.h"

struct Arguments {
  float *out, *other, *statistics;
  const float *q, *keys, *values, *dout, *delta;
  const int32_t *positions;
  int64_t row, rows, all_rows, window;
  float softcap;
};

template <int HeadDim, int ValueDim, typename Type>
__device__ __forceinline__ void forward(const Arguments &a) {
  BATON_DYNAMIC_SHARED(shared);
  baton_matrix_sequence_attention<256, HeadDim, ValueDim, Type>(
      shared, a.out, 32 * ValueDim, a.statistics, 64, a.q, 32 * HeadDim, a.keys,
      8 * HeadDim, a.values, 8 * ValueDim, a.positions, a.row, a.rows, 4,
      HeadDim, ValueDim, 0.125f, a.softcap, a.window, nullptr, nullptr);
}

template <int HeadDim, int ValueDim, typename Type>
__device__ __forceinline__ void query_gradient(const Arguments &a) {
  BATON_DYNAMIC_SHARED(shared);
  baton_matrix_attention_query_gradient<256, HeadDim, ValueDim, Type>(
      shared, a.out, 32 * HeadDim, a.dout, 32 * ValueDim, a.q, 32 * HeadDim,
      a.keys, 8 * HeadDim, a.values, 8 * ValueDim, a.delta, 32, a.statistics,
      64, a.positions, a.row, a.rows, 4, HeadDim, ValueDim, 0.125f, a.softcap,
      a.window, nullptr);
}

template <int HeadDim, int ValueDim, typename Type>
__device__ __forceinline__ void key_value_gradient(const Arguments &a) {
  BATON_DYNAMIC_SHARED(shared);
  baton_matrix_attention_key_value_gradient<256, HeadDim, ValueDim, Type>(
      shared, a.out, 8 * HeadDim, a.other, 8 * ValueDim, a.dout, 32 * ValueDim,
      a.q, 32 * HeadDim, a.keys, 8 * HeadDim, a.values, 8 * ValueDim, a.delta,
      32, a.statistics, 64, a.positions, a.row, a.rows, a.all_rows, 4, HeadDim,
      ValueDim, 0.125f, a.softcap, a.window, nullptr);
}

#define KERNELS(name, ...)                                                     \
  extern "C" __global__ void __launch_bounds__(256, 1)                         \
      forward_##name(Arguments a) {                                            \
    forward<__VA_ARGS__>(a);                                                   \
  }                                                                            \
  extern "C" __global__ void __launch_bounds__(256, 1)                         \
      query_gradient_##name(Arguments a) {                                     \
    query_gradient<__VA_ARGS__>(a);                                            \
  }                                                                            \
  extern "C" __global__ void __launch_bounds__(256, 1)                         \
      key_value_gradient_##name(Arguments a) {                                 \
    key_value_gradient<__VA_ARGS__>(a);                                        \
  }

KERNELS(64, 64, 64, baton::cuda::BFloat16Operands)
KERNELS(128, 128, 128, baton::cuda::Float16Operands)
KERNELS(256, 256, 256, baton::cuda::BFloat16Operands)
