//===- sum_rows.cpp - gradients of biases ---------------------------------===//

#include "codegen/cpu/library/row_sums.h"
#include "codegen/cpu/library/training.h"

using namespace baton::cpu;

BATON_TASK void baton_task_sum_rows(Real *out, const Real *__restrict dy,
                                    int64_t dy_stride, int64_t rows,
                                    int64_t columns,
                                    const int32_t *accumulate) {
  sum_over_rows<Joining::continued>(
      out, rows, columns, accumulate,
      [&](Vector sum, int64_t row, int64_t column, int64_t count)
          BATON_INLINE_LAMBDA {
            const Real *place = dy + row * dy_stride + column;
            __builtin_prefetch(place + rows_ahead * dy_stride);
            return sum + load(place, count);
          });
}
