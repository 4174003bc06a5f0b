//===- ProductMatrixBodies.h - products of training on tensor cores -------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_PRODUCTMATRIXBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_PRODUCTMATRIXBODIES_H

#include "codegen/cuda/library/product_matrix_shape.h"
#include "runtime/cuda/emulation/engine.h"

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace baton::test {

/// Both sides of a product, as the bodies take them.
struct ProductSides {
  const float *a;
  int64_t a_row_stride, a_depth_stride;
  const float *b;
  int64_t b_depth_stride, b_column_stride;
};

/// Parameters of the bodies behind `shared`, but for the scratch.
struct MatrixProduct {
  float *out;
  int64_t out_stride;
  ProductSides sides;
  const float *bias, *residual;
  int64_t residual_stride;
  int64_t rows, columns, depth;
};
struct MatrixProductGradient {
  float *out;
  int64_t out_stride;
  ProductSides sides;
  const float *weights;
  int64_t rows, columns, depth;
  const int32_t *accumulate;
};

/// Both bodies for one shape and one type. A body is a thread's part.
struct ProductMatrixBodies {
  BatonProductMatrixShape shape;
  bool is_f16;
  void (*product)(void *arguments);
  void (*gradient)(void *arguments);

  /// By one block, of which threads take turns as `seed` says.
  void run(MatrixProduct arguments, uint64_t seed = 0) const {
    emulation::launch(launch(seed), product, &arguments);
  }
  void run(MatrixProductGradient arguments, uint64_t seed = 0) const {
    emulation::launch(launch(seed), gradient, &arguments);
  }

private:
  emulation::Launch launch(uint64_t seed) const {
    return {1, static_cast<unsigned>(shape.threads),
            static_cast<size_t>(shape.shared_bytes()), seed};
  }
};

/// For GoogleTest.
void PrintTo(const ProductMatrixBodies &bodies, std::ostream *os);

/// Of several shapes, by warps and by warpgroups, in BF16 and F16.
const std::vector<ProductMatrixBodies> &product_matrix_bodies();

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_PRODUCTMATRIXBODIES_H
