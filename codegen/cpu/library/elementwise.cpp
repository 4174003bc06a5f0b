//===- elementwise.cpp - element-wise bodies ------------------------------===//
//
// One pattern: a function of the elements at the same place of its inputs.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/activation.h"
#include "codegen/cpu/library/library.h"

using namespace baton::cpu;

namespace {

template <typename Function>
BATON_INLINE void map(Real *out, int64_t out_stride, const Real *x,
                      int64_t x_stride, int64_t rows, int64_t width,
                      Function function) {
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(out + row * out_stride + first,
                function(load(x + row * x_stride + first, count)), count);
        });
}

template <typename Function>
BATON_INLINE void map(Real *out, int64_t out_stride, const Real *a,
                      int64_t a_stride, const Real *b, int64_t b_stride,
                      int64_t rows, int64_t width, Function function) {
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      store(out + row * out_stride + first,
                            function(load(a + row * a_stride + first, count),
                                     load(b + row * b_stride + first, count)),
                            count);
                    });
}

} // namespace

BATON_TASK void baton_task_copy(Real *out, int64_t out_stride, const Real *x,
                                int64_t x_stride, int64_t rows, int64_t width) {
  map(out, out_stride, x, x_stride, rows, width,
      [](Vector value) BATON_INLINE_LAMBDA { return value; });
}

BATON_TASK void baton_task_scale(Real *out, int64_t out_stride, const Real *x,
                                 int64_t x_stride, int64_t rows, int64_t width,
                                 Real factor) {
  map(out, out_stride, x, x_stride, rows, width,
      [&](Vector value) BATON_INLINE_LAMBDA { return value * factor; });
}

BATON_TASK void baton_task_add(Real *out, int64_t out_stride, const Real *a,
                               int64_t a_stride, const Real *b,
                               int64_t b_stride, int64_t rows, int64_t width) {
  map(out, out_stride, a, a_stride, b, b_stride, rows, width,
      [](Vector left, Vector right)
          BATON_INLINE_LAMBDA { return left + right; });
}

BATON_TASK void baton_task_mul(Real *out, int64_t out_stride, const Real *a,
                               int64_t a_stride, const Real *b,
                               int64_t b_stride, int64_t rows, int64_t width) {
  map(out, out_stride, a, a_stride, b, b_stride, rows, width,
      [](Vector left, Vector right)
          BATON_INLINE_LAMBDA { return left * right; });
}

BATON_TASK void baton_task_clamped_swiglu(Real *out, int64_t out_stride,
                                          const Real *gate, int64_t gate_stride,
                                          const Real *up, int64_t up_stride,
                                          int64_t rows, int64_t width) {
  map(out, out_stride, gate, gate_stride, up, up_stride, rows, width,
      [](Vector left, Vector right)
          BATON_INLINE_LAMBDA { return clamped_swiglu(left, right); });
}

BATON_TASK void baton_task_tanh(Real *out, int64_t out_stride, const Real *x,
                                int64_t x_stride, int64_t rows, int64_t width) {
  map(out, out_stride, x, x_stride, rows, width,
      [](Vector value) BATON_INLINE_LAMBDA { return tanh(value); });
}

BATON_TASK void baton_task_silu(Real *out, int64_t out_stride, const Real *x,
                                int64_t x_stride, int64_t rows, int64_t width) {
  map(out, out_stride, x, x_stride, rows, width,
      [](Vector value) BATON_INLINE_LAMBDA { return silu(value); });
}

BATON_TASK void baton_task_gelu(Real *out, int64_t out_stride, const Real *x,
                                int64_t x_stride, int64_t rows, int64_t width) {
  map(out, out_stride, x, x_stride, rows, width,
      [](Vector value) BATON_INLINE_LAMBDA { return gelu(value); });
}

BATON_TASK void baton_task_gelu_tanh(Real *out, int64_t out_stride,
                                     const Real *x, int64_t x_stride,
                                     int64_t rows, int64_t width) {
  map(out, out_stride, x, x_stride, rows, width,
      [](Vector value) BATON_INLINE_LAMBDA { return gelu_tanh(value); });
}

BATON_TASK void baton_task_relu(Real *out, int64_t out_stride, const Real *x,
                                int64_t x_stride, int64_t rows, int64_t width) {
  map(out, out_stride, x, x_stride, rows, width,
      [](Vector value) BATON_INLINE_LAMBDA { return relu(value); });
}
