//===- rope.cpp - rotary position embedding -------------------------------===//
//
// The table is computed once per step and shared by all layers and heads.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "codegen/cpu/library/training.h"
#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

namespace {

/// One row of the table.
BATON_INLINE void angles(Real *__restrict out,
                         const Real *__restrict inverse_frequencies,
                         int64_t half, int64_t position, Real scale) {
  const Real absolute = static_cast<Real>(position);
  for (int64_t i = 0; i < half; ++i) {
    Real angle = absolute * inverse_frequencies[i];
    if constexpr (sizeof(Real) == sizeof(float)) {
      out[i] = __builtin_cosf(angle) * scale;
      out[half + i] = __builtin_sinf(angle) * scale;
    } else {
      out[i] = __builtin_cos(angle) * scale;
      out[half + i] = __builtin_sin(angle) * scale;
    }
  }
}

/// turn(low, high, cosine, sine) turns the pairs in place.
template <typename Turn>
BATON_INLINE void rotate(Real *out, int64_t out_stride, const Real *x,
                         int64_t x_stride, const Real *__restrict table,
                         int64_t table_stride, int64_t rows, int64_t heads,
                         int64_t head_dim, int64_t half, Turn turn) {
  for (int64_t row = 0; row < rows; ++row) {
    const Real *cosines = table + row * table_stride;
    const Real *sines = cosines + half;
    for (int64_t head = 0; head < heads; ++head) {
      const Real *source = x + row * x_stride + head * head_dim;
      Real *destination = out + row * out_stride + head * head_dim;
      for_each_vector(half,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        Vector low = load(source + first, count);
                        Vector high = load(source + half + first, count);
                        turn(low, high, load(cosines + first, count),
                             load(sines + first, count));
                        store(destination + first, low, count);
                        store(destination + half + first, high, count);
                      });
      for_each_vector(head_dim - 2 * half,
                      [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                        store(destination + 2 * half + first,
                              load(source + 2 * half + first, count), count);
                      });
    }
  }
}

} // namespace

BATON_TASK void
baton_task_rope_table(Real *__restrict out, int64_t out_stride,
                      const Real *__restrict inverse_frequencies, int64_t half,
                      int64_t position, int64_t rows, Real scale) {
  for (int64_t row = 0; row < rows; ++row)
    angles(out + row * out_stride, inverse_frequencies, half, position + row,
           scale);
}

BATON_TASK void
baton_task_rope_table_at(Real *__restrict out, int64_t out_stride,
                         const Real *__restrict inverse_frequencies,
                         int64_t half, const int32_t *__restrict positions,
                         int64_t rows, Real scale) {
  for (int64_t row = 0; row < rows; ++row)
    angles(out + row * out_stride, inverse_frequencies, half, positions[row],
           scale);
}

BATON_TASK void baton_task_rope(Real *out, int64_t out_stride, const Real *x,
                                int64_t x_stride, const Real *__restrict table,
                                int64_t table_stride, int64_t rows,
                                int64_t heads, int64_t head_dim, int64_t half) {
  rotate(out, out_stride, x, x_stride, table, table_stride, rows, heads,
         head_dim, half,
         [](Vector &low, Vector &high, Vector cosine, Vector sine)
             BATON_INLINE_LAMBDA {
               const Vector turned = low * cosine - high * sine;
               high = high * cosine + low * sine;
               low = turned;
             });
}

BATON_TASK void baton_task_rope_back(Real *out, int64_t out_stride,
                                     const Real *dy, int64_t dy_stride,
                                     const Real *__restrict table,
                                     int64_t table_stride, int64_t rows,
                                     int64_t heads, int64_t head_dim,
                                     int64_t half) {
  rotate(out, out_stride, dy, dy_stride, table, table_stride, rows, heads,
         head_dim, half,
         [](Vector &low, Vector &high, Vector cosine, Vector sine)
             BATON_INLINE_LAMBDA {
               const Vector turned = low * cosine + high * sine;
               high = high * cosine - low * sine;
               low = turned;
             });
}
