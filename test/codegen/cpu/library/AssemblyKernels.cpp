//===- AssemblyKernels.cpp - bodies with constant shapes, to be read ------===//
//
// Compiled for a fixed CPU exactly as a program is; check_assembly.py looks at
// the innermost loops of these functions.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"

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

extern "C" float fma_probe(int64_t iterations) {
  return baton_task_fma_probe(iterations);
}
