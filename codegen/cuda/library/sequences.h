//===- sequences.h - where the sequences of a step begin and end ----------===//

#ifndef BATON_CODEGEN_CUDA_LIBRARY_SEQUENCES_H
#define BATON_CODEGEN_CUDA_LIBRARY_SEQUENCES_H

#include "codegen/cuda/library/device.h"

namespace baton::cuda {

/// The row behind the sequence that `row` - 1 belongs to, at most `end`. Called
/// by whole warps, which look at 32 rows at a time.
BATON_DEVICE int64_t end_of_sequence(const int32_t *positions, int64_t row,
                                     int64_t end) {
  for (; row < end; row += 32) {
    const int64_t own = row + baton_thread() % 32;
    const uint32_t found =
        __ballot_sync(0xffffffffu, own < end && positions[own] == 0);
    if (found)
      return row + __ffs(static_cast<int>(found)) - 1;
  }
  return end;
}

/// Calls body(first, count, begin, position) for the runs of one sequence
/// among the rows [row, row + rows): `first` counts from `row`, `begin` is the
/// row of the step where the sequence begins, `position` the first row's.
template <typename Body>
BATON_DEVICE void for_each_run(const int32_t *positions, int64_t row,
                               int64_t rows, Body body) {
#pragma unroll 1
  for (int64_t first = 0; first < rows;) {
    const int64_t position = positions[row + first];
    const int64_t end =
        end_of_sequence(positions, row + first + 1, row + rows) - row;
    body(first, end - first, row + first - position, position);
    first = end;
  }
}

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_LIBRARY_SEQUENCES_H
