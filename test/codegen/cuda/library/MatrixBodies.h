//===- MatrixBodies.h - linears on tensor cores, emulated -----------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBODIES_H

#include "codegen/cuda/library/matrix_shape.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace baton::test {

/// Parameters of the body behind `shared`.
struct MatrixLinear {
  float *out;
  int64_t out_stride;
  const float *x;
  int64_t x_stride;
  const uint16_t *panels;
  const float *bias, *residual;
  int64_t residual_stride;
  int64_t rows, k, columns;
  int32_t activation;
};
struct MatrixGatedLinear {
  float *out;
  int64_t out_stride;
  const float *x;
  int64_t x_stride;
  const uint16_t *panels;
  const float *bias_gate, *bias_up;
  int64_t rows, k, columns;
  int32_t activation;
};

/// Both bodies for one shape. A body is a thread's part.
struct MatrixBodies {
  BatonMatrixShape shape;
  void (*linear)(void *arguments);
  void (*gated_linear)(void *arguments);

  /// By one block, where Relocation.h says; in the emulation its threads take
  /// turns as `seed` says.
  void run(MatrixLinear call, uint64_t seed = 0) const;
  void run(MatrixGatedLinear call, uint64_t seed = 0) const;

  /// Whether bodies run in the emulation, or there is a kernel of this shape
  /// where they run.
  bool can_run() const;

private:
  /// CompiledBodies.cu's name of a body.
  std::string kernel(const char *body) const;
};

/// For GoogleTest.
void PrintTo(const MatrixBodies &bodies, std::ostream *os);

/// Of several shapes, by warps and by warpgroups.
const std::vector<MatrixBodies> &matrix_bodies();

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBODIES_H
