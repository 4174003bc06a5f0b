//===- sum_rows.h - the sum of all rows -----------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SUM_ROWS_H
#define BATON_CODEGEN_CUDA_LIBRARY_SUM_ROWS_H

#include "codegen/cuda/library/row_sums.h"

BATON_DEVICE void baton_task_sum_rows(float *out, const float *dy,
                                      int64_t dy_stride, int64_t rows,
                                      int64_t columns,
                                      const int32_t *accumulate) {
  baton::cuda::sum_over_rows<baton::cuda::Joining::continued>(
      out, rows, columns, accumulate,
      [&](float sum, int64_t row, int64_t column) {
        return sum + dy[row * dy_stride + column];
      });
}

#endif // BATON_CODEGEN_CUDA_LIBRARY_SUM_ROWS_H
