//===- sum_ranks.cpp - what several ranks have, added up ------------------===//

#include "codegen/cpu/library/training.h"
#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

BATON_TASK void baton_task_sum_ranks(Real *parts, int64_t stride, int64_t ranks,
                                     int64_t columns) {
  for_each_vector(columns,
                  [&](int64_t column, int64_t count) BATON_INLINE_LAMBDA {
                    Vector sum = load(parts + column, count);
                    for (int64_t rank = 1; rank < ranks; ++rank)
                      sum = sum + load(parts + rank * stride + column, count);
                    store(parts + column, sum, count);
                  });
}

BATON_TASK void baton_task_sum_losses(Real *out, int64_t width,
                                      const Real *losses, int64_t stride,
                                      int64_t rows) {
  Real sum = 0.0f;
  for (int64_t row = 0; row < rows; ++row)
    sum += losses[row * stride];
  for (int64_t i = 0; i < width; ++i)
    out[i] = i ? Real(0.0f) : sum;
}
