//===- CompiledBodies.cu - a kernel per body ------------------------------===//
//
// What ptxas says of the bodies with nothing known of their arguments: that
// they compile, and that they do not spill.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/library/attention_gradient_matrix.h"
#include "codegen/cuda/library/attention_matrix.h"
#include "codegen/cuda/library/library.h"
#include "codegen/cuda/library/sequence_attention_matrix.h"
#include "codegen/cuda/library/training.h"
#include "test/codegen/cuda/library/matrix_blocks_linears.h"
#include "test/codegen/cuda/library/stream_blocks_linears.h"
#include "test/codegen/cuda/library/stream_linears.h"

/// Arguments out of memory, each in 8 bytes.
struct Arguments {
  const uint64_t *next;

  template <typename T> __device__ T take() {
    return *reinterpret_cast<const T *>(next++);
  }
};

template <auto Body> struct Call;
template <typename... Parameters, void (*Body)(Parameters...)>
struct Call<Body> {
  /// Braces keep the order.
  struct Run {
    __device__ Run(Parameters... arguments) { Body(arguments...); }
  };
  static __device__ void run(const uint64_t *memory) {
    Arguments arguments{memory};
    Run{arguments.take<Parameters>()...};
  }
};

/// The same for bodies whose first parameter is the block's shared memory.
template <auto Body> struct SharedCall;
template <typename... Parameters, void (*Body)(unsigned char *, Parameters...)>
struct SharedCall<Body> {
  struct Run {
    __device__ Run(unsigned char *shared, Parameters... arguments) {
      Body(shared, arguments...);
    }
  };
  static __device__ void run(const uint64_t *memory) {
    BATON_DYNAMIC_SHARED(shared);
    Arguments arguments{memory};
    Run{shared, arguments.take<Parameters>()...};
  }
};

#define BATON_KERNEL(name, ...)                                                \
  extern "C" __global__ void __launch_bounds__(256)                            \
      kernel_##name(const uint64_t *memory) {                                  \
    Call<__VA_ARGS__>::run(memory);                                            \
  }
#define BATON_BODY(name) BATON_KERNEL(name, name)
#include "codegen/bodies/Functions.inc"

BATON_KERNEL(staged_product, baton_staged_product<256>)
BATON_KERNEL(staged_product_gradient, baton_staged_product_gradient<256>)
BATON_KERNEL(staged_product_bf16, baton_staged_product_bf16<256>)
BATON_KERNEL(staged_product_gradient_f16,
             baton_staged_product_gradient_f16<256>)

// On tensor cores, in the largest tiles that a target has, by names that say
// architecture and tile; MatrixBodies.cpp and ProductMatrixBodies.cpp ask for
// them.

#define BATON_JOINED(name, architecture, tile) name##_##architecture##_##tile
#define BATON_NAMED(name, architecture, tile)                                  \
  BATON_JOINED(name, architecture, tile)
#define BATON_SHARED_KERNEL(name, ...)                                         \
  extern "C" __global__ void __launch_bounds__(256)                            \
      name(const uint64_t *memory) {                                           \
    SharedCall<__VA_ARGS__>::run(memory);                                      \
  }
