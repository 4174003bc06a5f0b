//===- stored_linear.cpp - linear layers on matrices as they are stored ---===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/transpose.h"
#include "codegen/cpu/library/unpacked.h"

using namespace baton::cpu;

namespace {

/// `count` rows of a matrix of Reals, as a panel.
BATON_INLINE void pack_rows(Real *panel, const Real *source, int64_t stride,
                            int64_t count, int64_t size) {
  transpose_to_panel(panel, source, stride, 0, count, size);
}

/// Of narrower elements, which become Reals first.
template <typename Weight>
BATON_INLINE void pack_rows(Real *panel, const Weight *source, int64_t stride,
                            int64_t count, int64_t size) {
  alignas(64) Real rows[lanes * unpacked_depth];
  for (int64_t i = 0; i < count; ++i)
    for_each_vector(size,
                    [&](int64_t first, int64_t width) BATON_INLINE_LAMBDA {
                      store(rows + i * unpacked_depth + first,
                            load_weights(source + i * stride + first, width));
                    });
  transpose_to_panel(panel, rows, unpacked_depth, 0, count, size);
}

template <typename Weight>
BATON_INLINE void
linear(Real *__restrict out, int64_t out_stride, const Real *__restrict x,
       int64_t x_stride, const Weight *__restrict weight, int64_t weight_stride,
       const Real *__restrict bias, int64_t rows, int64_t k, int64_t columns) {
  multiply_unpacked(
      out, out_stride, x, x_stride, rows, columns, k,
      [&](Real *panel, int64_t column, int64_t count, int64_t first,
          int64_t size) BATON_INLINE_LAMBDA {
        pack_rows(panel, weight + column * weight_stride + first, weight_stride,
                  count, size);
      },
      [&](int64_t column, int64_t count, Vector sum) BATON_INLINE_LAMBDA {
        return bias ? sum + load(bias + column, count) : sum;
      });
}

} // namespace

BATON_TASK void baton_task_stored_linear_f32(Real *out, int64_t out_stride,
                                             const Real *x, int64_t x_stride,
                                             const Real *weight,
                                             int64_t weight_stride,
                                             const Real *bias, int64_t rows,
                                             int64_t k, int64_t columns) {
  linear(out, out_stride, x, x_stride, weight, weight_stride, bias, rows, k,
         columns);
}

BATON_TASK void baton_task_stored_linear_bf16(Real *out, int64_t out_stride,
                                              const Real *x, int64_t x_stride,
                                              const uint16_t *weight,
                                              int64_t weight_stride,
                                              const Real *bias, int64_t rows,
                                              int64_t k, int64_t columns) {
  linear(out, out_stride, x, x_stride,
         reinterpret_cast<const BFloat16 *>(weight), weight_stride, bias, rows,
         k, columns);
}

BATON_TASK void baton_task_stored_linear_f16(Real *out, int64_t out_stride,
                                             const Real *x, int64_t x_stride,
                                             const uint16_t *weight,
                                             int64_t weight_stride,
                                             const Real *bias, int64_t rows,
                                             int64_t k, int64_t columns) {
  linear(out, out_stride, x, x_stride,
         reinterpret_cast<const Float16 *>(weight), weight_stride, bias, rows,
         k, columns);
}
