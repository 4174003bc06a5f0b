//===- cublaslt.h - around products that cuBLASLt computes ----------------===//
//
// cuBLASLt multiplies plain matrices of one type, by launches of its own. A
// kernel before lays out both sides: activations are rounded to BF16, and
// weights come out of their panels of 16 columns. The tasks behind take the
// product and do what a linear does besides: bias, activation, gate, residual.
//
// Numeric contract: as matrix.h, but that the order of a sum is cuBLASLt's. It
// is the same every time, and another one for another number of rows.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_CUBLASLT_H
#define BATON_CODEGEN_CUDA_LIBRARY_CUBLASLT_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/body.h"
#include "codegen/cuda/library/elements.h"
#include "runtime/device_program.h"

namespace baton::cuda {

/// Eight BF16 weights.
struct alignas(16) WeightOctet {
  uint32_t pairs[4];
};

/// rounded[rows][depth] = x, with zeros behind k; rows are dealt out to blocks.
BATON_DEVICE void round_activations(uint16_t *rounded, const float *x,
                                    int64_t x_stride, int64_t rows, int64_t k,
                                    int64_t depth) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    for (int64_t i = baton_thread(); i < depth; i += baton_threads())
      rounded[row * depth + i] =
          i < k ? to_bfloat(x[row * x_stride + i]) : uint16_t(0);
}

/// unpacked[depth][columns] = panels[columns / 16][k][16], with zeros behind k.
/// A block has some depths of a panel at a time, a thread eight columns of one.
BATON_DEVICE void unpack_panels(uint16_t *unpacked, const uint16_t *panels,
                                int64_t k, int64_t depth, int64_t columns) {
  constexpr int64_t depths_at_once = 512;
  const int64_t pieces = (depth + depths_at_once - 1) / depths_at_once;
  const auto *source = reinterpret_cast<const WeightOctet *>(panels);
  auto *target = reinterpret_cast<WeightOctet *>(unpacked);
  for (int64_t piece = blockIdx.x; piece < columns / 16 * pieces;
       piece += gridDim.x) {
    const int64_t panel = piece / pieces;
    const int64_t first = piece % pieces * depths_at_once;
    const int64_t left = depth - first;
    const int64_t octets = (left < depths_at_once ? left : depths_at_once) * 2;
    for (int64_t i = baton_thread(); i < octets; i += baton_threads()) {
      const int64_t at = first + i / 2;
      target[at * (columns / 8) + panel * 2 + i % 2] =
          at < k ? source[(panel * k + at) * 2 + i % 2] : WeightOctet{};
    }
  }
}

} // namespace baton::cuda

/// Both sides of a product of [rows, k] and k weights of `columns` columns, as
/// cuBLASLt reads them. All blocks of a grid.
BATON_DEVICE void baton_lay_out_product(const BatonDevice *device,
                                        const float *x, int64_t x_stride,
                                        const uint16_t *panels, int64_t rows,
                                        int64_t k, int64_t depth,
                                        int64_t columns) {
  baton::cuda::round_activations(device->rounded_activations, x, x_stride, rows,
                                 k, depth);
  baton::cuda::unpack_panels(device->unpacked_weights, panels, k, depth,
                             columns);
}

// The task library's bodies of the same names, whose product is there: that of
// the tile begins at `product`.

BATON_CALLED void baton_finish_linear_bf16(
    const float *product, int64_t product_stride, float *out,
    int64_t out_stride, const float *, int64_t, const uint16_t *,
    const float *bias, const float *residual, int64_t residual_stride,
    int64_t rows, int64_t, int64_t columns, int32_t activation) {
  baton::cuda::fill_rows(
      out, out_stride, rows, columns, [&](int64_t row, int64_t column) {
        const float sum = product[row * product_stride + column];
        const float value =
            baton::cuda::activate(bias ? sum + bias[column] : sum, activation);
        return residual ? value + residual[row * residual_stride + column]
                        : value;
      });
}

/// Panels of gate and up alternate.
BATON_CALLED void baton_finish_gated_linear_bf16(
    const float *product, int64_t product_stride, float *out,
    int64_t out_stride, const float *, int64_t, const uint16_t *,
    const float *bias_gate, const float *bias_up, int64_t rows, int64_t,
    int64_t columns, int32_t activation) {
  baton::cuda::fill_rows(
      out, out_stride, rows, columns, [&](int64_t row, int64_t column) {
        const float *const sums =
            product + row * product_stride + column / 16 * 32 + column % 16;
        const float gate = bias_gate ? sums[0] + bias_gate[column] : sums[0];
        const float up = bias_up ? sums[16] + bias_up[column] : sums[16];
        return baton::cuda::activate_gated(gate, up, activation);
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_CUBLASLT_H
