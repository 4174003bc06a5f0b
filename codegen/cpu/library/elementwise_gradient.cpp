//===- elementwise_gradient.cpp - adjoints within a row -------------------===//

#include "codegen/cpu/library/activation.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

namespace {

/// dx = dy * slope(gate, up).
template <typename Slope>
BATON_INLINE void
clamped_swiglu_gradient(Real *dx, int64_t dx_stride, const Real *dy,
                        int64_t dy_stride, const Real *gate,
                        int64_t gate_stride, const Real *up, int64_t up_stride,
                        int64_t rows, int64_t width, Slope slope) {
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(dx + row * dx_stride + first,
                load(dy + row * dy_stride + first, count) *
                    slope(load(gate + row * gate_stride + first, count),
                          load(up + row * up_stride + first, count)),
                count);
        });
}

} // namespace

BATON_TASK void baton_task_clamped_swiglu_gate_gradient(
    Real *dx, int64_t dx_stride, const Real *dy, int64_t dy_stride,
    const Real *gate, int64_t gate_stride, const Real *up, int64_t up_stride,
    int64_t rows, int64_t width) {
  clamped_swiglu_gradient(dx, dx_stride, dy, dy_stride, gate, gate_stride, up,
                          up_stride, rows, width,
                          [](Vector left, Vector right) BATON_INLINE_LAMBDA {
                            return clamped_swiglu_gate_slope(left, right);
                          });
}

BATON_TASK void baton_task_clamped_swiglu_up_gradient(
    Real *dx, int64_t dx_stride, const Real *dy, int64_t dy_stride,
    const Real *gate, int64_t gate_stride, const Real *up, int64_t up_stride,
    int64_t rows, int64_t width) {
  clamped_swiglu_gradient(dx, dx_stride, dy, dy_stride, gate, gate_stride, up,
                          up_stride, rows, width,
                          [](Vector left, Vector right) BATON_INLINE_LAMBDA {
                            return clamped_swiglu_up_slope(left, right);
                          });
}

BATON_TASK void baton_task_activate_gradient(Real *dx, int64_t dx_stride,
                                             const Real *dy, int64_t dy_stride,
                                             const Real *x, int64_t x_stride,
                                             int64_t rows, int64_t width,
                                             int32_t activation) {
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(
        width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
          store(dx + row * dx_stride + first,
                load(dy + row * dy_stride + first, count) *
                    slope(load(x + row * x_stride + first, count), activation),
                count);
        });
}

BATON_TASK void baton_task_tanh_gradient(Real *dx, int64_t dx_stride,
                                         const Real *dy, int64_t dy_stride,
                                         const Real *y, int64_t y_stride,
                                         int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row)
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      const Vector value = load(y + row * y_stride + first, count);
      store(dx + row * dx_stride + first,
            load(dy + row * dy_stride + first, count) * (1.0f - value * value),
            count);
    });
}

BATON_TASK void baton_task_softmax_gradient(Real *dx, int64_t dx_stride,
                                            const Real *dy, int64_t dy_stride,
                                            const Real *y, int64_t y_stride,
                                            int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *gradient = dy + row * dy_stride;
    const Real *result = y + row * y_stride;
    Vector products = splat(0.0f);
    for_each_vector(width,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      products = fma(load(gradient + first, count),
                                     load(result + first, count), products);
                    });
    const Real sum = reduce_sum(products);
    for_each_vector(width, [&](int64_t first,
                               int64_t count) BATON_INLINE_LAMBDA {
      store(dx + row * dx_stride + first,
            load(result + first, count) * (load(gradient + first, count) - sum),
            count);
    });
  }
}

BATON_TASK void baton_task_gate_gradient(Real *dgate, int64_t dgate_stride,
                                         const Real *dy, int64_t dy_stride,
                                         const Real *x, int64_t x_stride,
                                         const Real *gate, int64_t gate_stride,
                                         int64_t rows, int64_t heads,
                                         int64_t width, int64_t gate_width) {
  auto slope_of = [](Vector logit) BATON_INLINE_LAMBDA {
    const Vector open = sigmoid(logit);
    return open * (1.0f - open);
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < heads; ++head) {
      const Real *gradient = dy + row * dy_stride + head * width;
      const Real *source = x + row * x_stride + head * width;
      const Real *gates = gate + row * gate_stride + head * gate_width;
      Real *destination = dgate + row * dgate_stride + head * gate_width;
      if (gate_width == 1) {
        Vector products = splat(0.0f);
        for_each_vector(width,
                        [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                          products = fma(load(gradient + first, count),
                                         load(source + first, count), products);
                        });
        destination[0] = reduce_sum(products) * slope_of(splat(gates[0])).x;
        continue;
      }
      for_each_vector(
          width, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
            store(destination + first,
                  load(gradient + first, count) * load(source + first, count) *
                      slope_of(load(gates + first, count)),
                  count);
          });
    }
}
