//===- matrix_blocks_linears.h - products of blocks on tensor cores -------===//
//
// The bodies of codegen/cuda/library/matrix_blocks.h and matrix_integers.h with
// their operands one by one.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_LINEARS_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_LINEARS_H

#include "codegen/cuda/library/matrix_blocks.h"
#include "codegen/cuda/library/matrix_integers.h"

namespace baton::test {

/// Of one format's bit; several are those of mixed panels.
BATON_CONSTANT uint32_t format_of(uint32_t formats) {
  return (formats & (formats - 1)) != 0 ? baton::cuda::mixed_format
                                        : baton::cuda::first_format(formats);
}

template <uint32_t Formats, int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_DEVICE void
linear_of_blocks(unsigned char *shared, float *out, int64_t out_stride,
                 const float *x, int64_t x_stride, const int8_t *panels,
                 const float *bias, const float *bias_up, const float *residual,
                 int64_t residual_stride, int64_t rows, int64_t k,
                 int64_t columns, int32_t activation, bool gated) {
  baton_matrix_multiply_blocks<Formats, Threads, Rows, Columns, Architecture>(
      shared, {out, out_stride, x, x_stride, panels, bias, bias_up, residual,
               residual_stride, rows, k, columns, activation, gated,
               format_of(Formats)});
}

/// Of x that quantise_rows has made.
template <uint32_t Formats, int Threads, int Rows, int Columns>
BATON_DEVICE void integer_linear_of_blocks(
    unsigned char *shared, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const int8_t *panels, const float *bias,
    const float *bias_up, const float *residual, int64_t residual_stride,
    int64_t rows, int64_t k, int64_t columns, int32_t activation, bool gated) {
  baton_matrix_multiply_integers<Formats, Threads, Rows, Columns>(
      shared, {out, out_stride, x, x_stride, panels, bias, bias_up, residual,
               residual_stride, rows, k, columns, activation, gated,
               format_of(Formats)});
}

/// Of x that quantise_rows has made of `exact`, of panels of which some are
/// numbers as they are: the two bodies that phases hand such a call to.
template <uint32_t Formats, int Threads, int Rows, int Columns,
          int Architecture = BATON_ARCHITECTURE>
BATON_DEVICE void partly_integer_linear_of_blocks(
    unsigned char *shared, float *out, int64_t out_stride, const float *x,
    int64_t x_stride, const float *exact, int64_t exact_stride,
    const int8_t *panels, const float *bias, const float *residual,
    int64_t residual_stride, int64_t rows, int64_t k, int64_t columns,
    int32_t activation) {
  const BatonMatrixLinear integers = baton_hand_partly_integer_linear_mixed(
      out, out_stride, x, x_stride, exact, exact_stride, panels, bias, residual,
      residual_stride, rows, k, columns, activation);
  if (baton_asks_for_columns(integers))
    baton_matrix_multiply_integers<Formats, Threads, Rows, Columns>(shared,
                                                                    integers);
  const BatonMatrixLinear others = baton_hand_exact_columns(
      out, out_stride, x, x_stride, exact, exact_stride, panels, bias, residual,
      residual_stride, rows, k, columns, activation);
  if (baton_asks_for_columns(others))
    baton_matrix_multiply_blocks<Formats &
                                     ~0u << baton::blocks::first_plain_format,
                                 Threads, Rows, Columns, Architecture>(shared,
                                                                       others);
}

/// Bits of formats that mixed panels of tests have.
constexpr uint32_t some_formats =
    1u << baton::blocks::q8_0 | 1u << baton::blocks::q4_k |
    1u << baton::blocks::q6_k | 1u << baton::blocks::int4_g64;
constexpr const char *some_names = "q8_0|q4_k|q6_k|int4_g64";
/// Of those whose numbers are weights as they are.
constexpr uint32_t plain_formats = 1u << baton::blocks::f16 |
                                   1u << baton::blocks::bf16 |
                                   1u << baton::blocks::f32;

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_MATRIX_BLOCKS_LINEARS_H
