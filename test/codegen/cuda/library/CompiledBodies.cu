//===- CompiledBodies.cu - a kernel per body ------------------------------===//
//
// What ptxas says of the bodies with nothing known of their arguments: that
// they compile, and that they do not spill.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/library/library.h"
#include "codegen/cuda/library/training.h"

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

#define BATON_KERNEL(name, ...)                                                \
  extern "C" __global__ void __launch_bounds__(256)                            \
      kernel_##name(const uint64_t *memory) {                                  \
    Call<__VA_ARGS__>::run(memory);                                            \
  }
#define BATON_BODY(name) BATON_KERNEL(name, name)
#define BATON_MISSING_BODY(name)
#include "bodies.inc"

BATON_KERNEL(staged_product, baton_staged_product<256>)
BATON_KERNEL(staged_product_gradient, baton_staged_product_gradient<256>)
BATON_KERNEL(staged_product_bf16, baton_staged_product_bf16<256>)
BATON_KERNEL(staged_product_gradient_f16, baton_staged_product_gradient_f16<256>)
BATON_KERNEL(matrix_linear, baton_matrix_linear_bf16<256, 128, 128>)
BATON_KERNEL(matrix_gated_linear, baton_matrix_gated_linear_bf16<256, 128, 128>)

/// As wide as a target has them.
constexpr int wide = BatonProductMatrixShape::columns_of(256, BATON_ARCHITECTURE);
BATON_KERNEL(matrix_product_bf16, baton_matrix_product_bf16<256, 128, wide>)
BATON_KERNEL(matrix_product_f16, baton_matrix_product_f16<256, 128, wide>)
BATON_KERNEL(matrix_product_gradient_bf16,
             baton_matrix_product_gradient_bf16<256, 128, wide>)
BATON_KERNEL(matrix_product_gradient_f16,
             baton_matrix_product_gradient_f16<256, 128, wide>)
BATON_KERNEL(matrix_product_narrow, baton_matrix_product_bf16<256, 128, 128>)
