//===- hyper.cpp - hyper-connections --------------------------------------===//
//
// What comes after another for a row comes before the next row: its streams
// are in the first- or second-level cache when they are read again.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/hyper.h"

using namespace baton::cpu;

BATON_TASK void
baton_task_hyper_project(float *__restrict out, int64_t out_stride,
                         const float *__restrict x, int64_t x_stride,
                         const float *__restrict phi, int64_t rows,
                         int64_t width, int64_t outputs, float epsilon) {
  for (int64_t row = 0; row < rows; ++row)
    project_row(out + row * out_stride, x + row * x_stride, phi, width, outputs,
                epsilon);
}

BATON_TASK void baton_task_hyper_maps(
    float *out, int64_t out_stride, const float *logits, int64_t logits_stride,
    const float *__restrict scale, const float *__restrict base, int64_t rows,
    int64_t streams, int32_t mixing, int64_t iterations, float epsilon) {
  for (int64_t row = 0; row < rows; ++row)
    maps_row(out + row * out_stride, logits + row * logits_stride, scale, base,
             streams, mixing, iterations, epsilon);
}

BATON_TASK void baton_task_hyper_pre(float *__restrict out, int64_t out_stride,
                                     const float *__restrict x,
                                     int64_t x_stride,
                                     const float *__restrict weights,
                                     int64_t weights_stride, int64_t rows,
                                     int64_t streams, int64_t width) {
  for (int64_t row = 0; row < rows; ++row)
    pre_row(out + row * out_stride, x + row * x_stride,
            weights + row * weights_stride, streams, width);
}

BATON_TASK void
baton_task_hyper_post(float *out, int64_t out_stride, const float *x,
                      int64_t x_stride, const float *__restrict y,
                      int64_t y_stride, const float *__restrict weights,
                      int64_t weights_stride, int64_t rows, int64_t streams,
                      int64_t width, int32_t mixes) {
  for (int64_t row = 0; row < rows; ++row)
    post_row(out + row * out_stride, x + row * x_stride, y + row * y_stride,
             weights + row * weights_stride, streams, width, mixes);
}

/// The maps of a row's streams, and what the next sublayer reads.
BATON_INLINE void enter_row(float *out, float *maps, const float *x,
                            const float *phi, const float *scale,
                            const float *base, int64_t streams, int64_t width,
                            float norm_epsilon, int32_t mixing,
                            int64_t iterations, float epsilon) {
  float logits[most_maps];
  project_row(logits, x, phi, streams * width, maps_of(streams, mixing),
              norm_epsilon);
  maps_row(maps, logits, scale, base, streams, mixing, iterations, epsilon);
  pre_row(out, x, maps, streams, width);
}

BATON_TASK void baton_task_hyper_enter(
    float *__restrict out, int64_t out_stride, float *__restrict maps,
    int64_t maps_stride, const float *__restrict x, int64_t x_stride,
    const float *__restrict phi, const float *__restrict scale,
    const float *__restrict base, int64_t rows, int64_t streams, int64_t width,
    float norm_epsilon, int32_t mixing, int64_t iterations, float epsilon) {
  for (int64_t row = 0; row < rows; ++row)
    enter_row(out + row * out_stride, maps + row * maps_stride,
              x + row * x_stride, phi, scale, base, streams, width,
              norm_epsilon, mixing, iterations, epsilon);
}

BATON_TASK void baton_task_hyper_turn(
    float *streams_out, int64_t streams_stride, float *__restrict out,
    int64_t out_stride, float *__restrict maps, int64_t maps_stride,
    const float *x, int64_t x_stride, const float *__restrict y,
    int64_t y_stride, const float *__restrict weights, int64_t weights_stride,
    const float *__restrict phi, const float *__restrict scale,
    const float *__restrict base, int64_t rows, int64_t streams, int64_t width,
    int32_t mixes, float norm_epsilon, int32_t mixing, int64_t iterations,
    float epsilon) {
  for (int64_t row = 0; row < rows; ++row) {
    float *after = streams_out + row * streams_stride;
    post_row(after, x + row * x_stride, y + row * y_stride,
             weights + row * weights_stride, streams, width, mixes);
    enter_row(out + row * out_stride, maps + row * maps_stride, after, phi,
              scale, base, streams, width, norm_epsilon, mixing, iterations,
              epsilon);
  }
}