#define BATON_MATRIX_KERNEL(name, columns)                                     \
  BATON_SHARED_KERNEL(                                                         \
      BATON_NAMED(kernel_matrix_##name, BATON_ARCHITECTURE, 128x##columns),    \
      baton_matrix_##name<256, 128, columns>)
// A tile of few rows is one of warps.
#define BATON_FEW_ROWS_KERNEL(name)                                            \
  BATON_SHARED_KERNEL(BATON_NAMED(kernel_matrix_##name, 80, 16x32),            \
                      baton_matrix_##name<256, 16, 32>)

BATON_MATRIX_KERNEL(linear_bf16, 128)
BATON_MATRIX_KERNEL(gated_linear_bf16, 128)
BATON_FEW_ROWS_KERNEL(linear_bf16)
BATON_FEW_ROWS_KERNEL(gated_linear_bf16)
BATON_MATRIX_KERNEL(product_bf16, 128)
BATON_MATRIX_KERNEL(product_gradient_bf16, 128)
BATON_MATRIX_KERNEL(product_f16, 128)
BATON_MATRIX_KERNEL(product_gradient_f16, 128)
#if BATON_ARCHITECTURE >= 90
BATON_MATRIX_KERNEL(product_bf16, 256)
BATON_MATRIX_KERNEL(product_gradient_bf16, 256)
BATON_MATRIX_KERNEL(product_f16, 256)
BATON_MATRIX_KERNEL(product_gradient_f16, 256)
#endif

// Formats with each kind of number and of unit; MatrixBlocksBodies.cpp asks for
// them.
#define BATON_BLOCKS_KERNEL(name, formats)                                     \
  BATON_SHARED_KERNEL(                                                         \
      BATON_NAMED(kernel_matrix_blocks_##name, BATON_ARCHITECTURE, 128x128),   \
      baton::test::linear_of_blocks<formats, 256, 128, 128>)
#define BATON_INTEGERS_KERNEL(name, formats)                                   \
  BATON_SHARED_KERNEL(                                                         \
      BATON_NAMED(kernel_matrix_integers_##name, 80, 128x128),                 \
      baton::test::integer_linear_of_blocks<formats, 256, 128, 128>)

BATON_BLOCKS_KERNEL(q4_k, 1u << baton::blocks::q4_k)
BATON_BLOCKS_KERNEL(q6_k, 1u << baton::blocks::q6_k)
BATON_BLOCKS_KERNEL(nf4, 1u << baton::blocks::nf4)
BATON_BLOCKS_KERNEL(q4_k_f16_bf16_f32,
                    1u << baton::blocks::q4_k | baton::test::plain_formats)
BATON_INTEGERS_KERNEL(q4_k, 1u << baton::blocks::q4_k)
BATON_INTEGERS_KERNEL(q6_k, 1u << baton::blocks::q6_k)
BATON_SHARED_KERNEL(
    BATON_NAMED(kernel_matrix_blocks_q4_k, 80, 16x32),
    baton::test::linear_of_blocks<1u << baton::blocks::q4_k, 256, 16, 32>)
BATON_SHARED_KERNEL(BATON_NAMED(kernel_matrix_integers_q4_k, 80, 16x32),
                    baton::test::integer_linear_of_blocks<
                        1u << baton::blocks::q4_k, 256, 16, 32>)
BATON_SHARED_KERNEL(kernel_matrix_partly_integers,
                    baton::test::partly_integer_linear_of_blocks<
                        1u << baton::blocks::q4_k | baton::test::plain_formats,
                        256, 128, 128, 80>)

BATON_SHARED_KERNEL(kernel_stream_linear, baton::test::stream_linear<256>)
BATON_SHARED_KERNEL(kernel_stream_gated_linear,
                    baton::test::stream_gated_linear<256>)

// As StreamBlocksBodies.cpp asks for them.
#define BATON_STREAM_KERNEL(name, format, of_bytes)                            \
  BATON_SHARED_KERNEL(                                                         \
      kernel_stream_##name,                                                    \
      baton::test::stream_blocks<1u << baton::blocks::format,                  \
                                 1u << baton::blocks::format, of_bytes, 256>)
BATON_STREAM_KERNEL(blocks_q4_k, q4_k, false)
BATON_STREAM_KERNEL(blocks_q6_k, q6_k, false)
BATON_STREAM_KERNEL(integers_q4_k, q4_k, true)

// Attention on tensor cores, by names that say the dimensions.

/// In all layouts of keys and values, which the library's own with constant
/// dimensions is not.
template <int HeadDim, int ValueDim>
static __device__ __forceinline__ void
attention(unsigned char *shared, float *out, int64_t out_stride, const float *q,
          int64_t q_stride, const float *keys, int64_t key_stride,
          const float *values, int64_t value_stride, int64_t rows,
          int64_t position, int64_t group, int64_t, int64_t, float scale,
          float softcap, int64_t window, const float *gate, int64_t gate_stride,
          int64_t gate_width, const float *sinks, float *) {
  constexpr int dim = HeadDim > ValueDim ? HeadDim : ValueDim;
  baton::cuda::matrix_attention<256,
                                (dim <= 64    ? 64
                                 : dim <= 128 ? 128
                                              : 256),
                                baton::cuda::BFloat16Operands>(
      shared, out, out_stride, q, q_stride, keys, key_stride, values,
      value_stride, rows, position, group, HeadDim, ValueDim, scale, softcap,
      window, gate, gate_stride, gate_width, sinks);
}

#define BATON_ATTENTION_KERNEL(head_dim, value_dim)                            \
  BATON_SHARED_KERNEL(kernel_matrix_attention_bf16_##head_dim##x##value_dim,   \
                      attention<head_dim, value_dim>)

BATON_ATTENTION_KERNEL(16, 32)
BATON_ATTENTION_KERNEL(64, 64)
BATON_ATTENTION_KERNEL(128, 128)

#define BATON_SEQUENCE_KERNELS(type, operands, head_dim, value_dim)                 \
  BATON_SHARED_KERNEL(                                                              \
      kernel_matrix_sequence_attention_##type##_##head_dim##x##value_dim,           \
      baton_matrix_sequence_attention<256, head_dim, value_dim,                     \
                                      baton::cuda::operands>)                       \
  BATON_SHARED_KERNEL(                                                              \
      kernel_matrix_attention_query_gradient_##type##_##head_dim##x##value_dim,     \
      baton_matrix_attention_query_gradient<256, head_dim, value_dim,               \
                                            baton::cuda::operands>)                 \
  BATON_SHARED_KERNEL(                                                              \
      kernel_matrix_attention_key_value_gradient_##type##_##head_dim##x##value_dim, \
      baton_matrix_attention_key_value_gradient<256, head_dim, value_dim,           \
                                                baton::cuda::operands>)

BATON_SEQUENCE_KERNELS(bf16, BFloat16Operands, 32, 48)
BATON_SEQUENCE_KERNELS(f16, Float16Operands, 32, 48)
BATON_SEQUENCE_KERNELS(f16, Float16Operands, 16, 16)
BATON_SEQUENCE_KERNELS(bf16, BFloat16Operands, 64, 64)
BATON_SEQUENCE_KERNELS(f16, Float16Operands, 96, 96)
