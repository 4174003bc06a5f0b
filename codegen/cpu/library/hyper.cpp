//===- hyper.cpp - hyper-connections --------------------------------------===//
//
// A few rows at a time go through all that is done to them: their streams are
// in the second-level cache when they are read again.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/hyper.h"

using namespace baton::cpu;

BATON_TASK void
baton_task_hyper_project(Real *__restrict out, int64_t out_stride,
                         const Real *__restrict x, int64_t x_stride,
                         const Real *__restrict phi, int64_t rows,
                         int64_t width, int64_t outputs, Real epsilon) {
  for_rows_together(
      rows, [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
        project_rows(out + first * out_stride, out_stride, x + first * x_stride,
                     x_stride, phi, count, width, outputs, epsilon);
      });
}

BATON_TASK void baton_task_hyper_maps(Real *out, int64_t out_stride,
                                      const Real *logits, int64_t logits_stride,
                                      const Real *__restrict scale,
                                      const Real *__restrict base, int64_t rows,
                                      int64_t streams, int32_t mixing,
                                      int64_t iterations, Real epsilon) {
  for (int64_t row = 0; row < rows; ++row)
    maps_row(out + row * out_stride, logits + row * logits_stride, scale, base,
             streams, mixing, iterations, epsilon);
}

BATON_TASK void baton_task_hyper_pre(Real *__restrict out, int64_t out_stride,
                                     const Real *__restrict x, int64_t x_stride,
                                     const Real *__restrict weights,
                                     int64_t weights_stride, int64_t rows,
                                     int64_t streams, int64_t width) {
  for (int64_t row = 0; row < rows; ++row)
    pre_row(out + row * out_stride, x + row * x_stride,
            weights + row * weights_stride, streams, width);
}

BATON_TASK void
baton_task_hyper_post(Real *out, int64_t out_stride, const Real *x,
                      int64_t x_stride, const Real *__restrict y,
                      int64_t y_stride, const Real *__restrict weights,
                      int64_t weights_stride, int64_t rows, int64_t streams,
                      int64_t width, int32_t mixes) {
  for (int64_t row = 0; row < rows; ++row)
    post_row(out + row * out_stride, x + row * x_stride, y + row * y_stride,
             weights + row * weights_stride, streams, width, mixes);
}

namespace {
/// What hyper_enter and hyper_turn take alike.
struct Entry {
  const Real *phi, *scale, *base;
  int64_t streams, width;
  Real norm_epsilon;
  int32_t mixing;
  int64_t iterations;
  Real epsilon;
};
} // namespace

/// The maps of at most rows_together rows, and what the next sublayer reads.
BATON_INLINE void enter_rows(Real *out, int64_t out_stride, Real *maps,
                             int64_t maps_stride, const Real *x,
                             int64_t x_stride, int64_t rows,
                             const Entry &entry) {
  Real logits[rows_together * most_maps];
  project_rows(logits, most_maps, x, x_stride, entry.phi, rows,
               entry.streams * entry.width,
               maps_of(entry.streams, entry.mixing), entry.norm_epsilon);
  for (int64_t row = 0; row < rows; ++row) {
    maps_row(maps + row * maps_stride, logits + row * most_maps, entry.scale,
             entry.base, entry.streams, entry.mixing, entry.iterations,
             entry.epsilon);
    pre_row(out + row * out_stride, x + row * x_stride,
            maps + row * maps_stride, entry.streams, entry.width);
  }
}

BATON_TASK void baton_task_hyper_enter(
    Real *__restrict out, int64_t out_stride, Real *__restrict maps,
    int64_t maps_stride, const Real *__restrict x, int64_t x_stride,
    const Real *__restrict phi, const Real *__restrict scale,
    const Real *__restrict base, int64_t rows, int64_t streams, int64_t width,
    Real norm_epsilon, int32_t mixing, int64_t iterations, Real epsilon) {
  const Entry entry = {phi,          scale,  base,       streams, width,
                       norm_epsilon, mixing, iterations, epsilon};
  for_rows_together(rows, [&](int64_t first,
                              int64_t count) BATON_INLINE_LAMBDA {
    enter_rows(out + first * out_stride, out_stride, maps + first * maps_stride,
               maps_stride, x + first * x_stride, x_stride, count, entry);
  });
}

BATON_TASK void baton_task_hyper_turn(
    Real *streams_out, int64_t streams_stride, Real *__restrict out,
    int64_t out_stride, Real *__restrict maps, int64_t maps_stride,
    const Real *x, int64_t x_stride, const Real *__restrict y, int64_t y_stride,
    const Real *__restrict weights, int64_t weights_stride,
    const Real *__restrict phi, const Real *__restrict scale,
    const Real *__restrict base, int64_t rows, int64_t streams, int64_t width,
    int32_t mixes, Real norm_epsilon, int32_t mixing, int64_t iterations,
    Real epsilon) {
  const Entry entry = {phi,          scale,  base,       streams, width,
                       norm_epsilon, mixing, iterations, epsilon};
  for_rows_together(rows, [&](int64_t first,
                              int64_t count) BATON_INLINE_LAMBDA {
    for (int64_t row = first; row < first + count; ++row)
      post_row(streams_out + row * streams_stride, x + row * x_stride,
               y + row * y_stride, weights + row * weights_stride, streams,
               width, mixes);
    enter_rows(out + first * out_stride, out_stride, maps + first * maps_stride,
               maps_stride, streams_out + first * streams_stride,
               streams_stride, count, entry);
  });
}
