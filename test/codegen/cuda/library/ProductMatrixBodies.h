//===- ProductMatrixBodies.h - products of training on tensor cores -------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_PRODUCTMATRIXBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_PRODUCTMATRIXBODIES_H

#include "codegen/cuda/library/product_matrix_shape.h"

#include <cstdint>
#include <iosfwd>
#include <string>
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

  /// By one block, where Relocation.h says; in the emulation its threads take
  /// turns as `seed` says.
  void run(MatrixProduct call, uint64_t seed = 0) const;
  void run(MatrixProductGradient call, uint64_t seed = 0) const;

  /// Whether bodies run in the emulation, or there is a kernel of this shape
  /// where they run.
  bool can_run() const;

private:
  /// CompiledBodies.cu's name of a body.
  std::string kernel(const char *body) const;
};

/// For GoogleTest.
void PrintTo(const ProductMatrixBodies &bodies, std::ostream *os);

/// Of several shapes, by warps and by warpgroups, in BF16 and F16.
const std::vector<ProductMatrixBodies> &product_matrix_bodies();

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_PRODUCTMATRIXBODIES_H
