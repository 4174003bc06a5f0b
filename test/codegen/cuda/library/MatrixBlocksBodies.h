//===- MatrixBlocksBodies.h - products of blocks on tensor cores, emulated ===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBLOCKSBODIES_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBLOCKSBODIES_H

#include "codegen/cuda/library/matrix_blocks_shape.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace baton::test {

/// Parameters of the body behind `shared`.
struct BlocksLinear {
  float *out;
  int64_t out_stride;
  const float *x;
  int64_t x_stride;
  const int8_t *panels;
  const float *bias, *bias_up, *residual;
  int64_t residual_stride;
  int64_t rows, k, columns;
  int32_t activation;
  bool gated;
};

/// The body of a format, or of mixed panels, for one tile. A body is a thread's
/// part.
struct MatrixBlocksBody {
  /// As runtime/weight_formats.h names it, or a list.
  std::string formats;
  BatonBlocksMatrixShape shape;
  /// Whether rows are of 8 bits.
  bool of_integers;
  void (*body)(void *arguments);

  int64_t shared_bytes() const {
    return of_integers ? shape.integer_shared_bytes() : shape.shared_bytes();
  }
  /// By one block, as MatrixBodies' are.
  void run(BlocksLinear call, uint64_t seed = 0) const;
  bool can_run() const;
  /// CompiledBodies.cu's name of the body.
  std::string kernel() const;
};

/// For GoogleTest.
void PrintTo(const MatrixBlocksBody &body, std::ostream *os);

/// Every format by warps, some by warpgroups, and of bytes.
const std::vector<MatrixBlocksBody> &matrix_blocks_bodies();

/// Parameters of the bodies behind `shared`.
struct PartlyIntegerLinear {
  float *out;
  int64_t out_stride;
  const float *x;
  int64_t x_stride;
  const float *exact;
  int64_t exact_stride;
  const int8_t *panels;
  const float *bias, *residual;
  int64_t residual_stride;
  int64_t rows, k, columns;
  int32_t activation;
};

/// Both bodies of a product of bytes beside which some panels are numbers as
/// they are, which they multiply by `exact`.
struct PartlyMatrixBodies {
  std::string formats;
  BatonMatrixShape tile;
  int64_t shared_bytes;
  void (*bodies)(void *arguments);

  /// By one block, emulated.
  void run(PartlyIntegerLinear call, uint64_t seed) const;
};

void PrintTo(const PartlyMatrixBodies &bodies, std::ostream *os);

const std::vector<PartlyMatrixBodies> &partly_matrix_bodies();

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIXBLOCKSBODIES_H
