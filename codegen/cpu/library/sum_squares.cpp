//===- sum_squares.cpp - norms of gradients -------------------------------===//

#include "codegen/cpu/library/training.h"
#include "codegen/cpu/library/vector.h"

using namespace baton::cpu;

BATON_TASK void baton_task_sum_squares(Real *out, const Real *x,
                                       int64_t elements, int64_t columns) {
  Real sum = 0.0f;
  for (int64_t row = 0; row < elements; row += columns) {
    Vector squares = splat(0.0f);
    for_each_vector(elements - row < columns ? elements - row : columns,
                    [&](int64_t first, int64_t count) BATON_INLINE_LAMBDA {
                      Vector value = load(x + row + first, count);
                      squares = fma(value, value, squares);
                    });
    sum += reduce_sum(squares);
  }
  out[0] = sum;
}
