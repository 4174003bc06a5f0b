//===- stream_linears.h - linears of one row, task by task ----------------===//
//
// What a program's kernel does with codegen/cuda/library/stream.h, without a
// program: the tasks of one linear, whose weights flow through one ring.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAM_LINEARS_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAM_LINEARS_H

#include "codegen/cuda/library/stream.h"

namespace baton::test {

constexpr int ring_stages = 16;

/// Panels of tasks of `tile` columns each; `sides` panels for each sixteen.
struct TaskPanels {
  const uint16_t *panels;
  int64_t k, columns, tile, sides;
  int64_t first = 0;

  __device__ bool next(BatonPanels &next) {
    if (first >= columns)
      return false;
    const int64_t count = columns - first < tile ? columns - first : tile;
    next = {panels + first * sides * k, (count + 15) / 16 * sides, k};
    first += tile;
    return true;
  }
};

template <int Threads>
using TaskRing = BatonRing<TaskPanels, ring_stages, Threads>;

template <int Threads, typename Task>
BATON_DEVICE void stream_tasks(unsigned char *shared, TaskPanels panels,
                               Task task) {
  TaskPanels source = panels;
  TaskRing<Threads> ring(shared, &source);
  ring.begin();
  for (int64_t first = 0; first < panels.columns; first += panels.tile) {
    const int64_t left = panels.columns - first;
    task(ring, first, left < panels.tile ? left : panels.tile);
    __syncthreads();
  }
}

template <int Threads>
BATON_DEVICE void
stream_linear(unsigned char *shared, float *out, const float *x,
              const uint16_t *panels, const float *bias, const float *residual,
              int64_t k, int64_t columns, int64_t tile, int32_t activation) {
  stream_tasks<Threads>(
      shared, {panels, k, columns, tile, 1},
      [&](TaskRing<Threads> &ring, int64_t first, int64_t count) {
        baton_stream_linear_bf16(
            ring, out + first, 0, x, 0, nullptr, bias ? bias + first : nullptr,
            residual ? residual + first : nullptr, 0, 1, k, count, activation);
      });
}

template <int Threads>
BATON_DEVICE void
stream_gated_linear(unsigned char *shared, float *out, const float *x,
                    const uint16_t *panels, const float *bias_gate,
                    const float *bias_up, int64_t k, int64_t columns,
                    int64_t tile, int32_t activation) {
  stream_tasks<Threads>(
      shared, {panels, k, columns, tile, 2},
      [&](TaskRing<Threads> &ring, int64_t first, int64_t count) {
        baton_stream_gated_linear_bf16(ring, out + first, 0, x, 0, nullptr,
                                       bias_gate ? bias_gate + first : nullptr,
                                       bias_up ? bias_up + first : nullptr, 1,
                                       k, count, activation);
      });
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_STREAM_LINEARS_H
