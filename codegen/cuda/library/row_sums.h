//===- row_sums.h - sums over rows, a column a thread ---------------------===//
//
// What gradients of everything that all rows share are made of. A column is one
// chain in ascending rows, many of whose loads are under way at once.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_ROW_SUMS_H
#define BATON_CODEGEN_CUDA_LIBRARY_ROW_SUMS_H

#include "codegen/cuda/library/device.h"

namespace baton::cuda {

/// Whether a gradient joins what is there; see codegen/cpu/library/training.h.
BATON_DEVICE bool joins(const int32_t *accumulate) {
  return !accumulate || *accumulate;
}

/// Where the chain of an element starts that joins what is there; see
/// codegen/cpu/library/row_sums.h.
enum class Joining { added, continued };

/// out[c] (+)= finish(sum, c) of the chain of add(sum, row, c) over ascending
/// rows, from +0 on if it does not continue another.
template <Joining joining = Joining::added, typename Add, typename Finish>
BATON_DEVICE void sum_over_rows(float *out, int64_t rows, int64_t columns,
                                const int32_t *accumulate, Add add,
                                Finish finish) {
  const bool adds = joins(accumulate);
  for (int64_t column = baton_thread(); column < columns;
       column += baton_threads()) {
    float sum = adds && joining == Joining::continued ? out[column] : 0.0f;
#pragma unroll(8)
    for (int64_t row = 0; row < rows; ++row)
      sum = add(sum, row, column);
    sum = finish(sum, column);
    out[column] = adds && joining == Joining::added ? sum + out[column] : sum;
  }
}

/// The same of the chain as it is.
template <Joining joining = Joining::added, typename Add>
BATON_DEVICE void sum_over_rows(float *out, int64_t rows, int64_t columns,
                                const int32_t *accumulate, Add add) {
  sum_over_rows<joining>(out, rows, columns, accumulate, add,
                         [](float sum, int64_t) { return sum; });
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_ROW_SUMS_H
