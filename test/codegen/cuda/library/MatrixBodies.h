//===- MatrixBodies.h - linears on tensor cores, emulated -----------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBODIES_H

#include "codegen/cuda/library/matrix_shape.h"
#include "runtime/cuda/emulation/engine.h"

#include <cstdint>
#include <iosfwd>
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

  /// By one block, of which threads take turns as `seed` says.
  void run(MatrixLinear arguments, uint64_t seed = 0) const {
    emulation::launch(launch(seed), linear, &arguments);
  }
  void run(MatrixGatedLinear arguments, uint64_t seed = 0) const {
    emulation::launch(launch(seed), gated_linear, &arguments);
  }

private:
  emulation::Launch launch(uint64_t seed) const {
    return {1, static_cast<unsigned>(shape.threads),
            static_cast<size_t>(shape.shared_bytes()), seed};
  }
};

/// For GoogleTest.
void PrintTo(const MatrixBodies &bodies, std::ostream *os);

/// Of several shapes, by warps and by warpgroups.
const std::vector<MatrixBodies> &matrix_bodies();

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBODIES_H
