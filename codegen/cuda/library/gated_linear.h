//===- gated_linear.h - gated linear layers on packed weights -------------===//
//
// A thread has the gate and the up projection of one output column, which share
// what it reads of x. Their panels alternate in memory.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_GATED_LINEAR_H
#define BATON_CODEGEN_CUDA_LIBRARY_GATED_LINEAR_H

#include "codegen/cuda/library/activation.h"
#include "codegen/cuda/library/blocks.h"

namespace baton::cuda {

/// What becomes of the sums of gate and up.
struct GatedEnd {
  float *out;
  int64_t out_stride;
  const float *bias_gate, *bias_up;
  int32_t activation;

  __device__ __forceinline__ void operator()(int64_t row, int64_t column,
                                             const float (&sum)[2]) const {
    const float gate = bias_gate ? sum[0] + bias_gate[column] : sum[0];
    const float up = bias_up ? sum[1] + bias_up[column] : sum[1];
    out[row * out_stride + column] = activate_gated(gate, up, activation);
  }
};

template <typename Weight>
BATON_DEVICE void
gated_linear(float *out, int64_t out_stride, const float *x, int64_t x_stride,
             const Weight *panels, const float *bias_gate, const float *bias_up,
             int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  multiply_panels<2>(x, x_stride, panels, rows, k, columns,
                     GatedEnd{out, out_stride, bias_gate, bias_up, activation});
}

} // namespace baton::cuda

BATON_DEVICE void baton_task_gated_linear_f32(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const float *panels, const float *bias_gate, const float *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  baton::cuda::gated_linear(out, out_stride, x, x_stride, panels, bias_gate,
                            bias_up, rows, k, columns, activation);
}

BATON_DEVICE void baton_task_gated_linear_bf16(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const uint16_t *panels, const float *bias_gate, const float *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  baton::cuda::gated_linear(out, out_stride, x, x_stride,
                            baton::cuda::as_bfloat16(panels), bias_gate,
                            bias_up, rows, k, columns, activation);
}

BATON_DEVICE void baton_task_gated_linear_f16(
    float *out, int64_t out_stride, const float *x, int64_t x_stride,
    const uint16_t *panels, const float *bias_gate, const float *bias_up,
    int64_t rows, int64_t k, int64_t columns, int32_t activation) {
  baton::cuda::gated_linear(out, out_stride, x, x_stride,
                            baton::cuda::as_float16(panels), bias_gate, bias_up,
                            rows, k, columns, activation);
}

#define BATON_GATED_LINEAR_OF_BLOCKS(NAME, BLOCK)                              \
  BATON_DEVICE void baton_task_gated_linear_##NAME(                            \
      float *out, int64_t out_stride, const float *x, int64_t x_stride,        \
      const int8_t *panels, const float *bias_gate, const float *bias_up,      \
      int64_t rows, int64_t k, int64_t columns, int32_t activation) {          \
    baton::cuda::gated_linear(                                                 \
        out, out_stride, x, x_stride,                                          \
        reinterpret_cast<                                                      \
            const baton::cuda::Quantised<baton::blocks::BLOCK> *>(panels),     \
        bias_gate, bias_up, rows, k, columns, activation);                     \
  }
BATON_FOR_EACH_BLOCK(BATON_GATED_LINEAR_OF_BLOCKS)
#undef BATON_GATED_LINEAR_OF_BLOCKS

#endif // BATON_CODEGEN_CUDA_LIBRARY_GATED_LINEAR_H
