//===- AssemblyKernels.cpp - bodies with constant shapes, to be read ------===//
//
// Compiled for a fixed CPU exactly as a program is; check_assembly.py looks at
// the innermost loops of these functions.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/registers.h"
#include "codegen/cpu/library/training.h"

// As code generation answers it (codegen/cpu/MachineBodies.cpp).
extern "C" int32_t baton_has_many_registers() {
#ifdef __AVX512VL__
  return 1;
#else
  return 0;
#endif
}

#define LINEAR(name, body, weight, rows)                                       \
  extern "C" void name(float *out, const float *x, const weight *panels) {     \
    body(out, 2048, x, 2048, panels, nullptr, nullptr, 0, rows, 2048, 64,      \
         BATON_ACTIVATION_NONE);                                               \
  }

LINEAR(linear_f32_rows_48, baton_task_linear_f32, float, 48)
LINEAR(linear_bf16_rows_48, baton_task_linear_bf16, uint16_t, 48)
LINEAR(linear_f16_rows_48, baton_task_linear_f16, uint16_t, 48)
LINEAR(linear_f32_rows_1, baton_task_linear_f32, float, 1)
LINEAR(linear_bf16_rows_6, baton_task_linear_bf16, uint16_t, 6)

extern "C" void product(float *out, const float *a, const float *b,
                        float *scratch) {
  baton_task_product(out, 2048, a, 2048, 1, b, 1, 2048, nullptr, nullptr, 0,
                     256, 256, 768, scratch);
}

extern "C" void product_gradient(float *out, const float *a, const float *b,
                                 const int32_t *accumulate, float *scratch) {
  baton_task_product_gradient(out, 2048, a, 1, 2048, b, 2048, 1, nullptr, 256,
                              256, 768, accumulate, scratch);
}

extern "C" float fma_probe(int64_t iterations) {
  return baton_task_fma_probe(iterations);
}
